"""From a report and the histories of its processes to rows of the tables, in batches of columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cuvet import __version__
from cuvet.analysis.history import NO_SIZE, NO_STREAM, History, Lives
from cuvet.catalog import Kind
from cuvet.findings import Finding, Frame, MemoryUse, ObjectReport, Rank, Report, Site
from cuvet.meta import Meta
from cuvet.printable import printable, valid
from cuvet.recording import layout
from cuvet.recording.reader import Array
from cuvet.reports.tables.schema import SCHEMA_VERSION

ROWS = 50_000
"""Of a batch."""
MOST = (1 << 63) - 1
"""The largest integer of SQLite and of Parquet's INT64."""

Values = Sequence[Any]
Batch = tuple[str, list[Values]]
"""The name of a table, and values of each of its columns: integers, texts and None."""


class Recorded(NamedTuple):
    """A process: the directory of its recording, what it did and held, its rank, and how many calls it and each of its threads made."""

    directory: Path
    history: History
    memory: tuple[MemoryUse, ...]
    rank: Rank | None
    calls_made: int
    calls_of_thread: dict[int, int]


class _Stacks:
    """Numbers for stacks, and the rows of those that were not written yet."""

    def __init__(self) -> None:
        self._ids: dict[tuple[Frame, ...], int] = {}
        self._new: list[tuple[Frame, ...]] = []

    def id_of(self, frames: tuple[Frame, ...]) -> int | None:
        """None for a stack without frames."""
        if not frames:
            return None
        found = self._ids.get(frames)
        if found is None:
            found = self._ids[frames] = len(self._ids) + 1
            self._new.append(frames)
        return found

    def new(self) -> Iterator[Batch]:
        stacks, self._new = self._new, []
        yield from _batched("stacks", ((self._ids[frames], len(frames)) for frames in stacks))
        yield from _batched(
            "frames",
            (
                (self._ids[frames], depth, each.function, each.file, each.line, each.module, each.language)
                for frames in stacks
                for depth, each in enumerate(frames)
            ),
        )


@dataclass
class _Process:
    """One process with the numbers of its rows. ``call`` and ``object``: of its first call and object."""

    id: int
    recorded: Recorded
    call: int
    object: int
    _rows: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    """By thread: the numbers of its calls in ascending order, and which rows they are."""

    def row_of(self, site: Site) -> int | None:
        """The row of the call, if it is in the recording."""
        if site.thread not in self._rows:
            rows = np.flatnonzero(self.recorded.history.thread == site.thread)
            numbers = self.recorded.history.number[rows]
            order = np.argsort(numbers, kind="stable")
            self._rows[site.thread] = numbers[order], rows[order]
        numbers, rows = self._rows[site.thread]
        at = int(np.searchsorted(numbers, np.uint64(site.call)))
        return int(rows[at]) if at < len(rows) and int(numbers[at]) == site.call else None

    def has(self, site: Site) -> bool:
        """Whether the call is one of this process and not of another one with its number."""
        row = self.row_of(site)
        return row is not None and abs(int(self.recorded.history.entered_ns[row]) - site.time_ns) <= 1

    def call_of(self, site: Site | None) -> int | None:
        row = self.row_of(site) if site is not None else None
        return None if row is None else self.call + row

    def object_of(self, reported: ObjectReport) -> int | None:
        """The row of the object that the call made which a finding names."""
        row = self.row_of(reported.created) if reported.created is not None else None
        lives = self.recorded.history.lives
        made = np.flatnonzero(lives.made == row) if row is not None else ()
        handle = int(reported.handle, 16)
        return next((self.object + int(each) for each in made if int(lives.handle[each]) == handle), None)


def batches(report: Report, recorded: Sequence[Recorded], metas: dict[Path, Meta]) -> Iterator[Batch]:
    """All rows of all tables. What is referred to comes first, except that calls and objects refer to each other. ``metas``: by directory
    of the recording."""
    stacks, processes = _Stacks(), _numbered(recorded)
    yield from _batched("meta", (("schema_version", str(SCHEMA_VERSION)), ("cuvet_version", __version__)))
    recordings = {directory: number for number, directory in enumerate(metas, 1)}
    yield from _batched("recordings", (_recording(recordings[each], each, metas[each]) for each in metas))
    yield from _batched("processes", (_process(each, recordings) for each in processes))
    for process in processes:
        yield from _batched("threads", _threads(process))
        yield from _calls(process, stacks)
        yield from _objects(process)
    yield from _findings(report, processes, stacks)
    yield from _memory(processes, stacks)
    left_out = (sentence for each in recorded for sentence in each.history.left_out)
    yield from _batched("notes", enumerate((*report.not_checked, *left_out), 1))


