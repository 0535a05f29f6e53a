"""Finds where a process repeats the same calls over and over, so that not each of them need be judged.

Two calls are alike if their records are the same but for times, numbers of calls and generations of handles. Where the last ``period``
calls are like those before them, call by call, and so on, the model comes to the same state after each period, once it has seen a few
(``Boundary`` asks whoever judges the calls). What follows then is left out (``Skipped``), but for the last few periods: the state after
them is the same as if all had been judged, but for how many objects there have been.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from cuvet.recording import layout
from cuvet.recording.reader import Array, Batch

KEPT = 8
"""Periods at the end of a repetition that are not left out: more than there are generations of a handle that are remembered."""
MOST_CALLS = 1 << 13
"""In a period."""
_FEWEST = 64
"""Calls in which it is worth to look for a repetition."""
_LONGEST = 8192
"""Bytes of a record that can be like another."""
_PAST = 1 << 15
"""Calls that are remembered: more than three of the longest periods."""
MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_LOW = np.uint64(0xFFFFFFFF)
_FIXED = layout.CALL.itemsize // 8
COMPARED = (0, 1, 4, 6, 7)
"""Words of the fixed part that are compared: not the times, and not the number of the call."""


class Boundary(NamedTuple):
    """A period ends here. ``first``: the repetition begins."""

    first: bool


class Skipped(NamedTuple):
    """So many periods are left out."""

    periods: int


ROW = np.dtype(
    [
        ("instant", "<u8"),
        ("number", "<u8"),
        ("offset", "<i8"),
        ("source", "<i4"),
        ("row", "<i4"),
        ("special", "?"),
        ("able", "?"),
        ("calm", "?"),
        ("like", "<u8"),
        ("generations", "<u8"),
    ]
)
"""A call that waits for its turn. ``like``: equal for calls that are alike. ``generations``: a sum of the generations in the record.
``special``: it has not returned, or is a fork. ``able``: it succeeded, named living objects only, and can be like another. ``calm``: it
succeeded, named living objects only, and changes nothing about objects that it does not name."""


def likeness(batch: Batch, rows: Array, repeatable: Array, written: Array) -> tuple[Array, Array]:
    """Two columns of some calls: their likeness, and a sum of the generations in them. ``repeatable`` says which of them can be like
    another; ``written`` has a bit for each parameter through which the driver writes: where that points to is not compared."""
    calls = batch.calls[rows]
    like = (batch.offsets[rows].astype(np.uint64) ^ MIX) * MIX
    generations = np.zeros(len(rows), np.uint64)
    able = np.flatnonzero(repeatable & (calls["size"] <= _LONGEST))
    for shape in _shapes(calls[able]):
        members = able[shape]
        found, sums, told = _of_shape(batch, rows[members], calls[members[0]], int(written[members[0]]))
        like[members[told]], generations[members[told]] = found[told], sums[told]
    return like, generations


def _shapes(calls: Array) -> Iterator[Array]:
    """Indices of calls of one entry point whose records have the same parts of the same lengths."""
    counts = calls.view("<u8").reshape(-1, _FIXED)[:, _FIXED - 1] & _LOW
    shape = (
        counts
        | calls["size"].astype(np.uint64) << np.uint64(32)
        | calls["entry_point"].astype(np.uint64) << np.uint64(48)
    )
    order = np.argsort(shape, kind="stable")
    return iter(np.split(order, np.flatnonzero(np.diff(shape[order])) + 1)) if len(order) else iter(())


def _of_shape(batch: Batch, rows: Array, first: Any, written: int) -> tuple[Array, Array, Array]:
    """Of calls of the shape of the ``first``: their likeness, sums of generations, and whether these are told of all that they made."""
    found, sums, told = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.uint64), np.ones(len(rows), bool)
    objects = _FIXED + int(first["arguments"])
    outputs = objects + 3 * int(first["objects"])
    behind = outputs + 2 * int(first["outputs"])
    for position in (*COMPARED, *range(_FIXED, int(first["size"]) // 8)):
        if _FIXED <= position < objects and written >> (position - _FIXED) & 1:
            continue
        words = batch.words(rows, np.int64(8 * position))
        is_output = outputs <= position < behind and (position - outputs) % 2 == 0
        if is_output or (objects <= position < outputs and (position - objects) % 3 == 0):
            generation = words >> np.uint64(32)
            sums += generation * np.uint64(pow(int(MIX), position, 1 << 64))
            words &= _LOW
            if is_output:
                told &= (words & np.uint64(0xFF00) == 0) | (generation != 0)
        words ^= found
        words *= MIX
        found = words ^ (words >> _SHIFT)
    return found, sums, told


@dataclass(slots=True)
class _Run:
    """Calls ``begin`` to ``end`` that are like those ``period`` calls before them."""

    begin: int
    end: int
    period: int


class Repeats:
    """``take`` is given calls in their order, and says which of them are to be judged. ``steady`` is asked after each period whether the
    state was the same after the last few of them, but for how many objects there have been."""

    def __init__(self) -> None:
        self._like = np.zeros(0, np.uint64)
        self._generations = np.zeros(0, np.uint64)
        self._period = 0
        self._phase = 0
        self._held: list[Array] = []
        self.steady = False
        """Set by who judges the calls, after a ``Boundary``."""

    @property
    def repeating(self) -> bool:
        """Whether what is given now continues a repetition."""
        return self._period > 0

    def take(self, rows: Array) -> Iterator[Array | Boundary | Skipped]:
        past = len(self._like)
        like = np.concatenate([self._like, rows["like"]])
        generations = np.concatenate([self._generations, rows["generations"]])
        self._like, self._generations = like[-_PAST:], generations[-_PAST:]
        at = 0
        if self._period:
            at = _agreeing(like, generations, past, self._period)
            yield from self._feed(rows[:at])
        if at == len(rows):
            return
        yield from self.end()
        for run in _runs(like, generations, past + at):
            begin, end = run.begin - past, run.end - past
            yield rows[at:begin]
            self._period, self._phase, self.steady = run.period, 0, False
            yield Boundary(True)
            yield from self._feed(rows[begin:end])
            at = end
            if at < len(rows):
                yield from self.end()
        if at < len(rows):
            yield rows[at:]

    def _feed(self, rows: Array) -> Iterator[Array | Boundary | Skipped]:
        """Calls that continue the repetition."""
        at, period = 0, self._period
        while at < len(rows) and not self.steady:
            step = min(period - self._phase, len(rows) - at)
            yield rows[at : at + step]
            at += step
            self._phase = (self._phase + step) % period
            if not self._phase:
                yield Boundary(False)
        self._held.append(rows[at:])
        left_out = sum(map(len, self._held)) // period - KEPT
        if left_out > 0:
            self._held = [np.concatenate(self._held)[left_out * period :]]
            yield Skipped(left_out)

    def flush(self) -> Iterator[Array]:
        """What was held back; the repetition may go on."""
        held, self._held = self._held, []
        yield from held

    def end(self) -> Iterator[Array]:
        """The repetition ends here, if there was one."""
        self._period = 0
        yield from self.flush()

    def interrupt(self) -> Iterator[Array]:
        """Something else happened between the calls."""
        self._like = self._generations = np.zeros(0, np.uint64)
        yield from self.end()

    def sources(self) -> set[int]:
        """Of the calls that are held back."""
        return {source for held in self._held for source in distinct(held["source"])}


def distinct(values: Array) -> list[int]:
    """In ascending order. ``np.unique`` imports numpy.ma for this, which takes longer than all else with a small recording."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return cast(list[int], ordered[first].tolist())


