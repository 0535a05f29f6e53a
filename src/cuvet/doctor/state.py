"""What the driver says about itself and its GPUs: read in processes of their own, because a broken libcuda may kill or hold them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from cuvet.sonames import DRIVER

_TIMEOUT_S = 20


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds device memory. ``bytes`` is None where the driver does not tell (containers, WSL)."""

    pid: int
    bytes: int | None = None
    name: str = ""


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU as NVML lists it: all that the kernel module shows to this user, whatever CUDA_VISIBLE_DEVICES says."""

    uuid: str
    name: str
    pci: str = ""
    """``0000:1b:00.0``"""
    minor: int | None = None
    """of /dev/nvidia<minor>"""
    compute_capability: tuple[int, int] | None = None
    compute_mode: Literal["default", "exclusive-thread", "prohibited", "exclusive-process"] = "default"
    memory_bytes: int = 0
    memory_free_bytes: int = 0
    holders: tuple[Holder, ...] = ()
    mig: bool = False
    """MIG mode is on: the GPU itself cannot be used, only its MIG devices."""
    mig_devices: tuple[str, ...] = ()
    """UUIDs, ``MIG-…``"""


class Nvml(msgspec.Struct, frozen=True, kw_only=True):
    """``path``: the libnvidia-ml.so.1 that the loader took, None if it found none. ``error`` says why nothing else is known."""

    path: str | None = None
    driver: str = ""
    """Version of the kernel module, ``580.159.03``."""
    cuda: int = 0
    """Newest CUDA version of that driver, as 13000."""
    gpus: tuple[Gpu, ...] = ()
    error: str = ""


class VisibleDevice(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uuid: str = ""
    compute_capability: tuple[int, int] | None = None


class Cuda(msgspec.Struct, frozen=True, kw_only=True):
    """What libcuda answers in this environment. ``path`` None: the loader found none. ``error``: why there is no answer.

    ``status``: what cuInit returned. ``version``: newest CUDA version of this libcuda, as 13000.
    """

    path: str | None = None
    status: int | None = None
    version: int = 0
    devices: tuple[VisibleDevice, ...] = ()
    error: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    nvml: Nvml = Nvml()
    cuda: Cuda = Cuda()


def read(environ: Mapping[str, str], timeout_s: float | None = None) -> State:
    """Asks libnvidia-ml.so.1 and libcuda.so.1 with the loader path and the device variables of ``environ``, and gives each up
    after ``timeout_s``."""
    patience_s = timeout_s or _TIMEOUT_S
    asking = {name: _ask(name, environ) for name in ("nvml", "cuda")}
    nvml, nvml_error = _answer(asking["nvml"], "libnvidia-ml.so.1", patience_s)
    cuda, cuda_error = _answer(asking["cuda"], DRIVER, patience_s)
    return State(
        nvml=msgspec.json.decode(nvml, type=Nvml) if nvml else Nvml(error=nvml_error),
        cuda=msgspec.json.decode(cuda, type=Cuda) if cuda else Cuda(error=cuda_error),
    )


def _ask(name: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name(f"ask_{name}.py")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(script)],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _answer(process: subprocess.Popen[bytes], library: str, timeout_s: float) -> tuple[bytes, str]:
    """What the process wrote, or why it wrote nothing."""
    try:
        out, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return b"", f"{library} did not answer within {timeout_s:g} s"
    if process.returncode:
        ending = f"signal {-process.returncode}" if process.returncode < 0 else f"exit code {process.returncode}"
        return b"", f"{library} ended the process that asked it ({ending})"
    return out, ""