def _batched(table: str, rows: Any) -> Iterator[Batch]:
    """Rows of values of any kind, which are made fit for a table."""
    waiting: list[Values] = []
    for row in rows:
        waiting.append([_cell(value) for value in row])
        if len(waiting) == ROWS:
            yield table, [list(column) for column in zip(*waiting, strict=True)]
            waiting = []
    if waiting:
        yield table, [list(column) for column in zip(*waiting, strict=True)]


def _cell(value: Any) -> int | str | None:
    """Text as every report shows it: NULs, other control characters and halves of surrogate pairs as escapes."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n")))
    return None if value is None else max(-MOST, min(int(value), MOST))


def _numbered(recorded: Sequence[Recorded]) -> list[_Process]:
    processes: list[_Process] = []
    call = object_ = 1
    for number, each in enumerate(recorded, 1):
        processes.append(_Process(number, each, call, object_))
        call += len(each.history.thread)
        object_ += len(each.history.lives.kind)
    return processes


def _recording(number: int, directory: Path, meta: Meta) -> Values:
    argv = json.dumps(meta.argv) if meta.argv else None
    return (number, valid(directory), argv, meta.device, meta.driver, meta.pid or None, meta.exit_code, meta.signal,
            meta.host or None)  # fmt: skip


def _process(process: _Process, recordings: dict[Path, int]) -> Values:
    recorded, history, rank = process.recorded, process.recorded.history, process.recorded.rank
    stored = len(history.thread)
    return (process.id, recordings[recorded.directory], history.process, history.executable or None, history.start_ns, history.end_ns,
            max(recorded.calls_made, stored), stored, *((rank.rank, rank.size) if rank is not None else (None, None)))  # fmt: skip


def _threads(process: _Process) -> Iterator[Values]:
    history, made = process.recorded.history, process.recorded.calls_of_thread
    found, stored = np.unique(history.thread, return_counts=True)
    counts = dict(zip(found.tolist(), stored.tolist(), strict=True))
    for thread in sorted({*counts, *history.threads, *made}):
        yield process.id, thread, history.threads.get(thread), max(made.get(thread, 0), counts.get(thread, 0))


def _calls(process: _Process, stacks: _Stacks) -> Iterator[Batch]:
    history = process.recorded.history
    apis, entry_points, stack_ids = [], [], []
    for number in range(int(history.place.max()) + 1 if len(history.place) else 0):
        place, entry_point = history.place_of(number), history.entry_point_of(number)
        apis.append(_cell(place.site.api))
        entry_points.append(entry_point.name if entry_point is not None else apis[-1])
        stack_ids.append(stacks.id_of(place.site.frames))
    yield from stacks.new()
    streams = _streams(history)
    for first in range(0, len(history.thread), ROWS):
        those = slice(first, first + ROWS)
        places = history.place[those].tolist()
        yield (
            "calls",
            [
                range(process.call + first, process.call + first + len(places)),
                [process.id] * len(places),
                history.thread[those].tolist(),
                _integers(history.number[those]),
                [apis[place] for place in places],
                [entry_points[place] for place in places],
                history.entered_ns[those].tolist(),
                _or_none(history.duration_ns[those], -1),
                _or_none(history.status[those], layout.PENDING),
                _ids(streams[those], process.object),
                [stack_ids[place] for place in places],
            ],
        )


def _streams(history: History) -> Array:
    """By call: the index of the newest stream with the handle on which it enqueued, -1 if there is none."""
    found = np.full(len(history.thread), -1, np.int64)
    calls = np.flatnonzero(history.stream != NO_STREAM)
    lives = history.lives
    streams = np.flatnonzero(lives.kind == Kind.STREAM)
    if not len(calls) or not len(streams):
        return found
    handle = np.concatenate([lives.handle[streams], history.stream[calls]])
    time_ns = np.concatenate([lives.made_ns[streams], history.entered_ns[calls]])
    is_call = np.arange(len(handle)) >= len(streams)
    order = np.lexsort((is_call, time_ns, handle))
    before = np.maximum.accumulate(np.where(is_call[order], -1, np.arange(len(order))))
    newest = order[np.maximum(before, 0)]
    fits = is_call[order] & (before >= 0) & (handle[newest] == handle[order])
    found[calls[order[fits] - len(streams)]] = streams[newest[fits]]
    return found


def _objects(process: _Process) -> Iterator[Batch]:
    lives = process.recorded.history.lives
    kinds = {int(kind): kind.noun for kind in Kind}
    for first in range(0, len(lives.kind), ROWS):
        those = slice(first, first + ROWS)
        yield "objects", _some_objects(process, lives, those, kinds, process.object + first)


def _some_objects(process: _Process, lives: Lives, those: slice, kinds: dict[int, str], number: int) -> list[Values]:
    handles = lives.handle[those].tolist()
    sizes = lives.size[those]
    return [
        range(number, number + len(handles)),
        [process.id] * len(handles),
        [kinds[kind] for kind in lives.kind[those].tolist()],
        [f"0x{handle:x}" for handle in handles],
        [None if size == NO_SIZE else min(size, MOST) for size in sizes.tolist()],
        lives.made_ns[those].tolist(),
        _or_none(lives.ended_ns[those], -1),
        _ids(lives.made[those], process.call),
        _ids(lives.ended[those], process.call),
    ]


def _integers(column: Array) -> list[int]:
    found: list[int] = np.minimum(column, np.uint64(MOST)).tolist()
    return found


def _or_none(column: Array, none: int) -> list[int | None]:
    return [None if value == none else value for value in column.tolist()]


def _ids(column: Array, first: int) -> list[int | None]:
    """Indices of a process as numbers of rows."""
    return [None if value < 0 else first + value for value in column.tolist()]


def _of(processes: Sequence[_Process], site: Site) -> _Process | None:
    """The process of a call. Several can have one number: of other machines, or later ones."""
    alike = [each for each in processes if each.recorded.history.process == site.process]
    return next((each for each in alike if each.has(site)), alike[0] if alike else None)


def _findings(report: Report, processes: Sequence[_Process], stacks: _Stacks) -> Iterator[Batch]:
    findings: list[Values] = []
    objects: list[Values] = []
    calls: list[Values] = []
    numbers = count(1)

    def add(finding: Finding, caused_by: int | None) -> None:
        number, process = next(numbers), _of(processes, finding.site)
        findings.append(_finding(number, caused_by, finding, process, stacks))
        objects.extend(
            _finding_object(number, position, each, process, stacks) for position, each in enumerate(finding.objects)
        )
        for position, earlier in enumerate(finding.earlier):
            where = _where(earlier.site, process, stacks)
            site = earlier.site
            calls.append((number, position, earlier.text, site.api, site.thread, site.time_ns, *where))
        for consequence in finding.consequences:
            add(consequence, number)

    for finding in report.findings:
        add(finding, None)
    yield from stacks.new()
    yield from _batched("findings", findings)
    yield from _batched("finding_objects", objects)
    yield from _batched("finding_calls", calls)


def _where(site: Site | None, process: _Process | None, stacks: _Stacks) -> tuple[int | None, int | None]:
    """The rows of the call and of its stack."""
    call = process.call_of(site) if process is not None else None
    return call, stacks.id_of(site.frames) if site is not None else None


def _finding(number: int, caused_by: int | None, finding: Finding, process: _Process | None, stacks: _Stacks) -> Values:
    site = finding.site
    call, stack = _where(site, process, stacks)
    call = call if finding.host is None else None
    because = "\n".join(map(printable, finding.because)) or None
    return (number, caused_by, process.id if process else None, finding.rule, finding.name, finding.severity, finding.message,
            finding.api, finding.status, finding.signal, site.thread, site.time_ns, call, stack, finding.repeats, finding.processes,
            because, finding.help or None)  # fmt: skip


def _finding_object(
    number: int, position: int, reported: ObjectReport, process: _Process | None, stacks: _Stacks
) -> Values:
    found = process.object_of(reported) if process is not None else None
    created, destroyed = (_where(site, process, stacks) for site in (reported.created, reported.destroyed))
    return (
        number,
        position,
        found,
        reported.name,
        reported.kind,
        reported.handle,
        reported.generation,
        *created,
        *destroyed,
    )


def _memory(processes: Sequence[_Process], stacks: _Stacks) -> Iterator[Batch]:
    uses = [(each.id, use) for each in processes for use in each.recorded.memory]
    yield from _batched(
        "memory",
        (
            (number, process, use.memory, use.device, use.capacity, use.bytes, use.count, use.peak_bytes, use.peak_count, use.peak_ns)
            for number, (process, use) in enumerate(uses, 1)
        ),
    )  # fmt: skip
    places = [
        (number, position, place.site.api, place.library, stacks.id_of(place.site.frames), place.bytes, place.count,
         place.peak_bytes, place.peak_count)
        for number, (_, use) in enumerate(uses, 1)
        for position, place in enumerate(use.places)
    ]  # fmt: skip
    yield from stacks.new()
    yield from _batched("memory_places", places)
