"""Asks NVML or libcuda for the GPUs and writes the JSON of ``state.Nvml`` or ``state.Cuda``. Imported alone, in a process with the
program's environment (``asking.py``). It imports nothing of cuvet, and little else: programs wait for its answer.

Structures and numbers: NVML API Reference (``nvmlPciInfo_t``, ``nvmlMemory_t``, ``nvmlProcessInfo_t``, ``nvmlComputeMode_t``).
"""

from __future__ import annotations

import ctypes
import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

_UNKNOWN_BYTES = (1 << 64) - 1
_MOST_HOLDERS = 1024
_COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def mapped_path(name: str) -> str | None:
    """The file behind the library that was just loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return next((line.split(None, 5)[5].rstrip("\n") for line in maps if f"/{name}" in line), None)


class PciInfo(ctypes.Structure):
    _fields_ = [
        ("legacy_id", ctypes.c_char * 16),
        *((name, ctypes.c_uint) for name in ("domain", "bus", "device", "device_id", "subsystem_id")),
        ("id", ctypes.c_char * 32),
    ]


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class ProcessInfo(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Failed(Exception):
    pass


class Library:
    """NVML, whose calls raise Failed with NVML's own text."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.nvmlErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        try:
            status = getattr(self.library, name)(*arguments)
        except AttributeError as error:
            raise Failed(f"{name} is not in this libnvidia-ml.so.1") from error
        if status:
            raise Failed(f"{name}: {self.library.nvmlErrorString(status).decode()} ({status})")

    def text(self, name: str, *handle: Any) -> str:
        value = ctypes.create_string_buffer(256)
        self.call(name, *handle, value, 256)
        return value.value.decode("utf-8", "replace")

    def number(self, name: str, *handle: Any) -> int:
        value = ctypes.c_uint()
        self.call(name, *handle, ctypes.byref(value))
        return value.value

    def struct(self, kind: type[T], name: str, *handle: Any) -> T:
        value = kind()
        self.call(name, *handle, ctypes.byref(value))  # type: ignore[arg-type]
        return value


def gpu(nvml: Library, index: int) -> dict[str, Any]:
    handle = ctypes.c_void_p()
    nvml.call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle))
    memory = (
        optional(nvml.struct, Memory, "nvmlDeviceGetMemoryInfo", handle) or Memory()
    )  # GPUs with the host's memory have none
    found = {
        "uuid": nvml.text("nvmlDeviceGetUUID", handle),
        "name": nvml.text("nvmlDeviceGetName", handle),
        "memory_bytes": memory.total,
        "memory_free_bytes": memory.free,
        "holders": holders(nvml, handle),
    }
    more: dict[str, Callable[..., Any]] = {
        "pci": pci,
        "minor": minor,
        "compute_capability": capability,
        "compute_mode": compute_mode,
        "mig": mig,
    }
    more |= {"remap_pending": remap_pending, "remap_failed": remap_failed, "nvlink": nvlink}
    told = {name: optional(read, nvml, handle) for name, read in more.items()}
    found |= {name: value for name, value in told.items() if value is not None}
    found["mig_devices"] = mig_devices(nvml, handle) if found.get("mig") else []
    return found


def optional(read: Callable[..., T], *arguments: Any) -> T | None:
    """None where this GPU or this driver does not tell."""
    try:
        return read(*arguments)
    except Failed:
        return None


def pci(nvml: Library, handle: ctypes.c_void_p) -> str:
    found = nvml.struct(PciInfo, "nvmlDeviceGetPciInfo_v3", handle)
    return f"{found.domain:04x}:{found.bus:02x}:{found.device:02x}.0"


def capability(nvml: Library, handle: ctypes.c_void_p) -> list[int]:
    major, minor_version = ctypes.c_int(), ctypes.c_int()
    nvml.call("nvmlDeviceGetCudaComputeCapability", handle, ctypes.byref(major), ctypes.byref(minor_version))
    return [major.value, minor_version.value]


def minor(nvml: Library, handle: ctypes.c_void_p) -> int:
    return nvml.number("nvmlDeviceGetMinorNumber", handle)


def compute_mode(nvml: Library, handle: ctypes.c_void_p) -> str:
    mode = nvml.number("nvmlDeviceGetComputeMode", handle)
    return _COMPUTE_MODES[mode] if mode < len(_COMPUTE_MODES) else "default"


def mig(nvml: Library, handle: ctypes.c_void_p) -> bool:
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    nvml.call("nvmlDeviceGetMigMode", handle, ctypes.byref(current), ctypes.byref(pending))
    return current.value == 1


