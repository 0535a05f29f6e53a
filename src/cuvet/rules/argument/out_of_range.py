from cuvet.rules.arguments import ArgumentRule, entry_points


class ArgumentOutOfRange(ArgumentRule):
    """
    checks: A call that fails was given a number that the parameter does not take: a flag that must be one of two, an attribute that
      does not exist, a size that is no multiple of the granularity, a reserved parameter that is not 0.
    why: The driver returns CUDA_ERROR_INVALID_VALUE. Usually a structure or parameter was not initialised, or arguments are swapped.
    instead: One of the values that the message lists.
    limits: Parameters are listed by hand. A newer driver may know more attributes; a call that succeeds is never reported.
    """

    code = "CV952"
    summary = "a call is given a number that the parameter does not take"
    help = "pass one of the values that the parameter takes"
    of_flags = False
    entry_points = entry_points(of_flags=False)
    evidence = """
    recorded: cuMemAllocManaged without flags, cuMemAllocPitch for elements of 3 bytes, cuGraphCreate with flags, and
      cuFuncGetAttribute of attribute 99: CUDA_ERROR_INVALID_VALUE
    documented: CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST (CUDA Driver API, Memory Management, cuMemAllocManaged)
    documented: ElementSizeBytes may be 4, 8 or 16 (CUDA Driver API, Memory Management, cuMemAllocPitch)
    documented: flags must be 0 (CUDA Driver API, Graph Management, cuGraphCreate)
    """
    VALID = """
## managed memory of both sorts
everywhere, host = 1, 2
cu.cuMemFree(cu.cuMemAllocManaged(4096, everywhere))
cu.cuMemFree(cu.cuMemAllocManaged(4096, host))

## rows of 16-byte elements
memory, pitch = cu.cuMemAllocPitch(64, 8, 16)
cu.cuMemFree(memory)
"""
    INVALID = """
## managed memory that is attached to nothing
cu.cuMemAllocManaged(4096, 0)  # error: [argument-out-of-range]

## rows of pixels of three bytes
cu.cuMemAllocPitch(64, 8, 3)  # error: [argument-out-of-range]

## a graph with flags
cu.cuGraphCreate(1)  # error: [argument-out-of-range]

## an attribute that functions do not have
kernel = cu.kernel()
cu.cuFuncGetAttribute(99, kernel)  # error: [argument-out-of-range]
"""
