from cuvet.model import Allocation, Call, Context, ModelView, Stream
from cuvet.model.accesses import ALLOCATED, COPIES, SETS, WRITES, Access, accesses
from cuvet.model.naming import member
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations

_BY_ACCESS = frozenset({"stream-ordered", "mapped"})
"""Variants of memory that no peer access opens."""
_OF_MAPPING = "give the device access to the mapped range with cuMemSetAccess"


class MemoryOfAnotherDevice(CallRule):
    """
    checks: Memory of one device is set, or a value is written to it, on a stream of another device, and the call fails. Or a device
      copies stream-ordered or mapped memory that it cannot reach, and the call fails.
    why: A set or a write of a value runs on the stream's device, which reaches the memory only if peer access is enabled. Stream-ordered
      memory is on the device of its pool, whatever stream it was allocated on. Its pool says which devices reach it; peer access does
      not. For a copy, the current device must reach the memory, whichever stream copies. For a copy between two contexts, the device of
      the context that is passed with it must. Mapped memory is reached from the devices that `cuMemSetAccess` names.
    instead: Make the memory's device current and use one of its streams, or enable peer access between the two devices. For
      stream-ordered memory, set the access of its pool.
    limits: Reported only when the call fails. Kernels that use memory of another device are not checked: they die with an illegal
      address. Copies of memory of `cuMemAlloc` between devices are allowed. Memory of pools of other processes is not judged. In a
      capture the driver does not check sets and writes.
    """

    code = "CV414"
    summary = "memory of one device is set or copied on another that cannot reach it"
    help = "use a stream of the memory's device, or enable peer access"
    entry_points = SETS | COPIES | WRITES
    only_when = beyond_ordinary_memory
    evidence = """
    measured: cudaMemsetAsync of another device's memory: CUDA_ERROR_INVALID_VALUE; copies between the devices succeed
      (stream_of_other_device)
    recorded: stream-ordered memory of a pool of another device, set and copied: CUDA_ERROR_INVALID_VALUE, also if it
      was allocated on a stream of the device that copies; no error after cuMemPoolSetAccess. 20 copies on a stream of
      the memory's device, another current: the same; 5 on a stream of another device, the memory's current: no error.
      cuMemcpyPeer of memory of the device of the context that is passed with it: 28 of 28 without error; of another
      device: 5 of 5 CUDA_ERROR_INVALID_VALUE
    recorded: mapped memory copied or set, 41 of 41 times with access from the device: no error; without:
      CUDA_ERROR_INVALID_VALUE, 3 of 3
    recorded: cuStreamWriteValue32 and cuStreamWriteValue64 into memory of cuMemAlloc of another device than the
      stream's, 8 of 8, and cuStreamBatchMemOp, 3 of 3: CUDA_ERROR_INVALID_VALUE
    documented: access to memory of pools does not follow peer access (CUDA C++ Programming Guide, Stream Ordered Memory
      Allocator, Device Accessibility for Multi-GPU Support)
    measured: a kernel that uses another device's memory: CUDA_ERROR_ILLEGAL_ADDRESS (launch_memory_of_other_device)
    """
    VALID = """
## set on its own device
memory = cu.cuMemAlloc(64)
cu.cuMemsetD8Async(memory, 0, 64, 0)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## pool that both devices may reach [devices=2]
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, location__type=1, location__id=1))
cu.cuMemPoolSetAccess(pool, cu.struct("CUmemAccessDesc", location__type=1, location__id=0, flags=3), 1)
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()

## freed with another device current [devices=2]
note: freeing and copying work from any device
memory = cu.cuMemAlloc(64)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
cu.cuMemFree(memory)
"""
    INVALID = """
## set with another device current [devices=2]
memory = cu.cuMemAlloc(64)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
cu.cuMemsetD8Async(memory, 0, 64, 0)  # error: [memory-of-another-device]
cu.cuMemFree(memory)

## pool of another device [devices=2]
note: the stream is of device 0, the pool of device 1
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, location__type=1, location__id=1))
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)  # error: [memory-of-another-device]

## value written with another device current [devices=2]
memory = cu.cuMemAlloc(64)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
cu.cuStreamWriteValue32(0, memory, 1, 0)  # error: [memory-of-another-device]

## mapped without access
note: nobody gave access with cuMemSetAccess
size = 2 << 20
handle = cu.cuMemCreate(size, cu.struct("CUmemAllocationProp", type=1, location__type=1), 0)
space = cu.cuMemAddressReserve(size, 0, 0, 0)
cu.cuMemMap(space, size, 0, handle, 0)
cu.cuMemsetD8(space, 0, 64)  # error: [memory-of-another-device]

## passed as memory of another context [devices=2]
note: the memory is of device 0
other = cu.cuDevicePrimaryCtxRetain(1)
stream, there = cu.cuStreamCreate(0), cu.cuMemAlloc(64)
memory = cu.cuMemAllocAsync(64, stream)
cu.cuStreamSynchronize(stream)
cu.cuMemcpyPeer(there, context, memory, other, 64)  # error: [memory-of-another-device]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_on(call)
        for access in accesses(call):
            memory = model.allocation_at(access.address)
            context = _has_to_reach(call, model, access, stream)
            if memory is None or not memory.alive or context is None or not _judged(call, memory):
                continue
            if model.reaches(context, memory):
                continue
            of = "" if memory.variant == "mapped" else f" of device {memory.device}"
            where = context.name if stream is None or stream.context is not context else stream.name
            yield cls.refused(
                f"{memory.name}{of} is {_done(call)} on {where} of device {context.device}, which has no access to it",
                memory,
                stream,
                argument=access.argument,
                help=_OF_MAPPING if memory.variant == "mapped" else "",
            )


def _judged(call: Call, memory: Allocation) -> bool:
    if call.name in WRITES:
        return memory.variant in ALLOCATED
    return memory.variant in _BY_ACCESS or (call.name in SETS and memory.variant in ALLOCATED)


def _has_to_reach(call: Call, model: ModelView, access: Access, stream: Stream | None) -> Context | None:
    """The context that the memory is to be reached from: of the stream, for a copy the current one, for a copy between two contexts the
    one that is passed with the address. None if there is none, or none is looked at."""
    if call.name not in COPIES:
        if stream is None:
            return model.current_context(call)
        return None if stream.capture is not None else model.context_of(call, stream)
    end = f"{'dst' if access.writes else 'src'}Context"
    if "Peer" in call.name:
        return model.context_at(call.arg(end) if end in call.entry_point.index else member(call, "pCopy", end) or 0)
    current = model.current_context(call)
    return current if current is not None and current.alive else None


def _done(call: Call) -> str:
    return "copied" if call.name in COPIES else "set" if call.name in SETS else "written to"
