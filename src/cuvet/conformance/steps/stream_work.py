"""Steps: host functions and memory operations on streams. None of them waits for a value: that may be for ever."""

from struct import pack

from cuvet.catalog import Kind, driver
from cuvet.conformance.world import Nothing, World

_WRITE_VALUE_32 = 2


def address(world: World) -> int:
    """Address of 8 bytes that live: what a stream does to others, it does later, and the context is lost."""
    found = [thing for thing in world.living(Kind.MEMORY) if thing.size >= 8 and not thing.apart]
    here = [thing for thing in found if thing.context == world.context]
    if not here:
        raise Nothing
    return world.rng.choice(here).word


def write_value(address: int) -> bytes:
    """A CUstreamBatchMemOpParams whose ``writeValue`` is operation, address, value, flags, alias: 1 is written."""
    operation = pack("<IxxxxQQIxxxxQ", _WRITE_VALUE_32, address, 1, 0, 0)
    return operation.ljust(driver().struct("CUstreamBatchMemOpParams").bytes, b"\0")


def memory_operation(world: World) -> None:
    stream = world.stream()
    roll = world.rng.random()
    if roll < 0.4:
        world.call("cuStreamWriteValue32", stream=stream, addr=address(world), value=1, flags=world.mostly(0, 1))
    elif roll < 0.7:
        world.call("cuStreamWriteValue64", stream=stream, addr=address(world), value=1, flags=0)
    else:
        world.call("cuStreamBatchMemOp", stream=stream, count=1, paramArray=write_value(address(world)), flags=0)


def host_function(world: World) -> None:
    stream, function = world.stream(), world.mostly(world.player.host_function, 0)
    if world.rng.random() < 0.6:
        world.call("cuLaunchHostFunc", hStream=stream, fn=function)
    else:
        world.call("cuStreamAddCallback", hStream=stream, callback=function, flags=world.mostly(0, 1))


STEPS = ((4, memory_operation), (4, host_function))
