from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import CaptureRule, begun, streams_named
from cuvet.rules.rule import Violations


class CaptureUnjoined(CaptureRule):
    """
    checks: A capture is ended, and the call fails, while the first stream does not wait for captured work of a stream that joined.
    why: The end of the graph would not wait for that work. The call returns CUDA_ERROR_STREAM_CAPTURE_UNJOINED, and there is no graph.
    instead: Record an event on the other stream after its last work, and make the first stream wait for it, before the capture is ended.
    limits: Reported only when the call fails. Without `--record full`, all streams that joined are named. `cuvet check` knows streams of
      C++ on which no function of the file records an event.
    """

    code = "CV813"
    summary = "a capture is ended while a stream has not joined back"
    help = "record an event on the other stream after its last work, and make the first stream wait for it"
    verbs = frozenset({Verb.ENDS_CAPTURE})
    evidence = """
    measured: a stream that joined without work of its own: no error (capture_join_without_work)
    measured: CUDA_ERROR_STREAM_CAPTURE_UNJOINED; with an event back: no error (capture_unjoined, capture_joined)
    documented: a capture fails if a stream does not join the first again (CUDA C++ Programming Guide, CUDA Graphs,
      Cross-stream Dependencies and Events)
    """
    VALID = """
## joined back
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
fork, join = cu.cuEventCreate(0), cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, second)
cu.cuEventRecord(join, second)
cu.cuStreamWaitEvent(first, join, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))

## joined through a third stream
first, second, third = (cu.cuStreamCreate(0) for _ in range(3))
fork, pass_on, join = (cu.cuEventCreate(0) for _ in range(3))
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, second)
cu.cuEventRecord(pass_on, second)
cu.cuStreamWaitEvent(third, pass_on, 0)
cu.cuEventRecord(join, third)
cu.cuStreamWaitEvent(first, join, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))
"""
    INVALID = """
## not joined back
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
fork = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, second)
cu.cuStreamEndCapture(first)  # error: [capture-unjoined]

## more work after the join
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
fork, join = cu.cuEventCreate(0), cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuEventRecord(join, second)
cu.cuStreamWaitEvent(first, join, 0)
cu.cuMemsetD8Async(memory, 0, 4096, second)
cu.cuStreamEndCapture(first)  # error: [capture-unjoined]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.ENDS_CAPTURE):
            capture = stream.capture
            if capture is None or capture.origin is not stream or capture.invalidated_by is not None:
                continue
            others = capture.unjoined if model.all_work else tuple(one for one in capture.streams if one is not stream)
            if others:
                names = ", ".join(other.name for other in others[:3])
                message = f"{stream.name} does not wait for all work that was captured on {names}"
                yield cls.refused(
                    message, stream, *others[:3], argument=argument, because=(begun(capture),), outcomes=(904,)
                )
