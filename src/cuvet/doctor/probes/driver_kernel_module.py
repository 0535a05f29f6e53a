"""Is libcuda of the same driver as the loaded kernel module?"""

from collections.abc import Iterator

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, error, healthy, unknown

TITLE = "kernel module and libcuda"
GROUP: Group = "driver"

LOOKED_AT = (driver.PROC_VERSION, driver.MODULE_VERSION, "name of the libcuda.so.1 that the loader takes")


def probe(machine: Machine) -> Conclusions:
    kernel = driver.kernel_version(machine)
    libcuda = next((c for c in driver.libcudas(machine) if not driver.is_stub(c) and not driver.is_compat(c)), None)
    version = driver.version_of(libcuda) if libcuda else None
    if kernel is None or libcuda is None:
        yield unknown("no kernel module is loaded" if kernel is None else "there is no libcuda.so.1")
    elif version is None:
        yield unknown(f"{libcuda.real} does not carry the driver's version in its name")
    elif version == kernel or driver.starts(machine):
        yield healthy(f"kernel module {kernel}, libcuda {version}", evidence=(libcuda.real,))
    else:
        host = driver.is_container(machine)
        yield error(
            cause="driver-kernel-module-mismatch",
            verdict=f"the loaded kernel module is of driver {kernel}, libcuda of driver {version}",
            evidence=(
                f"{driver.PROC_VERSION}: {kernel}",
                f"{libcuda.real} ({libcuda.why}): {version}",
                *_answers(machine),
            ),
            fix="restart the container: the host's driver was changed under it"
            if host
            else "sudo reboot (or unload nvidia_uvm, nvidia_drm, nvidia_modeset and nvidia, then: sudo modprobe nvidia)",
        )


def _answers(machine: Machine) -> Iterator[str]:
    if machine.state.cuda.status:
        yield f"cuInit returned {machine.state.cuda.status}"
    if machine.state.nvml.error:
        yield machine.state.nvml.error
