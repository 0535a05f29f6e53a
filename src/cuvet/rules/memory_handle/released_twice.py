from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import LifeRule, named, place
from cuvet.rules.rule import Violations


class MemoryHandleReleasedTwice(LifeRule):
    """
    checks: A memory handle of `cuMemCreate` is released more often than it was created, imported and retained, and the call fails.
    why: References to a handle are counted. After the last release it is no handle any more: the behaviour is undefined by the
      documentation, and the driver was recorded to return CUDA_ERROR_INVALID_VALUE. What is mapped stays mapped until it is unmapped.
    instead:
      Release once for each `cuMemCreate`, `cuMemImportFromShareableHandle` and `cuMemRetainAllocationHandle`. It can be done right after
      `cuMemMap`: the mapping keeps the memory.
    limits: Handles that were made before the first call that was seen are not counted.
    """

    code = "CV431"
    summary = "a memory handle is released more often than it was made"
    help = "release a handle once for each call that made or retained it"
    kind = Kind.MEMORY_HANDLE
    entry_points = frozenset({"cuMemRelease"})
    outcomes = (1,)
    undefined = False
    only_if_failed = True
    only_for_dead = False
    evidence = """
    recorded: cuMemRelease after the last release: CUDA_ERROR_INVALID_VALUE
    documented: each import is paired with a release; the memory is freed when all its mappings are unmapped and all
      references to the handle released; releasing what is no valid handle is undefined (CUDA Driver API, Virtual Memory
      Management, cuMemRelease)
    documented: each must be released too (CUDA Driver API, Virtual Memory Management, cuMemRetainAllocationHandle)
    """
    VALID = """
## released once
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
cu.cuMemRelease(cu.cuMemCreate(size, properties, 0))

## released while mapped
note: the mapping keeps the memory
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemRelease(handle)
cu.cuMemUnmap(addresses, size)
cu.cuMemAddressFree(addresses, size)

## retained through the mapping after the last release
note: the handle is valid again
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemRelease(handle)
cu.cuMemRelease(cu.cuMemRetainAllocationHandle(addresses))
cu.cuMemUnmap(addresses, size)
cu.cuMemAddressFree(addresses, size)
"""
    INVALID = """
## released twice
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
cu.cuMemRelease(handle)
cu.cuMemRelease(handle)  # error: [memory-handle-released-twice]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named(call, model, Kind.MEMORY_HANDLE):
            dead = use.object
            if dead is not None and dead.destroyed_by is not None:
                yield cls.violation(
                    call, use, f"{dead.name} was released for the last time by {place(dead.destroyed_by)}"
                )
