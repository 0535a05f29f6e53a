"""Starts the emulated device's process and ends it."""

from __future__ import annotations

import gc
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cuvet
from cuvet import CuvetError
from cuvet.device.listening import listening
from cuvet.launch.environment import PROTECT, private_directory
from cuvet.signals import signal_name

_SOURCE = str(Path(cuvet.__file__).resolve().parent.parent)
_IN_A_GROUP: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
"""What is typed at the terminal does not end the device. With a session of its own, Linux would give it as much of a processor as all of
the session that the program and cuvet are in (sched(7), autogroup), so that cuvet's low priority would not count beside it."""
_PROGRAM = (
    "import gc, sys; gc.set_threshold(int(sys.argv.pop(1))); sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; "
    "from cuvet.device.__main__ import main; sys.exit(main())"
)
"""As ``python -m cuvet.device``, with the threshold of garbage collection and of the package at the path that are its first arguments;
PYTHONPATH cannot hold a path with a colon."""


class Device:
    """A device process. ``variables``: those by which the shim finds it."""

    def __init__(self, variables: dict[str, str], process: subprocess.Popen[bytes]) -> None:
        self.variables = variables
        self._process = process

    @property
    def failure(self) -> str | None:
        """A sentence if the process has ended, as it should not."""
        code = self._process.poll()
        if code is None:
            return None
        how = signal_name(-code) if code < 0 else f"exit code {code}"
        return f"the emulated device ended before the program ({how})"


@contextmanager
def emulated_device(
    devices: int, memory: int, environment: Mapping[str, str], *, crashes: bool, protects: bool
) -> Iterator[Device]:
    """A device process until the end of the block. ``memory``: bytes of each device. ``crashes``: it raises signals where hardware dies
    of them. ``protects``: the shim may not make a call.

    Clients can connect at once; they are answered when the process has loaded the catalogs and the rules, which it does while the program
    starts.
    """
    with private_directory() as directory:
        path = directory / "device"
        name, key = (secrets.token_hex(16) for _ in range(2))
        variables = {"CUVET_DEVICE_SOCKET": str(path), "CUVET_DEVICE_KEY": f"cuvet-{name}:{key}"}
        process = _start(
            path, f"cuvet-{name}", variables, devices, memory, environment, crashes=crashes, protects=protects
        )
        try:
            yield Device(variables, process)
        finally:
            process.terminate()
            process.wait()


def _start(
    path: Path,
    abstract: str,
    variables: Mapping[str, str],
    devices: int,
    memory: int,
    environment: Mapping[str, str],
    *,
    crashes: bool,
    protects: bool,
) -> subprocess.Popen[bytes]:
    try:
        with listening(str(path)) as listener, listening(f"\0{abstract}") as hidden:
            descriptors = (listener.fileno(), hidden.fileno())
            options = ["--socket", str(path), "--devices", str(devices), "--memory", str(memory)]
            options += ["--inherited", *map(str, descriptors)]
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(gc.get_threshold()[0]), _SOURCE, *options],
                env={
                    **environment,
                    "CUVET_DEVICE_KEY": variables["CUVET_DEVICE_KEY"],
                    **({"CUVET_EMULATE_CRASHES": "1"} if crashes else {}),
                    **({PROTECT: "1"} if protects else {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=2,
                **_IN_A_GROUP,
                pass_fds=descriptors,
            )
    except OSError as error:
        raise CuvetError(f"the emulated device cannot be started: {error.strerror}") from None
