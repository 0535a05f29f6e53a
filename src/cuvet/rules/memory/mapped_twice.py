from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class MemoryMappedTwice(CallRule):
    """
    checks: Memory is mapped at mapped addresses, or addresses are freed while memory is mapped there, and the call fails.
    why: An address can stand for one piece of memory only. The driver returns CUDA_ERROR_INVALID_VALUE and does not change the range.
    instead: Call `cuMemUnmap` for the whole mapping first.
    limits: Mappings that were made before the first call that was seen are not known.
    """

    code = "CV417"
    summary = "addresses are mapped or freed where memory is mapped"
    help = "unmap what is mapped there first"
    entry_points = frozenset({"cuMemMap", "cuMemAddressFree"})
    evidence = """
    recorded: cuMemMap where memory is mapped, and cuMemAddressFree of a range with a mapping: CUDA_ERROR_INVALID_VALUE
    documented: addresses must be reserved and not mapped (CUDA Driver API, Virtual Memory Management, cuMemMap)
    documented: unmaps a whole mapping (CUDA Driver API, Virtual Memory Management, cuMemUnmap)
    """
    VALID = """
## unmapped between
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemUnmap(addresses, size)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemUnmap(addresses, size)
cu.cuMemAddressFree(addresses, size)
cu.cuMemRelease(handle)

## side by side
note: the same memory at two addresses
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(2 * size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemMap(addresses + size, size, 0, handle, 0)
"""
    INVALID = """
## mapped twice, and given back
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)  # error: [memory-mapped-twice]
cu.cuMemAddressFree(addresses, size)  # error: [memory-mapped-twice]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        address, size = call.arg("ptr"), call.arg("size")
        for memory in model.overlapping_allocations(address, size):
            if memory.variant != "mapped" or memory.created_by is None:
                continue
            message = f"{memory.name} is mapped at {memory.handle:#x}"
            because = (f"it was mapped by {place(memory.created_by)}",)
            yield cls.refused(message, memory, argument=call.index("ptr"), because=because)
            return
