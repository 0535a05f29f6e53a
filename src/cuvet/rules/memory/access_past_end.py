from cuvet.model import Allocation, Call, HostMemory, ModelView
from cuvet.model.accesses import COPIES, SETS, Access, accesses, pinned_at
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations

_CHECKED = frozenset({"linear", "pitched", "managed", "stream-ordered"})
"""Variants whose size is that of one allocation: mapped memory may go on in the next mapping."""


class MemoryAccessPastEnd(CallRule):
    """
    checks: A copy or set touches bytes past the end of the allocation in which it starts. For copies of rows, the last row counts. In
      source code: a result of NVRTC or nvJitLink is written to a buffer of the size of another result.
    why: The bytes belong to nobody or to another allocation. The driver refuses the whole copy, even if another allocation follows.
    instead: Sizes are in bytes, except the counts of ``cuMemsetD16`` and ``cuMemsetD32``. Multiply the number of elements by their size
      once. Use the pitch that the allocation returned, not the width of a row.
    limits: Writes by kernels are not seen. Copies between arrays and batches of copies are not checked.
    """

    code = "CV406"
    summary = "a copy or set goes past the end of its allocation"
    help = (
        "check the size: it is in bytes and counts from the address that is given, not from the start of the allocation"
    )
    entry_points = COPIES | SETS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE, from one byte too many on, also when another allocation follows directly
      (memcpy_past_end, memset_past_end, memcpy_past_end_into_neighbour, memcpy_past_end_2mb,
      memcpy_past_end_stream_ordered, memcpy2d_past_end)
    documented: nvrtcGetCUBIN stores the cubin in the memory that it is given, and nvrtcGetCUBINSize tells the size of the cubin (NVRTC,
      Compilation, nvrtcGetCUBIN and nvrtcGetCUBINSize)
    documented: the start is srcDevice+srcY*srcPitch+srcXInBytes (CUDA Driver API, Memory Management, cuMemcpy2D)
    """
    VALID = """
## up to the last byte
note: cuMemsetD32 counts elements of four bytes
memory = cu.cuMemAlloc(4096)
cu.cuMemcpyHtoD(memory + 4000, cu.host(96), 96)
cu.cuMemsetD32(memory, 0, 1024)
cu.cuMemFree(memory)

## rows with the allocation's pitch
memory, pitch = cu.cuMemAllocPitch(100, 10, 4)
cu.cuMemsetD2D8(memory, pitch, 0, 100, 10)
cu.cuMemFree(memory)

## last row shorter than the pitch
note: the last row ends after its width, not after the pitch
memory = cu.cuMemAlloc(9 * 512 + 100)
cu.cuMemsetD2D8(memory, 512, 0, 100, 10)
cu.cuMemFree(memory)
"""
    INVALID = """
## copy of elements taken for bytes
memory = cu.cuMemAlloc(4096)
cu.cuMemcpyHtoD(memory, cu.host(8192), 8192)  # error: [memory-access-past-end]
cu.cuMemFree(memory)

## set that starts in the middle
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8(memory + 512, 0, 4096)  # error: [memory-access-past-end]
cu.cuMemFree(memory)

## one row too many
memory, pitch = cu.cuMemAllocPitch(100, 10, 4)
copy = cu.struct(
    "CUDA_MEMCPY2D",
    srcMemoryType=1, srcHost=cu.host(100 * 100), srcPitch=100,
    dstMemoryType=2, dstDevice=memory, dstPitch=pitch,
    WidthInBytes=100, Height=100,
)
cu.cuMemcpy2DUnaligned(copy)  # error: [memory-access-past-end]
cu.cuMemFree(memory)

## while other work uses the memory
note: the copy is not enqueued, so it races with nothing
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
small = cu.cuMemAlloc(64)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemcpyDtoDAsync(small, memory, 4096, b)  # error: [memory-access-past-end]
cu.cuCtxSynchronize()
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for access in accesses(call):
            memory = _memory(model, access) if access.side != "host" else None
            if memory is None or not memory.alive:
                continue
            if access.address + access.size <= memory.end:
                continue
            at = f" at byte {access.address - memory.handle}" if access.address > memory.handle else ""
            past = access.address + access.size - memory.end
            message = f"{access.work} of {access.shape} {access.where} {memory.name} of {memory.size} bytes{at}"
            because = (f"the {access.work} ends {past} byte{'s' if past > 1 else ''} past the end of {memory.name}",)
            yield cls.refused(message, memory, argument=access.argument, because=because)


def _memory(model: ModelView, access: Access) -> Allocation | HostMemory | None:
    """The device memory, or the memory of cuMemHostAlloc, that the access starts in, if its end is known."""
    pinned = pinned_at(model, access.address)
    if pinned is not None:
        return None if pinned.registered else pinned
    memory = model.allocation_at(access.address)
    return memory if memory is not None and memory.variant in _CHECKED else None
