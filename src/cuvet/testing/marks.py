"""Marks say what a program was doing when: lines of JSON in ``marks.jsonl`` beside its recording (recording/FORMAT.md)."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Literal, NamedTuple

from cuvet import CuvetError
from cuvet.regular import open_regular

FILE = "marks.jsonl"
Phase = Literal["setup", "call", "teardown", "end"]
"""Of a test; ``end`` is after its tear-down."""
_NEWEST_BYTES, _MOST_BYTES = 1 << 16, 64 << 20
_open, _write, _close, _now = os.open, os.write, os.close, time.monotonic_ns
"""As they are before a test replaces them."""
_APPENDED = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def now() -> int:
    """Nanoseconds of CLOCK_MONOTONIC, which the clock samples of recordings have too."""
    return _now()


def write(directory: Path, **what: object) -> None:
    """Add a line with the time and the process to the marks of a recording. CuvetError if it cannot be written."""
    add(os.path.join(directory, FILE), json.dumps({"time_ns": now(), "pid": os.getpid(), **what}))


def add(path: str, line: str) -> None:
    """Add a line, an object of JSON, to a file of marks. CuvetError if it cannot be written."""
    try:
        descriptor = _open(path, _APPENDED, 0o600)
        try:
            _write(descriptor, f"{line}\n".encode())
        finally:
            _close(descriptor)
    except OSError as error:
        raise CuvetError(f"{path}: the mark could not be written: {error.strerror}") from None


class Running(NamedTuple):
    """The test that was running when the last mark was written, in which phase it was, and since when it ran."""

    test: str
    phase: str
    time_ns: int


def running(directory: Path) -> Running | None:
    """None if there was none, or if there is no such file."""
    try:
        descriptor = open_regular(directory / FILE, follow=False)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        file.seek(max(0, os.fstat(descriptor).st_size - _NEWEST_BYTES))
        lines = file.read(_NEWEST_BYTES).splitlines()
    newest = None
    for line in reversed(lines):
        try:
            mark = json.loads(line)
            found = Running(str(mark["test"]), str(mark["phase"]), int(mark["time_ns"]))
        except (ValueError, TypeError, KeyError, RecursionError):  # a mark of the program, or no mark
            continue
        if found.phase == "end" or (newest is not None and found.test != newest.test):
            break
        newest = found if newest is None else newest._replace(time_ns=found.time_ns)
    return newest


def ignored(directory: Path) -> dict[str, frozenset[str]]:
    """By what a finding says that came while it ran (``TEST (PHASE)``): the rules, by code or name, that a test ignores."""
    try:
        descriptor = open_regular(directory / FILE, follow=False)
    except OSError:
        return {}
    found = {}
    with open(descriptor, "rb") as file:
        for line in file.read(_MOST_BYTES).splitlines():
            if b'"ignore"' not in line:
                continue
            try:
                mark = json.loads(line)
                found[f"{mark['test']} ({mark['phase']})"] = frozenset(map(str, mark["ignore"]))
            except (ValueError, TypeError, KeyError, RecursionError):  # no mark
                continue
    return found
