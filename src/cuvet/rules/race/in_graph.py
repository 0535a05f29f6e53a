from collections.abc import Iterator

from cuvet.catalog import EntryPoint, Kind
from cuvet.model import Call, Graph, ModelView
from cuvet.model.nodes import unordered
from cuvet.model.touching import stream_worked_on, touched, touches_in_capture
from cuvet.rules.occasions import while_looking_for_races
from cuvet.rules.rule import CallRule, Violation
from cuvet.rules.works import MissingEdge, does, extent, race, through, was_made, work

_COMPLETES = {
    "cuGraphInstantiate": "hGraph",
    "cuGraphInstantiateWithFlags": "hGraph",
    "cuGraphInstantiateWithParams": "hGraph",
    "cuGraphAddChildGraphNode": "childGraph",
}
"""Calls that take a graph as it is then, and the parameter that names it."""


class RaceInGraph(CallRule):
    """
    checks: Two nodes of a graph touch the same bytes, at least one of them writes or frees, and no path of edges leads from one to the
      other. ``cuvet run --races`` looks for this when they are captured, and in a graph that is built by hand when it is instantiated, or
      added to another as a child.
    why: In each launch either may run first, or both at the same time.
    instead: Name the first node among the dependencies of the second (``cudaGraphAddDependencies``). In a capture, record an event on the
      first stream between the two calls, and make the second wait for it.
    limits: What a kernel reads and writes is told as for `race-between-streams`. Not judged are captures whose dependencies the program
      sets (``cuStreamUpdateCaptureDependencies``), graphs to which nodes were added both ways, clones, graphs with nodes that may
      wait for the host or an event, and graphs whose edges are not all known: of one call 64 are recorded. Nodes that are changed after
      the instantiation are not compared with each other again.
    """

    code = "CV443"
    severity = "error"
    summary = "two nodes of a graph touch the same memory in no order"
    help = "let the second node depend on the first; in a capture: an event that is recorded after the first"
    about_work = True
    libraries = True
    only_when = while_looking_for_races
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

## built by hand, with an edge
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
first = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=4096, height=1)
node = cu.cuGraphAddMemsetNode(graph, 0, 0, first, context)
between = cu.cuGraphAddEmptyNode(graph, [node], 1)
cu.cuGraphAddMemsetNode(graph, [between], 1, first, context)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## built by hand, with an edge that is added later
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
described = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=4096, height=1)
first = cu.cuGraphAddMemsetNode(graph, 0, 0, described, context)
second = cu.cuGraphAddMemsetNode(graph, 0, 0, described, context)
cu.cuGraphAddDependencies(graph, [first], [second], None, 1)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## built by hand, with more edges in one call than are recorded
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
described = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=4096, height=1)
nodes = [cu.cuGraphAddMemsetNode(graph, 0, 0, described, context) for _ in range(70)]
cu.cuGraphAddDependencies(graph, nodes[:-1], nodes[1:], None, 69)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## memory of the graph, freed after the join
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
fork = cu.cuEventCreate(2)
join = cu.cuEventCreate(2)
cu.cuStreamBeginCapture(a, 2)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuEventRecord(join, b)
cu.cuStreamWaitEvent(a, join, 0)
cu.cuMemFreeAsync(memory, a)
graph = cu.cuStreamEndCapture(a)
cu.cuGraphDestroy(graph)
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

## built by hand, without an edge
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
first = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=4096, height=1)
second = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory + 4095, elementSize=1, width=1, height=1)
cu.cuGraphAddMemsetNode(graph, 0, 0, first, context)
cu.cuGraphAddMemsetNode(graph, 0, 0, second, context)  # error: [race-in-graph]
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## memory of the graph, freed on the other branch
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
fork = cu.cuEventCreate(2)
join = cu.cuEventCreate(2)
cu.cuStreamBeginCapture(a, 2)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuEventRecord(join, b)
cu.cuMemFreeAsync(memory, a)  # error: [race-in-graph]
cu.cuStreamWaitEvent(a, join, 0)
graph = cu.cuStreamEndCapture(a)
cu.cuGraphDestroy(graph)
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return touches_in_capture(entry_point) or entry_point.name in _COMPLETES

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        if call.name in _COMPLETES:
            yield from _in_built(cls, call, model)
            return
        stream = stream_worked_on(call, model)
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


def _in_built(rule: type[CallRule], call: Call, model: ModelView) -> Iterator[Violation]:
    """Of the nodes that calls added to the graph."""
    graph = model.object_of(call, call.entry_point.index[_COMPLETES[call.name]], Kind.GRAPH)
    if not isinstance(graph, Graph) or model.touches is None:
        return
    for first, second in unordered(graph):
        if first.node is None or second.node is None:
            continue
        this, that, memory = work(second.node, model), work(first.node, model), second.memory
        yield Violation(
            rule=rule,
            message=f"{this} {does(second)} {memory.name} in {graph.name} while {that} {does(first)} it, "
            "and no path of edges orders the two",
            objects=(memory, graph),
            because=(
                f"{this} {does(second)} {extent(second)}{through(second.node, second, model)}",
                f"{that} {does(first)} {extent(first)}{through(first.node, first, model)}",
            ),
            culprit=second.node,
            earlier=((f"{that} {was_made(first.node)}", first.node), (f"{graph.name} is complete", call)),
        )
