"""Can this user open the device nodes of the GPUs?"""

import errno
import stat

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown

TITLE = "device nodes"
GROUP: Group = "devices"

LOOKED_AT = (*driver.CONTROL_NODES, "/dev/nvidia0, /dev/nvidia1, …")


def probe(machine: Machine) -> Conclusions:
    if driver.is_wsl(machine) or driver.kernel_version(machine) is None:
        yield unknown("no NVIDIA kernel module is loaded", driver.PROC_VERSION)
        return
    if not driver.libcudas(machine):
        yield unknown("there is no libcuda that would open them", "libcuda.so.1 on the loader's path")
        return
    closed = driver.closed_nodes(machine)
    refused = [path for path, error in closed.items() if error in (errno.EACCES, errno.EPERM)]
    absent = [path for path, error in closed.items() if error == errno.ENOENT]
    hidden = machine.state.cuda.status == driver.NO_DEVICE and bool(machine.state.nvml.gpus)  # NVML opened its nodes
    if machine.state.cuda.status == 0 or not (refused or (absent and not hidden)):
        yield healthy("the device nodes that CUDA needs can be opened")
    elif refused:
        yield _refused(machine, refused)
    else:
        yield _absent(machine, absent)


def _refused(machine: Machine, refused: list[str]) -> Conclusion:
    modes = {path: stat.S_IMODE(machine.stat(path).st_mode) for path in refused}
    open_to_all = all(mode & 0o006 == 0o006 for mode in modes.values())
    by_container = (
        "start the container with --gpus all (or --device nvidia.com/gpu=all): its device rules refuse these nodes"
    )
    return error(
        cause="device-node-permission",
        verdict=f"user {machine.uid} may not open {', '.join(refused)}",
        evidence=tuple(f"{path}: mode {mode:04o}, owner {machine.stat(path).st_uid}" for path, mode in modes.items()),
        fix=by_container
        if open_to_all
        else f"sudo chmod 0666 {' '.join(refused)} (for good: NVreg_DeviceFileMode=0666), or join the group that owns them",
    )


def _absent(machine: Machine, absent: list[str]) -> Conclusion:
    return error(
        cause="device-node-missing",
        verdict=f"the kernel module is loaded, but {', '.join(absent)} is missing",
        evidence=tuple(f"{path}: missing" for path in absent),
        fix="docker run --gpus all … (this container was started without the GPUs' nodes)"
        if driver.is_container(machine)
        else "sudo nvidia-modprobe -c 0 -u",
    )
