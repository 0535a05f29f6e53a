from cuvet.rules.arguments import ArgumentRule, entry_points


class ArgumentBadFlags(ArgumentRule):
    """
    checks: A call that fails was given flags with bits that the parameter does not take, or that it takes only together.
    why: The driver refuses unknown bits with CUDA_ERROR_INVALID_VALUE. Usually they are another function's flags, or swapped arguments.
    instead: The enumerators that the message lists, or 0.
    limits: Parameters are listed by hand, mainly of entry points that make streams, events, pinned memory and executable graphs.
      A newer driver may take flags that this version does not know; a call that succeeds is never reported.
    """

    code = "CV951"
    summary = "a call is given flags that the parameter does not take"
    help = "pass the flags that this function takes, or 0"
    of_flags = True
    entry_points = entry_points(of_flags=True)
    evidence = """
    recorded: cuStreamCreate, cuEventCreate, cuMemHostAlloc and cuStreamWaitEvent with unknown bits, and cuEventCreate
      with CU_EVENT_INTERPROCESS alone: CUDA_ERROR_INVALID_VALUE
    documented: CU_EVENT_INTERPROCESS must be specified along with CU_EVENT_DISABLE_TIMING (CUDA Driver API, Event
      Management, cuEventCreate)
    """
    VALID = """
## all flags of an event
blocking, no_timing, interprocess = 1, 2, 4
cu.cuEventDestroy(cu.cuEventCreate(blocking | no_timing))
cu.cuEventDestroy(cu.cuEventCreate(no_timing | interprocess))

## flags of pinned memory
portable, device_map, write_combined = 1, 2, 4
cu.cuMemFreeHost(cu.cuMemHostAlloc(4096, portable | device_map | write_combined))

## none
stream = cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuEventDestroy(event)
cu.cuStreamDestroy(stream)
"""
    INVALID = """
## a stream's priority as its flags
cu.cuStreamCreate(-5)  # error: [argument-bad-flags]

## an event for other processes that measures time
interprocess = 4
cu.cuEventCreate(interprocess)  # error: [argument-bad-flags]

## flags of a registration, given to an allocation
read_only = 8
cu.cuMemHostAlloc(4096, read_only)  # error: [argument-bad-flags]
"""
