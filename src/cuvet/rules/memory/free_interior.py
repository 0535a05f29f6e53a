from cuvet.model import Call, ModelView
from cuvet.rules.frees import ENTRY_POINTS, Case, freed
from cuvet.rules.lifecycle import chain
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryFreeInterior(CallRule):
    """
    checks: A free function is given an address inside an allocation that is not its start.
    why: The free functions take only the address that the allocation returned. The call fails, and the memory stays allocated.
    instead: Keep the pointer that the allocation returned, and do arithmetic on a copy of it.
    limits: Only allocations that were seen are recognised.
    """

    code = "CV402"
    summary = "a pointer into the middle of an allocation is freed"
    help = "free the address that the allocation returned"
    entry_points = ENTRY_POINTS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE from every free function; the memory stays allocated (free_interior,
      freeasync_interior, freehost_interior)
    documented: frees what an allocation function returned (CUDA Driver API, Memory Management, cuMemFree)
    """
    VALID = """
## the pointer that was returned
memory = cu.cuMemAlloc(1 << 20)
inside = memory + 64
cu.cuMemsetD8(inside, 0, 64)
cu.cuMemFree(memory)

## neighbouring allocations
note: the end of one allocation may be the start of the next
first = cu.cuMemAlloc(4096)
second = cu.cuMemAlloc(4096)
cu.cuMemFree(second)
cu.cuMemFree(first)
"""
    INVALID = """
## device memory
memory = cu.cuMemAlloc(1 << 20)
cu.cuMemFree(memory + 64)  # error: [memory-free-interior]
cu.cuMemFree(memory)

## stream-ordered memory
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeAsync(memory + 256, 0)  # error: [memory-free-interior]
cu.cuMemFreeAsync(memory, 0)

## pinned host memory
memory = cu.cuMemHostAlloc(8192, 0)
cu.cuMemFreeHost(memory + 64)  # error: [memory-free-interior]
cu.cuMemFreeHost(memory)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        found = given.object
        if given.case is not Case.INTERIOR or found is None:
            return
        message = f"{given.address:#x} is {given.address - found.handle} bytes into {found.name}, not its start"
        yield cls.refused(message, found, argument=given.argument, because=chain(found))
