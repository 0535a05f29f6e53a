"""What a program was doing when a wrong call was made: the marks beside its recording (docs/recordings.md, Marks), or the only test of
GoogleTest that it was to run: ctest and IDEs start each by itself.

A mark has a time of CLOCK_MONOTONIC, a call one of the time-stamp counter, which two samples of both clocks make comparable. So nothing is
said of a call that is nearer to a mark than that can tell. Some marks have a time of the counter, too, which needs no other clock.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BufferedReader
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cuvet.analysis.folding import Samples
from cuvet.findings import Finding
from cuvet.meta import Meta
from cuvet.recording.reader import Clock
from cuvet.regular import open_regular
from cuvet.testing.marks import FILE

_MOST_LINES, _MOST_LINE, _MOST_BYTES = 200_000, 1 << 14, 64 << 20
"""What is behind so many lines or bytes is not read, nor are longer lines."""
_MOST_NAME = 200
_FILTER = "--gtest_filter="
_NAME = re.compile(r"[\w/]+\.[\w/]+", re.ASCII)
"""Without what makes a filter match several: ``*``, ``?``, ``:`` and ``-`` (GoogleTest, Advanced Topics, Running a Subset of the Tests)."""
_DOUBT_NS, _DOUBT_PPM = 10_000, 1
"""How far a time can be wrong: of one sample, and by a rate that changes between the two."""
_OWN_DOUBT_NS = 1
"""Of a mark with ticks."""
_LEAST_APART_NS = 1_000_000
"""Of two samples of the clocks, so that they have a rate in common."""


class _Line(msgspec.Struct):
    time_ns: int
    pid: int
    mark: str | None = None
    test: str = ""
    phase: str = ""
    ticks: int = 0


class _Marks(NamedTuple):
    """Of a process. ``times``: of CLOCK_MONOTONIC, and ticks (0: not known); ``texts``: what it did from then on."""

    times: list[tuple[int, int]]
    texts: list[str]


def attach(
    directory: Path, findings: tuple[Finding, ...], samples: Sequence[Samples | None], meta: Meta
) -> tuple[Finding, ...]:
    """The findings, each with what its process was doing, as far as marks or the command line tell. ``samples``: of the clocks, by which
    the time of each finding was told."""
    if not findings:
        return findings
    marks, alone = _marks(directory), _only_test(meta.argv)
    told = ((each, _during(each, marks, clock)) for each, clock in zip(findings, samples, strict=True))
    return tuple(
        replace(each, during=during or (alone if each.site.process == meta.pid else "")) for each, during in told
    )


def _only_test(argv: Sequence[str]) -> str:
    """The test of GoogleTest that a command line chooses, if it is one by its full name."""
    filters = [word.removeprefix(_FILTER) for word in argv if word.startswith(_FILTER)]
    return f"the test {_cut(filters[-1])} (--gtest_filter)" if filters and _NAME.fullmatch(filters[-1]) else ""


def _during(finding: Finding, marks: Mapping[int, _Marks], samples: Samples | None) -> str:
    times, texts = marks.get(finding.site.process, _Marks([], []))
    if not times or samples is None:
        return ""
    (_, first), (_, newest) = samples
    apart, time = newest - first, finding.site.time_ns
    beyond = max(0, first + time - newest)
    doubt = _DOUBT_NS * (1 + beyond / apart) + (apart + beyond) * _DOUBT_PPM / 1e6 if apart >= _LEAST_APART_NS else inf
    clock = Clock(samples)
    before = partial(_offset, clock=clock, first=first)
    at = bisect_right(times, time, key=before)
    near = times[max(0, at - 1) : at + 1]
    is_clear = all(abs(time - before(mark)) > (_OWN_DOUBT_NS if mark[1] else doubt) for mark in near)
    return texts[at - 1] if at and is_clear else ""


def _offset(mark: tuple[int, int], clock: Clock, first: int) -> int:
    """The time of a mark as calls have theirs: since the first sample."""
    time_ns, ticks = mark
    return clock.ns(ticks) if ticks else time_ns - first


def _marks(directory: Path) -> dict[int, _Marks]:
    """By process; empty if there is no such file, or one that cannot be read. Of a file that is too long, nothing is known of the time
    behind the last line that was read."""
    try:
        with open(open_regular(directory / FILE, follow=False), "rb") as file:
            lines = _lines(file)
            whole = not file.read(1)
    except OSError:
        return {}
    of_process: dict[int, list[_Line]] = defaultdict(list)
    for line in lines:
        of_process[line.pid].append(line)
    marks = {pid: _told(of_one) for pid, of_one in of_process.items()}
    latest = (lines[-1].time_ns, 0) if lines else (0, 0)
    for times, texts in () if whole else marks.values():
        times.append(max(latest, times[-1]))
        texts.append("")
    return marks


def _lines(file: BufferedReader) -> list[_Line]:
    """Whatever is no mark is left out."""
    decode = msgspec.json.Decoder(_Line).decode
    found: list[_Line] = []
    left = _MOST_BYTES
    for _ in range(_MOST_LINES):
        text = file.readline(min(_MOST_LINE, left))
        left -= len(text)
        if not text:
            break
        with suppress(ValueError, RecursionError):  # of the encoding, or of JSON
            line = decode(text)
            if line.mark is not None or line.phase:  # else it only has the number of a question
                found.append(line)
    return found


def _told(lines: list[_Line]) -> _Marks:
    """In the order of time. The name of a mark stands beside the test in which it was written."""
    lines.sort(key=lambda line: line.time_ns)
    test, texts = "", []
    for line in lines:
        if line.mark is None:
            ended = line.phase == "end"
            test = f"{'after ' if ended else ''}{_cut(line.test)}" + ("" if ended else f" ({_cut(line.phase)})")
            test = test if line.test else ""
            texts.append(test)
        else:
            texts.append(", ".join(filter(None, [test, f"after the mark {_cut(line.mark)!r}"])))
    return _Marks([(line.time_ns, line.ticks) for line in lines], texts)


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…"
