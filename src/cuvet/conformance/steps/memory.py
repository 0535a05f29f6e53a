"""Steps: memory."""

from cuvet.catalog import Kind
from cuvet.conformance.play import Value
from cuvet.conformance.world import Nothing, Steps, Thing, World, struct


def bytes_wanted(world: World) -> int:
    return world.rng.choice((1, 64, 256, 4096, 65536, 1 << 20, 3 << 20))


def memory_allocate(world: World) -> None:
    size = bytes_wanted(world) if world.rng.random() < 0.95 else world.rng.choice((0, 1 << 50))
    if world.rng.random() < 0.8:
        world.make(Thing(Kind.MEMORY, size=size), "cuMemAlloc", bytesize=size)
    else:
        flags = world.rng.choice((1, 1, 1, 1, 2, 0))
        size = min(size, 4096)
        managed = Thing(Kind.MEMORY, size=size, variant="managed")
        world.make(managed, "cuMemAllocManaged", bytesize=size, flags=flags)


def memory_pitched(world: World) -> None:
    element = world.rng.choice((4, 8, 16, 16, 3))
    row = world.make(Kind.MEMORY, "cuMemAllocPitch", WidthInBytes=64, Height=8, ElementSizeBytes=element)
    if row.status == 0:
        world.things[-1].size = row.outputs[1] * 8


def memory_free(world: World) -> None:
    thing = world.pick(Kind.MEMORY, "graph" if world.rng.random() < 0.03 else None)
    word = 0 if thing is None else thing.word
    if thing is not None and world.rng.random() < 0.05:
        word += thing.size // 2 or 1
    if world.call("cuMemFree", dptr=word).status == 0:
        world.kill(Kind.MEMORY, word)


def memory_async(world: World) -> None:
    size, stream = bytes_wanted(world), world.stream()
    pool = world.word(Kind.MEMORY_POOL)
    if pool and world.rng.random() < 0.5:
        made = Thing(Kind.MEMORY, size=size, parent=pool, variant="async")
        world.make(made, "cuMemAllocFromPoolAsync", bytesize=size, pool=pool, hStream=stream)
    else:
        made = Thing(Kind.MEMORY, size=size, variant="async")
        world.make(made, "cuMemAllocAsync", bytesize=size, hStream=stream)


def memory_free_async(world: World) -> None:
    thing = world.thing(Kind.MEMORY, "async" if world.rng.random() < 0.8 else None)
    if world.call("cuMemFreeAsync", dptr=thing.word, hStream=world.stream()).status == 0:
        thing.alive = False


