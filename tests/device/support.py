"""Programs and clients run over a device process that a test starts itself, without the launcher."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.under_test import NATIVE, PRELOAD

ROOT = Path(__file__).parents[2]
TOOLKIT = Path(sys.prefix) / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/nvidia/cu13"
NVCC = TOOLKIT / "bin" / "nvcc"
SHARED_RUNTIME = (
    "-std=c++17", "-g", "-arch=sm_90", "-cudart", "none", "-cudadevrt", "none",
    f"-L{TOOLKIT / 'lib'}", "-l:libcudart.so.13", f"-L{NATIVE}", "-l:libcuda.so.1",
)  # fmt: skip
"""Options of nvcc that have the effect of ``-cudart shared`` with the toolkit from PyPI, which has no libcudart.so."""
STATIC_RUNTIME = (
    "-std=c++17", "-g", "-arch=sm_90", "-cudadevrt", "none", f"-L{TOOLKIT / 'lib'}", f"-L{NATIVE}", "-l:libcuda.so.1",
)  # fmt: skip
TIMEOUT_S = 120


@dataclass
class Device:
    """A running device process. ``trace``: where the recordings of its clients go."""

    socket: Path
    trace: Path
    process: subprocess.Popen[str]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program on the device; ``more`` is added to its environment."""
        return subprocess.run(
            [str(part) for part in command],
            env={**os.environ, **self.environment, **more},
            cwd=self.trace.parent,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def python(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-c", program, *arguments)


@contextmanager
def running_device(directory: Path, devices: int = 1, memory: int = 0, **environment: str) -> Iterator[Device]:
    """Start a device process in an empty directory; stop it at the end. ``memory``: bytes of each device, as many as a real one has
    if 0. ``environment`` is added to its own."""
    socket, trace = directory / "device.sock", directory / "trace"
    trace.mkdir()
    key = f"cuvet-{secrets.token_hex(16)}:{secrets.token_hex(16)}"
    command = [sys.executable, "-m", "cuvet.device", "--socket", str(socket), "--devices", str(devices)]
    command += ["--memory", str(memory)] if memory else []
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "CUVET_DEVICE_KEY": key, **environment},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.stderr.read() if process.stderr else ""
    environment = {
        "CUVET_DEVICE_SOCKET": str(socket),
        "CUVET_DEVICE_KEY": key,
        "CUVET_TRACE": str(trace),
        "LD_PRELOAD": PRELOAD,
        "LD_LIBRARY_PATH": str(NATIVE),
    }
    try:
        yield Device(socket, trace, process, environment)
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)
