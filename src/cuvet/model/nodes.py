"""What is known of the nodes of graphs: their types, and the edges between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter

from cuvet.catalog.results import GRAPH_EXEC_UPDATE_FAILURE, INVALID_VALUE
from cuvet.catalog.roles import Kind
from cuvet.model.call import Call
from cuvet.model.naming import member
from cuvet.model.objects import Graph, GraphExec, GraphNode, Object
from cuvet.model.touches import Memory, Touch
from cuvet.model.view import ModelView

_TYPES = {
    "Kernel": 0,
    "Memcpy": 1,
    "Memset": 2,
    "Host": 3,
    "ChildGraph": 4,
    "Empty": 5,
    "EventWait": 6,
    "EventRecord": 7,
    "ExternalSemaphoresSignal": 8,
    "ExternalSemaphoresWait": 9,
    "MemAlloc": 10,
    "MemFree": 11,
    "BatchMemOp": 12,
}
"""CUgraphNodeType, by what entry points call such nodes: ``cuGraphAddKernelNode``, ``cuGraphKernelNodeGetParams``."""

TYPED = tuple(_TYPES)

MEM_ALLOC, MEM_FREE, CONDITIONAL = 10, 11, 13
"""CU_GRAPH_NODE_TYPE_…"""

MOST_NODES = 2000
"""Of a graph of which the nodes are compared with each other."""
MOST_COMPARED = 64
"""Nodes that touch the same memory, of which each is compared with so many that were added before."""

WAITING = frozenset({None, _TYPES["Host"], _TYPES["EventWait"], _TYPES["ExternalSemaphoresWait"], _TYPES["BatchMemOp"]})
"""Types of nodes that may wait for what no call shows; None: a type that is not known."""


def type_in_name(entry_point: str) -> int | None:
    """The CUgraphNodeType that the entry point is for; None if it is for several."""
    rest = entry_point.removeprefix("cuGraph").removeprefix("Exec").removeprefix("Add")
    return _TYPES.get(rest.split("Node", 1)[0])


def was_added(node: Object) -> bool:
    """Whether a call added the node: nodes that were captured or cloned are seen when a call hands them out."""
    return node.created_by is not None and node.created_by.name.startswith("cuGraphAdd")


def type_added(call: Call) -> int | None:
    """The CUgraphNodeType of the node that the call adds; None if it is not known."""
    return member(call, "nodeParams", "type") if call.name == "cuGraphAddNode" else type_in_name(call.name)


def node_type(node: Object) -> int | None:
    """Its CUgraphNodeType; None if it is not known."""
    while isinstance(node, GraphNode) and node.original is not None:
        node = node.original
    return type_added(node.created_by) if node.created_by is not None and was_added(node) else None


def node_types(graph: Graph) -> tuple[int, ...] | None:
    """Types of all its nodes, in ascending order; None if they are not known."""
    if graph.captured or graph.created_by is None or graph.created_by.name != "cuGraphCreate":
        return None
    types = [node_type(node) for node in graph.children]
    known = [found for found in types if found is not None]
    return tuple(sorted(known)) if len(known) == len(types) else None


def nodes_named(call: Call, model: ModelView, parameter: str) -> list[Object | None]:
    """Nodes in the array that the parameter points to; None for those that are not known."""
    data = call.inputs.get(call.entry_point.index[parameter], b"")
    count = min(call.arg("numDependencies"), len(data) // 8)
    return [model.find(Kind.GRAPH_NODE, int.from_bytes(data[8 * i : 8 * i + 8], "little")) for i in range(count)]


def edges_named(call: Call, model: ModelView) -> list[tuple[Object, Object]]:
    """Those of the edges that the call adds or removes of which both nodes are known."""
    pairs = zip(nodes_named(call, model, "from"), nodes_named(call, model, "to"), strict=False)
    return [(one, other) for one, other in pairs if one is not None and other is not None]


def depends(node: Object, other: Object) -> bool:
    """Whether a call made ``node`` wait for ``other``."""
    return isinstance(node, GraphNode) and other in node.waits_for


def in_circle(nodes: Iterable[Object]) -> bool:
    """Whether some of them wait for each other, as far as calls made them wait."""
    waiting: dict[Object, set[Object]] = {
        node: set(node.waits_for) for node in nodes if isinstance(node, GraphNode) and node.alive
    }
    try:
        TopologicalSorter({node: others & waiting.keys() for node, others in waiting.items()}).prepare()
    except CycleError:
        return True
    return False


def unordered(graph: Graph) -> Iterator[tuple[Touch, Touch]]:
    """What two of its nodes touch that no path of edges orders, one of them to write; for two nodes once, the one that was added later
    second. None if its nodes or edges are not all known, or are too many to be compared."""
    nodes = [node for node in graph.children if isinstance(node, GraphNode)]
    known = graph.created_by is not None and graph.created_by.name == "cuGraphCreate" and not graph.captured
    if not known or graph.edges_unknown or graph.waits or len(nodes) > MOST_NODES:
        return
    if any(node.touches is None for node in nodes) or in_circle(nodes):
        return
    before = _before(nodes)
    by_memory: defaultdict[Memory, list[tuple[GraphNode, Touch]]] = defaultdict(list)
    told: set[tuple[Object, Object]] = set()
    for node in nodes:
        for touch in node.touches or ():
            for other, first in by_memory[touch.memory][-MOST_COMPARED:]:
                ordered = other is node or other in before[node] or node in before[other]
                if not ordered and (other, node) not in told and touch.collides(first):
                    told.add((other, node))
                    yield first, touch
            by_memory[touch.memory].append((node, touch))


def _before(nodes: Iterable[GraphNode]) -> Mapping[Object, Set[Object]]:
    """Of each node those that paths of edges lead from."""
    waiting: dict[Object, set[Object]] = {node: {other for other in node.waits_for if other.alive} for node in nodes}
    before: dict[Object, set[Object]] = {}
    for node in TopologicalSorter(waiting).static_order():
        before[node] = set().union(*({other, *before[other]} for other in waiting.get(node, ())))
    return before


def leaves_memory(graph: Graph) -> bool:
    """Whether its nodes certainly allocate memory that they do not free: what was captured does, and no call added a node to it; or it has
    more nodes that allocate than nodes that free."""
    if graph.captured:
        return graph.captured_unfreed and not any(map(was_added, graph.children))
    types = node_types(graph) or ()
    return types.count(MEM_ALLOC) > types.count(MEM_FREE)


def frees_memory(executable: GraphExec) -> bool:
    """Whether a launch may free memory that it does not allocate."""
    return executable.types is None or MEM_FREE in executable.types


def frees_before(executable: GraphExec) -> bool:
    """Whether each launch frees what the one before left (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), or may do so."""
    made = executable.created_by
    if made is None or "WithFlags" in made.name:
        return made is None or bool(made.arg("flags") & 1)
    flags = member(made, "instantiateParams", "flags") if "instantiateParams" in made.entry_point.index else 0
    return flags is None or bool(flags & 1)


def refusal(call: Call, model: ModelView) -> int:
    """What the driver returns for a node of an executable graph that the call cannot be for. A child graph that allocates or frees
    memory is refused before."""
    if call.name != "cuGraphExecChildGraphNodeSetParams":
        return INVALID_VALUE
    graph = model.object_of(call, call.entry_point.index["childGraph"], Kind.GRAPH)
    return GRAPH_EXEC_UPDATE_FAILURE if isinstance(graph, Graph) and graph.allocates else INVALID_VALUE
