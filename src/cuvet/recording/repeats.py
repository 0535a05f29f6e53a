"""Finds where a process repeats the same calls over and over, so that not each of them need be judged.

Two calls are alike if their records are the same but for times, numbers of calls, generations of handles, and what a kernel of unknown
code is given that points to no memory. Where the last ``period`` calls are like those before them, call by call, and so on, the model
comes to the same state after each period, once it has seen a few
(``Boundary`` asks whoever judges the calls). What follows then is left out (``Skipped``), but for the last few periods: the state after
them is the same as if all had been judged, but for how many objects there have been.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cuvet.recording import layout
from cuvet.recording.columns import distinct, joined
from cuvet.recording.reader import Array, Batch

KEPT = 8
"""Periods at the end of a repetition that are not left out: more than there are generations of a handle that are remembered."""
MOST_CALLS = 1 << 14
"""In a period."""
_FEWEST = 64
"""Calls in which it is worth to look for a repetition."""
_GRAM = 16
"""Calls that are looked for together."""
_LONGEST = 8192
"""Bytes of a record that can be like another."""
_MOST_PERIODS = 16
"""That are tried."""
_PAST = 1 << 16
"""Calls that are remembered: more than three of the longest periods."""
_GAPS = 4
"""In a period: what is kept is judged again, and left out from other places on."""
_MOST_LEFT_OUT = 1 << 32
"""Periods in a row."""
_WORD = 1 << 64
MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT, _HALF, _BYTE = np.uint64(29), np.uint64(32), np.uint64(8)
_LOW, _KIND = np.uint64(0xFFFFFFFF), np.uint64(0xFF00)
_WEIGHTS = np.cumprod(np.full(_LONGEST // 8 + 1, MIX))
"""By word of a record: the same word elsewhere counts otherwise."""
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
        ("like", "<u8"),
        ("generations", "<u8"),
        ("source", "<i4"),
        ("row", "<i4"),
        ("special", "?"),
        ("able", "?"),
        ("calm", "?"),
        ("maps", "?"),
    ],
    align=True,
)
"""A call that waits for its turn. ``like``: equal for calls that are alike. ``generations``: a sum of the generations in the record.
``special``: it has not returned, or is a fork. ``able``: it succeeded, named living objects only, and can be like another. ``calm``: it
succeeded, named living objects only, and changes nothing about objects that it does not name. ``maps``: there may be other memory after
it."""


class Codeless(NamedTuple):
    """Kernels of whose code nothing is known: their handles, in order. All memory lies from each of ``starts`` to that of ``ends``."""

    handles: Array
    starts: Array
    ends: Array


class Unread(NamedTuple):
    """What is known of the arguments of kernels whose code is not known: only those that point to memory are looked at. ``functions``: by
    call, the kernel, or 0 if all of its arguments are. ``parameters``: the one that they are stored as. Memory lies from each of ``starts``
    to that of ``ends``."""

    functions: Array
    parameters: Array
    starts: Array
    ends: Array

    def pointers(self, words: Array) -> Array:
        """The words, and 0 for those that point to no memory."""
        place = np.searchsorted(self.starts, words, side="right") - 1
        inside = (place >= 0) & (words < self.ends[place])
        found: Array = np.where(inside, words, np.uint64(0))
        return found


def likeness(
    batch: Batch, rows: Array, repeatable: Array, written: Array, newest: Array, unread: Unread | None = None
) -> tuple[Array, Array]:
    """Two columns of some calls: their likeness, and a sum of the generations in them. ``repeatable`` says which of them can be like
    another; ``written`` has a bit for each parameter through which the driver writes: where that points to is not compared. Nor are
    arguments that are ``unread``. ``newest``: by kind, up to which generation there may be objects whose making was recorded; generations
    beyond are all one."""
    calls = batch.calls.take(rows)
    like = (batch.offsets[rows].astype(np.uint64) ^ MIX) * MIX
    generations = np.zeros(len(rows), np.uint64)
    able = np.flatnonzero(repeatable & (calls["size"] <= _LONGEST))
    for shape in _shapes(calls.take(able), None if unread is None else unread.functions[able]):
        members = able[shape]
        first = int(members[0])
        masked = range(0)
        if unread is not None and unread.functions[first]:
            masked = _kernel_words(batch.record(int(rows[first])), int(unread.parameters[first]))
        found, sums, told = _of_shape(batch, rows[members], calls[first], int(written[first]), newest, masked, unread)
        like[members[told]], generations[members[told]] = found[told], sums[told]
    return like, generations


def _shapes(calls: Array, functions: Array | None) -> Iterator[Array]:
    """Indices of calls of one entry point, and of one of the ``functions``, whose records have the same parts of the same lengths."""
    counts = calls.view("<u8").reshape(-1, _FIXED)[:, _FIXED - 1] & _LOW
    shape = (
        counts
        | calls["size"].astype(np.uint64) << np.uint64(32)
        | calls["entry_point"].astype(np.uint64) << np.uint64(48)
    )
    keys = [shape] if functions is None else [functions, shape]
    order = np.lexsort(keys)
    other = np.zeros(max(len(order) - 1, 0), bool)
    for key in keys:
        other |= np.diff(key[order]) != 0
    return iter(np.split(order, np.flatnonzero(other) + 1)) if len(order) else iter(())


def _kernel_words(record: bytes, parameter: int) -> range:
    """Which words of a CALL are the arguments of a kernel, that are stored as an input of that parameter."""
    fixed = layout.CALL_FIXED.unpack_from(record)
    counts = fixed[-5:]
    position = layout.CALL_FIXED.size + 8 * counts[0] + 24 * counts[1] + 16 * counts[2] + 8 * counts[3]
    while position + layout.CALL_INPUT.size + 4 <= len(record):
        number, _, length = layout.CALL_INPUT.unpack_from(record, position)
        position += layout.CALL_INPUT.size
        if number == parameter:
            described = 4 + 4 * int.from_bytes(record[position : position + 4], "little")
            return range((position + described + 7) // 8, min(position + length, len(record)) // 8)
        position += (length + 7) & ~7
    return range(0)


def _of_shape(
    batch: Batch, rows: Array, first: Any, written: int, newest: Array, masked: range, unread: Unread | None
) -> tuple[Array, Array, Array]:
    """Of calls of the shape of the ``first``: their likeness, sums of generations, and whether these are told of all that they made.
    ``masked``: the words that are arguments of a kernel of which not all are looked at."""
    objects = _FIXED + int(first["arguments"])
    outputs = objects + 3 * int(first["objects"])
    behind = outputs + 2 * int(first["outputs"])
    positions = np.array(
        [
            *COMPARED,
            *(at for at in range(_FIXED, objects) if not written >> (at - _FIXED) & 1),
            *range(objects, int(first["size"]) // 8),
        ]
    )
    words = batch.block(rows, positions)
    if unread is not None and masked:
        begin, end = np.searchsorted(positions, (masked.start, masked.stop))
        words[:, begin:end] = unread.pointers(words[:, begin:end])
    is_output = (positions >= outputs) & (positions < behind) & ((positions - outputs) % 2 == 0)
    has_generation = is_output | ((positions >= objects) & (positions < outputs) & ((positions - objects) % 3 == 0))
    named = words[:, has_generation]
    generations = named >> _HALF
    generations[generations > newest[(named & _KIND) >> _BYTE]] = 0
    sums = (generations * _WEIGHTS[positions[has_generation]]).sum(1, np.uint64)
    words[:, has_generation] &= _LOW
    told = ((words[:, is_output] & _KIND == 0) | (generations[:, is_output[has_generation]] != 0)).all(1)
    words *= _WEIGHTS[positions]
    words ^= words >> _SHIFT
    words *= MIX
    return words.sum(1, np.uint64), sums, told


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
        self.has_gaps = False
        """Whether periods were left out before, which are not given."""

    @property
    def repeating(self) -> bool:
        """Whether what is given now continues a repetition."""
        return self._period > 0

    def take(self, rows: Array) -> Iterator[Array | Boundary | Skipped]:
        past = len(self._like)
        like = np.concatenate([self._like, rows["like"]])
        generations = np.concatenate([self._generations, rows["generations"]])
        at = 0
        if self._period:
            at = self._agreed(like, generations, past) - past
            yield from self._feed(rows[:at])
            if at < len(rows):
                yield from self.end()
        runs = list(_runs(like, generations, past + at, has_gaps=self.has_gaps))
        while runs:
            run = runs.pop(0)
            begin, end = run.begin - past, run.end - past
            yield rows[at:begin]
            self._period, self._phase, self.steady = run.period, 0, False
            yield Boundary(True)
            at = self._agreed(like, generations, run.end) - past if self.has_gaps else end
            yield from self._feed(rows[begin:at])
            if at > end:
                runs = list(_runs(like, generations, past + at, has_gaps=self.has_gaps))
            if at < len(rows):
                yield from self.end()
        self._like, self._generations = like[-_PAST:], generations[-_PAST:]
        if at < len(rows):
            yield rows[at:]

    def _agreed(self, like: Array, generations: Array, begin: int) -> int:
        """How far calls from ``begin`` on continue the repetition, also behind periods that are not there any more: generations before
        these become what they would be without them."""
        period = self._period
        end = begin + _agreeing(like, generations, begin, period)
        gaps = [-period] * _GAPS
        while self.has_gaps and end < len(like) and end - gaps.pop(0) >= period:
            grown = _grown_in_gap(like, generations, end, period)
            if grown is None:
                break
            generations[end - 2 * period : end] += np.tile(grown, 2)
            gaps.append(end)
            end += _agreeing(like, generations, end, period)
        return end

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
            self._held = [joined(self._held)[left_out * period :]]
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

    def maps(self) -> bool:
        """Whether there may be other memory after the calls that are held back."""
        return any(held["maps"].any() for held in self._held)

    def sources(self) -> set[int]:
        """Of the calls that are held back."""
        return {source for held in self._held for source in distinct(held["source"]).tolist()}


def _agreeing(like: Array, generations: Array, begin: int, period: int) -> int:
    """How many calls from ``begin`` on continue the repetition, which ``2 * period`` calls or more precede."""
    other = (like[begin:] != like[begin - period : -period]) | _uneven(generations, begin, len(like), period)
    return int(np.argmax(other)) if other.any() else len(other)


def _grown_in_gap(like: Array, generations: Array, at: int, period: int) -> Array | None:
    """How much more than in one period generations grew before the call ``at``, of the calls of a period that ends there: by so many times
    as much as the call says. None if it is not alike, or grew otherwise."""
    if like[at] != like[at - period]:
        return None
    before, earlier = generations[at - period : at], generations[at - 2 * period : at - period]
    growth = before - earlier
    times = _quotient((int(generations[at]) - int(before[0])) % _WORD, int(growth[0]))
    return growth * np.uint64(times - 1) if 1 < times < _MOST_LEFT_OUT else None


def _quotient(product: int, factor: int) -> int:
    """The least number whose product with the factor is that, in 64 bits; 0 if there is none."""
    power = factor & -factor
    if not power or product % power:
        return 0
    modulus = _WORD // power
    return product // power * pow(factor // power, -1, modulus) % modulus


def _uneven(generations: Array, begin: int, end: int, period: int) -> Array:
    """Whether generations do not grow from period to period as they did before."""
    now, before, earlier = (generations[begin - back : end - back] for back in (0, period, 2 * period))
    uneven: Array = now - before != before - earlier
    return uneven


def _runs(like: Array, generations: Array, begin: int, *, has_gaps: bool = False) -> Iterator[_Run]:
    """Repetitions from ``begin`` on, in their order, that are long enough to be worth it. Where one is part of a longer one (every fourth
    turn of a loop does something else), the longer one counts. With gaps, each is told by the part before its first gap."""
    if len(like) - begin < _FEWEST:
        return
    distance = _distances(like)[begin:]
    nearest = list(_nearest_runs(like, generations, begin, distance, has_gaps))
    longest = _longest_run(like, generations, begin, distance, has_gaps)
    if longest is None or not all(_is_part(run, longest) for run in nearest if _overlap(run, longest)):
        yield from nearest
        return
    yield from (run for run in nearest if run.end <= longest.begin)
    yield longest
    yield from (run for run in nearest if run.begin >= longest.end)


def _overlap(run: _Run, other: _Run) -> bool:
    return run.begin < other.end and other.begin < run.end


def _is_part(run: _Run, other: _Run) -> bool:
    return _length(run) + _GRAM + run.period < _length(other)


def _length(run: _Run) -> int:
    return run.end - run.begin


def _nearest_runs(like: Array, generations: Array, begin: int, distance: Array, has_gaps: bool) -> Iterator[_Run]:
    """Those in which the calls before that are alike are always as far back."""
    changes = np.flatnonzero(distance[1:] != distance[:-1]) + 1
    starts, ends = np.append(0, changes), np.append(changes, len(distance))
    periods = distance[starts]
    worth = (periods > 0) & (periods <= MOST_CALLS) & ((ends - starts >= 8) | (ends == len(distance)))
    for start, end, period in zip(starts[worth].tolist(), ends[worth].tolist(), periods[worth].tolist(), strict=True):
        run = _run_within(like, generations, begin + start, begin + end, period, has_gaps)
        if run is not None:
            yield run


def _longest_run(like: Array, generations: Array, begin: int, distance: Array, has_gaps: bool) -> _Run | None:
    """Of the periods that the rarest calls have."""
    found: _Run | None = None
    for period in distinct(distance[(distance > 0) & (distance <= MOST_CALLS)])[-_MOST_PERIODS:].tolist():
        first = max(begin, period)
        other = np.flatnonzero(like[first:] != like[first - period : -period]) + first
        bounds = np.concatenate([[first - 1], other, [len(like)]])
        longest = int(np.argmax(np.diff(bounds)))
        run = _run_within(like, generations, int(bounds[longest]) + 1, int(bounds[longest + 1]), period, has_gaps)
        if run is not None and _length(run) >= _FEWEST and (found is None or _length(run) > _length(found)):
            found = run
    return found


def _run_within(like: Array, generations: Array, begin: int, end: int, period: int, has_gaps: bool) -> _Run | None:
    """The longest part of these calls, which are like those a ``period`` before, in which generations grow evenly; None if it is short and
    does not go on. With gaps, the first that is not short, if there is one."""
    first = max(begin, 2 * period)
    if first >= end:
        return None
    breaks = np.flatnonzero(_uneven(generations, first, end, period)) + first
    bounds = np.concatenate([[first - 1], breaks, [end]])
    lengths = np.diff(bounds) - 1
    chosen = int(np.argmax(lengths >= 3 * period if has_gaps and lengths.max() >= 3 * period else lengths))
    first, last = int(bounds[chosen]) + 1, int(bounds[chosen + 1])
    return _Run(first, last, period) if last - first >= 3 * period or last == len(like) else None


def _distances(like: Array) -> Array:
    """How far back the same ``_GRAM`` calls were last; 0 if they are new."""
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
    distance[:_GRAM] = 0
    return distance
