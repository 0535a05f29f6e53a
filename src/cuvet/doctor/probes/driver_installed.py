"""Is there an NVIDIA GPU, and is its driver there?"""

import os
import re

from cuvet.doctor import driver, kernel_log
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown
from cuvet.sonames import DRIVER

TITLE = "NVIDIA GPU and driver"
GROUP: Group = "driver"

LOOKED_AT = (
    "/sys/bus/pci/devices/*/vendor",
    driver.PROC_VERSION,
    driver.MODULE_VERSION,
    "libcuda.so.1 on the loader's path",
)
_PLACES = (
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib/*-linux-gnu/nvidia/current",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia*",
    "/usr/local/nvidia/lib64",
    "/var/lib/nvidia/lib64",
    "/run/opengl-driver/lib",
)
"""Where distributions, and the nodes of clusters, put the driver's libraries."""
_RELEASE = "/proc/sys/kernel/osrelease"
_MODULES = (
    "updates/dkms/nvidia.ko*",
    "updates/nvidia.ko*",
    "extra/nvidia.ko*",
    "extra/nvidia/nvidia.ko*",
    "kernel/drivers/video/nvidia.ko*",
    "kernel/nvidia-*/nvidia.ko*",
    "extramodules/nvidia.ko*",
    "weak-updates/nvidia.ko*",
    "weak-updates/nvidia/nvidia.ko*",
    "misc/nvidia.ko*",
    "video/nvidia.ko*",
)
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_LOADER_KNOWS = "libcuda.so.1: none on the loader's path"


def probe(machine: Machine) -> Conclusions:
    kernel, copies = driver.kernel_version(machine), driver.libcudas(machine)
    libcudas = [copy for copy in copies if not driver.is_stub(copy)]
    if driver.is_wsl(machine):
        yield healthy("WSL: the driver is that of Windows", "/proc/sys/kernel/osrelease")
    elif machine.state.cuda.status == 0:
        yield healthy(f"driver {kernel or 'of unknown version'}", evidence=(str(machine.state.cuda.path),))
    elif kernel and libcudas:
        yield healthy(f"driver {kernel} is loaded", evidence=(f"{libcudas[0].path} ({libcudas[0].why}): found",))
    elif kernel and copies:
        yield unknown(f"driver {kernel} is loaded, but the only libcuda.so.1 is a stub")
    elif kernel:
        yield _without_libcuda(machine, kernel)
    elif driver.pci_gpus(machine):
        yield _without_module(machine, [copy.path for copy in libcudas])
    elif machine.exists("/etc/nv_tegra_release"):
        yield unknown(
            "a Tegra module: its driver is part of the system image and is not looked at", "/etc/nv_tegra_release"
        )
    elif machine.is_directory("/sys/bus/pci/devices"):
        yield _no_gpu(machine)
    else:
        yield unknown("no NVIDIA driver is loaded, and there is no PCI bus to look for a GPU on")


def _without_libcuda(machine: Machine, kernel: str) -> Conclusion:
    evidence = (f"{driver.PROC_VERSION}: {kernel}", _LOADER_KNOWS)
    found = [
        path for place in _PLACES for path in machine.glob(f"{place}/libcuda.so.{kernel}") if machine.is_file(path)
    ]
    if found:
        return _not_found_by_loader(machine, found[0], evidence)
    if driver.is_container(machine):
        names = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
        return error(
            cause="container-without-driver",
            verdict=f"the host has driver {kernel}, but this container was started without its libcuda",
            looked_at=(*LOOKED_AT, *names),
            evidence=(*evidence, *(f"{name}={machine.environ.get(name, ' is not set')}" for name in names)),
            fix="docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility … (with the NVIDIA Container Toolkit)",
        )
    return error(
        cause="driver-not-installed",
        verdict=f"the kernel module of driver {kernel} is loaded, but its libcuda.so.1 is not on the loader's path",
        evidence=evidence,
        fix=f"install the compute libraries of driver {kernel} (Debian, Ubuntu: libnvidia-compute-{kernel.split('.')[0]}), "
        "then: sudo ldconfig",
    )


def _not_found_by_loader(machine: Machine, path: str, evidence: tuple[str, ...]) -> Conclusion:
    directory = os.path.dirname(path)
    linked = machine.is_file(f"{directory}/{DRIVER}")
    return error(
        cause="driver-not-installed",
        verdict=f"{path} is there, but "
        + ("the loader does not look in its directory" if linked else f"has no link {DRIVER}, which ldconfig makes"),
        evidence=(*evidence, f"{path}: of the loaded driver"),
        fix=f"export LD_LIBRARY_PATH={directory}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" if linked else "sudo ldconfig",
    )


