"""Keeps the emulated device of ``cuvet env``: a process of its own, which ends it when the shell has ended, or when it is told to."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import cuvet
from cuvet import CuvetError

_SOURCE = str(Path(cuvet.__file__).resolve().parent.parent)
_PROGRAM = (
    "import sys; sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; "
    "from cuvet.launch.keeper import main; sys.exit(main())"
)
_SOCKET = "keeper"
"""Beside that of the device, in a directory that only this user can enter: who connects ends the device."""


def start(until: int, own: Mapping[str, str], *, protects: bool) -> dict[str, str]:
    """A device that lives until the process ``until`` ends, or until ``stop``: the variables that lead to it. ``own``: the environment
    without the shim. ``protects``: the shim may not make a call. CuvetError if there can be none."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, _SOURCE, str(until), *(["protects"] if protects else [])],
            env=dict(own),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it outlives who reads ours
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        raise CuvetError(f"the emulated device cannot be started: {error.strerror}") from None
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise CuvetError("the emulated device cannot be started: its process ended")
    answer: dict[str, str] = json.loads(line)
    if "error" in answer:
        raise CuvetError(answer["error"])
    return answer


def stop(variables: Mapping[str, str]) -> None:
    """End the device that these variables lead to, if there is one that is kept."""
    path = variables.get("CUVET_DEVICE_SOCKET")
    if path is None:
        return
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(Path(path).with_name(_SOCKET)))
        except OSError:  # it has ended
            return


def main() -> int:
    """``PROCESS [protects]``: writes the variables, or what is wrong, to stdout, and keeps the device."""
    from cuvet.doctor.machine import Machine  # start: not in the shell's process
    from cuvet.launch import host_memory  # start: not in the shell's process
    from cuvet.launch.emulated import emulated_device  # start: not in the shell's process

    try:
        ended = _ending_of(int(sys.argv[1]))
        memory = host_memory.for_device(Machine())
        protects = sys.argv[2:] == ["protects"]
        with (
            emulated_device(1, memory, os.environ, crashes=False, protects=protects) as device,
            socket.socket(socket.AF_UNIX) as told,
        ):
            told.bind(str(Path(device.variables["CUVET_DEVICE_SOCKET"]).with_name(_SOCKET)))
            told.listen()
            _say(device.variables)
            select.select([ended, told.fileno()], [], [])
    except CuvetError as error:
        _say({"error": str(error)})
    return 0


def _ending_of(pid: int) -> int:
    """A descriptor that can be read when the process has ended: pidfd_open(2)."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        why = f"the end of this process cannot be waited for: {error.strerror}"
        raise CuvetError(f"{why}; use cuvet run --device emulated -- PROGRAM") from None


def _say(answer: Mapping[str, str]) -> None:
    print(json.dumps(answer), flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
