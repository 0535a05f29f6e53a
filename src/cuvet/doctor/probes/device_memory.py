"""Is there free memory on the GPUs, and who holds the rest?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, unknown, warning
from cuvet.doctor.state import Gpu, Holder

TITLE = "free device memory"
GROUP: Group = "memory"

GIB = 1 << 30
_LITTLE = GIB
"""Less than this is warned of: contexts and cuDNN handles already need some hundred MiB. Of a small GPU, less than a quarter."""
LOOKED_AT = ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses")


def probe(machine: Machine) -> Conclusions:
    gpus = [gpu for gpu in driver.visible_gpus(machine) if gpu.memory_bytes and not gpu.mig]
    full = [gpu for gpu in gpus if gpu.memory_free_bytes < min(_LITTLE, gpu.memory_bytes // 4)]
    if not gpus:
        yield unknown("NVML tells no GPU's memory")
    elif not full:
        evidence = tuple(f"{gpu.name}, {gpu.uuid}: {_free(gpu)} free" for gpu in gpus)
        yield healthy("every visible GPU has free memory", evidence=evidence)
    for gpu in full:
        yield _held(machine, gpu)


def _free(gpu: Gpu) -> str:
    return f"{gpu.memory_free_bytes / GIB:.1f} of {gpu.memory_bytes / GIB:.1f} GiB"


def _held(machine: Machine, gpu: Gpu) -> Conclusion:
    holders = sorted(gpu.holders, key=lambda holder: -(holder.bytes or 0))
    named = tuple(_holder(machine, holder) for holder in holders)
    return warning(
        cause="device-memory-held",
        verdict=f"{gpu.name} has {_free(gpu)} of memory free",
        evidence=(f"{gpu.uuid}: {_free(gpu)} free", *(named or ("NVML names no process that holds it",))),
        fix=f"end process {holders[0].pid}, let it hold less, or use another GPU (CUDA_VISIBLE_DEVICES)"
        if holders
        else "sudo fuser -v /dev/nvidia* (which processes have the GPU open), or use another GPU (CUDA_VISIBLE_DEVICES)",
    )


def _holder(machine: Machine, holder: Holder) -> str:
    size = f"{holder.bytes / GIB:.1f} GiB" if holder.bytes is not None else "an amount that the driver does not tell"
    return f"process {driver.holder_name(machine, holder)} holds {size}"