def remapped_rows(nvml: Library, handle: ctypes.c_void_p) -> tuple[bool, bool]:
    """Whether a remapping waits for a reset, and whether one failed."""
    numbers = [ctypes.c_uint() for _ in range(4)]  # corrected, uncorrected, pending, failed
    nvml.call("nvmlDeviceGetRemappedRows", handle, *map(ctypes.byref, numbers))
    return numbers[2].value != 0, numbers[3].value != 0


def remap_pending(nvml: Library, handle: ctypes.c_void_p) -> bool:
    return remapped_rows(nvml, handle)[0]


def remap_failed(nvml: Library, handle: ctypes.c_void_p) -> bool:
    return remapped_rows(nvml, handle)[1]


def nvlink(nvml: Library, handle: ctypes.c_void_p) -> bool:
    active = ctypes.c_uint()
    nvml.call("nvmlDeviceGetNvLinkState", handle, 0, ctypes.byref(active))
    return active.value == 1


def mig_devices(nvml: Library, handle: ctypes.c_void_p) -> list[str]:
    found = []
    for index in range(optional(nvml.number, "nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        part = ctypes.c_void_p()
        try:
            nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", handle, index, ctypes.byref(part))
            found.append(nvml.text("nvmlDeviceGetUUID", part))
        except Failed:
            continue  # this slot is not in use
    return found


def holders(nvml: Library, handle: ctypes.c_void_p) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"):
        count, processes = ctypes.c_uint(_MOST_HOLDERS), (ProcessInfo * _MOST_HOLDERS)()
        try:
            nvml.call(name, handle, ctypes.byref(count), processes)
        except Failed:
            continue  # not told on this GPU or by this driver
        for process in processes[: count.value]:
            size = None if process.bytes == _UNKNOWN_BYTES else process.bytes
            found.setdefault(process.pid, {"pid": process.pid, "bytes": size})
    return list(found.values())


def nvml_answer() -> dict[str, Any]:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return {"error": str(error)}
    found: dict[str, Any] = {"path": mapped_path("libnvidia-ml.so")}
    nvml = Library(library)
    try:
        nvml.call("nvmlInit_v2")
        found["driver"] = nvml.text("nvmlSystemGetDriverVersion")
        version = ctypes.c_int()
        nvml.call("nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(version))
        found["cuda"] = version.value
        count = nvml.number("nvmlDeviceGetCount_v2")
    except Failed as error:
        return {**found, "error": str(error)}
    found["gpus"] = []
    for index in range(count):
        try:
            found["gpus"].append(gpu(nvml, index))
        except Failed as error:
            found["error"] = f"GPU {index}: {error}"
    return found


def device(cuda: ctypes.CDLL, ordinal: int) -> dict[str, Any] | None:
    number = ctypes.c_int()
    if cuda.cuDeviceGet(ctypes.byref(number), ordinal):
        return None
    name, uuid, capability = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)(), list[int]()
    cuda.cuDeviceGetName(name, 256, number)
    cuda.cuDeviceGetUuid(uuid, number)
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, number)
        capability.append(value.value)
    digits = bytes(uuid).hex()
    groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return {
        "name": name.value.decode("utf-8", "replace"),
        "uuid": "GPU-" + "-".join(groups),
        "compute_capability": capability,
    }


def has_peers(cuda: ctypes.CDLL, count: int) -> bool:
    """Whether any GPU can access the memory of another."""
    can = ctypes.c_int()
    pairs = ((one, other) for one in range(count) for other in range(count) if one != other)
    return any(cuda.cuDeviceCanAccessPeer(ctypes.byref(can), one, other) == 0 and can.value for one, other in pairs)


def cuda_answer() -> dict[str, Any]:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": str(error)}
    found: dict[str, Any] = {"path": mapped_path("libcuda.so")}
    version, count = ctypes.c_int(), ctypes.c_int()
    try:
        found["status"] = cuda.cuInit(0)
        cuda.cuDriverGetVersion(ctypes.byref(version))
        found["version"] = version.value
        if found["status"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
            devices = [device(cuda, ordinal) for ordinal in range(count.value)]
            found["devices"] = [each for each in devices if each]
            if count.value > 1:
                found["peers"] = has_peers(cuda, count.value)
    except AttributeError as error:
        found["error"] = str(error)
    return found


def encoded(value: Any) -> str:
    """As JSON. The json module takes longer to import than all else here."""
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass").hex()
        return '"' + "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)) + '"'
    if isinstance(value, list):
        return f"[{','.join(map(encoded, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{encoded(name)}:{encoded(each)}' for name, each in value.items())}}}"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def main(library: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    result = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    answer = encoded(nvml_answer() if library == "nvml" else cuda_answer())
    with open(result, "w", encoding="utf-8") as out:
        out.write(f"{answer}\n")
    os._exit(0)  # a driver takes its time to shut down
