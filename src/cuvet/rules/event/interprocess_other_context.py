from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Context, ModelView, Object
from cuvet.model.objects import Event
from cuvet.rules.ownership import belongs, living_context, role_of, streams_and_context
from cuvet.rules.rule import CRASH, CallRule, Violations


class EventInterprocessOtherContext(CallRule):
    """
    checks: A stream (`cuStreamWaitEvent`), or all streams of a context (`cuCtxWaitEvent`), wait for an event with `CU_EVENT_INTERPROCESS`
      of another context: of another device, or a second context of the same device.
    why: The driver dies of SIGSEGV in the call, whether or not the event was recorded. No document says so.
    instead: Wait for an ordinary event that is recorded beside the shared one, or in the other process for the event that it opens.
    limits: Silent about events and streams of unseen origin. Waits of created streams are stored and reported only with `--record full`.
    """

    code = "CV312"
    about_devices = True
    summary = "a stream waits for an interprocess event of another context"
    help = "let the stream wait for an ordinary event, recorded beside the shared one"
    kinds = frozenset({Kind.EVENT})
    verbs = frozenset({Verb.WAITS})
    evidence = """
    recorded: all 9 waits for an interprocess event of another context, 5 of them of another device: SIGSEGV; waits for
      ordinary events of other contexts, and for interprocess events of the stream's own: no error
    recorded: cuCtxWaitEvent for an interprocess event of another device, 3 of 3: SIGSEGV; for ordinary events of other
      contexts, 16 of 16: no error
    """
    VALID = """
## interprocess event of the same context
disable_timing, interprocess = 2, 4
event, stream = cu.cuEventCreate(disable_timing | interprocess), cu.cuStreamCreate(0)
cu.cuEventRecord(event, 0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuStreamSynchronize(stream)

## ordinary event of another context
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)
"""
    INVALID = """
## second context of the device
disable_timing, interprocess = 2, 4
event = cu.cuEventCreate(disable_timing | interprocess)
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)  # error: [event-interprocess-other-context]

## another device [devices=2]
disable_timing, interprocess = 2, 4
event = cu.cuEventCreate(disable_timing | interprocess)
cu.cuEventRecord(event, 0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
stream = cu.cuStreamCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)  # error: [event-interprocess-other-context]

## all streams of another context [devices=2]
disable_timing, interprocess = 2, 4
event = cu.cuEventCreate(disable_timing | interprocess)
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxSetCurrent(other)
cu.cuCtxWaitEvent(other, event)  # error: [event-interprocess-other-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        role = role_of(call, Verb.WAITS, frozenset({Kind.EVENT}))
        event = None if role is None else model.object_named(call, role)
        owner, where = living_context(event), streams_and_context(call, model)
        if role is None or owner is None or where is None or not isinstance(event, Event) or not _is_shared(event):
            return
        waiting, context = where
        if owner is context:
            return
        yield cls.broken(
            _message(event, waiting, context),
            *dict.fromkeys((event, waiting, owner, context)),
            argument=call.index(role.parameter),
            because=(belongs(event, owner), *(() if waiting is context else (belongs(waiting, context),))),
            outcomes=(CRASH,),
        )


def _message(event: Event, waiting: Object, context: Context) -> str:
    if waiting is context:
        return f"{event.name}, an interprocess event, is not of {context.name}"
    return f"{event.name}, an interprocess event, and {waiting.name} belong to different contexts"


def _is_shared(event: Event) -> bool:
    """Whether this process made it, for others to open."""
    return event.interprocess and event.created_by is not None and event.created_by.name == "cuEventCreate"
