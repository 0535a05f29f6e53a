"""Which GPUs do CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES and MIG leave to the program?

How CUDA_VISIBLE_DEVICES is read: CUDA Programming Guide, "CUDA Environment Variables".
"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, note, unknown, warning
from cuvet.doctor.state import Gpu

TITLE = "visible devices"
GROUP: Group = "devices"

_VARIABLE = "CUDA_VISIBLE_DEVICES"
LOOKED_AT = (_VARIABLE, "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "cuDeviceGetCount", "NVML")


def probe(machine: Machine) -> Conclusions:
    cuda, gpus = machine.state.cuda, machine.state.nvml.gpus
    if cuda.status not in (0, driver.NO_DEVICE) or not driver.is_present(machine):
        yield unknown("the driver does not start, so that no device can be seen")
        return
    if cuda.status and not gpus and not driver.is_wsl(machine) and driver.closed_nodes(machine):
        yield unknown("the device nodes cannot be opened")
        return
    if cuda.status == driver.NO_DEVICE or not cuda.devices:
        yield _none(machine)
        return
    value = machine.environ.get(_VARIABLE)
    wrong = why_truncated(value, gpus) if value is not None else None
    if wrong and len(cuda.devices) < len((value or "").split(",")):
        yield _truncated(machine, wrong)
    elif _order_differs(machine, gpus):
        yield _order(gpus)
    else:
        names = tuple(f"{each.name}, {each.uuid}" for each in cuda.devices)
        yield healthy(f"{len(cuda.devices)} of {len(gpus) or len(cuda.devices)} GPUs visible", evidence=names)


def why_truncated(value: str, gpus: tuple[Gpu, ...]) -> str | None:
    """The first entry of CUDA_VISIBLE_DEVICES that names no GPU, and why; None if each names one. Entries after it do not count."""
    uuids = [uuid for gpu in gpus for uuid in (gpu.uuid, *gpu.mig_devices)]
    for entry in (part.strip() for part in value.split(",")):
        if entry.startswith("MIG-GPU-"):
            continue  # the form of drivers before 470: MIG-<GPU UUID>/<GPU instance>/<compute instance>
        if entry.startswith(("GPU-", "MIG-")):
            matching = sum(uuid.startswith(entry) for uuid in uuids)
            if uuids and matching != 1:
                return (
                    f"{entry} is {'no device' if matching == 0 else 'the beginning of several UUIDs'} of this machine"
                )
        elif not entry.isdecimal():
            return f"{entry or 'an empty entry'} is neither a number nor a UUID"
        elif gpus and not any(gpu.mig for gpu in gpus) and int(entry) >= len(gpus):
            return f"{entry} is past the last GPU, {len(gpus) - 1}"
    return None


def _none(machine: Machine) -> Conclusion:
    value, gpus = machine.environ.get(_VARIABLE), machine.state.nvml.gpus
    listed = tuple(f"NVML: {gpu.name}, {gpu.uuid}" for gpu in gpus)
    status = machine.state.cuda.status
    answer = f"{machine.state.cuda.path}: " + (
        f"cuInit returned CUDA_ERROR_NO_DEVICE ({status})" if status else "cuDeviceGetCount gives 0"
    )
    if value is not None:
        reason = (
            "is set and empty" if not value.strip() else f"is {value}: {why_truncated(value, gpus) or 'it names none'}"
        )
        verdict, evidence, fix = (
            f"no GPU is visible: {_VARIABLE} {reason}",
            f"{_VARIABLE}={value}",
            f"unset {_VARIABLE}",
        )
    elif any(gpu.mig and not gpu.mig_devices for gpu in gpus):
        return _mig(gpus, answer)
    elif machine.environ.get("NVIDIA_VISIBLE_DEVICES") in ("none", "void"):
        verdict = "no GPU is visible: this container was started without one"
        evidence = f"NVIDIA_VISIBLE_DEVICES={machine.environ['NVIDIA_VISIBLE_DEVICES']}"
        fix = "docker run --gpus all …"
    else:
        verdict, evidence = "no GPU is visible to CUDA", f"{_VARIABLE} is not set"
        fix = "nvidia-smi -L (which GPUs the kernel module has); sudo dmesg | grep -i NVRM (why it has none)"
    return error(cause="device-none-visible", verdict=verdict, evidence=(evidence, answer, *listed), fix=fix)


def _mig(gpus: tuple[Gpu, ...], answer: str) -> Conclusion:
    empty = [gpu for gpu in gpus if gpu.mig and not gpu.mig_devices]
    return error(
        cause="device-mig-without-instances",
        verdict=f"MIG mode is on and {'the GPU has' if len(empty) == 1 else 'the GPUs have'} no MIG devices",
        evidence=(*(f"NVML: {gpu.name}, {gpu.uuid}: MIG mode on, no instances" for gpu in empty), answer),
        fix="sudo nvidia-smi mig -cgi <profile> -C (nvidia-smi mig -lgip lists the profiles), or turn it off: sudo nvidia-smi -mig 0",
    )


def _truncated(machine: Machine, wrong: str) -> Conclusion:
    count = len(machine.state.cuda.devices)
    return warning(
        cause="device-list-truncated",
        verdict=f"only {count} of the listed GPUs {'is' if count == 1 else 'are'} visible: in {_VARIABLE}, {wrong}",
        evidence=(
            f"{_VARIABLE}={machine.environ[_VARIABLE]}: what follows the first wrong entry is ignored",
            *(f"visible: {each.name}, {each.uuid}" for each in machine.state.cuda.devices),
            *(f"NVML: {gpu.name}, {gpu.uuid}" for gpu in machine.state.nvml.gpus),
        ),
        fix=f"name the GPUs as nvidia-smi -L does: export {_VARIABLE}="
        + ",".join(gpu.uuid for gpu in machine.state.nvml.gpus),
    )


def _order_differs(machine: Machine, gpus: tuple[Gpu, ...]) -> bool:
    numbers = machine.environ.get(_VARIABLE, "").replace(",", "").strip()
    different = len({gpu.name for gpu in gpus}) > 1
    return different and numbers.isdecimal() and machine.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID"


def _order(gpus: tuple[Gpu, ...]) -> Conclusion:
    return note(
        cause="device-order-differs",
        verdict=f"the numbers in {_VARIABLE} count the fastest GPU first, those of nvidia-smi by PCI bus",
        evidence=tuple(f"nvidia-smi {number}: {gpu.name}, {gpu.pci}" for number, gpu in enumerate(gpus)),
        fix="export CUDA_DEVICE_ORDER=PCI_BUS_ID",
    )
