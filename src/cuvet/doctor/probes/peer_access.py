"""Does an IOMMU stand between GPUs that copy to each other over PCIe?

Source: CUDA C++ Programming Guide, "IOMMU on Linux": CUDA does not support peer-to-peer copies over PCIe with an IOMMU on bare metal; NCCL,
Troubleshooting, "PCI Access Control Services (ACS)". In a virtual machine the IOMMU is needed.
"""

import re

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, warning

TITLE = "IOMMU between GPUs"
GROUP: Group = "devices"

LOOKED_AT = ("/sys/bus/pci/devices/*/iommu_group/type", "hypervisor in /proc/cpuinfo", "cuDeviceCanAccessPeer")


def probe(machine: Machine) -> Conclusions:
    gpus = driver.visible_gpus(machine)
    files = {f"/sys/bus/pci/devices/{gpu.pci}/iommu_group/type" for gpu in gpus if gpu.pci and not gpu.nvlink}
    types = {path: (machine.read_text(path) or "").strip() for path in sorted(files)}
    translated = {path: kind for path, kind in types.items() if kind.startswith("DMA")}
    virtual = re.search(r"^flags\s*:.*\bhypervisor\b", machine.read_text("/proc/cpuinfo") or "", re.MULTILINE)
    if len(translated) < 2 or virtual or machine.state.cuda.peers is False:
        yield healthy("no IOMMU translates between GPUs that access each other over PCIe")
        return
    yield warning(
        cause="pcie-acs-in-peer-path",
        verdict=f"an IOMMU translates the PCIe traffic of {len(translated)} GPUs: peer-to-peer copies can hang or be wrong (NCCL)",
        evidence=tuple(f"{path}: {kind}" for path, kind in translated.items()),
        fix="boot with iommu=pt (Intel also: intel_iommu=off), and turn ACS off in the BIOS; until then: export NCCL_P2P_DISABLE=1",
    )
