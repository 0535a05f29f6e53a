"""What cuInit itself answers, where no other probe says why it fails."""

from cuvet.catalog import status_name
from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown

TITLE = "cuInit"
GROUP: Group = "driver"

SYSTEM_NOT_READY = 802
_EXPLAINED = (driver.STUB_LIBRARY, driver.NO_DEVICE, driver.SYSTEM_DRIVER_MISMATCH, driver.COMPAT_NOT_SUPPORTED)


def probe(machine: Machine) -> Conclusions:
    cuda = machine.state.cuda
    if (cuda.path is None and "cannot open shared object" in cuda.error) or not (cuda.path or cuda.error):
        yield unknown("there is no libcuda.so.1 to ask", "dlopen libcuda.so.1")
    elif cuda.status != 0 and not driver.is_present(machine):
        yield unknown("no NVIDIA driver is loaded", "cuInit")
    elif cuda.error:
        yield _failure("libcuda cannot be used", (cuda.error,))
    elif cuda.status == SYSTEM_NOT_READY:
        yield error(
            cause="driver-system-not-ready",
            verdict="cuInit returned CUDA_ERROR_SYSTEM_NOT_READY (802): a service that the driver needs is not running",
            looked_at=("cuInit",),
            evidence=(f"{cuda.path}: cuInit returned 802",),
            fix="sudo systemctl start nvidia-fabricmanager (GPUs behind NVSwitch), or in a container start it on the host",
        )
    elif cuda.status and not _is_explained(machine, cuda.status):
        name = status_name("driver", cuda.status)
        yield _failure(f"cuInit returned {name} ({cuda.status})", (f"{cuda.path}: cuInit returned {cuda.status}",))
    elif cuda.status:
        yield unknown(
            f"cuInit returned {status_name('driver', cuda.status)} ({cuda.status}); other probes look for the reason"
        )
    else:
        yield healthy(f"cuInit succeeds, {len(cuda.devices)} visible", "cuInit", evidence=(str(cuda.path),))


def _is_explained(machine: Machine, status: int) -> bool:
    return status in _EXPLAINED or (not driver.is_wsl(machine) and bool(driver.closed_nodes(machine)))


def _failure(verdict: str, evidence: tuple[str, ...]) -> Conclusion:
    return error(
        cause="driver-does-not-start",
        verdict=verdict,
        looked_at=("dlopen libcuda.so.1", "cuInit"),
        evidence=evidence,
        fix="sudo dmesg | grep -i -e NVRM -e Xid (the kernel module's own words); nvidia-smi shows whether NVML works",
    )
