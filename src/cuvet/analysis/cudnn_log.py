"""cuDNN's own words: its log (``CUDNN_LOGDEST_DBG``), attached to the findings that it is about.

How it is turned on: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/troubleshooting.html.
cuDNN 9 (9.10.2 and 9.28.0 were looked at) puts the process for the first %i in the name, truncates the file, and writes an error as ::

    E! CuDNN (v92800 42) function cudnnCreate() called:
    e!         Error: CUDNN_STATUS_NOT_INITIALIZED; Reason: cudaGetDeviceCount(&count) != cudaSuccess
    e! Time: 2026-11-21T11:31:04.648978 (0d+0h+0m+0s since start)
    e! Process=16955; Thread=16955; GPU=NULL; Handle=NULL; StreamId=NULL.

where Process and Thread are the kernel's numbers. Of a function that failed in a thread as often as the log says, the entries are told
by their order; an entry that names another status than the call returned is not shown. Not every failing call has an entry.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cuvet.analysis.driver_log import Failure, attached, grouped, text_of
from cuvet.catalog import status_name
from cuvet.findings import Finding
from cuvet.regular import open_regular

FILE = "cudnn.log"
"""In the directory of a recording: the errors of the program's log."""
DESTINATION = "CUDNN_LOGDEST_DBG"
MOST_READ = 64 << 20
"""Bytes, of all logs of a run: they have every call when CUDNN_LOGLEVEL_DBG is 3. What comes after is not read."""
MOST_KEPT = 4 << 20
MOST_LOGS = 256
_LONGEST_LINE = 1 << 16
_MTIME_NS = 10**9
"""Coarsest time of a file."""
_ERROR = (b"E!", b"e!")
_HEADER = re.compile(r"E! CuDNN \(v[^)]*\) function (\w+)\(\) called:")
_REASON = re.compile(r"e!\s+Error: (\w+);? ?.*")
_THREAD = re.compile(r"e! Process=(\d+); Thread=(\d+);.*")


class Entry(NamedTuple):
    """An error that was logged. ``lines``: each begins with the name of a status."""

    process: int
    thread: int
    name: str
    lines: tuple[str, ...]


def keep(directory: Path, environment: Mapping[str, str], processes: Iterable[int], since_ns: int) -> str | None:
    """Copy the errors of the logs that the program wrote into the directory of its recording.

    ``processes`` were recorded. A log last written before ``since_ns``, of the Unix epoch, is of another run. A sentence if the copy
    could not be written whole.
    """
    kept = _errors(_paths(environment.get(DESTINATION, ""), processes), since_ns)
    try:
        if kept:
            (directory / FILE).write_bytes(kept)
    except OSError as error:
        return (
            f"{directory / FILE} could not be written whole ({error.strerror}): some words of cuDNN's log are missing"
        )
    return None


def _paths(destination: str, processes: Iterable[int]) -> list[str]:
    """The first %i is the process. ``stdout`` and ``stderr`` cannot be read afterwards."""
    if destination in ("", "stdout", "stderr"):
        return []
    return list(dict.fromkeys(destination.replace("%i", str(process), 1) for process in processes))[:MOST_LOGS]


def _errors(paths: Iterable[str], since_ns: int) -> bytes:
    kept, left = bytearray(), MOST_READ
    for line in (line for path in paths for line in _lines(path, since_ns)):
        left -= len(line)
        if left < 0 or len(kept) >= MOST_KEPT:
            break
        if line.startswith(_ERROR):
            kept += line
    return bytes(kept[:MOST_KEPT])


def _lines(path: str, since_ns: int) -> Iterator[bytes]:
    """None of what is not an ordinary file, or cannot be read: the log may never have been written."""
    try:
        with open(open_regular(path), "rb") as file:
            if os.fstat(file.fileno()).st_mtime_ns + _MTIME_NS >= since_ns:
                while line := file.readline(_LONGEST_LINE):
                    yield line
    except OSError:
        return


def attach(directory: Path, findings: Sequence[Finding], failures: Iterable[Failure]) -> tuple[Finding, ...]:
    """The findings with what the directory's log, if there is one, says about their calls. ``failures``: of cuDNN's functions."""
    words = _by_call(list(failures), list(read(text_of(directory / FILE, MOST_KEPT))))
    return attached(findings, words, "library_log")


def read(text: str) -> Iterator[Entry]:
    """The errors of a log, in its order. One whose lines ran into another's is dropped."""
    name, dated = "", False
    lines: list[str] = []
    for line in text.splitlines():
        if header := _HEADER.fullmatch(line):
            name, lines, dated = header[1], [], False
        elif _REASON.fullmatch(line):
            lines.append(line.partition("Error: ")[2])
        elif line.startswith("e! Time: "):
            name, dated = ("" if dated else name), True
        elif thread := _THREAD.fullmatch(line):
            if name and lines and dated:
                yield Entry(int(thread[1]), int(thread[2]), name, tuple(lines))
            name = ""


def _by_call(failures: list[Failure], entries: list[Entry]) -> dict[tuple[int, int, int], tuple[str, ...]]:
    """(process, thread, call number) to the lines about that call."""
    logged = grouped(((each.process, each.thread, each.name), each) for each in entries)
    words = {}
    for function, calls in grouped(((each.process, each.thread, each.name), each) for each in failures).items():
        answers = logged.get(function, [])
        for call, answer in zip(calls, answers, strict=True) if len(calls) == len(answers) else ():
            if any(line.split(";")[0] == status_name("cudnn", call.status) for line in answer.lines):
                words[call.process, call.thread, call.number] = answer.lines
    return words