def _agreeing(like: Array, generations: Array, begin: int, period: int) -> int:
    """How many calls from ``begin`` on continue the repetition, which ``2 * period`` calls or more precede."""
    other = (like[begin:] != like[begin - period : -period]) | _uneven(generations, begin, len(like), period)
    return int(np.argmax(other)) if other.any() else len(other)


def _uneven(generations: Array, begin: int, end: int, period: int) -> Array:
    """Whether generations do not grow from period to period as they did before."""
    now, before, earlier = (generations[begin - back : end - back] for back in (0, period, 2 * period))
    uneven: Array = now - before != before - earlier
    return uneven


def _runs(like: Array, generations: Array, begin: int) -> Iterator[_Run]:
    """Repetitions from ``begin`` on, in their order, that are long enough to be worth it."""
    if len(like) - begin < _FEWEST:
        return
    distance = _distances(like)[begin:]
    changes = np.flatnonzero(distance[1:] != distance[:-1]) + 1
    starts, ends = np.append(0, changes), np.append(changes, len(distance))
    periods = distance[starts]
    worth = (periods > 0) & (periods <= MOST_CALLS) & ((ends - starts >= 8) | (ends == len(distance)))
    for start, end, period in zip(starts[worth].tolist(), ends[worth].tolist(), periods[worth].tolist(), strict=True):
        first, last = max(begin + start, 2 * period), begin + end
        if first >= last:
            continue
        breaks = np.flatnonzero(_uneven(generations, first, last, period)) + first
        bounds = np.concatenate([[first - 1], breaks, [last]])
        longest = int(np.argmax(np.diff(bounds)))
        first, last = int(bounds[longest]) + 1, int(bounds[longest + 1])
        if last - first >= 3 * period or last == len(like):
            yield _Run(first, last, period)


def _distances(like: Array) -> Array:
    """How far back the same 16 calls were last; 0 if they are new."""
    grams = like.copy()
    for length in (1, 2, 4, 8):
        mixed = grams * MIX
        mixed ^= mixed >> _SHIFT
        mixed[length:] += grams[:-length]
        grams = mixed
    order = np.argsort(grams, kind="stable")
    same = grams[order[1:]] == grams[order[:-1]]
    distance = np.zeros(len(like), np.int64)
    distance[order[1:][same]] = (order[1:] - order[:-1])[same]
    distance[:16] = 0
    return distance
