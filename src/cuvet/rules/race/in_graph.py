from collections.abc import Iterator

from cuvet.catalog import EntryPoint
from cuvet.model import Call, ModelView
from cuvet.model.touching import touched, touches_memory
from cuvet.rules.rule import CallRule, Violation
from cuvet.rules.works import MissingEdge, race, work


class RaceInGraph(CallRule):
    """
    checks: Two nodes of a captured graph touch the same bytes, at least one of them writes, and no path of edges leads from one to the
      other. ``cuvet run --races`` looks for this when they are captured.
    why: In each launch either may run first, or both at the same time.
    instead: Between the two captured calls, record an event on the first stream and make the second wait for it.
    limits: What a kernel reads and writes is told as for `race-between-streams`. Nodes that are added by hand are not judged, nor captures
      whose dependencies the program sets (``cuStreamUpdateCaptureDependencies``).
    """

    code = "CV443"
    severity = "error"
    summary = "two nodes of a captured graph touch the same memory in no order"
    help = "in the capture, record an event after the first and make the stream of the second wait for it"
    about_work = True
    evidence = """
    measured, succeeds: a kernel on a stream that does not wait for the memory's allocation on another: no error
      (mallocasync_other_stream_nosync)
    documented: a node is scheduled at any time once the nodes on which it depends are complete (CUDA C++
      Programming Guide, CUDA Graphs, Graph Structure)
    """
    VALID = """
## joined by an event
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
fork = cu.cuEventCreate(2)
join = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(a, 2)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuEventRecord(join, b)
cu.cuStreamWaitEvent(a, join, 0)
cu.cuMemsetD8Async(memory, 1, 4096, a)
graph = cu.cuStreamEndCapture(a)
cu.cuGraphDestroy(graph)
cu.cuMemFree(memory)

## other bytes
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
fork = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(a, 2)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 2048, b)
cu.cuMemsetD8Async(memory + 2048, 1, 2048, a)
cu.cuEventRecord(fork, b)
cu.cuStreamWaitEvent(a, fork, 0)
graph = cu.cuStreamEndCapture(a)
cu.cuGraphDestroy(graph)
cu.cuMemFree(memory)
"""
    INVALID = """
## joined too late
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
fork = cu.cuEventCreate(2)
join = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(a, 2)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuMemsetD8Async(memory, 1, 4096, a)  # error: [race-in-graph]
cu.cuEventRecord(join, b)
cu.cuStreamWaitEvent(a, join, 0)
graph = cu.cuStreamEndCapture(a)
cu.cuGraphDestroy(graph)
cu.cuMemFree(memory)
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return touches_memory(entry_point)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        stream = model.stream_on(call)
        capture = None if stream is None else stream.capture
        if stream is None or capture is None or capture.touches is None or capture.invalidated_by is not None:
            return
        told: set[Call] = set()
        for touch, access in capture.touches.races(touched(call, model), stream, capture):
            if access.call not in told:
                told.add(access.call)
                this, that, other = work(call, model), work(access.call, model), access.stream
                missing = MissingEdge(
                    (f"no event is captured on {other.name} after {that} for which {stream.name} waits",),
                    f"record an event on {other.name} after {that}, and let {stream.name} wait for it before {this}",
                )
                yield race(cls, call, model, stream, touch, access, missing)
