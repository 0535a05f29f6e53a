"""What cuInit itself answers, where no other probe says why it fails."""

import re

from cuvet.catalog import status_name
from cuvet.doctor import driver, elf
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown
from cuvet.doctor.probes import address_space, mps

TITLE = "cuInit"
GROUP: Group = "driver"

SYSTEM_NOT_READY = 802
_PACKAGES = "/var/lib/dpkg/status"
_EXPLAINED = (driver.STUB_LIBRARY, driver.NO_DEVICE, driver.SYSTEM_DRIVER_MISMATCH, driver.COMPAT_NOT_SUPPORTED)


def probe(machine: Machine) -> Conclusions:
    cuda = machine.state.cuda
    if (cuda.path is None and "cannot open shared object" in cuda.error) or not (cuda.path or cuda.error):
        yield unknown("there is no libcuda.so.1 to ask", "dlopen libcuda.so.1")
    elif cuda.status != 0 and not driver.is_present(machine):
        yield unknown("no NVIDIA driver is loaded", "cuInit")
    elif (
        cuda.error
        and cuda.path is None
        and any(not elf.read(machine, each.path) for each in driver.libcudas(machine)[:1])
    ):
        yield unknown(f"the loader cannot load libcuda: {cuda.error}", "dlopen libcuda.so.1")
    elif cuda.error:
        yield _failure("libcuda cannot be used", (cuda.error,))
    elif cuda.status == SYSTEM_NOT_READY:
        yield _not_ready(machine)
    elif cuda.status and not _is_explained(machine, cuda.status):
        name = status_name("driver", cuda.status)
        yield _failure(f"cuInit returned {name} ({cuda.status})", (f"{cuda.path}: cuInit returned {cuda.status}",))
    elif cuda.status:
        yield unknown(
            f"cuInit returned {status_name('driver', cuda.status)} ({cuda.status}); other probes look for the reason"
        )
    else:
        yield healthy(f"cuInit succeeds, {len(cuda.devices)} visible", "cuInit", evidence=(str(cuda.path),))


def _not_ready(machine: Machine) -> Conclusion:
    """The fabric manager starts only with the driver of its own version (its own message:
    https://github.com/NVIDIA/gpu-operator/issues/544)."""
    kernel, manager = driver.kernel_version(machine), _fabric_manager(machine)
    other = bool(manager and kernel and manager != kernel)
    return error(
        cause="driver-system-not-ready",
        verdict="cuInit returned CUDA_ERROR_SYSTEM_NOT_READY (802): "
        + (
            f"the fabric manager is of {manager} and does not start with driver {kernel}"
            if other
            else "a service that the driver needs is not running"
        ),
        looked_at=("cuInit", _PACKAGES),
        evidence=(
            f"{machine.state.cuda.path}: cuInit returned 802",
            *((f"{_PACKAGES}: nvidia-fabricmanager {manager}", f"{driver.PROC_VERSION}: {kernel}") if other else ()),
        ),
        fix=f"install nvidia-fabricmanager of exactly {kernel}, then: sudo systemctl restart nvidia-fabricmanager"
        if other
        else "sudo systemctl start nvidia-fabricmanager (GPUs behind NVSwitch), or in a container start it on the host",
    )


def _fabric_manager(machine: Machine) -> str | None:
    """``580.95.05``, of the Debian package that is installed; None if there is none."""
    found = re.search(
        r"^Package: nvidia-fabricmanager(?:-\d+)?\nStatus: install ok installed\n(?:(?!\n\n)[\s\S])*?^Version: (\d+(?:\.\d+)+)",
        machine.read_text(_PACKAGES) or "",
        re.MULTILINE,
    )
    return found[1] if found else None


def _is_explained(machine: Machine, status: int) -> bool:
    if status == mps.CONNECTION_FAILED:
        return mps.has_pipe(machine)
    if status == address_space.OUT_OF_MEMORY:
        return address_space.limit(machine) is not None
    return status in _EXPLAINED or (not driver.is_wsl(machine) and bool(driver.closed_nodes(machine)))


def _failure(verdict: str, evidence: tuple[str, ...]) -> Conclusion:
    return error(
        cause="driver-does-not-start",
        verdict=verdict,
        looked_at=("dlopen libcuda.so.1", "cuInit"),
        evidence=evidence,
        fix="sudo dmesg | grep -i -e NVRM -e Xid (the kernel module's own words); nvidia-smi shows whether NVML works",
    )
