"""Steps: host memory."""

from cuvet.catalog import Kind
from cuvet.conformance.world import Thing, World


def host_allocate(world: World) -> None:
    size = world.mostly(world.rng.choice((64, 4096, 65536)), 0)
    flags = world.mostly(world.rng.choice((0, 1, 2, 3, 4)), 8, 64)
    if world.rng.random() < 0.5:
        world.make(Thing(Kind.HOST_MEMORY, size=size), "cuMemHostAlloc", bytesize=size, Flags=flags)
    else:
        world.make(Thing(Kind.HOST_MEMORY, size=size), "cuMemAllocHost", bytesize=size)


def host_free(world: World) -> None:
    thing = world.pick(Kind.HOST_MEMORY, "" if world.rng.random() < 0.9 else None)
    word = 0 if thing is None else thing.word + world.rng.choice((0,) * 19 + (64,))
    if world.call("cuMemFreeHost", p=word).status == 0:
        world.kill(Kind.HOST_MEMORY, word)


def host_register(world: World) -> None:
    page = world.player.memory + 4096 * world.rng.randrange(64)
    size = world.rng.choice((0, 1, 64, 4096, 8192)) if world.rng.random() < 0.3 else 4096
    flags = world.mostly(world.rng.choice((0, 0, 0, 1, 2, 3)), 4, 16, 64)
    address = 0 if world.rng.random() < 0.02 else page + world.rng.choice((0, 0, 0, 100))
    pinned = world.pick(Kind.HOST_MEMORY, "")
    if pinned is not None and pinned.alive and world.rng.random() < 0.05:
        address = pinned.word
    if world.call("cuMemHostRegister", p=address, bytesize=size, Flags=flags).status == 0:
        world.things.append(Thing(Kind.HOST_MEMORY, address, world.context, world.device, size, variant="registered"))


def host_unregister(world: World) -> None:
    thing = world.pick(Kind.HOST_MEMORY, "registered" if world.rng.random() < 0.9 else None)
    word = world.player.memory if thing is None else thing.word + world.rng.choice((0,) * 19 + (64,))
    if world.call("cuMemHostUnregister", p=word).status == 0:
        world.kill(Kind.HOST_MEMORY, word)


def host_ask(world: World) -> None:
    thing = world.pick(Kind.HOST_MEMORY)
    word = world.player.memory if thing is None else thing.word
    world.call(world.rng.choice(("cuMemHostGetDevicePointer", "cuMemHostGetFlags")), p=word)


STEPS = ((5, host_allocate), (4, host_free), (6, host_register), (5, host_unregister), (4, host_ask))
