"""What does the kernel's log say of the GPUs: Xids of the hardware, and why a GPU was not initialized?

Source of the numbers: NVIDIA, XID Errors, catalog (https://docs.nvidia.com/deploy/xid-errors/). Xids that programs cause (13, 31, 43,
45 …) are left out.
"""

import re

from cuvet.doctor import driver, kernel_log
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown, warning

TITLE = "kernel's messages about GPUs"
GROUP: Group = "devices"

LOOKED_AT = kernel_log.PLACES
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:]+)\): (\d+)")
_XIDS = {
    48: "an uncorrectable ECC error in its memory",
    62: "an internal halt",
    64: "a row of its memory that could not be remapped",
    74: "an error of its NVLink",
    79: "that it fell off the bus",
    92: "many correctable ECC errors",
    94: "a contained ECC error",
    95: "an uncontained ECC error",
    119: "that its GPU System Processor does not answer",
    120: "an error of its GPU System Processor",
    140: "an uncorrected ECC error",
}
_REASONS = (
    (
        "requires use of the NVIDIA open",
        "gpu-needs-open-kernel-modules",
        "install the open kernel modules (Ubuntu: nvidia-driver-…-open)",
    ),
    ("not supported by open", "gpu-needs-open-kernel-modules", "install the proprietary kernel modules"),
    (
        r"through the NVIDIA [\d.x]+ Legacy",
        "gpu-not-supported-by-driver",
        "install the driver of the branch that the message names",
    ),
    (
        r"\bBAR\d is 0M",
        "firmware-settings-block-gpu",
        "BIOS: Above 4G Decoding, Resizable BAR; or boot with pci=realloc=on",
    ),
    (
        r"irmware load for nvidia/\S+ failed",
        "driver-does-not-start",
        "reinstall the driver's package with its firmware, and reboot",
    ),
    (
        "RmInitAdapter failed",
        "driver-does-not-start",
        "reboot with power off; update BIOS and driver; try the card in another slot",
    ),
    ("fallen off the bus", "hardware-fault", "reboot; check power and seating of the card"),
)
"""Pattern of a message, cause, and fix."""
_MOST_SHOWN = 4


def probe(machine: Machine) -> Conclusions:
    lines = kernel_log.lines(machine)
    problems = [*_xids(machine, lines), *_not_initialized(machine, lines)]
    yield from problems
    if not problems:
        yield (
            healthy("no message of an error")
            if lines
            else unknown("the kernel's log cannot be read, or has nothing of NVIDIA's driver")
        )


def _xids(machine: Machine, lines: tuple[str, ...]) -> Conclusions:
    """The last message of each GPU and number."""
    found = {(match[1].lower(), int(match[2])): line for line in lines if (match := _XID.search(line))}
    for (pci, number), line in found.items():
        if number in _XIDS:
            lost = number == 79
            yield (error if lost else warning)(
                cause="hardware-fault",
                verdict=f"the kernel reported of GPU {pci} {_XIDS[number]} (Xid {number})",
                evidence=(line,),
                fix="reboot; if it comes again: nvidia-smi -q -d ECC,ROW_REMAPPER, check power and seating of the card",
            )


def _not_initialized(machine: Machine, lines: tuple[str, ...]) -> Conclusions:
    """Only while CUDA does not see all GPUs: a GPU that works now may have failed before."""
    if machine.state.cuda.devices and len(machine.state.nvml.gpus) >= len(driver.pci_gpus(machine)):
        return
    for pattern, cause, fix in _REASONS:
        saying = [line for line in lines if re.search(pattern, line) and not _XID.search(line)]
        if saying:
            yield _reason(cause, fix, saying, lines)
            return


def _reason(cause: str, fix: str, saying: list[str], lines: tuple[str, ...]) -> Conclusion:
    shown = dict.fromkeys((*saying, *(line for line in lines if "NVRM" in line)))
    return error(
        cause=cause,
        verdict=f"the kernel module did not start a GPU: {saying[-1].removeprefix('NVRM:').strip()}",
        evidence=tuple(shown)[:_MOST_SHOWN],
        fix=fix,
    )
