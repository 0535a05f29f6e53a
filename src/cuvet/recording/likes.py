"""Makes CALL_LIKE records of CALLs, in a file that is written anew. FORMAT.md describes them; ``native/examples.cpp`` does the same."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from cuvet.recording import layout
from cuvet.recording.columns import Array
from cuvet.recording.examples import is_call
from cuvet.recording.layout import CallFlag, RecordType

_FEW = 4
"""Words that may differ."""
_WAYS = 64
"""Examples of a form that are looked at."""
_FORM = np.array([0, 1, 7])
_TIMES = (2, 3, 5)
"""Words that are told otherwise."""
_FIRST_ARGUMENT = layout.CALL.itemsize // 8
_MOST_TICKS = 1 << 27
_LEAST_TICKS = 2


class Launch(NamedTuple):
    """A CALL, and the number of the example that it is like, -1 if there is none; which words differ."""

    words: Array
    example: int
    differing: Array


class _Form:
    """The newest examples of one form: their numbers, and their words but for times, as rows."""

    def __init__(self, words: int) -> None:
        self.numbers = [-1] * _WAYS
        self.rows = np.zeros((_WAYS, words), np.uint64)
        self.count = 0

    def add(self, number: int, words: Array) -> None:
        at = self.count % _WAYS
        self.numbers[at], self.rows[at] = number, words
        self.count += 1


class Likes:
    """What was written so far that others can be told by."""

    def __init__(self) -> None:
        self._examples: list[tuple[int, int, Array]] = []
        """Chunk, place in it, words but for times."""
        self._of_form: dict[tuple[int, ...], _Form] = {}
        self._next: dict[int, int] = {}
        self._last = -1

    def find(self, record: bytes) -> Launch | None:
        """None if it is no launch that has returned and succeeded."""
        if not is_call(record) or len(record) < layout.CALL.itemsize + 8:
            return None
        flags, status, outputs = record[6] | record[7] << 8, record[12:16], record[58]
        if flags & (CallFlag.SUSPECT | CallFlag.FAILED) or not flags & CallFlag.WORK or any(status) or outputs:
            return None
        words = np.frombuffer(record, "<u8")
        compared = _without_times(words)
        number = self._next.get(self._last, -1)
        if not self._can_tell(number, compared):
            number = self._nearest(compared)
        if number < 0:
            return Launch(words, -1, words[:0])
        self._follow(number)
        return Launch(words, number, np.flatnonzero(self._examples[number][2] != compared))

    def _can_tell(self, number: int, compared: Array) -> bool:
        if number < self._oldest:
            return False
        example = self._examples[number][2]
        same = len(example) == len(compared) and (example[_FORM] == compared[_FORM]).all()
        return bool(same and np.count_nonzero(example != compared) <= _FEW)

    def _nearest(self, compared: Array) -> int:
        """The example of the same form that fewest words differ from; -1 if these are many."""
        form = self._of_form.get(_form(compared))
        if form is None:
            return -1
        rows = form.rows[: form.count]
        differing = np.count_nonzero(rows != compared, 1)
        best = int(np.argmin(differing))
        return form.numbers[best] if differing[best] <= _FEW and form.numbers[best] >= self._oldest else -1

    @property
    def _oldest(self) -> int:
        """Of those that a record can refer to."""
        return max(0, len(self._examples) - layout.EXAMPLES)

    def add(self, launch: Launch, chunk: int, place: int) -> bytes:
        """The record of a new example."""
        compared = _without_times(launch.words)
        form = self._of_form.get(_form(compared))
        if form is None:
            form = self._of_form[_form(compared)] = _Form(len(compared))
        form.add(len(self._examples), compared)
        self._examples.append((chunk, place, compared))
        self._follow(len(self._examples) - 1)
        marked = launch.words.copy()
        marked[0] |= np.uint64(CallFlag.EXAMPLE << 48)
        record: bytes = marked.tobytes()
        return record

    def told(self, launch: Launch, before: Array, chunk: int) -> bytes | None:
        """The CALL_LIKE, behind the call ``before`` in a chunk. None if that cannot tell it."""
        if launch.example < 0:
            return None
        of, place, _ = self._examples[launch.example]
        entered, returned, number = (int(launch.words[at]) for at in _TIMES)
        since, calls, took = entered - int(before[2]), number - int(before[5]), returned - entered
        fits = 0 <= since < 1 << 32 and 0 < calls < 1 << 8 and _LEAST_TICKS <= took < _MOST_TICKS
        if not fits or chunk - of >= 1 << 16:
            return None
        count = len(launch.differing)
        said = struct.pack("<IIHBB", since, took, chunk - of, count, calls) + launch.differing.astype("<u2").tobytes()
        said += bytes(-(layout.RECORD_HEADER.size + len(said)) % 8) + launch.words[launch.differing].tobytes()
        return layout.RECORD_HEADER.pack(layout.RECORD_HEADER.size + len(said), RecordType.CALL_LIKE, place // 8) + said

    def _follow(self, number: int) -> None:
        self._next[self._last] = number
        self._last = number


def _form(words: Array) -> tuple[int, ...]:
    return len(words), int(words[0]), int(words[1]), int(words[7]), int(words[_FIRST_ARGUMENT])


def _without_times(words: Array) -> Array:
    found: Array = words.copy()
    found[[*_TIMES]] = 0
    return found
