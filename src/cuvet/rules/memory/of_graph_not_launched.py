from collections.abc import Iterator

from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, ModelView, Object
from cuvet.model.accesses import COPIES, SETS, accesses
from cuvet.model.objects import GraphExec
from cuvet.rules.lifecycle import place
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CRASH, CallRule, Violations

_OUTCOMES = {"cuMemcpy": (CRASH, 1), "cuMemcpyAsync": (CRASH, 1)}


class MemoryOfGraphNotLaunched(CallRule):
    """
    checks: A call outside a stream capture copies, sets or frees memory allocated in it, before any graph was launched, and fails.
    why: In a capture, `cuMemAllocAsync` allocates nothing. It adds a node to the graph and returns the address that the memory will have.
      The memory exists when a launch of the graph has reached that node.
    instead: Use the memory inside the capture. Or launch the graph, use the memory after that, and free it with `cuMemFreeAsync`.
    limits: Silent once a graph was launched, because it is not known which memory that graph allocated.
    """

    code = "CV418"
    summary = "memory that a graph allocates is used before the graph was launched"
    help = "launch the graph first, or use the memory inside the capture"
    entry_points = COPIES | SETS | {"cuMemFree"}
    only_when = beyond_ordinary_memory
    evidence = """
    recorded: cuMemsetD8, cuMemcpyHtoD, cuMemcpyDtoD and cuMemFree of memory allocated in a capture:
      CUDA_ERROR_INVALID_VALUE; cuMemcpy: SIGSEGV
    documented: the address is fixed when the node is made; the allocation lives from when the GPU reaches the node,
      anew in each launch (CUDA Programming Guide, CUDA Graphs, Graph Memory Nodes)
    """
    VALID = """
## used inside of the capture
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphDestroy(graph)
cu.cuStreamDestroy(stream)

## used and freed after the launch
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
graph = cu.cuStreamEndCapture(stream)
launched = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(launched, stream)
cu.cuStreamSynchronize(stream)
cu.cuMemcpy(memory, cu.host(64), 64)
cu.cuMemFree(memory)
cu.cuGraphExecDestroy(launched)
cu.cuGraphDestroy(graph)

## stream-ordered memory of no graph
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuStreamDestroy(stream)
"""
    INVALID = """
## set after the capture
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuMemsetD8(memory, 0, 4096)  # error: [memory-of-graph-not-launched]
cu.cuMemFree(memory)  # error: [memory-of-graph-not-launched]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_on(call)
        if stream is not None and stream.capture is not None:
            return
        for argument, address in _named(call):
            memory = model.allocation_at(address)
            made = None if memory is None or memory.variant != "graph" or not memory.alive else memory.created_by
            if memory is None or made is None or _launched(memory, made, model):
                continue
            message = f"{memory.name} is allocated by a graph that was not launched"
            because = (f"its allocation was captured by {place(made)}",)
            yield cls.refused(
                message, memory, argument=argument, because=because, outcomes=_OUTCOMES.get(call.name, (1,))
            )


def _named(call: Call) -> Iterator[tuple[int, int]]:
    """Arguments that are addresses of device memory."""
    if "dptr" in call.entry_point.index:
        yield call.index("dptr"), call.arg("dptr")
    else:
        for access in accesses(call):
            if access.side != "host":
                yield access.argument, access.address


def _launched(memory: Allocation, made: Call, model: ModelView) -> bool:
    """Whether the graph that allocates the memory was launched since, or may have been."""
    if memory.capture is not None:
        graph: Object | None = memory.capture.graph
    else:
        graph = model.object_of(made, made.index("hGraph"), Kind.GRAPH)
    return any(
        isinstance(found, GraphExec)
        and found.last_launch is not None
        and found.last_launch.number > made.number
        and graph in (None, found.graph)
        for found in model.objects(Kind.GRAPH_EXEC, alive=False)
    )
