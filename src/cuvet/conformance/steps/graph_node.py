"""Steps: nodes of graphs."""

import re
from collections.abc import Callable

from cuvet.catalog import Kind, driver
from cuvet.conformance.play import Value
from cuvet.conformance.steps.stream_work import write_value
from cuvet.conformance.world import Nothing, Steps, Thing, World, asks, ends, struct

ON_DEVICE, PINNED, DEVICE_MEMORY, BYTES = 1, 1, 2, 4096
MOST_NODES_OF_CHILD = 16
Values = dict[str, Value]


def kernel_parameters(world: World) -> bytes:
    arguments = world.player.keep(bytes(8))
    return struct(
        "CUDA_KERNEL_NODE_PARAMS",
        func=world.needed(Kind.FUNCTION),
        gridDimX=1, gridDimY=1, gridDimZ=1, blockDimX=1, blockDimY=1, blockDimZ=1,
        kernelParams=world.player.keep(arguments.to_bytes(8, "little")),
    )  # fmt: skip


def any_parameters(world: World) -> bytes:
    """Of a kernel, where they may be of any type."""
    content, parameters = struct("CUgraphNodeParams"), kernel_parameters(world)
    offset = driver().field("CUgraphNodeParams", "kernel")[0]
    return content[:offset] + parameters + content[offset + len(parameters) :]


def node_memory(world: World) -> int:
    """Address of memory that is freed with its context only: a graph may be launched at any time."""
    variant = "of nodes"
    found = [
        thing for thing in world.living(Kind.MEMORY) if thing.variant == variant and thing.context == world.context
    ]
    if found:
        return world.rng.choice(found).word
    made = Thing(Kind.MEMORY, size=BYTES, variant=variant, apart=True)
    row = world.make(made, "cuMemAlloc", bytesize=BYTES)
    if row.status:
        raise Nothing
    return row.outputs[0]


def memset_parameters(world: World) -> bytes:
    element = world.mostly(1, 3)
    return struct("CUDA_MEMSET_NODE_PARAMS", dst=node_memory(world), elementSize=element, width=BYTES, height=1)


def copy_parameters(world: World) -> bytes:
    half = BYTES // 2
    one, other = node_memory(world), node_memory(world) + half
    return struct(
        "CUDA_MEMCPY3D",
        srcMemoryType=DEVICE_MEMORY, srcDevice=one, dstMemoryType=DEVICE_MEMORY, dstDevice=other,
        WidthInBytes=half, Height=1, Depth=1,
    )  # fmt: skip


def host_parameters(world: World) -> bytes:
    return struct("CUDA_HOST_NODE_PARAMS", fn=world.mostly(world.player.host_function, 0))


def batch_parameters(world: World) -> bytes:
    operations = world.player.keep(write_value(node_memory(world)))
    return struct("CUDA_BATCH_MEM_OP_NODE_PARAMS", ctx=world.context, count=1, paramArray=operations)


def _event(world: World) -> Values:
    return {"event": world.needed(Kind.EVENT)}


def _child(world: World) -> Values:
    """A small graph: what is in it is copied, and may be the graph that it is put into."""
    graph = graph_of(world)
    if graph.size > MOST_NODES_OF_CHILD:
        raise Nothing
    return {"childGraph": graph.word}


def _free(world: World) -> Values:
    thing = world.thing(Kind.MEMORY, "graph" if world.rng.random() < 0.95 else None)
    return {"dptr": thing.word}


PARAMETERS: dict[str, Callable[[World], Values]] = {
    "cuGraphAddEmptyNode": lambda world: {},
    "cuGraphAddEventRecordNode": _event,
    "cuGraphAddEventWaitNode": _event,
    "cuGraphAddKernelNode": lambda world: {"nodeParams": kernel_parameters(world)},
    "cuGraphAddMemsetNode": lambda world: {"memsetParams": memset_parameters(world), "ctx": world.context},
    "cuGraphAddMemcpyNode": lambda world: {"copyParams": copy_parameters(world), "ctx": world.context},
    "cuGraphAddChildGraphNode": _child,
    "cuGraphAddHostNode": lambda world: {"nodeParams": host_parameters(world)},
    "cuGraphAddMemFreeNode": _free,
    "cuGraphAddBatchMemOpNode": lambda world: {"nodeParams": batch_parameters(world)},
}
_ALLOCATION = "cuGraphAddMemAllocNode"


def _of_types(pattern: str) -> dict[str, str]:
    """Entry points for nodes of one type, whose name is the pattern's group, and the entry point that adds such a node."""
    found = ((entry.name, re.fullmatch(pattern, entry.name)) for entry in driver().entry_points)
    adds = {name: f"cuGraphAdd{match[1]}Node" for name, match in found if match}
    return {name: added for name, added in adds.items() if added in PARAMETERS or added == _ALLOCATION}


