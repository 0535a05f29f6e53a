"""Steps: streams and events."""

from cuvet.catalog import Kind
from cuvet.conformance.world import Nothing, Steps, World, asks, ends, struct


def stream_create(world: World) -> None:
    flags = world.mostly(world.rng.choice((0, 1)), 2, 64)
    if world.rng.random() < 0.5:
        world.make(Kind.STREAM, "cuStreamCreate", Flags=flags)
    else:
        world.make(Kind.STREAM, "cuStreamCreateWithPriority", flags=flags, priority=world.rng.choice((0, -1, -5, 3)))


def stream_destroy(world: World) -> None:
    word = world.needed(Kind.STREAM)
    if word in world.capturing:
        raise Nothing
    if world.call("cuStreamDestroy", hStream=word).status == 0:
        world.kill(Kind.STREAM, word)


def stream_wait(world: World) -> None:
    flags = world.mostly(0, 1, 7)
    world.call("cuStreamWaitEvent", hStream=world.stream(), hEvent=world.needed(Kind.EVENT), Flags=flags)


def stream_attributes(world: World) -> None:
    synchronization_policy, priority = 3, 8
    attribute = world.mostly(world.rng.choice((synchronization_policy, priority)), 99)
    stream = world.stream()
    roll = world.rng.random()
    if roll < 0.3:
        world.call("cuStreamCopyAttributes", dstStream=stream, srcStream=world.stream())
    elif roll < 0.7:
        world.call("cuStreamGetAttribute", hStream=stream, attr=attribute, value=bytes(64))
    else:
        policy = struct("CUstreamAttrValue", syncPolicy=1)
        world.call("cuStreamSetAttribute", hStream=stream, attr=synchronization_policy, param=policy)


def event_create(world: World) -> None:
    flags = world.mostly(world.rng.choice((0, 0, 2, 2, 1, 6)), 3, 4, 8, 64)
    world.make(Kind.EVENT, "cuEventCreate", Flags=flags)


def event_record(world: World) -> None:
    event, stream = world.needed(Kind.EVENT), world.stream()
    if world.rng.random() < 0.2:
        world.call("cuEventRecordWithFlags", hEvent=event, hStream=stream, flags=world.mostly(0, 1, 7))
    else:
        world.call("cuEventRecord", hEvent=event, hStream=stream)


def event_elapsed(world: World) -> None:
    world.call("cuEventElapsedTime", hStart=world.needed(Kind.EVENT), hEnd=world.needed(Kind.EVENT))


_ABOUT_STREAMS = """
    cuStreamSynchronize cuStreamSynchronize cuStreamQuery cuStreamQuery cuStreamGetFlags cuStreamIsCapturing
    cuStreamGetPriority cuStreamGetId cuStreamGetCtx cuStreamGetDevice cuStreamGetGreenCtx
"""

STEPS: Steps = (
    (8, stream_create),
    (5, stream_destroy),
    (10, lambda world: world.call(world.any_of(_ABOUT_STREAMS), hStream=world.stream())),
    (6, stream_wait),
    (2, stream_attributes),
    (8, event_create),
    (5, ends(Kind.EVENT)),
    (10, event_record),
    (8, asks("cuEventQuery cuEventSynchronize", "hEvent", Kind.EVENT)),
    (4, event_elapsed),
)
