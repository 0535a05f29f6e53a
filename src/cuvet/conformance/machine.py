"""The driver and the GPUs of this machine."""

import ctypes
import datetime
import multiprocessing
import re
from pathlib import Path

from cuvet import CuvetError
from cuvet.conformance.recording import Header
from cuvet.sonames import DRIVER

_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR."""


def machine() -> Header:
    """Asked in a process of its own: a process that has called the driver cannot fork any more. CuvetError if there is no GPU."""
    context = multiprocessing.get_context("fork")
    answers, child_end = context.Pipe(duplex=False)
    child = context.Process(target=lambda: child_end.send(_ask()))
    child.start()
    child_end.close()
    try:
        header: Header | None = answers.recv()
    except EOFError:
        header = None
    child.join()
    if header is None:
        raise CuvetError(f"no usable {DRIVER}: recording needs an NVIDIA GPU and its driver")
    return header


def _ask() -> Header | None:
    try:
        library = ctypes.CDLL(DRIVER)
    except OSError:
        return None
    count, version, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    library.cuDriverGetVersion(ctypes.byref(version))
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), 0)
    return Header(
        driver=version.value,
        driver_release=_release(),
        gpus=tuple(_name(library, ordinal) for ordinal in range(count.value)),
        memory_bytes=memory.value,
        date=datetime.date.today().isoformat(),
        capabilities=tuple(_capability(library, ordinal) for ordinal in range(count.value)),
    )


def _name(library: ctypes.CDLL, ordinal: int) -> str:
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, 256, ordinal)
    return name.value.decode()


def _capability(library: ctypes.CDLL, ordinal: int) -> int:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, ordinal)
    library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, ordinal)
    return 10 * major.value + minor.value


def _release() -> str:
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", text)
    return found[0] if found else ""
