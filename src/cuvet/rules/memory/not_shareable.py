from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.naming import member
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations

_OWNERS = {
    "cuMemExportToShareableHandle": (Kind.MEMORY_HANDLE, "handle"),
    "cuMemPoolExportToShareableHandle": (Kind.MEMORY_POOL, "pool"),
}
_TYPES = {"cuMemCreate": ("prop", "requestedHandleTypes"), "cuMemPoolCreate": ("poolProps", "handleTypes")}
"""Where the kinds of handles stand that memory or a pool is made for."""


class MemoryNotShareable(CallRule):
    """
    checks: Memory or a pool is exported to other processes but was not created for that kind of handle, and the call fails.
    why: What can be exported is decided at creation: `requestedHandleTypes` of `cuMemCreate`, `handleTypes` of `cuMemPoolCreate`. If the
      type is missing there, the driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Create the memory or the pool with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or with the type that the other process opens.
    limits: Known only if the creation was seen with its properties.
    """

    code = "CV422"
    summary = "memory is exported that was not created for export"
    help = "ask for the type of handle when the memory or the pool is created"
    entry_points = frozenset({*_OWNERS, "cuMemPoolExportPointer"})
    evidence = """
    recorded: cuMemExportToShareableHandle and cuMemPoolExportToShareableHandle of what was made without that kind of
      handle, and cuMemPoolExportPointer of memory of such a pool or of a device's default pool:
      CUDA_ERROR_INVALID_VALUE
    documented: a pool that can be exported is made with handle types other than CU_MEM_HANDLE_TYPE_NONE (CUDA Driver
      API, Stream Ordered Memory Allocator, cuMemPoolExportToShareableHandle)
    """
    VALID = """
## pool made for export
descriptor = 1
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, handleTypes=descriptor, location__type=1))
cu.cuMemPoolDestroy(pool)

## memory made for export
size, descriptor = 2 << 20, 1
properties = cu.struct("CUmemAllocationProp", type=1, requestedHandleTypes=descriptor, location__type=1)
cu.cuMemRelease(cu.cuMemCreate(size, properties, 0))
"""
    INVALID = """
## memory of a default pool
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemPoolExportPointer(cu.host(64), memory)  # error: [memory-not-shareable]
cu.cuMemFreeAsync(memory, 0)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        found, wanted = _owner(call, model)
        made = None if found is None or not found.alive else found.created_by
        if found is None or made is None:
            return
        types = 0 if made.name == "cuMemAllocAsync" else _types(made)
        if types is None or (types if wanted is None else types & wanted):
            return
        yield cls.refused(
            f"{found.name} was not made to be exported" + ("" if wanted is None else f" as a handle of type {wanted}"),
            found,
            argument=len(call.args) - 1 if call.name == "cuMemPoolExportPointer" else _index(call),
            because=(f"it was made by {place(made)}",),
        )


def _owner(call: Call, model: ModelView) -> tuple[Object | None, int | None]:
    """What is exported, or the pool that it comes from; and as what type of handle, None if that is all the same."""
    if call.name in _OWNERS:
        kind, _ = _OWNERS[call.name]
        return model.object_of(call, _index(call), kind), call.arg("handleType")
    memory = model.allocation_at(call.arg("ptr"))
    if memory is None or not memory.alive or memory.variant != "stream-ordered" or memory.created_by is None:
        return None, None
    made = memory.created_by
    return (model.find(Kind.MEMORY_POOL, made.arg("pool")) if "pool" in made.entry_point.index else memory), None


def _index(call: Call) -> int:
    return call.index(_OWNERS[call.name][1])


def _types(made: Call) -> int | None:
    where = _TYPES.get(made.name)
    return None if where is None else member(made, *where)
