from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import JOINED, SIDE_BY_SIDE, CaptureRule, begun, streams_named
from cuvet.rules.rule import Violations


class CaptureEndOnOtherStream(CaptureRule):
    """
    checks: A capture is ended on a stream that joined it, and the call fails.
    why: `cuStreamEndCapture` must be called on the stream on which the capture was begun. The call returns
      CUDA_ERROR_STREAM_CAPTURE_UNMATCHED and invalidates the capture.
    instead: Join the other streams to the first (`cuEventRecord` on them, `cuStreamWaitEvent` on it) and end the capture there.
    limits: Reported only when the call fails.
    """

    code = "CV807"
    summary = "a capture is ended on a stream that only joined it"
    help = "end the capture on the stream on which it was begun"
    verbs = frozenset({Verb.ENDS_CAPTURE})
    evidence = """
    measured: CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, and the capture is invalidated (capture_end_on_other_stream)
    documented: also with other streams, a capture ends on the stream on which it began (CUDA C++ Programming Guide,
      CUDA Graphs, Cross-stream Dependencies and Events)
    documented: the capture was begun on another stream (CUDA Driver API, Data types,
      CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    """
    VALID = SIDE_BY_SIDE + JOINED
    INVALID = """
## ended on the stream that joined
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
fork = cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuStreamEndCapture(second)  # error: [capture-end-on-other-stream]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.ENDS_CAPTURE):
            capture = stream.capture
            if capture is None or capture.origin is stream or capture.invalidated_by:
                continue
            message = f"{stream.name} joined the capture, which was begun on {capture.origin.name}"
            yield cls.refused(
                message, stream, capture.origin, argument=argument, because=(begun(capture),), outcomes=(903,)
            )
