from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.model.capturing import implied
from cuvet.rules.capturing import ONE_CAPTURE, CaptureRule, streams_named
from cuvet.rules.rule import Violations


class CaptureBeginLegacy(CaptureRule):
    """
    checks: `cuStreamBeginCapture` is called on the legacy default stream (NULL or `CU_STREAM_LEGACY`), and fails.
    why: The legacy stream stands for all blocking streams. The call was measured to return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
    instead: Capture on a stream that you created, or on the per-thread default stream (`CU_STREAM_PER_THREAD`).
    limits: Reported only when the call fails.
    """

    code = "CV812"
    summary = "a capture is begun on the legacy default stream"
    help = "capture on a stream that was created, or on CU_STREAM_PER_THREAD"
    verbs = frozenset({Verb.BEGINS_CAPTURE})
    evidence = """
    measured: cudaStreamBeginCapture(0): CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (capture_end_not_begun)
    documented: CU_STREAM_LEGACY cannot be captured (CUDA Driver API, Stream Management, cuStreamBeginCapture)
    """
    VALID = ONE_CAPTURE
    VALID += """
## per-thread default stream
per_thread = 2
cu.cuStreamBeginCapture(per_thread, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(per_thread))
"""
    INVALID = """
## default stream
cu.cuStreamBeginCapture(0, 0)  # error: [capture-begin-legacy]

## legacy stream by name
legacy = 1
cu.cuStreamBeginCapture(legacy, 0)  # error: [capture-begin-legacy]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.BEGINS_CAPTURE):
            if stream.legacy and not implied(call, model):
                yield cls.refused("the legacy default stream cannot be captured", argument=argument, outcomes=(900,))
                return