def extent(world: World) -> tuple[int, int]:
    """An address, and bytes from there; now and then more than there are."""
    thing = world.thing(Kind.MEMORY)
    offset = world.rng.choice((0, 0, 0, thing.size // 2))
    size = max(1, thing.size - offset)
    return thing.word + offset, size if world.rng.random() < 0.97 else size + (64 << 20)


def memory_set(world: World) -> None:
    address, size = extent(world)
    bits, value = world.rng.choice(((8, "uc"), (8, "uc"), (16, "us"), (32, "ui")))
    elements = max(1, size // (bits // 8))
    values: dict[str, Value] = {"dstDevice": address, value: 1}
    name = f"cuMemsetD{bits}"
    if world.rng.random() < 0.2:
        name = f"cuMemsetD2D{bits}"
        values.update(dstPitch=elements * bits // 8, Width=elements, Height=1)
    else:
        values["N"] = elements
    if world.rng.random() < 0.5:
        name += "Async"
        values["hStream"] = world.stream()
    world.call(name, **values)


def memory_copy(world: World) -> None:
    (one, size), (other, room) = extent(world), extent(world)
    size = min(size, room)
    name = world.rng.choice(("cuMemcpyDtoD", "cuMemcpyDtoDAsync", "cuMemcpy", "cuMemcpyAsync"))
    values = {"ByteCount": size, **({"hStream": world.stream()} if name.endswith("Async") else {})}
    if "Dto" in name:
        world.call(name, dstDevice=one, srcDevice=other, **values)
    else:
        world.call(name, dst=one, src=other, **values)


def memory_host_copy(world: World) -> None:
    address, size = extent(world)
    size = min(size, 1 << 20) if size < 64 << 20 else size
    if size > 1 << 20:
        raise Nothing
    to_device = world.rng.random() < 0.5
    name = "cuMemcpyHtoD" if to_device else "cuMemcpyDtoH"
    device, host = ("dstDevice", "srcHost") if to_device else ("srcDevice", "dstHost")
    values: dict[str, Value] = {device: address, host: world.player.memory, "ByteCount": size}
    if world.rng.random() < 0.3:
        name += "Async"
        values["hStream"] = world.stream()
    world.call(name, **values)


def memory_ask(world: World) -> None:
    """About a pointer of any kind; now and then one of no kind."""
    thing = world.pick(Kind.MEMORY) if world.rng.random() < 0.7 else world.pick(Kind.HOST_MEMORY)
    word = world.player.memory + (1 << 19) if thing is None or world.rng.random() < 0.05 else thing.word
    attribute = world.mostly(world.rng.choice((1, 2, 3, 4, 7, 8, 9, 11, 12, 13)), 0, 99)
    if world.rng.random() < 0.8:
        world.call("cuPointerGetAttribute", data=bytes(64), attribute=attribute, ptr=word)
    else:
        results = (world.player.keep(bytes(64)),)
        world.call("cuPointerGetAttributes", numAttributes=1, attributes=(attribute,), data=results, ptr=word)


def memory_attribute(world: World) -> None:
    synchronous = 6
    switch = world.mostly(1, 0).to_bytes(4, "little")
    world.call("cuPointerSetAttribute", value=switch, attribute=world.mostly(synchronous, 2), ptr=extent(world)[0])


def memory_ipc(world: World) -> None:
    """The handle is not opened: that takes another process."""
    if world.rng.random() < 0.7:
        world.call("cuIpcGetMemHandle", pHandle=bytes(64), dptr=extent(world)[0])
    else:
        world.call("cuIpcGetEventHandle", pHandle=bytes(64), event=world.needed(Kind.EVENT))


def managed_advise(world: World) -> None:
    thing = world.thing(Kind.MEMORY, "managed" if world.rng.random() < 0.95 else None)
    location = struct("CUmemLocation", type=1, id=world.any_device())
    size = max(1, thing.size)
    roll = world.rng.random()
    if roll < 0.3:
        advice = world.mostly(world.rng.choice((1, 2, 3, 4, 5, 6)), 0, 99)
        world.call("cuMemAdvise", devPtr=thing.word, count=size, advice=advice, location=location)
    elif roll < 0.6:
        world.call("cuMemPrefetchAsync", devPtr=thing.word, count=size, location=location, hStream=world.stream())
    elif roll < 0.8:
        values = {"dataSize": 4, "attribute": world.rng.choice((1, 2, 4)), "count": size}
        world.call("cuMemRangeGetAttribute", data=bytes(8), devPtr=thing.word, **values)
    else:
        flags = world.mostly(world.rng.choice((1, 2, 4)), 0, 8)
        world.call("cuStreamAttachMemAsync", hStream=world.stream(), dptr=thing.word, length=0, flags=flags)


STEPS: Steps = (
    (8, memory_allocate),
    (2, memory_pitched),
    (7, memory_free),
    (5, memory_async),
    (5, memory_free_async),
    (6, memory_set),
    (5, memory_copy),
    (4, memory_host_copy),
    (2, lambda world: world.call("cuMemGetAddressRange", dptr=extent(world)[0])),
    (3, memory_ask),
    (1, memory_attribute),
    (2, memory_ipc),
    (3, managed_advise),
)
