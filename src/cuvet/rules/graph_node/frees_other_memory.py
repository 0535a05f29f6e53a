from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Graph
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class GraphNodeFreesOtherMemory(CallRule):
    """
    checks: Adding a free node fails, because no graph allocates the memory, or a node of this graph already frees it.
    why: A free node frees only memory of a graph's node, and a graph frees it once. The driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Free the address that `cuGraphAddMemAllocNode` returned, with one node on every path. Free other memory outside of the graph.
    limits: Reported only when the call fails. An address that no known call allocated is judged only as long as no graph allocates any.
    """

    code = "CV747"
    summary = "a graph node frees memory that is not a graph's, or is already freed"
    help = "free the address that cuGraphAddMemAllocNode returned, once"
    entry_points = frozenset({"cuGraphAddMemFreeNode"})
    evidence = """
    recorded: memory of cuMemAlloc, cuMemAllocPitch and cuMemAllocAsync, addresses that nobody allocated, and such as a
      node of the graph frees: CUDA_ERROR_INVALID_VALUE
    documented: CUDA_ERROR_INVALID_VALUE for an allocation freed twice in the graph, and for an address that no
      allocation node returned (CUDA Driver API, Graph Management, cuGraphAddMemFreeNode)
    """
    VALID = """
## memory of cuMemAlloc, freed outside of the graph
graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
cu.cuGraphDestroy(graph)
cu.cuMemFree(memory)

## allocated and freed in a capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## memory of cuMemAlloc
graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
cu.cuGraphAddMemFreeNode(graph, None, 0, memory)  # error: [graph-node-frees-other-memory]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        address = call.arg("dptr")
        graph = model.object_of(call, call.index("hGraph"), Kind.GRAPH)
        memory = model.allocation_at(address)
        if memory is not None and not memory.alive:
            memory = None
        because: tuple[str, ...] = ()
        earlier = graph.frees.get(address) if isinstance(graph, Graph) else None
        if earlier is not None:
            message, because = "is freed by a node of this graph already", (f"that node was added by {place(earlier)}",)
        elif memory is not None and memory.variant != "graph":
            made = memory.created_by
            message = f"is {memory.name}, which no graph allocated"
            because = () if made is None else (f"{memory.name} was allocated by {place(made)}",)
        elif memory is None and not model.graphs_allocate:
            message = "is no memory of a graph"
        else:
            return
        yield cls.refused(f"{address:#x} {message}", memory, argument=call.index("dptr"), because=because)
