"""What a run of the program did, from its recording: its calls in their order, what rules say of them, and what it left behind."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cuvet.analysis import Analysis
from cuvet.analysis.calls import RecordedCall, site_of
from cuvet.analysis.crashes import SIGNALS
from cuvet.analysis.process import ProcessAnalysis
from cuvet.catalog import EntryPoint
from cuvet.catalog.acting import acts
from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.results import NOT_READY
from cuvet.catalog.roles import ENDS
from cuvet.findings import Frame
from cuvet.inject.outcome import Ending, Place
from cuvet.meta import read_meta
from cuvet.recording import Recording, layout
from cuvet.recording.generated_code import GeneratedCode, Run
from cuvet.recording.layout import PENDING, CallFlag
from cuvet.recording.ordering import EntryPoints
from cuvet.recording.reader import Batch
from cuvet.recording.sites import Sites
from cuvet.rules.left import left

MOST_CALLS = 200_000
"""Of a process: later ones are not compared."""
_LONGEST_LINE = 500
_COLUMNS = ["entered", "returned", "thread", "entry_point", "status", "stack", "flags"]
_FIXED = layout.CALL.itemsize // 8


class Key(NamedTuple):
    """A place in the program, in every run: the number of the stack, and the driver's or a library's function that was called from it."""

    site: int
    entry_point: int

    @property
    def id(self) -> str:
        return f"{self.site:016x}.{self.entry_point}"


class Called(NamedTuple):
    """A call that the program made. ``ends``: the kinds of the objects that it ends. ``stream``: the handle of the stream that it names, -1
    if it names none."""

    key: Key
    api: str
    status: int | None
    injected: bool
    ends: tuple[str, ...]
    stream: int = -1

    @property
    def failed(self) -> bool:
        return self.status not in (0, None, NOT_READY)


class _Row(NamedTuple):
    """Of a record of a call."""

    entered: int
    returned: int
    thread: int
    entry_point: int
    status: int
    stack: int
    flags: int
    stream: int


class Left(NamedTuple):
    """Objects that were alive at the end, by the place that made them."""

    kind: str
    api: str
    line: str


class Said(NamedTuple):
    """A finding."""

    rule: str
    severity: str
    message: str
    api: str
    line: str
    """``file:line`` of the call."""


class Stack(NamedTuple):
    api: str
    frames: tuple[Frame, ...]


@dataclass(slots=True)
class Observed:
    """``threads``: the calls of each thread in their order, threads by their first call. ``stacks``: of their places. ``left``: of
    processes whose main has returned; what a process leaves that a function of the program ends (exit) is the system's."""

    ending: Ending
    threads: list[list[Called]] = field(default_factory=list)
    stacks: dict[Key, Stack] = field(default_factory=dict)
    entry_points: dict[int, EntryPoint] = field(default_factory=dict)
    left: Counter[Left] = field(default_factory=Counter)
    said: tuple[Said, ...] = ()
    faults: int = 0
    """Instructions that raised a signal, in any of its processes."""
    died_at: str = ""
    """``file:line`` of the last of them."""
    full: bool = False
    """A recording had no more room, so that later calls are not known."""
    stands: tuple[str, ...] = ()
    """Of a run that hangs: where its threads are."""

    @property
    def lines(self) -> list[str]:
        """What it wrote, stderr first; of a long line the first of it."""
        written = (*self.ending.stderr.splitlines(), *self.ending.stdout.splitlines())
        return [line[:_LONGEST_LINE] for line in written]

    def place(self, key: Key) -> Place:
        stack = self.stacks.get(key, Stack("?", ()))
        known = _known_line(stack.frames)
        file, line, function = (known.file, known.line, known.function) if known is not None else (None, None, None)
        return Place(id=key.id, api=stack.api, file=file, line=line, function=function, frames=stack.frames)


def observe(directory: Path, ending: Ending) -> Observed:
    """The run whose recording is in ``directory``."""
    seen = Observed(ending)
    meta = read_meta(directory)
    run = Run(time.time_ns(), meta.argv)
    if ending.hung:  # there is nothing to judge by rules, and much of it
        for path in sorted(directory.glob("*.cuvet")):
            _add_calls(seen, path, run)
        seen.stands = tuple(_stands(seen))
        return seen
    analysis = Analysis(directory, run)
    report = analysis.report(meta, leaks=False)
    seen.said = tuple(
        Said(each.name, each.severity, each.message, each.api, line_of(each.site.frames)) for each in report.findings
    )
    for process in analysis.processes():
        if _add_calls(seen, process.recording.path, run):
            _add_left(seen, process)
    return seen


def line_of(frames: Sequence[Frame]) -> str:
    """``file:line`` of the innermost that is known, or nothing."""
    known = _known_line(frames)
    return f"{shortened(known.file or '')}:{known.line}" if known else ""


def _known_line(frames: Sequence[Frame]) -> Frame | None:
    return next((each for each in frames if each.file and each.line), None)


def shortened(path: str) -> str:
    """From the current directory on, if it is below that."""
    below = os.path.relpath(path)
    return path if below.startswith(os.pardir) else below


