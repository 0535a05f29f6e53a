"""Steps: memory pools."""

from cuvet.catalog import Kind
from cuvet.conformance.world import Steps, World, struct

ON_DEVICE, PINNED, POSIX_FILE_DESCRIPTOR, READ_WRITE = 1, 1, 1, 3
_SWITCHES, _THRESHOLD, _HIGHEST = (1, 2, 3), 4, (6, 8)
_ASKED = (1, 2, 3, 4, 5, 6, 7, 8)


def location(world: World) -> bytes:
    return struct("CUmemLocation", type=ON_DEVICE, id=world.rng.randrange(world.devices))


def access(device: int, flags: int) -> bytes:
    return struct("CUmemAccessDesc", location__type=ON_DEVICE, location__id=device, flags=flags)


def pool_create(world: World) -> None:
    properties = struct(
        "CUmemPoolProps",
        allocType=world.mostly(PINNED, 0),
        handleTypes=world.rng.choice((0, 0, 0, POSIX_FILE_DESCRIPTOR)),
        location__type=world.mostly(ON_DEVICE, 0),
        location__id=world.any_device(),
    )
    world.make(Kind.MEMORY_POOL, "cuMemPoolCreate", poolProps=properties)


def pool_destroy(world: World) -> None:
    """Now and then the device's own, which stays."""
    if world.rng.random() < 0.95:
        world.end(Kind.MEMORY_POOL)
        return
    row = world.call("cuDeviceGetDefaultMemPool", dev=world.rng.randrange(world.devices))
    if row.status == 0:
        world.call("cuMemPoolDestroy", pool=row.outputs[0])


def pool_of_device(world: World) -> None:
    """Which pool cuMemAllocAsync takes."""
    roll = world.rng.random()
    if roll < 0.4:
        world.call("cuDeviceSetMemPool", dev=world.any_device(), pool=world.needed(Kind.MEMORY_POOL))
    elif roll < 0.6:
        world.call("cuDeviceGetMemPool", dev=world.any_device())
    elif roll < 0.7:
        values = {"type": world.mostly(PINNED, 0), "pool": world.needed(Kind.MEMORY_POOL)}
        world.call("cuMemSetMemPool", location=location(world), **values)
    else:
        name = world.rng.choice(("cuMemGetDefaultMemPool", "cuMemGetMemPool"))
        world.call(name, location=location(world), type=world.mostly(PINNED, 0))


def pool_attribute(world: World) -> None:
    pool = world.needed(Kind.MEMORY_POOL)
    if world.rng.random() < 0.5:
        attribute = world.mostly(world.rng.choice(_ASKED), 0, 99)
        world.call("cuMemPoolGetAttribute", pool=pool, attr=attribute, value=bytes(8))
        return
    attribute = world.rng.choice((*_SWITCHES, _THRESHOLD, *_HIGHEST))
    value = world.rng.choice((0, 1)) if attribute in _SWITCHES else 1 << 20 if attribute == _THRESHOLD else 0
    world.call(
        "cuMemPoolSetAttribute", pool=pool, attr=world.mostly(attribute, 5, 99), value=(value.to_bytes(8, "little"))
    )


def pool_access(world: World) -> None:
    pool = world.needed(Kind.MEMORY_POOL)
    if world.rng.random() < 0.5:
        world.call(
            "cuMemPoolSetAccess", pool=pool, map=access(world.any_device(), world.mostly(READ_WRITE, 0, 1)), count=1
        )
    else:
        world.call("cuMemPoolGetAccess", memPool=pool, location=location(world))


def pool_export(world: World) -> None:
    if world.rng.random() < 0.3:
        thing = world.thing(Kind.MEMORY, "async")
        world.call("cuMemPoolExportPointer", shareData_out=bytes(64), ptr=thing.word)
    else:
        pool, kind = world.needed(Kind.MEMORY_POOL), world.mostly(POSIX_FILE_DESCRIPTOR, 0)
        world.call("cuMemPoolExportToShareableHandle", handle_out=bytes(8), pool=pool, handleType=kind)


STEPS: Steps = (
    (4, pool_create),
    (2, pool_destroy),
    (2, lambda world: world.call("cuMemPoolTrimTo", pool=world.needed(Kind.MEMORY_POOL), minBytesToKeep=0)),
    (3, pool_of_device),
    (3, pool_attribute),
    (2, pool_access),
    (1, pool_export),
)
