from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.accesses import COPIES, SETS, accesses
from cuvet.rules.evidence import documented, measured, recorded
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Allocation, Call, Context, Model


class MemoryOfAnotherDevice(Rule):
    """
    ## What it checks
    Memory of one device is set on a stream of another device, or stream-ordered memory of one device is copied there, and the
    call fails.

    ## Why it is wrong
    A set runs on the stream's device, which cannot reach the memory unless peer access was enabled. Stream-ordered memory is on the
    device of its pool, whatever stream it was allocated on, and does not follow peer access: its pool says who may reach it. To copy
    it, both the stream's device and the current one have to reach it.

    ## Use instead
    Make the memory's device current and use one of its streams, or enable peer access between the two devices;
    for stream-ordered memory, set the access to its pool.

    ## Limits
    Reported only when the call fails. Kernels that use memory of another device are not checked: they die with an
    illegal address. Copies of memory of `cuMemAlloc` between devices are allowed. Memory of pools that another process made is not judged.
    """

    code = "CV414"
    name = "memory-of-another-device"
    severity = "error"
    summary = "memory of one device is set or copied on another that cannot reach it"
    help = "use a stream of the memory's device, or enable peer access"
    entry_points = SETS | COPIES
    evidence = (
        measured(
            "cudaMemsetAsync of another device's memory: CUDA_ERROR_INVALID_VALUE; copies between the devices succeed",
            "stream_of_other_device",
        ),
        recorded(
            "stream-ordered memory of a pool of another device, set and copied: CUDA_ERROR_INVALID_VALUE, also if it was allocated on a "
            "stream of the device that copies; no error after cuMemPoolSetAccess"
        ),
        documented(
            "memory pool allocation accessibility does not follow cudaDeviceEnablePeerAccess or cuCtxEnablePeerAccess",
            "CUDA C++ Programming Guide, Stream Ordered Memory Allocator, Device Accessibility for Multi-GPU Support",
        ),
        measured(
            "a kernel that uses another device's memory: CUDA_ERROR_ILLEGAL_ADDRESS", "launch_memory_of_other_device"
        ),
    )
    VALID = (
        Example(
            "set on its own device",
            """
memory = cu.cuMemAlloc(64)
cu.cuMemsetD8Async(memory, 0, 64, 0)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)
""",
        ),
        Example(
            "pool that both devices may reach",
            """
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, location__type=1, location__id=1))
cu.cuMemPoolSetAccess(pool, cu.struct("CUmemAccessDesc", location__type=1, location__id=0, flags=3), 1)
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()
""",
            devices=2,
        ),
        Example(
            "freed with another device current",
            """
memory = cu.cuMemAlloc(64)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
cu.cuMemFree(memory)
""",
            devices=2,
            note="freeing and copying work from any device",
        ),
    )
    INVALID = (
        Example(
            "set with another device current",
            """
memory = cu.cuMemAlloc(64)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
cu.cuMemsetD8Async(memory, 0, 64, 0)  # error: [memory-of-another-device]
cu.cuMemFree(memory)
""",
            devices=2,
        ),
        Example(
            "pool of another device",
            """
pool = cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, location__type=1, location__id=1))
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)  # error: [memory-of-another-device]
""",
            devices=2,
            note="the stream is of device 0, the pool of device 1",
        ),
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        stream = model.stream_on(call)
        context = model.current_context(call) if stream is None else model.context_of(call, stream)
        if context is None or context.device is None:
            return
        current = model.current_context(call)
        for access in accesses(call):
            memory = model.allocation_at(access.address)
            if memory is None or not memory.alive or memory.device is None:
                continue
            if memory.variant == "stream-ordered":
                far = _of_pool(call, model, memory, context, current)
            elif call.name in SETS and memory.variant in ("linear", "pitched"):
                far = None if _reaches(context, memory.device) else context
            else:
                continue
            if far is None:
                continue
            where = stream.name if stream is not None and far is context else far.name
            yield Violation(
                rule=cls,
                message=f"{memory.name} of device {memory.device} is {_done(call)} on {where} of device {far.device}",
                objects=(memory,) if stream is None else (memory, stream),
                argument=access.argument,
                outcomes=(1,),
                only_if_failed=True,
            )


def _of_pool(call: Call, model: Model, memory: Allocation, context: Context, current: Context | None) -> Context | None:
    """The context that cannot reach this stream-ordered memory: of the stream, and for a copy also the current one."""
    given = model.reached_from(memory)
    if given is None:
        return None
    needed = [context] if call.name in SETS or current is None or not current.alive else [context, current]
    return next((each for each in needed if each.device not in (None, memory.device, *given)), None)


def _reaches(context: Context, device: int) -> bool:
    """Whether the context is of that device, or peer access from it to one of that device is enabled."""
    return context.device == device or any(peer.device == device for peer in context.peers)


def _done(call: Call) -> str:
    return "set" if call.name in SETS else "copied"