def _add_calls(seen: Observed, path: Path, run: Run) -> bool:
    """All of its calls, also those that no rule needs to see, as far as they have a stack. Returns whether its main has returned."""
    recording = Recording(path)
    batches = list(recording.poll())
    known = EntryPoints(recording)
    rows = _without_inner(_rows(batches, known), known)
    sites = Sites(recording, recording.executable, GeneratedCode(recording, run))
    apis = {stack: sites.api(stack) or "" for stack in {row.stack for row in rows}}
    for number in {row.entry_point for row in rows}:
        entry_point = known[number]
        if entry_point is not None:
            seen.entry_points[number] = entry_point
    rows = [row for row in rows if row.entry_point in seen.entry_points and row.stack in recording.site_of]
    main = _main_calls(seen.entry_points, rows, sites, recording.site_of)
    threads: defaultdict[int, list[Called]] = defaultdict(list)
    for row in rows:
        key = Key(recording.site_of[row.stack], row.entry_point)
        if key not in main:
            continue
        entry_point = seen.entry_points[row.entry_point]
        api = apis[row.stack] or entry_point.name
        if key not in seen.stacks:
            seen.stacks[key] = Stack(api, sites.of_stack(row.stack)[1])
        status = None if row.status == PENDING else row.status
        injected = bool(row.flags & CallFlag.INJECTED)
        threads[row.thread].append(Called(key, api, status, injected, _ended(entry_point), row.stream))
    seen.threads += threads.values()
    seen.full |= int(recording.header["dropped"]) > 0 or len(rows) == MOST_CALLS
    for fault in recording.faults:
        if fault.signal in SIGNALS:
            seen.faults += 1
            seen.died_at = line_of(sites.of_fault(fault))
    ends = [sites.of_stack(exited.stack)[1] for exited in recording.exits]
    return bool(ends) and all(_is_of_start(frame) for frame in ends[-1])


def _rows(batches: Sequence[Batch], known: EntryPoints) -> list[_Row]:
    """The first calls, in the order in which they entered."""
    rows: list[tuple[int, ...]] = []
    for batch in batches:
        calls = batch.calls
        position = known.stream[known.numbers(calls["entry_point"])]
        on = np.flatnonzero((position >= 0) & (position < calls["arguments"]))
        stream = np.full(len(calls), -1, np.int64)
        stream[on] = batch.words(on, _FIXED + position[on]).astype(np.int64)
        rows += [(*row, word) for row, word in zip(calls[_COLUMNS].tolist(), stream.tolist(), strict=True)]
    return [_Row(*row) for row in sorted(rows)[:MOST_CALLS]]


def _without_inner(rows: Sequence[_Row], known: EntryPoints) -> list[_Row]:
    """Without the calls that a library made inside of its own: those fail at the library's functions."""
    until: defaultdict[int, int] = defaultdict(int)
    kept = []
    for row in rows:
        entry_point = known[row.entry_point]
        if row.entered < until[row.thread]:
            continue
        if entry_point is not None and entry_point.api in LIBRARIES:
            until[row.thread] = row.returned
        kept.append(row)
    return kept


def _is_of_start(frame: Frame) -> bool:
    """Of the C library or the loader, which call exit when main returns; of the shim, or of an interpreter that ends."""
    name = (frame.module or "").rpartition("/")[2]
    return name.startswith(("libc.so", "ld-linux", "libcuda.so", "python", "libpython")) or frame.function in (
        "_start",
        "exit",
    )


def _main_calls(
    entry_points: dict[int, EntryPoint], records: Sequence[_Row], sites: Sites, site_of: Mapping[int, int]
) -> set[Key]:
    """What each call of the runtime is about: it initialises, asks and loads before it does what it was called for. All calls of the driver
    where the program called it itself."""
    asked: defaultdict[tuple[str, Hashable], dict[Key, None]] = defaultdict(dict)
    main = set()
    for each in records:
        key = Key(site_of[each.stack], each.entry_point)
        api = sites.api(each.stack)
        if api and entry_points[each.entry_point].api not in LIBRARIES:
            found = asked[api, sites.outside(each.stack)]
            found.pop(key, None)
            found[key] = None
        else:
            main.add(key)
    groups = (_main(list(found), entry_points, api) for (api, _), found in asked.items())
    return main.union(each for each in groups if each is not None)


def _main(found: list[Key], entry_points: dict[int, EntryPoint], api: str) -> Key | None:
    """None of the lookups before a launch: code that the compiler has put in line makes them at another address."""
    acting = [each for each in found if acts(entry_points[each.entry_point])]
    if api == "cudaLaunchKernel" and not acting:
        return None
    return (acting or found)[-1]


def _ended(entry_point: EntryPoint) -> tuple[str, ...]:
    return tuple(role.kind.counted for role in entry_point.roles if role.verb in ENDS)


def _add_left(seen: Observed, process: ProcessAnalysis) -> None:
    for thing, count in left(process.model) if process.model is not None else ():
        made = thing.created_by
        if isinstance(made, RecordedCall) and not made.is_of_library():
            site = site_of(made)
            seen.left[Left(thing.kind.counted, site.api, line_of(site.frames))] += count


def _stands(seen: Observed) -> Iterator[str]:
    for number, calls in enumerate(seen.threads, 1):
        last = calls[-1]
        count = next(len(list(group)) for _, group in groupby(reversed(calls), key=lambda each: each.key))
        where = line_of(seen.stacks[last.key].frames)
        times = f", {count} times in a row" if count > 1 else ""
        before = "stands in" if last.status is None else "has last called"
        yield f"thread {number} {before} {last.api}{f' at {where}' if where else ''}{times}"
