"""Data of the timeline: lanes of contexts, threads, streams and living objects, the calls that there is room for, and findings' calls.

Of more calls than there is room for, ``overview.py`` chooses those that are shown one by one. The lanes' bins count
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cuvet.analysis.history import NO_STREAM, History
from cuvet.catalog import EntryPoint, Kind, api_of, status_name
from cuvet.catalog.roles import ENDS, MAKES, Verb
from cuvet.findings import Finding, Site
from cuvet.recording.layout import PENDING
from cuvet.recording.reader import Array
from cuvet.reports.memory import where_of
from cuvet.reports.overview import chosen_calls, offsets
from cuvet.reports.page.markup import cut
from cuvet.sizes import counted, plural

MOST_PROCESSES, MOST_THREADS, MOST_STREAMS, MOST_CONTEXTS = 12, 24, 32, 8
MOST_IDLE_STREAMS = 4
"""That got no work: a library makes 128 of them at once."""
MOST_LANES = 150
MOST_BARS = 200
"""Lives in a lane."""
MOST_PLACES = 1000
SORTS = ("work", "copy", "make", "end", "wait", "other")
"""What a call does, for its colour."""


@dataclass(slots=True)
class _Texts:
    """Texts that many calls have, by number."""

    texts: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.texts.setdefault(cut(text), len(self.texts))


class Lane(NamedTuple):
    """``kind``: process, context, thread, stream or objects. ``key`` is what filters know it by."""

    kind: str
    process: int
    key: str
    name: str
    calls: int = 0
    """Or objects that were made."""
    bins: Sequence[int] = ()
    bars: Sequence[tuple[int, int, str]] = ()
    """Lives: from, to (-1: it lived at the end), name."""


class _Scale(NamedTuple):
    """The time from 0 to ``end``, in ``bins`` equal parts."""

    end: int
    bins: int

    def bin(self, times: Array) -> Array:
        """In which part they are."""
        found: Array = np.minimum((times / self.end * self.bins).astype(np.int64), self.bins - 1)
        return found


@dataclass(slots=True)
class Timeline:
    lanes: list[Lane]
    apis: list[str]
    data: dict[str, object]
    left_out: list[str]


def timeline(findings: Sequence[Finding], histories: Sequence[History], most: int, bins: int) -> Timeline:
    """``most`` calls one by one, ``bins`` for each lane."""
    begins = {id(each): begin for each, begin in zip(histories, offsets(histories), strict=True)}
    busiest = {id(each) for each in sorted(histories, key=lambda each: -len(each.thread))[:MOST_PROCESSES]}
    shown = [each for each in histories if id(each) in busiest]
    end = max((begins[id(each)] + each.end_ns for each in shown), default=0) + 1
    lanes, calls, left_out = _filled(findings, [(each, begins[id(each)]) for each in shown], _Scale(end, bins), most)
    stored = sum(len(each.thread) for each in shown)
    if len(shown) < len(histories):
        left_out.append(f"the timeline has the {len(shown)} processes with most calls, of {len(histories)}")
    if calls.count < stored:
        left_out.append(
            f"{calls.count:,} of {stored:,} recorded calls are drawn one by one: those of findings, those that failed, and the longest;"
            " the others are in the grey heights of the lanes"
        )
    data = {
        "end": end,
        "bins": bins,
        "whole": calls.count == stored,
        "lanes": [_lane_data(lane) for lane in lanes],
        "calls": calls.data(),
        "marks": list(_marks(findings, shown, begins, lanes)),
    }
    return Timeline(lanes, [*calls.apis.texts], data, left_out)


def _filled(
    findings: Sequence[Finding], processes: Sequence[tuple[History, int]], scale: _Scale, most: int
) -> tuple[list[Lane], _Calls, list[str]]:
    """The lanes and the calls of processes, each with when it began; what is in no lane."""
    lanes: list[Lane] = []
    calls, left_out = _Calls(), list[str]()
    stored, room = sum(len(history.thread) for history, _ in processes), most
    for history, begin in processes:
        own, missing = _lanes(history, begin, scale, MOST_LANES - len(lanes))
        left_out += missing
        share = max(most * len(history.thread) // max(stored, 1), min(100, most))
        chosen = chosen_calls(history, findings, min(share, room))
        room -= len(chosen)
        calls.add(history, chosen, begin, {lane.key: len(lanes) + at for at, lane in enumerate(own)})
        lanes += own
    return lanes, calls, left_out


def _lane_data(lane: Lane) -> dict[str, object]:
    data: dict[str, object] = {"k": lane.kind, "p": lane.process, "id": lane.key, "n": lane.name, "c": lane.calls}
    if any(lane.bins):
        data["b"] = _runs(lane.bins)
    if lane.bars:
        data["s"] = lane.bars
    return data


def _runs(values: Sequence[int]) -> list[int]:
    """Counts, with -n for n zeros."""
    packed: list[int] = []
    for value in values:
        if value:
            packed.append(value)
        elif packed and packed[-1] < 0:
            packed[-1] -= 1
        else:
            packed.append(-1)
    return packed


def _lanes(history: History, begin: int, scale: _Scale, room: int) -> tuple[list[Lane], list[str]]:
    """The lanes of a process, and what of it is in none."""
    pid = history.process
    program = history.executable.rpartition("/")[2]
    lanes = [
        Lane(
            "process",
            pid,
            str(pid),
            cut(f"process {pid}" + (f" ({program})" if program else "")),
            len(history.thread),
        )
    ]
    at = scale.bin(history.entered_ns + begin)
    contexts, context_count = _of_objects(history, Kind.CONTEXT, "context", begin, MOST_CONTEXTS)
    threads, thread_count = _threads(history, at, scale.bins)
    streams, stream_count = _streams(history, at, scale.bins, begin)
    lanes += [*contexts, *threads, *streams, *_living(history, begin, scale)]
    left_out = [
        f"process {pid}: {counted(count - len(own), f'more {noun}')} without a lane"
        for noun, own, count in (
            ("context", contexts, context_count),
            ("thread", threads, thread_count),
            ("stream", streams, stream_count),
        )
        if count > len(own)
    ]
    if len(lanes) > room:
        left_out.append(f"process {pid}: {counted(len(lanes) - max(room, 0), 'lane')} not shown")
    return lanes[: max(room, 0)], left_out


def _threads(history: History, at: Array, bins: int) -> tuple[list[Lane], int]:
    """Those with most calls, in the order of their numbers."""
    found, counts = np.unique(history.thread, return_counts=True)
    shown = sorted(found[np.argsort(-counts, kind="stable")][:MOST_THREADS].tolist())
    lanes = []
    for thread in shown:
        own = history.thread == thread
        name = history.threads.get(thread, "")
        text = f"thread {thread}" + (f" {name}" if name else "")
        counts = np.bincount(at[own], minlength=bins)
        lanes.append(
            Lane(
                "thread",
                history.process,
                f"t{history.process}/{thread}",
                cut(text),
                int(own.sum()),
                counts.tolist(),
            )
        )
    return lanes, len(found)


def _streams(history: History, at: Array, bins: int, begin: int) -> tuple[list[Lane], int]:
    """Those that got most work; a handle that was given out again keeps its lane."""
    works = history.stream != NO_STREAM
    handles, counts = np.unique(history.stream[works], return_counts=True)
    amounts = dict(zip(handles.tolist(), counts.tolist(), strict=True))
    lives = history.lives
    of_kind = np.flatnonzero(lives.kind == Kind.STREAM)
    for handle in np.unique(lives.handle[of_kind]).tolist():
        amounts.setdefault(handle, 0)
    used = sum(amount > 0 for amount in amounts.values())
    shown = sorted(amounts, key=lambda handle: -amounts[handle])[: min(used + MOST_IDLE_STREAMS, MOST_STREAMS)]
    order = {handle: row for row, handle in enumerate(lives.handle[of_kind].tolist())}
    lanes = []
    for handle in sorted(shown, key=lambda handle: order.get(handle, -1)):
        name = history.name_of(handle) or f"stream {handle:#x}"
        bars = _bars(history, of_kind[lives.handle[of_kind] == handle], name, begin)
        work = np.bincount(at[works & (history.stream == handle)], minlength=bins)
        key = f"s{history.process}/{handle:#x}"
        lanes.append(Lane("stream", history.process, key, name, amounts[handle], work.tolist(), bars))
    return lanes, len(amounts)


def _of_objects(history: History, kind: Kind, noun: str, begin: int, most: int) -> tuple[list[Lane], int]:
    lives = history.lives
    rows = np.flatnonzero(lives.kind == kind)
    handles = list(dict.fromkeys(lives.handle[rows].tolist()))
    lanes = []
    for handle in handles[:most]:
        own = rows[lives.handle[rows] == handle]
        name = f"{noun} {handle:#x}"
        lanes.append(
            Lane(
                noun,
                history.process,
                f"{noun}{history.process}/{handle:#x}",
                name,
                len(own),
                (),
                _bars(history, own, name, begin),
            )
        )
    return lanes, len(handles)


def _bars(history: History, rows: Array, name: str, begin: int) -> list[tuple[int, int, str]]:
    lives = history.lives
    bars = []
    for number, row in enumerate(rows[:MOST_BARS].tolist()):
        ended = int(lives.ended_ns[row])
        again = f", handle used for the {number + 1}. time" if number else ""
        bars.append((int(lives.made_ns[row]) + begin, ended + begin if ended >= 0 else -1, f"{name}{again}"))
    return bars


def _living(history: History, begin: int, scale: _Scale) -> Iterator[Lane]:
    """By kind: how many objects lived at most in each bin."""
    lives = history.lives
    for kind in np.unique(lives.kind).tolist():
        if kind == Kind.CONTEXT:
            continue
        own = lives.kind == kind
        ended = lives.ended_ns[own]
        times = np.concatenate([lives.made_ns[own], ended[ended >= 0]])
        change = np.concatenate([np.ones(int(own.sum()), np.int64), np.full(int((ended >= 0).sum()), -1)])
        order = np.lexsort((change, times))
        sums, at = np.cumsum(change[order]), scale.bin(times[order] + begin)
        heights = np.zeros(scale.bins, np.int64)
        np.maximum.at(heights, at, sums)
        last = np.searchsorted(at, np.arange(scale.bins), "left") - 1
        heights = np.maximum(heights, np.where(last >= 0, sums[np.maximum(last, 0)], 0))
        noun = plural(Kind(kind).row.counted or Kind(kind).noun)
        yield Lane(
            "objects", history.process, f"o{history.process}/{kind}", f"{noun} alive", int(own.sum()), heights.tolist()
        )


def _marks(
    findings: Sequence[Finding], histories: Sequence[History], begins: dict[int, int], lanes: Sequence[Lane]
) -> Iterator[tuple[int, int, int, str]]:
    """(finding, time, lane or -1, what) of each call that belongs to a finding; of its own call, ``what`` is its severity."""
    begin_of = {each.process: begins[id(each)] for each in histories}
    lane_of = {lane.key: number for number, lane in enumerate(lanes)}
    for index, finding in enumerate(findings):
        for (process, thread, time_ns), what in dict.fromkeys((_place(site), what) for site, what in _marked(finding)):
            if process in begin_of:
                yield index, time_ns + begin_of[process], lane_of.get(f"t{process}/{thread}", -1), cut(what)


def _marked(finding: Finding) -> Iterator[tuple[Site, str]]:
    yield finding.site, finding.severity
    for thing in finding.objects:
        for site, what in ((thing.created, "created"), (thing.destroyed, "destroyed")):
            if site is not None:
                yield site, f"{thing.name} {what}"
    yield from ((each.site, "earlier") for each in finding.earlier)


def _place(site: Site) -> tuple[int, int, int]:
    return site.process, site.thread, site.time_ns


@dataclass(slots=True)
class _Calls:
    """Columns of the calls that are shown one by one."""

    apis: _Texts = field(default_factory=_Texts)
    places: _Texts = field(default_factory=_Texts)
    results: _Texts = field(default_factory=lambda: _Texts({"success": 0, "did not return": 1}))
    sorts: dict[int, int] = field(default_factory=dict)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.rows)

    def add(self, history: History, chosen: Array, begin: int, lane_of: dict[str, int]) -> None:
        """``lane_of``: numbers of lanes by their keys."""
        known: dict[int, tuple[int, int]] = {}
        columns = (
            each[chosen].tolist()
            for each in (
                history.entered_ns, history.duration_ns, history.thread, history.stream, history.place, history.status, history.number,
            )
        )  # fmt: skip
        for entered, duration, thread, stream, place, status, number in zip(*columns, strict=True):
            if place not in known:
                known[place] = self._api(history, place), self._where(history, place)
            api, where = known[place]
            lane = lane_of.get(f"t{history.process}/{thread}", -1)
            work = lane_of.get(f"s{history.process}/{stream:#x}", -1) if stream != NO_STREAM else -1
            result = self._result(history, place, status)
            self.rows.append((entered + begin, duration, lane, work, api, where, result, number))

    def _api(self, history: History, place: int) -> int:
        api = self.apis.number(history.api_of(place))
        self.sorts.setdefault(api, SORTS.index(sort_of(history.entry_point_of(place))))
        return api

    def _where(self, history: History, place: int) -> int:
        if len(self.places.texts) >= MOST_PLACES:
            return -1
        site, library = history.place_of(place)
        return self.places.number(where_of(site, library)) if site.frames else -1

    def _result(self, history: History, place: int, status: int) -> int:
        if status in (0, PENDING):
            return int(status == PENDING)
        entry_point = history.entry_point_of(place)
        api = entry_point.name if entry_point is not None else history.api_of(place)
        return self.results.number(f"{status_name(api_of(api), status)} ({status})")

    def data(self) -> dict[str, object]:
        """Columns; of times and numbers the differences to those of the call before."""
        rows = sorted(self.rows)
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(8)]
        for at in (0, 7):
            columns[at] = [value - before for value, before in zip(columns[at], [0, *columns[at]], strict=False)]
        names = ("t", "d", "l", "s", "a", "w", "r", "n")
        sorts = [self.sorts[number] for number in range(len(self.apis.texts))]
        texts = {
            "apis": [*self.apis.texts],
            "sorts": sorts,
            "places": [*self.places.texts],
            "results": [*self.results.texts],
        }
        return {**dict(zip(names, columns, strict=True)), **texts}


def sort_of(entry_point: EntryPoint | None) -> str:
    """What a call of it does, in one word of ``SORTS``."""
    verbs = {role.verb for role in entry_point.roles} if entry_point is not None else set()
    if Verb.LAUNCHES in verbs:
        return "work"
    if verbs & {Verb.BLOCKS, Verb.QUERIES}:
        return "wait"
    if verbs & (MAKES | {Verb.REGISTERS, Verb.LOADS, Verb.RETAINS}):
        return "make"
    if verbs & (ENDS | {Verb.RELEASES, Verb.RESETS}):
        return "end"
    if verbs & {Verb.READS, Verb.WRITES}:
        return "copy"
    return "work" if Verb.ON in verbs else "other"
