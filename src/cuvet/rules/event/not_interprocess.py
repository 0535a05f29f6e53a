from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event
from cuvet.rules.rule import CallRule, Violations


class EventNotInterprocess(CallRule):
    """
    checks: `cuIpcGetEventHandle` fails for an event that was created without `CU_EVENT_INTERPROCESS`.
    why: Only the creation decides whether an event can be shared. The call returns CUDA_ERROR_INVALID_HANDLE.
    instead: Create the event with `CU_EVENT_INTERPROCESS` and `CU_EVENT_DISABLE_TIMING`.
    limits: Silent about events whose creation was not seen.
    """

    code = "CV311"
    summary = "a program shares an event that was not created for sharing"
    help = "create the event with CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING"
    entry_points = frozenset({"cuIpcGetEventHandle"})
    evidence = """
    recorded: of an event created without CU_EVENT_INTERPROCESS: CUDA_ERROR_INVALID_HANDLE
    documented: the event must have been created with CU_EVENT_INTERPROCESS and CU_EVENT_DISABLE_TIMING (CUDA Driver
      API, Memory Management, cuIpcGetEventHandle)
    """
    VALID = """
## created for it
disable_timing, interprocess = 2, 4
event = cu.cuEventCreate(disable_timing | interprocess)
cu.cuIpcGetEventHandle(bytes(64), event)

## not shared
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
"""
    INVALID = """
## ordinary event
event = cu.cuEventCreate(0)
cu.cuIpcGetEventHandle(bytes(64), event)  # error: [event-not-interprocess]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("event")
        event = model.object_of(call, argument, Kind.EVENT)
        if not isinstance(event, Event) or not event.alive or event.created_by is None or event.interprocess:
            return
        yield cls.refused(
            f"{event.name} was created without CU_EVENT_INTERPROCESS", event, argument=argument, outcomes=(400,)
        )
