from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import ONE_AFTER_ANOTHER, SIDE_BY_SIDE, CaptureRule, begun, streams_named
from cuvet.rules.rule import Violations


class CaptureBeginTwice(CaptureRule):
    """
    checks: `cuStreamBeginCapture` is called on a stream that is already capturing, and fails.
    why: A stream takes part in one capture at a time. The call was measured to return CUDA_ERROR_ILLEGAL_STATE. The capture continues.
    instead: End the capture first. Code that may run inside its caller's capture should ask `cuStreamIsCapturing` first.
    limits: Reported only when the call fails.
    """

    code = "CV811"
    summary = "a capture is begun on a stream that is capturing"
    help = "end the capture first, or ask cuStreamIsCapturing before beginning one"
    verbs = frozenset({Verb.BEGINS_CAPTURE})
    evidence = """
    measured: CUDA_ERROR_ILLEGAL_STATE; the first capture can be ended as usual (capture_end_not_begun)
    documented: the stream must not be capturing already (CUDA Driver API, Stream Management, cuStreamBeginCapture)
    """
    VALID = ONE_AFTER_ANOTHER + SIDE_BY_SIDE
    INVALID = """
## begun twice
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamBeginCapture(stream, 0)  # error: [capture-begin-twice]
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.BEGINS_CAPTURE):
            if stream.alive and stream.capture is not None:
                message = f"{stream.name} is capturing already"
                yield cls.refused(message, stream, argument=argument, because=(begun(stream.capture),), outcomes=(401,))
                return
