"""Does the GPUs' compute mode let another process in?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, unknown
from cuvet.doctor.state import Gpu

TITLE = "compute mode"
GROUP: Group = "devices"

LOOKED_AT = ("nvmlDeviceGetComputeMode", "nvmlDeviceGetComputeRunningProcesses")


def probe(machine: Machine) -> Conclusions:
    gpus = driver.visible_gpus(machine)
    if not gpus:
        yield unknown("NVML lists no GPU")
    elif all(gpu.compute_mode == "default" for gpu in gpus):
        yield healthy("every GPU may be shared")
    for gpu in gpus:
        if gpu.compute_mode != "default":
            yield _restricted(machine, gpu, alone=len(gpus) == 1)


def _restricted(machine: Machine, gpu: Gpu, alone: bool) -> Conclusion:
    prohibited = gpu.compute_mode == "prohibited"
    taken = any("nvidia-cuda-mps" not in driver.holder_name(machine, holder) for holder in gpu.holders)
    verdict = "lets no program in: compute mode Prohibited" if prohibited else f"is in compute mode {gpu.compute_mode}"
    if taken and not prohibited:
        verdict += f", and process {gpu.holders[0].pid} has it"
    return Conclusion(
        severity=("error" if alone else "warning") if prohibited or taken else "note",
        cause="device-compute-mode",
        verdict=f"{gpu.name} {verdict}",
        evidence=(
            f"{gpu.uuid}: {gpu.compute_mode}",
            *(f"process {driver.holder_name(machine, holder)} has it" for holder in gpu.holders),
        ),
        fix=f"sudo nvidia-smi -i {gpu.uuid} -c DEFAULT"
        + ("" if prohibited else ", or let the processes share the GPU through MPS"),
    )
