"""Asks libcuda what it sees and writes the JSON of ``state.Cuda``. Run alone in the program's environment; imports nothing of cuvet."""

from __future__ import annotations

import ctypes
import json
import os
import resource
from typing import Any

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def mapped_path(name: str) -> str | None:
    """The file behind the library that was just loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return next((line.split(None, 5)[5].strip() for line in maps if f"/{name}" in line), None)


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


def answer() -> dict[str, Any]:
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
    except AttributeError as error:
        found["error"] = str(error)
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    result = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    os.write(result, json.dumps(answer()).encode())
