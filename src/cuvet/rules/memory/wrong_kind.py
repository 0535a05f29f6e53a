from typing import NamedTuple

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.model import Allocation, Call, ModelView
from cuvet.model.accesses import ALLOCATED, WRITES, accesses, pinned_at
from cuvet.model.naming import member
from cuvet.rules.lifecycle import chain, place
from cuvet.rules.rule import CallRule, Violations


class _Needs(NamedTuple):
    """``parameter`` is an address in memory of one of these variants; with ``pinned``, or in pinned host memory. Of ``WRITES`` it is the
    address that is written to."""

    parameter: str
    variants: frozenset[str]
    what: str
    pinned: bool = False


_TABLE = {
    "cuIpcGetMemHandle": _Needs("dptr", ALLOCATED, "memory of cuMemAlloc"),
    "cuStreamWriteValue32": _Needs("addr", ALLOCATED, "memory of cuMemAlloc, or pinned", pinned=True),
    "cuStreamWriteValue64": _Needs("addr", ALLOCATED, "memory of cuMemAlloc, or pinned", pinned=True),
    "cuStreamBatchMemOp": _Needs("paramArray", ALLOCATED, "memory of cuMemAlloc, or pinned", pinned=True),
    "cuMemSetAccess": _Needs("ptr", frozenset({"mapped"}), "memory of cuMemMap"),
    "cuMemRetainAllocationHandle": _Needs("addr", frozenset({"mapped"}), "memory of cuMemMap"),
    "cuMemPoolExportPointer": _Needs("ptr", frozenset({"stream-ordered"}), "stream-ordered memory"),
    "cuMemAdvise": _Needs("devPtr", frozenset({"managed"}), "managed memory"),
    "cuMemPrefetchAsync": _Needs("devPtr", frozenset({"managed"}), "managed memory"),
    "cuMemRangeGetAttribute": _Needs("devPtr", frozenset({"managed"}), "managed memory"),
    "cuStreamAttachMemAsync": _Needs("dptr", frozenset({"managed"}), "managed memory"),
}


class MemoryWrongKind(CallRule):
    """
    checks: A call that takes one kind of memory is given another kind, or an address where there is no memory, and fails.
    why: `cuIpcGetMemHandle` and streams that write values take memory of `cuMemAlloc`. `cuMemSetAccess` takes memory of `cuMemMap`.
      Advice, prefetching and attaching take managed memory. For others the driver returns CUDA_ERROR_INVALID_VALUE. A common case is an
      allocator that was switched to stream-ordered memory, which `cuIpcGetMemHandle` does not take.
    instead: Allocate the memory with the function that the call needs. Share stream-ordered memory through its pool.
    limits: Where the system's own memory can be managed (`pageableMemoryAccess`), advice on it succeeds and is not reported.
    """

    code = "CV421"
    summary = "a call is given memory of another kind than it takes"
    help = "allocate the memory with the function that this call needs"
    entry_points = frozenset(_TABLE)
    evidence = """
    recorded: cuIpcGetMemHandle of stream-ordered and managed memory, cuStreamWriteValue32 and cuStreamBatchMemOp into
      such, cuMemSetAccess where nothing is mapped, cuMemAdvise of memory of cuMemAlloc: CUDA_ERROR_INVALID_VALUE
    documented: takes the base of an allocation of cuMemAlloc (CUDA Driver API, Memory Management, cuIpcGetMemHandle)
    documented: the whole range must be mapped (CUDA Driver API, Virtual Memory Management, cuMemSetAccess)
    documented: the range must be managed memory, or, where the device can access pageable memory, the system's (CUDA
      Driver API, Unified Addressing, cuMemAdvise)
    documented: memory from a managed memory pool is managed memory (CUDA Driver API, Unified Addressing,
      cuMemPrefetchAsync (CUDA 13))
    documented: cannot be used with managed memory (CUDA Driver API, Stream Memory Operations, cuStreamWriteValue32)
    """
    VALID = """
## advice for managed memory
memory = cu.cuMemAllocManaged(4096, 1)
read_mostly = 1
cu.cuMemAdvise(memory, 4096, read_mostly, cu.struct("CUmemLocation", type=1))
cu.cuMemFree(memory)

## prefetching memory from a pool of managed memory
stream = cu.cuStreamCreate(0)
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=2, location__type=1))
memory = cu.cuMemAllocFromPoolAsync(4096, pool, stream)
cu.cuMemPrefetchAsync(memory, 4096, cu.struct("CUmemLocation", type=1), 0, stream)
cu.cuMemFreeAsync(memory, stream)

## access to mapped memory
size = 2 << 20
properties = cu.struct("CUmemAllocationProp", type=1, location__type=1)
handle = cu.cuMemCreate(size, properties, 0)
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(addresses, size, 0, handle, 0)
cu.cuMemSetAccess(addresses, size, cu.struct("CUmemAccessDesc", location__type=1, flags=3), 1)
"""
    INVALID = """
## access before the mapping
size = 2 << 20
addresses = cu.cuMemAddressReserve(size, 0, 0, 0)
access = cu.struct("CUmemAccessDesc", location__type=1, flags=3)
cu.cuMemSetAccess(addresses, size, access, 1)  # error: [memory-wrong-kind]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        needs = _TABLE[call.name]
        if call.name in WRITES:
            stream, written = model.stream_on(call), next(iter(accesses(call)), None)
            if written is None or (stream is not None and stream.capture is not None):
                return
            address = written.address
        else:
            address = call.arg(needs.parameter)
        memory = model.allocation_at(address)
        if memory is not None and "managed" in needs.variants and _may_be_managed(memory, model):
            return
        lives = memory is not None and memory.alive
        if memory is not None and lives and memory.variant in needs.variants:
            return
        if needs.pinned and pinned_at(model, address) is not None:
            return
        if memory is None:
            message, because = f"there is no device memory at {address:#x}", tuple[str, ...]()
        elif lives and memory.created_by is not None:
            message = f"{memory.name} is {memory.variant} memory"
            because = (f"{memory.name} was allocated by {place(memory.created_by)}",)
        else:
            message, because = f"{memory.name} does not exist any more", chain(memory)
        yield cls.refused(
            f"{message}; {call.name} takes {needs.what}",
            memory,
            argument=call.index(needs.parameter),
            because=because,
            undefined=memory is not None and not lives and memory.freed_on is not None and memory.variant in ALLOCATED,
        )


def _may_be_managed(memory: Allocation, model: ModelView) -> bool:
    """Whether it came from a pool that may be one of managed memory: what a pool is, the call says that made it."""
    made = memory.created_by
    if memory.variant != "stream-ordered" or made is None or "pool" not in made.entry_point.index:
        return False
    pool = model.object_of(made, made.index("pool"), Kind.MEMORY_POOL)
    if pool is None or pool.created_by is None or pool.created_by.name != "cuMemPoolCreate":
        return pool is None or pool.created_by is None or pool.created_by.name != "cuDeviceGetDefaultMemPool"
    managed = catalog().enumerations["CUmemAllocationType"]["CU_MEM_ALLOCATION_TYPE_MANAGED"]
    return member(pool.created_by, "poolProps", "allocType") in (managed, None)