def _without_module(machine: Machine, libcudas: list[str]) -> Conclusion:
    gpus = driver.pci_gpus(machine)
    evidence = tuple(f"{address}: NVIDIA GPU, kernel driver {bound or 'none'}" for address, bound in gpus)
    evidence += (f"{driver.PROC_VERSION}: missing", f"{libcudas[0]}: installed" if libcudas else _LOADER_KNOWS)
    if any(bound == "nouveau" for _, bound in gpus):
        return error(
            cause="driver-nouveau",
            verdict="the GPU is driven by nouveau, which CUDA cannot use",
            evidence=evidence,
            fix="install the NVIDIA driver, which keeps nouveau from loading, and reboot (Ubuntu: sudo ubuntu-drivers install)",
        )
    if any(bound == "vfio-pci" for _, bound in gpus) and not libcudas:
        return unknown("every GPU is reserved for virtual machines (vfio-pci)")
    if libcudas and (why := _why_not_loaded(machine)):
        cause, verdict, found, fix = why
        return error(cause=cause, verdict=verdict, evidence=(*evidence, *found), fix=fix)
    installed = "libcuda is installed, but the kernel module nvidia is not loaded"
    return error(
        cause="driver-not-installed",
        verdict=installed if libcudas else "there is an NVIDIA GPU, but no NVIDIA driver",
        evidence=evidence,
        fix="sudo modprobe nvidia (if that fails, dmesg says why: not built for this kernel, or not signed for Secure Boot)"
        if libcudas
        else "install the NVIDIA driver and reboot (Ubuntu: sudo ubuntu-drivers install)",
    )


def _why_not_loaded(machine: Machine) -> tuple[str, str, tuple[str, ...], str] | None:
    """Cause, verdict, evidence and fix; None if the files do not tell."""
    kernel = (machine.read_text(_RELEASE) or "").strip()
    folder = f"/lib/modules/{kernel}"
    modules = [path for place in _MODULES for path in machine.glob(f"{folder}/{place}")]
    others = sorted({path.split("/")[3] for place in _MODULES for path in machine.glob(f"/lib/modules/*/{place}")})
    if kernel and machine.is_directory(folder) and not modules:
        evidence = tuple(f"/lib/modules/{each}: has nvidia.ko" for each in others)
        return (
            "driver-module-not-built-for-kernel",
            f"there is no kernel module nvidia for the running kernel {kernel}",
            (f"{folder}: no nvidia.ko", *evidence),
            "install the headers of this kernel and build the module: sudo dkms autoinstall",
        )
    for file in machine.glob("/etc/modprobe.d/*.conf"):
        line = re.search(
            r"^\s*(blacklist\s+nvidia|alias\s+nvidia\s+off|install\s+nvidia\s+/bin/(?:false|true))\s*$",
            machine.read_text(file) or "",
            re.M,
        )
        if line:
            return (
                "driver-not-installed",
                f"{file} keeps the kernel module nvidia from loading",
                (f"{file}: {line[1]}",),
                f"remove the line from {file} (Ubuntu: sudo prime-select on-demand), then reboot",
            )
    if machine.is_file(_SECURE_BOOT) and modules:
        with machine.open(_SECURE_BOOT) as variable:
            on = variable.read(5)[4:] == b"\1"  # four bytes of attributes, then the value (Linux, efivarfs)
        if on:
            return (
                "secure-boot-rejects-module",
                "Secure Boot is on, and the kernel module nvidia is not loaded: it takes only signed modules",
                (
                    f"{_SECURE_BOOT}: on",
                    f"{modules[0]}: there",
                    *(line for line in kernel_log.lines(machine) if "reject" in line),
                ),
                "enrol the key that signed it (sudo mokutil --import /var/lib/shim-signed/mok/MOK.der) and reboot, or turn Secure Boot off",
            )
    return None


def _no_gpu(machine: Machine) -> Conclusion:
    return error(
        cause="device-not-present",
        verdict="this machine has no NVIDIA GPU",
        evidence=("/sys/bus/pci/devices: no display controller of vendor 0x10de", f"{driver.PROC_VERSION}: missing"),
        fix="run on a machine with a GPU; without one, cuvet run --device emulated -- PROGRAM checks a program's calls",
    )
