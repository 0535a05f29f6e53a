"""The NVIDIA driver on a machine: the kernel module's version, and which libcuda a program would get."""

import os
import re
from functools import cache

from cuvet.doctor import loader, python, state
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.state import Gpu, Holder
from cuvet.sonames import DRIVER

PROC_VERSION = "/proc/driver/nvidia/version"
MODULE_VERSION = "/sys/module/nvidia/version"
CONTROL_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
WSL_LIBRARIES = "/usr/lib/wsl/lib"
MINIMUM_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""Oldest Linux driver for programs of a CUDA major version: CUDA Toolkit Release Notes, table of minimum required drivers."""

STUB_LIBRARY = 34
NO_DEVICE = 100
SYSTEM_DRIVER_MISMATCH = 803
COMPAT_NOT_SUPPORTED = 804


@cache
def kernel_version(machine: Machine) -> str | None:
    """``580.95.05`` of the loaded kernel module, also by NVML; None if none is loaded. OSError if it cannot be read."""
    text = machine.read_text(PROC_VERSION)
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+\.[\d.]+)", text) if text else None
    if found:
        return found[1]
    return (machine.read_text(MODULE_VERSION) or "").strip() or machine.state.nvml.driver or None


def is_present(machine: Machine) -> bool:
    """Whether there is a driver to ask, whether or not it answers well."""
    if is_wsl(machine):
        return any(is_of_windows(machine, library) for library in libcudas(machine)[:1])
    return machine.state.cuda.status == 0 or kernel_version(machine) is not None


@cache
def closed_nodes(machine: Machine) -> dict[str, int]:
    """The device nodes that keep a CUDA program out, each with the errno of opening it: those of the driver itself, and the GPUs'
    if not one of them can be opened."""
    found = [path for path in machine.glob("/dev/nvidia[0-9]*") if path.removeprefix("/dev/nvidia").isdecimal()]
    gpus = {path: machine.open_error(path) for path in found or ["/dev/nvidia0"]}
    control = {path: error for path in CONTROL_NODES if (error := machine.open_error(path))}
    return {**control, **(gpus if all(gpus.values()) else {})}


@cache
def requesters(machine: Machine) -> tuple[str, ...]:
    """Who asks the loader for libcuda, and what loaded that, up to the executable: a shared libcudart, or the executable itself."""
    if machine.program is None or machine.python:
        interpreter = python.interpreter(machine)
        return (interpreter,) if interpreter else ()
    closure = loader.closure(machine, machine.program)
    parents = {library.copy.path: library.needed_by for library in closure.loaded}
    chain = [library.copy.path for library in closure.find("libcudart")[:1]] or [machine.program]
    while (parent := parents.get(chain[-1])) and parent not in chain:
        chain.append(parent)
    return tuple(chain)


def libcudas(machine: Machine) -> tuple[Copy, ...]:
    """Every libcuda.so.1 that the program may get, in the loader's order."""
    return loader.copies(machine, DRIVER, requesters(machine))


def version_of(library: Copy) -> str | None:
    """``580.95.05`` of a file named ``libcuda.so.580.95.05``, as drivers install it."""
    found = re.search(r"\.so\.(\d{3,}(?:\.\d+)+)$", library.real)
    return found[1] if found else None


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def is_stub(library: Copy) -> bool:
    """Whether it is the toolkit's file to link against, which has no driver behind it."""
    return "stubs" in library.real.split("/") or "stubs" in library.path.split("/")


def is_compat(library: Copy) -> bool:
    """Whether it is of a cuda-compat package, which serves drivers older than itself."""
    return any(part.startswith(("compat", "cuda-compat")) for part in os.path.dirname(library.real).split("/"))


def starts(machine: Machine) -> bool:
    """Whether cuInit succeeded with the very libcuda that the program would get."""
    cuda, copies = machine.state.cuda, libcudas(machine)
    return cuda.status == 0 and bool(copies) and cuda.path is not None and machine.realpath(cuda.path) == copies[0].real


def supported_cuda(machine: Machine) -> tuple[int, int] | None:
    """(13, 0): the newest CUDA version that the driver supports; None if it does not say."""
    version = machine.state.cuda.version or machine.state.nvml.cuda
    return state.release_of(version) if version else None


def visible_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """NVML's entries for the GPUs that the program sees; all that NVML lists where that cannot be told."""
    visible = {device.uuid for device in machine.state.cuda.devices}
    gpus = machine.state.nvml.gpus
    return tuple(gpu for gpu in gpus if gpu.uuid in visible) or gpus


def is_wsl(machine: Machine) -> bool:
    return "microsoft" in (machine.read_text("/proc/sys/kernel/osrelease") or "").lower()


def is_of_windows(machine: Machine, library: Copy) -> bool:
    """Under WSL: whether it is the Windows driver's, and not that of a Linux driver."""
    return os.path.dirname(library.real) == machine.realpath(WSL_LIBRARIES) or "/wsl/" in library.real


def is_container(machine: Machine) -> bool:
    """Docker, Podman and Kubernetes leave one of these."""
    return (
        machine.exists("/.dockerenv")
        or machine.exists("/run/.containerenv")
        or "container" in machine.environ
        or "KUBERNETES_SERVICE_HOST" in machine.environ
    )


@cache
def pci_gpus(machine: Machine) -> tuple[tuple[str, str | None], ...]:
    """(address, kernel driver bound to it) of every display controller of NVIDIA on the PCI bus."""
    found = []
    for vendor in machine.glob("/sys/bus/pci/devices/*/vendor"):
        directory = os.path.dirname(vendor)
        kind = machine.read_text(f"{directory}/class") or ""
        if (machine.read_text(vendor) or "").strip() == "0x10de" and kind.startswith("0x03"):
            link = f"{directory}/driver"
            bound = os.path.basename(machine.realpath(link)) if machine.exists(link) else None
            found.append((os.path.basename(directory), bound))
    return tuple(found)


def how_to_unlist(machine: Machine, library: Copy) -> str:
    """What takes the directory of this copy off the loader's path."""
    directory = os.path.dirname(library.path)
    if library.why == "LD_LIBRARY_PATH":
        return f"take {directory} out of LD_LIBRARY_PATH"
    if library.why.startswith("DT_R"):
        tag, _, file = library.why.partition(" of ")
        return (
            f"link {file} without {directory} in its {tag.removeprefix('DT_')} (patchelf --print-rpath {file} shows it)"
        )
    for file in machine.glob("/etc/ld.so.conf.d/*.conf"):
        lines = [line.strip() for line in (machine.read_text(file) or "").splitlines()]
        if directory in lines or machine.realpath(directory) in map(machine.realpath, filter(None, lines)):
            return f"take {directory} out of {file}, then: sudo ldconfig"
    return f"take {directory} off the loader's path ({library.why}), then: sudo ldconfig"


def holder_name(machine: Machine, holder: Holder) -> str:
    """``4711 (python)``. In a container the pid is one of the host, whose name cannot be told."""
    name = holder.name or (
        "" if is_container(machine) else (machine.read_text(f"/proc/{holder.pid}/comm") or "").strip()
    )
    return f"{holder.pid} ({name})" if name else str(holder.pid)
