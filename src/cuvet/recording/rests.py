"""Finds what a process does again from a state of the model in which it was before, so that it need not be judged again.

The state is told (``Rests.rested``) where the host has waited for all work. The calls between two such moments lead from one state to
another: calls that are alike, from the same state on, lead there again, and nothing is said of them. So they are held back, as long as each
such way is known. When one is not, only a way from the last state that was judged to the one before it is judged: the newest, without the
loops in it, which lead to where they began.

Unlike a repetition (``repeats.py``), a loop that does something else now and then, in no order, is known after it has done each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuvet.recording.columns import distinct, joined
from cuvet.recording.reader import Array
from cuvet.recording.repeats import MOST_CALLS, ROW, Repeats

FEWEST = 256
"""Calls of a way, but for the first from a state."""
MOST_HELD = 64
"""Ways that are held back before their loops are left out."""
_MOST_KNOWN = 1 << 20
"""Calls of all ways that are known. Beyond that all are forgotten."""
_MOST_WAYS = 64
"""From one state that are known: those that were gone last."""
_KEY_BYTES = 16
_MOST_RARELY = 8
"""States that were not met before are looked for less often: up to as many times."""

State = tuple[bytes, int]
"""A digest of the model, and how much was said of calls. So a state before something was said is never met again."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Calls, each told by its likeness and generations, and the state after them."""

    keys: bytes
    to: State

    def __len__(self) -> int:
        return len(self.keys) // _KEY_BYTES


@dataclass(frozen=True, slots=True)
class _Held:
    """A way that is held back: the state before it, and its calls."""

    start: State
    rows: Array


