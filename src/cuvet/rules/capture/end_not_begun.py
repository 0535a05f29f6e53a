from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import ONE_AFTER_ANOTHER, ONE_CAPTURE, CaptureRule, streams_named
from cuvet.rules.rule import Violations


class CaptureEndNotBegun(CaptureRule):
    """
    checks: `cuStreamEndCapture` is called on a stream that is not capturing, and fails.
    why: There is no capture to end. The call was measured to return CUDA_ERROR_ILLEGAL_STATE. Often the begin failed.
    instead: Check the status of `cuStreamBeginCapture`, and end each capture once. `cuStreamIsCapturing` tells whether there is one.
    limits: Reported only when the call fails.
    """

    code = "CV810"
    summary = "a capture is ended that was not begun"
    help = "check the status of cuStreamBeginCapture, and end each capture once"
    verbs = frozenset({Verb.ENDS_CAPTURE})
    evidence = """
    measured: CUDA_ERROR_ILLEGAL_STATE (capture_end_not_begun)
    documented: the capture must have been begun on the stream (CUDA Driver API, Stream Management, cuStreamEndCapture)
    """
    VALID = ONE_CAPTURE + ONE_AFTER_ANOTHER
    INVALID = """
## never begun
stream = cu.cuStreamCreate(0)
cu.cuStreamEndCapture(stream)  # error: [capture-end-not-begun]

## ended twice
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuStreamEndCapture(stream)  # error: [capture-end-not-begun]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.ENDS_CAPTURE):
            if stream.alive and stream.capture is None:
                yield cls.refused(f"{stream.name} is not capturing", stream, argument=argument, outcomes=(401,))
