"""Finds the records of chunks: walks from one to the next, or sees that a chunk has them where another has them.

The bytes may be anything: nothing outside of a chunk is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuvet.recording.columns import Array
from cuvet.recording.layout import CHUNK_BYTES, CHUNK_HEADER_BYTES, RecordType

MOST_SHAPES = 32
"""That are remembered."""
_FEWEST_ALIKE = 8
"""Records at the beginning of a chunk that must be like those of another, before the rest is compared."""
_HEAD, _HEAD_OF_AGAIN, _TYPE = np.uint64(0xFFFFFFFFFFFF), np.uint64(0xFFFF0000FFFF), np.uint64(0xFFFF00000000)
"""Size and type in the first word of a record."""
_AGAIN = np.uint64(RecordType.CALL_AGAIN << 32)
_WORDS = CHUNK_BYTES // 8


class Records(NamedTuple):
    """Records chunk after chunk: their ``places``, in words from the beginning of the chunk, and their first words. Of each chunk: how many
    it has, and where they end, in bytes. Those that broke off, and why."""

    places: Array
    heads: Array
    counts: list[int]
    ends: Array
    broken: list[tuple[int, str]]


class Shape(NamedTuple):
    """The records of a whole chunk: their places, and what is ``compared`` of their first words."""

    places: Array
    heads: Array
    compared: Array


class _Found(NamedTuple):
    """The first records of a chunk."""

    places: Array
    heads: Array


_NONE = _Found(np.zeros(0, np.int64), np.zeros(0, np.uint64))


def whole_records(words: Array, starts: Array, held: Array, shapes: list[Shape]) -> Records:
    """The records of chunks, rows of 8-byte ``words``, from ``starts`` on, as far as they are ``held`` (bytes). ``shapes``: of chunks that
    were walked before; new ones are added."""
    ends, broken, found = starts.copy(), [], [_NONE]
    are_whole = (held == CHUNK_BYTES) & (starts == CHUNK_HEADER_BYTES)
    alike: dict[int, _Found] = {}
    unlike = np.flatnonzero(are_whole)
    for shape in shapes:
        unlike = _compare(words, unlike, shape, alike)
    for row, (position, end) in enumerate(zip(starts.tolist(), held.tolist(), strict=True)):
        own = alike.get(row, _NONE)
        if len(own.places):
            position = 8 * int(own.places[-1]) + size_of(int(own.heads[-1]))
        if position + 8 <= end and words[row, position >> 3]:
            seen, (own, position) = len(own.places), _walked(words[row], own, position, end)
            if are_whole[row] and len(own.places) >= max(2 * seen + 1, _FEWEST_ALIKE):
                shapes.append(_shape(own))
                unlike = _compare(words, unlike[unlike > row], shapes[-1], alike)
            size = size_of(int(words[row, position >> 3])) if position + 8 <= end else 0
            if size:
                cut_off = end < CHUNK_BYTES and position + size <= CHUNK_BYTES
                broken.append((row, "the file ends within a record" if cut_off else "a record does not fit its chunk"))
        found.append(own)
        ends[row] = position
    del shapes[:-MOST_SHAPES]
    places, heads = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Records(places, heads, [len(own.places) for own in found[1:]], ends, broken)


def _shape(records: _Found) -> Shape:
    compared = np.where((records.heads & _TYPE) == _AGAIN, _HEAD_OF_AGAIN, _HEAD)
    return Shape(records.places, records.heads & compared, compared)


def _compare(words: Array, rows: Array, shape: Shape, alike: dict[int, _Found]) -> Array:
    """The rows of words that do not begin with records of this shape; of the others, those that do are added to ``alike``."""
    if not len(rows):
        return rows
    flat, few = words.reshape(-1), slice(_FEWEST_ALIKE)
    begin = flat.take(rows[:, None] * _WORDS + shape.places[few])
    same = ((begin & shape.compared[few]) == shape.heads[few]).all(1)
    others: Array = rows[~same]
    rows = rows[same]
    heads = flat.take(rows[:, None] * _WORDS + shape.places)
    differ = (heads & shape.compared) != shape.heads
    counts = np.where(differ.any(1), differ.argmax(1), len(shape.places))
    for row, count, own in zip(rows.tolist(), counts.tolist(), heads, strict=True):
        alike[row] = _Found(shape.places[:count], own[:count])
    return others


def _walked(words: Array, known: _Found, position: int, held: int) -> tuple[_Found, int]:
    """The first records of a chunk and those that follow them, and where the last of these ends."""
    found, position = _walk(words.data.cast("B").cast("I"), position, held)
    places = np.array(found, np.int64) >> 3
    return _Found(np.concatenate([known.places, places]), np.concatenate([known.heads, words[places]])), position


def _walk(words: memoryview, position: int, held: int) -> tuple[list[int], int]:
    """Places of the next records, and where the last of them ends, in bytes. ``words`` are of 4 bytes."""
    places: list[int] = []
    while position + 8 <= held:
        size = words[position >> 2]
        if size > CHUNK_BYTES and words[(position >> 2) + 1] & 0xFFFF == RecordType.CALL_AGAIN:
            size &= 0xFFFF
        if not size or size & 7 or position + size > held:
            break
        places.append(position)
        position += size
    return places, position


def size_of(head: int) -> int:
    """Bytes of a record that begins with this word."""
    return head & (0xFFFF if head >> 32 & 0xFFFF == RecordType.CALL_AGAIN else 0xFFFFFFFF)


def sizes_of(heads: Array) -> Array:
    """Bytes of records that fit their chunks."""
    found: Array = (heads & np.uint64(0xFFFF)).astype(np.int64)
    return found


def types_of(heads: Array) -> Array:
    found: Array = heads.view("<u2")[2::4]
    return found
