"""Starts the emulated device's process and ends it."""

import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import cuvet
from cuvet import CuvetError
from cuvet.launch.environment import private_directory

_START_S = 30.0
_SOURCE = str(Path(cuvet.__file__).resolve().parent.parent)
_PROGRAM = (
    "import sys; sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; "
    "from cuvet.device.__main__ import main; sys.exit(main())"
)
"""As ``python -m cuvet.device``, of the package at the path of its first argument; PYTHONPATH cannot hold one with a colon."""


@contextmanager
def emulated_device(
    devices: int, memory: int, environment: Mapping[str, str], *, crashes: bool
) -> Iterator[dict[str, str]]:
    """A device process that answers until the end of the block: the variables by which the shim finds it. ``memory``: bytes of each
    device. ``crashes``: it raises signals where hardware dies of them."""
    with private_directory() as directory:
        path = directory / "device"
        options = ["--socket", str(path), "--devices", str(devices), "--memory", str(memory)]
        key = f"cuvet-{secrets.token_hex(16)}:{secrets.token_hex(16)}"
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, _SOURCE, *options],
            env={**environment, "CUVET_DEVICE_KEY": key, **({"CUVET_EMULATE_CRASHES": "1"} if crashes else {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=2,
            start_new_session=True,
        )
        try:
            _wait_for(path, process)
            yield {"CUVET_DEVICE_SOCKET": str(path), "CUVET_DEVICE_KEY": key}
        finally:
            process.terminate()
            process.wait()


def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise CuvetError(f"the emulated device did not start (exit code {process.returncode})")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            try:
                client.connect(str(path))
                return
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.005)
    raise CuvetError(f"the emulated device did not start within {_START_S:.0f} s")
