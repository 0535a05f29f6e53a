"""Steps: graphs and capture."""

from cuvet.catalog import Kind
from cuvet.conformance.steps.graph_node import after, graph_of
from cuvet.conformance.world import Nothing, Steps, Thing, World, asks, ends, struct


def graph_create(world: World) -> None:
    if world.rng.random() < 0.8:
        world.make(Kind.GRAPH, "cuGraphCreate", flags=world.mostly(0, 1))
    else:
        original = graph_of(world)
        made = Thing(Kind.GRAPH, source=original.word, size=original.size)
        world.make(made, "cuGraphClone", originalGraph=original.word)


def graph_ask(world: World) -> None:
    graph = world.needed(Kind.GRAPH)
    names = ("cuGraphGetNodes", "cuGraphGetRootNodes", "cuGraphGetEdges", "cuGraphGetId")
    if world.rng.random() < 0.9:
        world.call(world.rng.choice(names), hGraph=graph)
    else:
        world.call("cuGraphDebugDotPrint", hGraph=graph, path="/dev/null")


def graph_instantiate(world: World) -> None:
    graph = world.needed(Kind.GRAPH)
    made = Thing(Kind.GRAPH_EXEC, source=graph)
    flags = world.mostly(world.rng.choice((0, 0, 0, 1)), 2, 64)
    if world.rng.random() < 0.8:
        world.make(made, "cuGraphInstantiateWithFlags", hGraph=graph, flags=flags)
    else:
        parameters = struct("CUDA_GRAPH_INSTANTIATE_PARAMS", flags=flags, hUploadStream=world.stream())
        world.make(made, "cuGraphInstantiateWithParams", hGraph=graph, instantiateParams=parameters)


def exec_update(world: World) -> None:
    made = world.thing(Kind.GRAPH_EXEC)
    sources = [graph for graph in world.living(Kind.GRAPH) if graph.word == made.source]
    graph = made.source if sources and world.rng.random() < 0.7 else world.needed(Kind.GRAPH)
    world.call("cuGraphExecUpdate", hGraphExec=made.word, hGraph=graph, resultInfo=bytes(24))


def user_object_create(world: World) -> None:
    count = world.mostly(world.rng.choice((1, 1, 2)), 0)
    flags = world.mostly(1, 0)
    destroy = world.player.host_function
    made = Thing(Kind.USER_OBJECT, size=count)
    world.make(made, "cuUserObjectCreate", destroy=destroy, initialRefcount=count, flags=flags)


def user_object_references(world: World) -> None:
    """One more or one less; the last one ends it."""
    found = world.living(Kind.USER_OBJECT)
    if not found:
        raise Nothing
    thing = world.rng.choice(found)
    if world.rng.random() < 0.4:
        if world.call("cuUserObjectRetain", object=thing.word, count=1).status == 0:
            thing.size += 1
    elif world.call("cuUserObjectRelease", object=thing.word, count=1).status == 0:
        thing.size -= 1
        thing.alive = thing.size > 0


def user_object_of_graph(world: World) -> None:
    found = world.living(Kind.USER_OBJECT)
    if not found:
        raise Nothing
    thing, graph = world.rng.choice(found), graph_of(world)
    if world.rng.random() < 0.7:
        world.call("cuGraphRetainUserObject", graph=graph.word, object=thing.word, count=1, flags=world.mostly(0, 2))
    else:
        world.call("cuGraphReleaseUserObject", graph=graph.word, object=thing.word, count=1)


def memory_of_graphs(world: World) -> None:
    device = world.any_device()
    roll = world.rng.random()
    if roll < 0.4:
        attribute = world.mostly(world.rng.choice((0, 1, 2, 3)), 99)
        world.call("cuDeviceGetGraphMemAttribute", device=device, attr=attribute, value=bytes(8))
    elif roll < 0.7:
        attribute = world.mostly(world.rng.choice((1, 3)), 0)
        world.call("cuDeviceSetGraphMemAttribute", device=device, attr=attribute, value=bytes(8))
    else:
        world.call("cuDeviceGraphMemTrim", device=device)


def capture_begin(world: World) -> None:
    if len(world.capturing) > 1:
        raise Nothing
    world.some(0.5)
    word = world.needed(Kind.STREAM) if world.rng.random() < 0.95 else 0
    mode = world.mostly(world.rng.choice((0, 1, 2)), 3)
    if world.rng.random() < 0.85:
        row = world.call("cuStreamBeginCapture", hStream=word, mode=mode)
    else:
        graph = graph_of(world).word
        row = world.call("cuStreamBeginCaptureToGraph", hStream=word, hGraph=graph, mode=mode, **after(world, graph))
    if row.status == 0:
        world.capturing.append(word)


def capture_end(world: World) -> None:
    if world.capturing and world.rng.random() < 0.9:
        word = world.rng.choice(world.capturing)
    elif world.rng.random() < 0.2:
        word = world.needed(Kind.STREAM)
    else:
        raise Nothing
    row = world.call("cuStreamEndCapture", hStream=word)
    if row.status == 0 and not any(graph.word == row.outputs[1] for graph in world.living(Kind.GRAPH)):
        world.things.append(Thing(Kind.GRAPH, row.outputs[1], world.context, world.device))
    if world.call("cuStreamIsCapturing", hStream=word).outputs.get(1) == 0 and word in world.capturing:
        world.capturing.remove(word)


def capture_ask(world: World) -> None:
    stream = world.rng.choice(world.capturing) if world.capturing else world.stream()
    if world.rng.random() < 0.6:
        world.call("cuStreamGetCaptureInfo", hStream=stream)
    else:
        world.call("cuStreamUpdateCaptureDependencies", hStream=stream, flags=world.mostly(1, 0, 7))


STEPS: Steps = (
    (5, graph_create),
    (3, ends(Kind.GRAPH)),
    (2, graph_ask),
    (5, graph_instantiate),
    (
        6,
        lambda world: world.call(
            world.any_of("cuGraphLaunch cuGraphLaunch cuGraphUpload"),
            hGraph=world.needed(Kind.GRAPH_EXEC),
            hStream=world.stream(),
        ),
    ),
    (2, exec_update),
    (1, asks("cuGraphExecGetFlags cuGraphExecGetId", "hGraphExec", Kind.GRAPH_EXEC)),
    (3, ends(Kind.GRAPH_EXEC)),
    (2, user_object_create),
    (2, user_object_references),
    (2, user_object_of_graph),
    (1, memory_of_graphs),
    (4, capture_begin),
    (6, capture_end),
    (1, capture_ask),
    (
        1,
        lambda world: world.call(
            "cuThreadExchangeStreamCaptureMode", mode=(world.mostly(world.rng.choice((0, 0, 1, 2)), 3),)
        ),
    ),
)
