from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class AddressRangeFreedInPart(CallRule):
    """
    checks: A range of addresses is freed (`cuMemAddressFree`) with another size than it was reserved with, or a part of a mapping is
      unmapped (`cuMemUnmap`), and the call fails.
    why: Ranges are freed, and mappings unmapped, only as a whole. The call returns CUDA_ERROR_INVALID_VALUE and changes nothing.
    instead: Pass the address that `cuMemAddressReserve` gave, and the size that it was given; those that `cuMemMap` was given.
    limits: Ranges that were reserved before the first call that was seen are not judged.
    """

    code = "CV432"
    summary = "a range of addresses is freed with another size than it was reserved with, or unmapped in part"
    help = "pass the size that cuMemAddressReserve, or cuMemMap, was given"
    entry_points = frozenset({"cuMemAddressFree", "cuMemUnmap"})
    evidence = """
    recorded: with another size, 4 of 4: CUDA_ERROR_INVALID_VALUE; with the same, and nothing mapped: no error
    documented: the size must be the same (CUDA Driver API, Virtual Memory Management, cuMemAddressFree)
    recorded: cuMemUnmap of 4096 bytes of a mapping of 2 MiB: CUDA_ERROR_INVALID_VALUE, 5 of 5; of all: no error
    documented: the range must be all of what was mapped: a part of a mapping cannot be unmapped (CUDA Driver API,
      Virtual Memory Management, cuMemUnmap)
    """
    VALID = """
## freed as a whole
size = 1 << 21
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemAddressFree(addresses, size)

## unmapped before
size = 1 << 21
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
handle = cu.cuMemCreate(size, cu.struct("CUmemAllocationProp", type=1, location__type=1), 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemUnmap(addresses, size)
cu.cuMemRelease(handle)
cu.cuMemAddressFree(addresses, size)
"""
    INVALID = """
## another size
size = 1 << 21
addresses = cu.cuMemAddressReserve(2 * size, 0, 0, 0)
cu.cuMemAddressFree(addresses, size)  # error: [address-range-freed-in-part]

## unmapped in part
size = 1 << 21
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
handle = cu.cuMemCreate(size, cu.struct("CUmemAllocationProp", type=1, location__type=1), 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemUnmap(addresses, 4096)  # error: [address-range-freed-in-part]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.name == "cuMemUnmap":
            yield from cls._unmapped(call, model)
            return
        found = model.object_of(call, call.index("ptr"), Kind.ADDRESS_RANGE)
        made = None if found is None or not found.alive else found.created_by
        if found is None or made is None or made.name != "cuMemAddressReserve" or made.arg("size") == call.arg("size"):
            return
        message = f"{found.name} is {made.arg('size')} bytes long, of which {call.arg('size')} are to be freed"
        yield cls.refused(message, found, argument=call.index("size"), because=(f"it was reserved by {place(made)}",))

    @classmethod
    def _unmapped(cls, call: Call, model: ModelView) -> Violations:
        start, size = call.arg("ptr"), call.arg("size")
        for memory in model.overlapping_allocations(start, size):
            if memory.variant == "mapped" and (memory.handle < start or start + size < memory.end):
                made = memory.created_by
                message = f"{memory.name} is {memory.size} bytes long, and not all of it is to be unmapped"
                because = () if made is None else (f"it was mapped by {place(made)}",)
                yield cls.refused(message, memory, argument=call.index("size"), because=because)
                return
