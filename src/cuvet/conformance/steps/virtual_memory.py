"""Steps: virtual memory."""

from cuvet.catalog import Kind
from cuvet.conformance.steps.pool import READ_WRITE, access, location
from cuvet.conformance.world import Nothing, Steps, Thing, World, ends, struct

_GRANULE, _PINNED, _ON_DEVICE, _FILE_DESCRIPTOR = 2 << 20, 1, 1, 1


def properties(world: World) -> bytes:
    return struct(
        "CUmemAllocationProp",
        type=world.mostly(_PINNED, 0),
        requestedHandleTypes=world.rng.choice((0, 0, _FILE_DESCRIPTOR)),
        location__type=world.mostly(_ON_DEVICE, 0),
        location__id=world.any_device(),
    )


def virtual_reserve(world: World) -> None:
    made = Thing(Kind.ADDRESS_RANGE, size=_GRANULE)
    world.make(made, "cuMemAddressReserve", size=world.mostly(_GRANULE, 0, 4096))


def virtual_create(world: World) -> None:
    size = world.mostly(_GRANULE, 0, 4096)
    world.make(Kind.MEMORY_HANDLE, "cuMemCreate", size=size, prop=properties(world))


def virtual_granularity(world: World) -> None:
    option = world.mostly(world.rng.choice((0, 1)), 7)
    world.call("cuMemGetAllocationGranularity", prop=properties(world), option=option)


def virtual_map(world: World) -> None:
    where = world.thing(Kind.ADDRESS_RANGE)
    offset = world.mostly(0, 4096, _GRANULE)
    handle = world.needed(Kind.MEMORY_HANDLE)
    if world.call("cuMemMap", ptr=where.word, size=_GRANULE, offset=offset, handle=handle).status == 0:
        where.variant = "mapped"


def virtual_access(world: World) -> None:
    where = world.pick(Kind.ADDRESS_RANGE, "mapped" if world.rng.random() < 0.95 else None)
    where = where or world.thing(Kind.ADDRESS_RANGE)
    if world.rng.random() < 0.3:
        world.call("cuMemGetAccess", location=location(world), ptr=where.word)
        return
    device, flags = world.any_device(), world.mostly(READ_WRITE, 0, 1)
    row = world.call("cuMemSetAccess", ptr=where.word, size=where.size, desc=access(device, flags), count=1)
    if row.status == 0:
        where.source = device + 1 if flags == READ_WRITE else 0


def virtual_use(world: World) -> None:
    """Memory that is mapped and may be accessed; what may not would be the end of the context."""
    mapped = [thing for thing in world.living(Kind.ADDRESS_RANGE) if thing.variant == "mapped"]
    usable = [thing for thing in mapped if world.context and thing.source == world.device + 1]
    if not usable:
        raise Nothing
    address = world.rng.choice(usable).word
    if world.rng.random() < 0.5:
        world.call("cuMemsetD8Async", dstDevice=address, uc=1, N=64, hStream=0)
    else:
        world.call("cuMemcpyHtoD", dstDevice=address, srcHost=world.player.memory, ByteCount=64)


def virtual_end(world: World) -> None:
    where = world.thing(Kind.ADDRESS_RANGE)
    mapped = where.variant == "mapped"
    name = world.rng.choice(("cuMemUnmap", "cuMemUnmap", "cuMemAddressFree") if mapped else ("cuMemAddressFree",))
    if world.rng.random() < 0.05:
        name = "cuMemUnmap"
    if world.call(name, ptr=where.word, size=world.mostly(_GRANULE, 4096)).status == 0:
        where.alive, where.variant, where.source = name == "cuMemUnmap", "", 0


def handle_use(world: World) -> None:
    roll = world.rng.random()
    if roll < 0.4:
        handle = world.needed(Kind.MEMORY_HANDLE)
        world.call("cuMemGetAllocationPropertiesFromHandle", prop=bytes(64), handle=handle)
    elif roll < 0.7:
        values = {"handle": world.needed(Kind.MEMORY_HANDLE), "handleType": world.mostly(_FILE_DESCRIPTOR, 0)}
        world.call("cuMemExportToShareableHandle", shareableHandle=bytes(8), **values)
    else:
        row = world.call("cuMemRetainAllocationHandle", addr=world.thing(Kind.ADDRESS_RANGE).word)
        if row.status == 0 and world.rng.random() < 0.9:
            world.call("cuMemRelease", handle=row.outputs[0])


STEPS: Steps = (
    (3, virtual_reserve),
    (3, virtual_create),
    (1, virtual_granularity),
    (5, virtual_map),
    (4, virtual_access),
    (2, virtual_use),
    (3, virtual_end),
    (2, ends(Kind.MEMORY_HANDLE)),
    (2, handle_use),
)
