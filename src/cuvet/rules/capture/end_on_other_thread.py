from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import MODES, ONE_CAPTURE, RELAXED, CaptureRule, begun, streams_named
from cuvet.rules.rule import Violations


class CaptureEndOnOtherThread(CaptureRule):
    """
    checks: A capture that was not begun in relaxed mode is ended on another thread than the one that began it.
    why: The capture restricts what its thread may do, so it must end there. The call returns CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD.
    instead: End the capture on the thread that began it, or begin it with `CU_STREAM_CAPTURE_MODE_RELAXED`.
    limits: None known.
    """

    code = "CV806"
    summary = "a capture is ended on another thread than it was begun"
    help = "end the capture on the thread that began it, or begin it in relaxed mode"
    verbs = frozenset({Verb.ENDS_CAPTURE})
    evidence = """
    measured: CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD; the capture is over, and ending it on its own thread afterwards
      returns CUDA_ERROR_ILLEGAL_STATE (capture_end_other_thread)
    documented: a capture that is not relaxed was ended in another thread (CUDA Driver API, Data types,
      CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    """
    VALID = ONE_CAPTURE
    VALID += """
## relaxed capture
relaxed = 2
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
graph = cu.in_thread(lambda: cu.cuStreamEndCapture(stream))
cu.cuGraphDestroy(graph)
"""
    INVALID = """
## ended on another thread
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.in_thread(lambda: cu.cuStreamEndCapture(stream))  # error: [capture-end-on-other-thread]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.ENDS_CAPTURE):
            capture = stream.capture
            if capture is None or capture.mode == RELAXED or capture.thread == call.thread or capture.invalidated_by:
                continue
            message = f"the {MODES[capture.mode]} capture of {stream.name} was begun by another thread"
            yield cls.broken(message, stream, argument=argument, because=(begun(capture),), outcomes=(908,))
