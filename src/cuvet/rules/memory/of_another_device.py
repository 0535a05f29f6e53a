from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.accesses import COPIES, SETS, accesses
from cuvet.rules.evidence import measured, recorded
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Context, Model


class MemoryOfAnotherDevice(Rule):
    """
    ## What it checks
    Memory of one device is set on a stream of another device, or stream-ordered memory of one device is copied there, and the
    call fails.

    ## Why it is wrong
    A set runs on the stream's device, which cannot reach the memory unless peer access was enabled.

    ## Use instead
    Make the memory's device current and use one of its streams, or enable peer access between the two devices;
    for stream-ordered memory, set the access to its pool.

    ## Limits
    Reported only when the call fails. Kernels that use memory of another device are not checked: they die with an
    illegal address. Copies of memory of `cuMemAlloc`
    between devices are allowed. Once the access to any pool was set (`cuMemPoolSetAccess`), stream-ordered memory is not judged.
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
        recorded("stream-ordered memory of another device, set and copied: CUDA_ERROR_INVALID_VALUE"),
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
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        stream = model.stream_on(call)
        context = model.current_context(call) if stream is None else model.context_of(call, stream)
        if context is None or context.device is None:
            return
        for access in accesses(call):
            memory = model.allocation_at(access.address)
            if memory is None or not memory.alive or memory.device is None or _reaches(context, memory.device):
                continue
            if memory.variant == "stream-ordered":
                if model.pools_shared or memory.created_by is None or memory.created_by.name != "cuMemAllocAsync":
                    continue
            elif call.name not in SETS or memory.variant not in ("linear", "pitched"):
                continue
            where = context.name if stream is None else stream.name
            yield Violation(
                rule=cls,
                message=f"{memory.name} of device {memory.device} is {_done(call)} on {where} of device {context.device}",
                objects=(memory,) if stream is None else (memory, stream),
                argument=access.argument,
                outcomes=(1,),
                only_if_failed=True,
            )


def _reaches(context: Context, device: int) -> bool:
    """Whether the context is of that device, or peer access from it to one of that device is enabled."""
    return context.device == device or any(peer.device == device for peer in context.peers)


def _done(call: Call) -> str:
    return "set" if call.name in SETS else "copied"
