from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.accesses import SETS, accesses
from cuvet.rules.evidence import measured
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


class MemoryOfAnotherDevice(Rule):
    """
    ## What it checks
    Memory of one device is set on a stream of another device.

    ## Why it is wrong
    A set runs on the stream's device, which cannot reach the memory unless peer access was enabled.

    ## Use instead
    Make the memory's device current and use one of its streams, or enable peer access between the two devices.

    ## Limits
    Reported only when the call fails. Kernels that use memory of another device are not checked: they die with an
    illegal address. Copies between devices are allowed.
    """

    code = "CV414"
    name = "memory-of-another-device"
    severity = "error"
    summary = "memory of one device is set on a stream of another"
    help = "use a stream of the memory's device"
    entry_points = SETS
    evidence = (
        measured(
            "cudaMemsetAsync of another device's memory: CUDA_ERROR_INVALID_VALUE; copies between the devices succeed",
            "stream_of_other_device",
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
        device = stream.device if stream is not None else None
        if stream is None or device is None:
            return
        for access in accesses(call):
            memory = model.allocation_at(access.address)
            if memory is None or not memory.alive or memory.variant not in ("linear", "pitched"):
                continue
            if memory.device is None or memory.device == device:
                continue
            yield Violation(
                rule=cls,
                message=f"{memory.name} of device {memory.device} is set on {stream.name} of device {device}",
                objects=(memory, stream),
                argument=access.argument,
                outcomes=(1,),
                only_if_failed=True,
            )
