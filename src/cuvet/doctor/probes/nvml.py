"""Does NVML work, where CUDA does? nvidia-smi and frameworks ask it."""

from cuvet.doctor import driver, loader
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, unknown, warning

TITLE = "NVML"
GROUP: Group = "driver"

_SONAME = "libnvidia-ml.so.1"
LOOKED_AT = (f"{_SONAME} on the loader's path", "nvmlInit_v2", driver.PROC_VERSION)


def probe(machine: Machine) -> Conclusions:
    nvml, kernel = machine.state.nvml, driver.kernel_version(machine)
    first = loader.first(machine, _SONAME)
    if nvml.driver or not nvml.error or first is None or machine.state.cuda.status != 0:
        verdict = f"NVML tells of {len(nvml.gpus)} GPUs" if nvml.gpus else "NVML tells nothing"
        yield healthy(verdict) if nvml.gpus else unknown(verdict)
        return
    version = driver.version_of(first)
    other = bool(version and kernel and version != kernel)
    yield warning(
        cause="driver-kernel-module-mismatch" if other else "driver-does-not-start",
        verdict=f"CUDA works and NVML does not, which nvidia-smi and frameworks ask: {nvml.error}",
        evidence=(
            f"{first.path} ({first.why}): {first.real}",
            *([f"{driver.PROC_VERSION}: {kernel}"] if other else []),
        ),
        fix=driver.how_to_unlist(machine, first)
        if other
        else "nvidia-smi shows NVML's error; sudo dmesg | grep -i NVRM",
    )
