from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.capturing import ABOUT_CAPTURE, NOT_CAPTURABLE
from cuvet.rules.capturing import CaptureRule, begun, streams_named
from cuvet.rules.lifecycle import place, written
from cuvet.rules.rule import Violations


class CaptureInvalidated(CaptureRule):
    """
    checks: A stream is used, or its capture ended, after an earlier call invalidated the capture.
    why: The earlier call is at fault: it was refused and invalidated the capture. From then on, work on the streams in the capture, copying
      their attributes, asking for their priority, and `cuStreamEndCapture` return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
    instead: Fix the call that is named as the cause. `cuStreamEndCapture` must still be called: it takes the streams out of the capture.
    limits: The cause is not known if that call was not seen. Calls that only ask about the stream are reported only when they fail.
    """

    code = "CV805"
    same_for_alike = True
    summary = "a capture is used that an earlier call invalidated"
    help = "correct the earlier call that invalidated the capture"
    kinds = frozenset({Kind.STREAM})
    verbs = frozenset({Verb.ON, Verb.USES, Verb.ENDS_CAPTURE})
    evidence = """
    recorded: work on a stream of the capture, cuEventRecord and cuStreamWaitEvent whatever the event and flags,
      cuStreamGetPriority and cuStreamCopyAttributes: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED. A capture is also
      invalidated by cuStreamWaitEvent without an event, which itself returns CUDA_ERROR_INVALID_HANDLE
    measured: cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (capture_invalid_sync, capture_calls_global)
    documented: using the streams or events of an invalidated capture is an error until cudaStreamEndCapture (CUDA C++
      Programming Guide, CUDA Graphs, Invalidation)
    """
    VALID = """
## ended in order
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## waited for after the capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuStreamSynchronize(stream)
"""
    INVALID = """
## captured again after a broken capture
note: cuStreamEndCapture takes the stream out of the broken capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamSynchronize(stream)  # error: [capture-wait]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## ended after a forbidden allocation
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## used after a forbidden synchronisation
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamSynchronize(stream)  # error: [capture-wait]
cu.cuMemsetD8Async(memory, 0, 4096, stream)  # error: [capture-invalidated]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return super().applies_to(entry_point) and entry_point.name not in NOT_CAPTURABLE | ABOUT_CAPTURE

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, *cls.verbs):
            capture = stream.capture
            if capture is None or capture.invalidated_by is None or not stream.alive:
                continue
            culprit = capture.invalidated_by
            yield cls.broken(
                f"the capture of {capture.origin.name} was invalidated before this call",
                stream,
                argument=argument,
                because=(f"the capture was invalidated by {written(culprit)}, {place(culprit)}", begun(capture)),
                outcomes=(901,),
                cause=culprit,
                only_if_failed=Verb.USES in {role.verb for role in call.entry_point.roles if role.kind is Kind.STREAM},
            )
            return
