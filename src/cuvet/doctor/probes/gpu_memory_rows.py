"""Does a GPU's memory repair itself: are rows to be remapped, or did that fail?

Source: NVIDIA GPU Memory Error Management, Row-Remapping (https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html).
"""

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, error, healthy, unknown, warning

TITLE = "rows of device memory"
GROUP: Group = "devices"

LOOKED_AT = ("nvmlDeviceGetRemappedRows",)


def probe(machine: Machine) -> Conclusions:
    gpus = machine.state.nvml.gpus
    for gpu in gpus:
        if gpu.remap_failed:
            yield error(
                cause="hardware-fault",
                verdict=f"remapping a row of the memory of {gpu.name} ({gpu.pci}) failed: the GPU is to be replaced",
                evidence=(f"{gpu.uuid}: nvmlDeviceGetRemappedRows: failure occurred",),
                fix="take the GPU out of use; nvidia-smi -q -d ROW_REMAPPER shows the rows",
            )
        elif gpu.remap_pending:
            yield warning(
                cause="hardware-fault",
                verdict=f"a row of the memory of {gpu.name} ({gpu.pci}) is to be remapped, which needs a reset of the GPU",
                evidence=(f"{gpu.uuid}: nvmlDeviceGetRemappedRows: pending",),
                fix=f"end all programs on it, then: sudo nvidia-smi --gpu-reset -i {gpu.uuid} (or reboot)",
            )
    if not any(gpu.remap_failed or gpu.remap_pending for gpu in gpus):
        yield healthy("no row waits for its remapping") if gpus else unknown("NVML lists no GPU")
