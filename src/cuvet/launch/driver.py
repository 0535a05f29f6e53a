"""Which CUDA driver the loader would give the program, and how many GPUs it has."""

import subprocess
import sys
from collections.abc import Mapping

import msgspec

_TIMEOUT_S = 120

_SCRIPT = r"""
import ctypes, json
found = {}
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    with open("/proc/self/maps") as maps:
        found["path"] = next(line.split(None, 5)[5].rstrip("\n") for line in maps if "/libcuda.so" in line)
    found["status"] = cuda.cuInit(0)
    count, version = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    found["version"] = version.value
    if not found["status"] and not cuda.cuDeviceGetCount(ctypes.byref(count)):
        for number in range(count.value):
            name, device = ctypes.create_string_buffer(256), ctypes.c_int()
            cuda.cuDeviceGet(ctypes.byref(device), number)
            cuda.cuDeviceGetName(name, 256, device)
            found.setdefault("gpus", []).append(name.value.decode("utf-8", "replace"))
except (OSError, AttributeError, StopIteration) as error:
    found["error"] = str(error)
print(json.dumps(found))
"""


class Driver(msgspec.Struct, kw_only=True):
    """``path`` None: no libcuda.so.1 can be loaded. ``status`` is what cuInit returned; ``version`` as cuDriverGetVersion counts."""

    path: str | None = None
    status: int = 0
    version: int = 0
    gpus: tuple[str, ...] = ()
    error: str = ""

    @property
    def cuda_version(self) -> str | None:
        return f"{self.version // 1000}.{self.version % 1000 // 10}" if self.version else None

    @property
    def missing(self) -> str:
        """Why there is no GPU to be used."""
        if self.error:
            return self.error
        return f"cuInit of {self.path} returned {self.status}" if self.status else f"{self.path} sees no GPU"


def find(environment: Mapping[str, str]) -> Driver:
    """Asks in a process of its own, with the loader path that the program will have."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-c", _SCRIPT],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Driver(error=f"cuInit did not return within {_TIMEOUT_S} s")
    if answer.returncode:
        return Driver(error=f"libcuda.so.1 ended the process that tried it ({answer.returncode})")
    return msgspec.json.decode(answer.stdout, type=Driver)
