from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.naming import was_recorded
from cuvet.model.objects import Event
from cuvet.rules.lifecycle import named
from cuvet.rules.rule import CallRule, Violations


class EventNeverRecorded(CallRule):
    """
    checks: The program asks for the elapsed time between two events, one of which was never recorded. Or a class makes an event and
      waits for it, and nothing records it.
    why: An event has a time only once it is recorded; the call returns CUDA_ERROR_INVALID_HANDLE. A wait for one that was never recorded
      returns at once, so that the work is not waited for.
    instead: Record both events first, and wait for the second (`cuEventSynchronize`). Ask under the condition of the record.
    limits: Waiting for an event that was never recorded, or querying it, is allowed. Silent about events whose creation was not seen.
      In C++, `cuvet check` knows events that are variables of one function, which it gives to nothing that may record them, and waits
      for members of classes that no header declares.
      In Python, it knows events of PyTorch, CuPy and Numba that are variables of one function and given to nobody.
    """

    code = "CV308"
    summary = "the program uses an event that was never recorded"
    help = "record the event behind the work that it stands for"
    entry_points = frozenset({"cuEventElapsedTime"})
    evidence = """
    measured: CUDA_ERROR_INVALID_HANDLE (event_elapsed_unrecorded)
    measured: querying, waiting for and destroying an event that was never recorded succeed
      (event_unrecorded_is_complete)
    documented: If cuEventRecord() has not been called on either event then CUDA_ERROR_INVALID_HANDLE is returned. (CUDA
      Driver API, Event Management, cuEventElapsedTime)
    documented: torch.cuda.Event.elapsed_time: the time between where the event was recorded and where the other one was (PyTorch
      documentation, torch.cuda.Event)
    """
    VALID = """
## both recorded
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventRecord(end, 0)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)

## waited for without a record
note: an event that was never recorded stands for no work
event = cu.cuEventCreate(0)
cu.cuEventSynchronize(event)
cu.cuEventQuery(event)
cu.cuStreamWaitEvent(0, event, 0)
"""
    INVALID = """
## end never recorded
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventElapsedTime(start, end)  # error: [event-never-recorded]

## start never recorded
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(end, 0)
cu.cuEventElapsedTime(start, end)  # error: [event-never-recorded]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        events = [(use.argument, use.object) for use in named(call, model, Kind.EVENT)]
        for argument, event in events:
            if not isinstance(event, Event) or not event.alive or event.created_by is None:
                continue
            if not event.timing or event.captured is not None:
                return
            if not event.external and not was_recorded(call, argument, event):
                yield cls.broken(f"{event.name} was never recorded", event, argument=argument, outcomes=(400,))
