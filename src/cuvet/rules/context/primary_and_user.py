from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.rules.ownership import living_context, primary_and_user, role_of, stream_and_context
from cuvet.rules.rule import CallRule, Violations

_RECORD_EXTERNAL = 1


class ContextPrimaryAndUser(CallRule):
    """
    checks: The record of an event of the primary context on a stream of a `cuCtxCreate` context of the same device fails, or the reverse.
    why: The runtime and all libraries above it use the primary context of a device. A second context has its own streams, events and
      modules, which are invalid handles in the first.
    instead: Use the primary context in the driver API too: `cuDevicePrimaryCtxRetain` instead of `cuCtxCreate`.
    limits: A note beside the rule about the call itself.
    """

    code = "CV108"
    severity = "note"
    summary = "the primary and another context of one device are mixed"
    help = "use cuDevicePrimaryCtxRetain instead of cuCtxCreate, so that runtime and driver API share one context"
    kinds = frozenset({Kind.EVENT})
    verbs = frozenset({Verb.RECORDS})
    evidence = """
    measured: event of a created context, recorded on a stream of the primary one: CUDA_ERROR_INVALID_HANDLE
      (context_primary_and_user)
    documented: unique per device and shared with the CUDA runtime API (CUDA Driver API, Primary Context Management)
    """
    VALID = """
## two contexts side by side
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
own = cu.cuCtxCreate(0, 0, device)
other_stream, other_event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(event, stream)
cu.cuEventRecord(other_event, other_stream)
cu.cuStreamWaitEvent(stream, other_event, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## primary context from the driver API
stream = cu.cuStreamCreate(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuEventRecord(cu.cuEventCreate(0), stream)
cu.cuStreamSynchronize(stream)
"""
    INVALID = """
## event of a created context on a stream of the primary one
stream = cu.cuStreamCreate(0)
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, stream)  # note: [context-primary-and-user]  # error: [event-other-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        role = role_of(call, Verb.RECORDS, frozenset({Kind.EVENT}))
        where = stream_and_context(call, model)
        owner = None if role is None else living_context(model.object_named(call, role))
        if where is None or owner is None or not primary_and_user(owner, where[1]):
            return
        if "flags" in call.entry_point.index and call.arg("flags") & _RECORD_EXTERNAL:
            return
        primary, user = (owner, where[1]) if owner.primary else (where[1], owner)
        message = f"device {primary.device} has two contexts, and objects of both meet in this call"
        because = (f"{primary.name} is the primary context", f"{user.name} is another context of that device")
        yield cls.refused(message, primary, user, because=because, outcomes=(400,))
