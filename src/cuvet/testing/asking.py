"""Starts the judge (``judge.py``) for a process that runs under the shim, and asks it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cuvet
from cuvet import CuvetError
from cuvet.launch.environment import SHIM, users_own

OWN_RECORDING = "CUVET_TESTING"
"""In the environment: pytest was started by its own plugin, and nobody else bounds the recording."""
_ENDS_S = 10
_CLOSED = "the program closed the descriptors by which the process that judges is asked: what was called since then is not judged"
SOURCE = str(Path(cuvet.__file__).resolve().parent.parent)


def is_recorded() -> bool:
    """Whether the calls of this process reach the shim and are recorded."""
    if not os.environ.get("CUVET_TRACE"):
        return False
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            return any(line.rstrip().endswith(str(SHIM)) for line in maps)
    except OSError:
        return False


def records_races() -> bool:
    """Whether what this process records is enough to find races (``cuvet run --races``)."""
    return os.environ.get("CUVET_RECORD") == "accesses"


def command(module: str, *arguments: str) -> list[str]:
    """``python -m`` of a module of this cuvet, whatever PYTHONPATH and the working directory have."""
    program = (
        "import sys; sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; "
        f"from cuvet.testing.{module} import main; sys.exit(main())"
    )
    return [sys.executable, "-c", program, SOURCE, *arguments]


def module_of_cuvet(*arguments: str) -> list[str]:
    """``cuvet ARGUMENTS`` of this cuvet, whatever PYTHONPATH and the working directory have."""
    program = "import sys; sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; from cuvet.cli import main; sys.exit(main())"
    return [sys.executable, "-c", program, SOURCE, *arguments]


class Judge:
    """Judges the recording in ``directory`` in a process of its own, which ends with this one. ``bound``: the size of the recording is
    bounded, as nobody else does it. CuvetError if that process cannot be started."""

    def __init__(self, directory: Path, *, bound: bool = False) -> None:
        self.pid = os.getpid()
        self._owed = 0
        """Answers that nobody has read."""
        self._lock = threading.Lock()
        asked, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._ours = {each: _identity(each) for each in (self._to, self._from)}
        self._lines = io.BufferedReader(io.FileIO(self._from, closefd=False))
        try:
            self._process = subprocess.Popen(
                command("judge", str(directory), *(["bound"] if bound else [])),
                env=users_own(os.environ),
                stdin=asked,
                stdout=answers,
                stderr=2,
                start_new_session=True,
            )
        except OSError as error:
            self._close()
            raise CuvetError(f"the process that judges cannot be started: {error.strerror}") from None
        finally:
            os.close(asked)
            os.close(answers)

    def found(self) -> Any:
        """``judge.Answer`` as JSON has it: what was found since it was last asked. CuvetError if the judge has ended."""
        *before, answer = map(json.loads, self.ask())
        answer["found"] = [each for one in (*before, answer) for each in one.get("found", ())]
        return answer

    def left_behind(self, test: str, parts: Sequence[int]) -> Any:
        """``judge.Answer`` as JSON has it: what this process made in a test that has ended, and lives. ``parts``: the numbers of the
        answers that are about this test."""
        return json.loads(self.ask({"test": test, "pid": os.getpid(), "parts": parts})[-1])

    def unknown(self, names: Sequence[str]) -> dict[str, str]:
        """The names that no rule has, with a sentence about each."""
        sentences: dict[str, str] = json.loads(self.ask({"rules": list(names)})[-1]).get("unknown", {})
        return sentences

    def ask(self, question: dict[str, object] | None = None) -> list[bytes]:
        """The line that it answers, after those for which an exception (of a signal's handler) did not let somebody wait."""
        lines = []
        with self._lock:
            if not all(map(self._is_ours, self._ours)):
                raise CuvetError(_CLOSED)
            try:
                os.write(self._to, json.dumps(question or {}).encode() + b"\n")
                self._owed += 1
                while self._owed:
                    lines.append(self._lines.readline())
                    self._owed -= 1
            except (OSError, ValueError):
                lines.append(b"")
        if not lines[-1].endswith(b"\n"):
            raise CuvetError("the process that judges has ended: what was called since then is not judged")
        return lines

    def stop(self) -> list[str]:
        """It is told to end, since children that were forked can hold its stdin open. What it could not judge, one sentence each."""
        try:
            sentences: list[str] = json.loads(self.ask({"stop": True})[-1]).get("not_checked", [])
            self._process.wait(_ENDS_S)
        except (CuvetError, subprocess.TimeoutExpired):
            sentences = []
            self._process.kill()
            self._process.wait()
        self._close()
        return sentences

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the descriptor is still that of the pipe: a program can close all that it did not open, and open files in their place."""
        return _identity(descriptor) == self._ours[descriptor]

    def _close(self) -> None:
        for descriptor in filter(self._is_ours, self._ours):
            os.close(descriptor)


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
