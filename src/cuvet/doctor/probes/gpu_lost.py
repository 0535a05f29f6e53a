"""Does the driver show every GPU that is on the PCI bus and bound to it?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, error, healthy, unknown

TITLE = "GPUs on the PCI bus"
GROUP: Group = "devices"

LOOKED_AT = ("/sys/bus/pci/devices/*/driver", "nvmlDeviceGetPciInfo_v3", "/dev/nvidia0, /dev/nvidia1, …")


def probe(machine: Machine) -> Conclusions:
    bound = [address for address, name in driver.pci_gpus(machine) if name == "nvidia"]
    shown = {gpu.pci for gpu in machine.state.nvml.gpus}
    nodes = [path for path in machine.glob("/dev/nvidia[0-9]*") if path.removeprefix("/dev/nvidia").isdecimal()]
    if not bound or not machine.state.nvml.driver or not all(shown):
        yield unknown("the PCI bus or NVML does not tell which GPUs there are")
    elif len(nodes) < len(bound) or any(map(machine.open_error, nodes)):
        yield unknown("this process is given a part of the GPUs (container, job)")
    elif lost := [address for address in bound if address not in shown]:
        yield error(
            cause="hardware-fault",
            verdict=f"the driver does not show {len(lost)} of the {len(bound)} GPUs on the PCI bus: {', '.join(lost)}",
            evidence=(
                *(f"{address}: bound to the kernel driver nvidia, not listed by NVML" for address in lost),
                *([f"NVML: {machine.state.nvml.error}"] if machine.state.nvml.error else []),
            ),
            fix="sudo dmesg | grep -i -e NVRM -e Xid says why; then reboot, check power and seating of the card",
        )
    else:
        yield healthy(f"the driver shows all {len(bound)} GPUs of the PCI bus")