class Rests:
    """``take`` is given calls in their order, and says which of them are to be judged. Who judges them asks ``wants_state`` after each."""

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats
        self._ways: dict[State, list[_Way]] = {}
        """From each state that is known. Those that were met last come first."""
        self._known = 0
        """Calls of them."""
        self._ends = np.zeros(0, np.uint64)
        """Likenesses of calls after which the state was told."""
        self._state: State | None = None
        """To which what is held back leads. None: what comes is judged."""
        self._held: list[_Held] = []
        self._begun = np.zeros(0, ROW)
        """How a known way begins that has not ended yet."""
        self._start: State | None = None
        """Told last, if calls were judged since then: these are ``keys``, and those of the ``piece`` from ``seen`` on."""
        self._keys: list[bytes] = []
        self._piece = np.zeros(0, ROW)
        self._seen = 0
        self._told_at_end: State | None = None
        self._asks = False
        """For the state, in this piece, after one of the calls ``at`` some rows of batches."""
        self._at: set[tuple[int, int]] = set()
        self._pause = 0
        """Calls that are taken before the state is asked for again."""
        self._rarely = 1

    def wants_state(self, source: int, row: int) -> bool:
        """Whether the state is asked for after the call at a row of a batch, if the host has waited for all work."""
        return self._asks and (source, row) in self._at

    def take(self, rows: Array) -> Iterator[Array]:
        rows, self._begun = joined([self._begun, rows]), np.zeros(0, ROW)
        at = 0
        while at < len(rows):
            if self._state is not None:
                way = self._follow(self._state, rows[at:])
                if way is not None:
                    self._held.append(_Held(self._state, rows[at : at + len(way)]))
                    at += len(way)
                    self._pause -= len(way)
                    yield from self._arrive(way.to)
                    continue
                if len(self._begun):
                    return
                yield from self._turn_back()
            end = self._end(rows, at)
            yield from self._judge(rows[at : end or len(rows)], is_cut=end is not None)
            at = end or len(rows)

    def rested(self, source: int, row: int, state: State | None, pause: int) -> None:
        """The state after the call at a row of a batch, which was judged last; None if it cannot be told. ``pause``: to how many calls it
        compares to find it."""
        found = np.flatnonzero((self._piece["source"] == source) & (self._piece["row"] == row))
        self._asks = False
        if state is None or not len(found):
            self._start, self._keys, self._pause = None, [], pause
            return
        at = int(found[0]) + 1
        self._rarely = 1 if state in self._ways else min(2 * self._rarely, _MOST_RARELY)
        self._pause = max(FEWEST, pause * self._rarely) - (len(self._piece) - at)
        keys = [*self._keys, _keys(self._piece[self._seen : at])]
        if self._start is not None:
            self._know(self._start, _Way(b"".join(keys), state))
        self._ways.setdefault(state, [])
        self._ends = distinct(np.append(self._ends, self._piece["like"][at - 1]))
        self._start, self._keys, self._seen = state, [], at
        if at == len(self._piece):
            self._told_at_end = state

    def flush(self) -> Iterator[Array]:
        """What was held back."""
        yield from self._pass_on()
        if len(self._begun):
            begun, self._begun = self._begun, np.zeros(0, ROW)
            yield from self._turn_back()
            yield from self._judge(begun, is_cut=False)

    def interrupt(self) -> Iterator[Array]:
        """Something else happened between the calls."""
        yield from self.flush()
        self._state = self._start = None
        self._keys = []

    def sources(self) -> set[int]:
        """Of the calls that are held back."""
        parts = [*(held.rows for held in self._held), self._begun]
        return {source for rows in parts for source in distinct(rows["source"]).tolist()}

    def _follow(self, state: State, rows: Array) -> _Way | None:
        """The known way that the rows go. They wait if they may be the beginning of one."""
        keys, ways = _keys(rows[:MOST_CALLS]), self._ways.get(state, [])
        for at, way in enumerate(ways):
            if keys.startswith(way.keys):
                ways.insert(0, ways.pop(at))
                return way
        if any(way.keys.startswith(keys) for way in ways):
            self._begun = rows
        return None

    def _arrive(self, state: State) -> Iterator[Array]:
        """At a state, by ways that are held back. Where that is the one which was judged, the last loop from there is enough."""
        self._state = state
        if state == self._held[0].start:
            last = max(at for at, held in enumerate(self._held) if held.start == state)
            del self._held[:last]
        elif len(self._held) > MOST_HELD:
            yield from self._pass_on()

    def _pass_on(self) -> Iterator[Array]:
        """What is held back, without loops."""
        held, self._held = self._held, []
        last = {each.start: at for at, each in enumerate(held)}
        at = 0
        self._asks = False
        while at < len(held):
            at = last[held[at].start]
            yield held[at].rows
            at += 1

    def _turn_back(self) -> Iterator[Array]:
        """No way is known on which it goes on."""
        yield from self._pass_on()
        self._start, self._keys, self._state = self._state, [], None

    def _judge(self, piece: Array, *, is_cut: bool) -> Iterator[Array]:
        """``is_cut``: where the state was told before."""
        self._piece, self._seen, self._told_at_end = piece, 0, None
        self._pause -= len(piece)
        self._asks = self._pause <= 0 and not self._is_left_out()
        if self._asks:
            of_last = piece[-1:] if is_cut else piece
            self._at = set(zip(of_last["source"].tolist(), of_last["row"].tolist(), strict=True))
        yield piece
        self._keys.append(_keys(piece[self._seen :]))
        self._asks, self._state = False, self._told_at_end
        if sum(map(len, self._keys)) > MOST_CALLS * _KEY_BYTES:
            self._start, self._keys = None, []

    def _end(self, rows: Array, at: int) -> int | None:
        """Of calls that are judged together: where the state was told before. None if there is none."""
        least = at + max(FEWEST, self._pause) - 1
        if self._is_left_out() or least >= len(rows):
            return None
        ends = np.flatnonzero(np.isin(rows["like"][least:], self._ends))
        return least + int(ends[0]) + 1 if len(ends) else None

    def _is_left_out(self) -> bool:
        """Whether what comes is left out as a repetition."""
        return self._repeats.repeating and self._repeats.steady

    def _know(self, state: State, way: _Way) -> None:
        if self._known + len(way) > _MOST_KNOWN:
            self._ways, self._known, self._ends = {way.to: []}, 0, np.zeros(0, np.uint64)
        ways = self._ways.setdefault(state, [])
        ways.insert(0, way)
        self._known += len(way) - sum(map(len, ways[_MOST_WAYS:]))
        del ways[_MOST_WAYS:]


def _keys(rows: Array) -> bytes:
    return np.stack([rows["like"], rows["generations"]], axis=1).tobytes()