_KERNEL = "cuGraphAddKernelNode"
_SET = _of_types(r"cuGraph(?!Exec)(\w+)NodeSet(?:Params|Event)") | {"cuGraphNodeSetParams": _KERNEL}
_SET_IN_EXEC = _of_types(r"cuGraphExec(\w+)NodeSet(?:Params|Event)") | {"cuGraphExecNodeSetParams": _KERNEL}
_GET = _of_types(r"cuGraph(\w+)NodeGet(?:Params|Event|Graph)")
_ATTRIBUTE: dict[str, Values] = {
    "cuGraphKernelNodeGetAttribute": {"attr": 2, "value_out": bytes(64)},
    "cuGraphKernelNodeSetAttribute": {"attr": 2, "value": bytes(64)},
}


def _changed(world: World, name: str, added: str) -> Values:
    """What the entry point gives a node: mostly what such a node is added with."""
    if name in ("cuGraphNodeSetParams", "cuGraphExecNodeSetParams"):
        return {"nodeParams": any_parameters(world)}
    index = driver()[name].index
    given = PARAMETERS[added](world)
    return {
        key if key in index else "nodeParams": value for key, value in given.items() if key in index or key != "ctx"
    }


def _room(name: str) -> Values:
    """Room for the struct that the entry point writes."""
    structs = (each for each in driver()[name].parameters if each.pointee and not each.out)
    return {parameter.name: bytes(parameter.pointee_bytes) for parameter in structs}


def graph_of(world: World) -> Thing:
    graph = world.thing(Kind.GRAPH)
    if not graph.alive:
        raise Nothing
    return graph


def nodes_of(world: World, graph: int) -> list[Thing]:
    return [thing for thing in world.living(Kind.GRAPH_NODE) if thing.parent == graph]


def after(world: World, graph: int) -> Values:
    """What a new node of that graph depends on."""
    siblings = [node.word for node in nodes_of(world, graph)]
    chosen = tuple(world.rng.sample(siblings, min(len(siblings), world.rng.choice((0, 0, 1, 2)))))
    return {"dependencies": chosen or 0, "numDependencies": len(chosen)}


def node_add(world: World) -> None:
    graph = graph_of(world)
    name = world.rng.choice(tuple(PARAMETERS))
    values = {"hGraph": graph.word, **after(world, graph.word), **PARAMETERS[name](world)}
    graph.size += 1 + sum(child.size for child in world.living(Kind.GRAPH) if child.word == values.get("childGraph"))
    world.make(Thing(Kind.GRAPH_NODE, parent=graph.word, variant=name), name, **values)


def node_add_allocation(world: World) -> None:
    graph = graph_of(world)
    properties = struct(
        "CUDA_MEM_ALLOC_NODE_PARAMS",
        poolProps__allocType=PINNED,
        poolProps__location__type=ON_DEVICE,
        poolProps__location__id=world.any_device(),
        bytesize=world.mostly(BYTES, 0),
    )
    node = Thing(Kind.GRAPH_NODE, parent=graph.word, variant=_ALLOCATION)
    row = world.make(node, _ALLOCATION, hGraph=graph.word, nodeParams=properties, **after(world, graph.word))
    if row.status == 0:
        address = driver().member("CUDA_MEM_ALLOC_NODE_PARAMS", world.player.written("nodeParams"), "dptr")
        world.things.append(
            Thing(Kind.MEMORY, address, world.context, world.device, BYTES, variant="graph", apart=True)
        )


def node_add_generic(world: World) -> None:
    """Through the entry point for nodes of every type."""
    graph = graph_of(world)
    kernel, empty, wait, record = 0, 5, 6, 7
    kind = world.rng.choice((kernel, empty, wait, record))
    if kind == kernel:
        content = any_parameters(world)
    elif kind == empty:
        content = struct("CUgraphNodeParams", type=kind)
    else:
        member_of = "eventWait__event" if kind == wait else "eventRecord__event"
        content = struct("CUgraphNodeParams", type=kind, **{member_of: world.needed(Kind.EVENT)})
    values: Values = {"hGraph": graph.word, **after(world, graph.word), "nodeParams": content}
    world.make(Thing(Kind.GRAPH_NODE, parent=graph.word), "cuGraphAddNode", **values)


