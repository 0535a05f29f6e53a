"""Starts the judge (``judge.py``) for a process that runs under the shim, and asks it."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from json import dumps, loads
from os import fstat, getpid, read, write
from pathlib import Path
from typing import Any

import cuvet
from cuvet import CuvetError
from cuvet.launch.environment import SHIM, users_own

OWN_RECORDING = "CUVET_TESTING"
"""In the environment: pytest was started by its own plugin, and nobody else bounds the recording."""
_DETACHED = 'exec 3<&0; "$@" <&3 3<&- & echo $!'
"""A test may wait for all children of its process, or end them: the judge is none."""
_RETRY_S = 0.001
_MOST_THREADS = 1 << 12
_UNASKED = b'{"asked":false'
"""With which a line begins that the judge writes by itself."""
_CLOSED = "the program closed the descriptors by which the process that judges is asked: what was called since then is not judged"
_ENDED = "the process that judges has ended: what was called since then is not judged"
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


def position() -> str:
    """Members of an object of JSON: of this process, the time in ticks of its recording, and how many calls each thread that lives has
    made."""
    calls = ", ".join(f'"{thread}": {number}' for thread, number in calls_of_threads().items())
    return f'"pid": {getpid()}, "ticks": {_shim()[1][0]}, "calls": {{{calls}}}'


def calls_of_threads() -> dict[int, int]:
    """How many calls each thread of this process has made, of those that live and have made any."""
    shim, words = _shim()
    count = min(shim.cuvet_position(words, _MOST_THREADS), _MOST_THREADS)
    return {words[2 * at + 1]: words[2 * at + 2] for at in range(count)}


@cache
def _shim() -> tuple[ctypes.CDLL, ctypes.Array[ctypes.c_uint64]]:
    """With room for what it writes."""
    return ctypes.CDLL("libcuda.so.1"), (ctypes.c_uint64 * (2 * _MOST_THREADS + 1))()


def _joined(answers: Sequence[Any]) -> Any:
    """The newest of some answers, with what all of them found."""
    return {**answers[-1], "found": [found for answer in answers for found in answer.get("found", ())]}


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
        self.pid = getpid()
        self._owed = 0
        """Answers that nobody has read."""
        self._lock = threading.Lock()
        asked, self._to = os.pipe()
        self._from, answers = os.pipe()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._ours = {each: _identity(each) for each in (self._to, self._from)}
        self._rest = b""
        """Of what was read, the line that has not come to its end."""
        self._unasked: list[bytes] = []
        """Lines that came by themselves, and that nobody has been given."""
        arguments = [str(directory), str(self.pid), *(["bound"] if bound else [])]
        try:
            subprocess.run(
                ["/bin/sh", "-c", _DETACHED, "sh", *command("judge", *arguments)],
                env=users_own(os.environ),
                stdin=asked,
                stdout=answers,
                stderr=2,
                start_new_session=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            self._close()
            raise CuvetError(f"the process that judges cannot be started: {error}") from None
        finally:
            os.close(asked)
            os.close(answers)
        self._process = int(self._answer())

    def found(self, number: int) -> Any:
        """``judge.Answer`` as JSON has it, with that number: what was found since it was last asked. CuvetError if the judge has ended."""
        lines = self.ask({"number": number})
        return _joined([*self._told(), *map(loads, lines)])

    def told(self) -> Any:
        """The same without asking: what was found by now before marks with numbers (``position``); None if there is nothing new."""
        with self._lock:
            self._read()
            self._take_unasked()
            told = self._told()
        return _joined(told) if told else None

    def left_behind(self, test: str, parts: Sequence[int]) -> Any:
        """``judge.Answer`` as JSON has it: what this process made in a test that has ended, and lives. ``parts``: the numbers of the
        answers that are about this test."""
        return loads(self.ask({"test": test, "pid": getpid(), "parts": parts})[-1])

    def unknown(self, names: Sequence[str]) -> dict[str, str]:
        """The names that no rule has, with a sentence about each."""
        sentences: dict[str, str] = loads(self.ask({"rules": list(names)})[-1]).get("unknown", {})
        return sentences

    def ask(self, question: dict[str, object] | None = None) -> list[bytes]:
        """The line that it answers, after those for which an exception (of a signal's handler) did not let somebody wait."""
        with self._lock:
            self._send(question or {})
            self._owed += 1
            lines = []
            while self._owed:
                lines.append(self._answer())
                self._owed -= 1
        return lines

    def _told(self) -> list[Any]:
        told, self._unasked = [loads(line) for line in self._unasked], []
        return told

    def _answer(self) -> bytes:
        """The next line that was asked for."""
        while True:
            line = self._line()
            if line is None:
                select.select([self._from], [], [])
                self._read()
            elif line.startswith(_UNASKED):
                self._unasked.append(line)
            else:
                return line

    def _send(self, question: dict[str, object]) -> None:
        """A line to the judge, which may have to be read before it reads."""
        if not all(map(self._is_ours, self._ours)):
            raise CuvetError(_CLOSED)
        line = dumps(question).encode() + b"\n"
        while line:
            readable, writable, _ = select.select([self._from], [self._to], [])
            if readable:
                self._read()
            if writable:
                try:
                    line = line[write(self._to, line) :]
                except BlockingIOError:  # there is room for less than it takes at once
                    select.select([self._from], [], [], _RETRY_S)
                except OSError:
                    raise CuvetError(_ENDED) from None
        self._take_unasked()

    def _take_unasked(self) -> None:
        while not self._owed and (answer := self._line()) is not None:
            self._unasked.append(answer)

    def _read(self) -> None:
        if not self._is_ours(self._from):
            raise CuvetError(_CLOSED)
        try:
            data = read(self._from, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise CuvetError(_ENDED)
        self._rest += data

    def _line(self) -> bytes | None:
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return None
        self._rest = rest
        return line

    def stop(self) -> list[str]:
        """It is told to end, since children that were forked can hold its stdin open. What it could not judge, one sentence each."""
        try:
            sentences: list[str] = loads(self.ask({"stop": True})[-1]).get("not_checked", [])
        except CuvetError:
            sentences = []
            with suppress(OSError):
                os.kill(self._process, signal.SIGKILL)
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
        status = fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
