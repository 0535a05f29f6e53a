"""What the driver says about itself and its GPUs: read in processes of their own, because a broken libcuda may kill or hold them."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec

from cuvet.doctor.asking import ask
from cuvet.sonames import DRIVER

_TIMEOUT_S = 20
_CHUNK = 1 << 16


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
    remap_pending: bool = False
    """A row of device memory is to be remapped at the next reset."""
    remap_failed: bool = False
    nvlink: bool = False


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
    peers: bool | None = None
    """Whether any device can access the memory of another; None if that was not asked."""
    error: str = ""

    @property
    def missing(self) -> str:
        """Why there is no GPU to be used."""
        if self.error:
            return self.error
        return f"cuInit of {self.path} returned {self.status}" if self.status else f"{self.path} sees no GPU"


Answer = TypeVar("Answer", Nvml, Cuda)


def release_of(version: int) -> tuple[int, int]:
    """(13, 0) for 13000, as cuDriverGetVersion counts."""
    return version // 1000, version % 1000 // 10


class State(msgspec.Struct, frozen=True, kw_only=True):
    nvml: Nvml = Nvml()
    cuda: Cuda = Cuda()


def read(environ: Mapping[str, str], timeout_s: float | None = None) -> State:
    """Asks libnvidia-ml.so.1 and libcuda.so.1 with the loader path and the device variables of ``environ``, and gives each up
    after ``timeout_s``."""
    patience_s = timeout_s or _TIMEOUT_S
    nvml, cuda = ask("nvml", environ), ask("cuda", environ)
    return State(
        nvml=_answer(nvml, "libnvidia-ml.so.1", patience_s, Nvml), cuda=_answer(cuda, DRIVER, patience_s, Cuda)
    )


def read_cuda(environ: Mapping[str, str], timeout_s: float) -> Cuda:
    """Asks libcuda.so.1 alone, as ``read``."""
    return cuda_answer(ask("cuda", environ), timeout_s)


def cuda_answer(asked: subprocess.Popen[bytes], timeout_s: float) -> Cuda:
    """What a process that was started with ``ask`` says of libcuda.so.1, as ``read``."""
    return _answer(asked, DRIVER, timeout_s, Cuda)


def _answer(process: subprocess.Popen[bytes], library: str, timeout_s: float, kind: type[Answer]) -> Answer:
    """What the process wrote, or why it wrote nothing. The kernel may take its time to end it: that is not waited for."""
    until = time.monotonic() + timeout_s
    out = _line(process, until)
    if out.endswith(b"\n"):
        threading.Thread(target=process.communicate, name="cuvet-asked", daemon=True).start()
        return msgspec.json.decode(out, type=kind)
    try:
        process.communicate(timeout=max(until - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return kind(error=f"{library} did not answer within {timeout_s:g} s")
    ending = f"signal {-process.returncode}" if process.returncode < 0 else f"exit code {process.returncode}"
    return kind(error=f"{library} ended the process that asked it ({ending})")


def _line(process: subprocess.Popen[bytes], until: float) -> bytes:
    """What it writes until it closes its stdout or a line ends. Less, if that is not until then, of ``time.monotonic``."""
    assert process.stdout is not None
    out = b""
    while not out.endswith(b"\n") and select.select([process.stdout], [], [], max(until - time.monotonic(), 0))[0]:
        part = os.read(process.stdout.fileno(), _CHUNK)
        if not part:
            break
        out += part
    return out