def node_add_conditional(world: World) -> None:
    """A body that is not executed, since the condition stays at its default."""
    graph, conditional, at_launch = graph_of(world), 13, 1
    values: Values = {"hGraph": graph.word, "ctx": world.context}
    row = world.call("cuGraphConditionalHandleCreate", flags=world.mostly(at_launch, 0, 7), **values)
    if row.status:
        return
    content = struct(
        "CUgraphNodeParams",
        type=conditional,
        conditional__handle=row.outputs[0],
        conditional__size=1,
        conditional__ctx=world.context,
    )
    added: Values = {"hGraph": graph.word, **after(world, graph.word), "nodeParams": content}
    world.make(Thing(Kind.GRAPH_NODE, parent=graph.word, variant="conditional"), "cuGraphAddNode", **added)


def node_get(world: World) -> None:
    """Parameters; now and then of a node of another type."""
    name = world.rng.choice((*_GET, *_ATTRIBUTE))
    values = _ATTRIBUTE.get(name) or _room(name)
    world.call(name, hNode=_node_of(world, _GET.get(name, _KERNEL)), **values)


def node_set(world: World) -> None:
    name, added = world.rng.choice(tuple(_SET.items()))
    world.call(name, hNode=_node_of(world, added), **_changed(world, name, added))


def _node_of(world: World, variant: str) -> int:
    return world.thing(Kind.GRAPH_NODE, variant if world.rng.random() < 0.95 else None).word


def node_copy_attributes(world: World) -> None:
    one, other = world.thing(Kind.GRAPH_NODE, _KERNEL), world.thing(Kind.GRAPH_NODE, _KERNEL)
    world.call("cuGraphKernelNodeCopyAttributes", dst=one.word, src=other.word)


def node_in_exec(world: World, variant: str | None) -> Values:
    """An executable graph, and a node of the graph that it was made from; now and then of another."""
    made = world.thing(Kind.GRAPH_EXEC)
    nodes = [node for node in nodes_of(world, made.source) if variant is None or node.variant == variant]
    node = world.rng.choice(nodes) if nodes and world.rng.random() < 0.95 else world.thing(Kind.GRAPH_NODE)
    return {"hGraphExec": made.word, "hNode": node.word}


def exec_set(world: World) -> None:
    name, added = world.rng.choice(tuple(_SET_IN_EXEC.items()))
    world.call(name, **node_in_exec(world, added), **_changed(world, name, added))


def exec_enable(world: World) -> None:
    where = node_in_exec(world, world.rng.choice(("cuGraphAddKernelNode", "cuGraphAddMemsetNode", None)))
    if world.rng.random() < 0.5:
        world.call("cuGraphNodeSetEnabled", isEnabled=world.rng.choice((0, 1)), **where)
    else:
        world.call("cuGraphNodeGetEnabled", **where)


def dependencies(world: World) -> None:
    """Mostly from an older node to a younger one."""
    graph = graph_of(world)
    nodes = nodes_of(world, graph.word)
    if len(nodes) < 2:
        raise Nothing
    one, other = world.rng.sample(range(len(nodes)), 2)
    if one > other and world.rng.random() < 0.9:
        one, other = other, one
    name = world.rng.choice(("cuGraphAddDependencies", "cuGraphAddDependencies", "cuGraphRemoveDependencies"))
    ends: Values = {"from": (nodes[one].word,), "to": (nodes[other].word,)}
    world.call(name, hGraph=graph.word, numDependencies=1, **ends)


def find_in_clone(world: World) -> None:
    graph = graph_of(world)
    nodes = nodes_of(world, graph.source) if graph.source else world.living(Kind.GRAPH_NODE)
    if not nodes:
        raise Nothing
    original = world.rng.choice(nodes).word
    clone = Thing(Kind.GRAPH_NODE, parent=graph.word)
    row = world.call("cuGraphNodeFindInClone", hOriginalNode=original, hClonedGraph=graph.word)
    if row.status == 0 and not any(node.word == row.outputs[0] for node in nodes_of(world, graph.word)):
        clone.word, clone.context = row.outputs[0], world.context
        world.things.append(clone)


_ABOUT_NODES = """
    cuGraphNodeGetType cuGraphNodeGetDependencies cuGraphNodeGetDependentNodes cuGraphNodeGetContainingGraph
    cuGraphNodeGetLocalId cuGraphNodeGetToolsId
"""

STEPS: Steps = (
    (14, node_add),
    (2, node_add_allocation),
    (2, node_add_generic),
    (1, node_add_conditional),
    (3, ends(Kind.GRAPH_NODE)),
    (3, asks(_ABOUT_NODES, "hNode", Kind.GRAPH_NODE)),
    (3, node_get),
    (3, node_set),
    (1, node_copy_attributes),
    (3, exec_set),
    (2, exec_enable),
    (3, dependencies),
    (1, find_in_clone),
)
