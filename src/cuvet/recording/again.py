"""CALL_AGAIN and CALL_LIKE records, made into the CALL records that they stand for. FORMAT.md describes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuvet.catalog import Kind
from cuvet.recording import layout
from cuvet.recording.columns import Array, among, at_every_word, distinct
from cuvet.recording.layout import CHUNK_BYTES, RecordType

_CHUNK = CHUNK_BYTES // 8
_FIXED = layout.CALL.itemsize // 8
_OBJECT, _OUTPUT = layout.CALL_OBJECT.size // 8, layout.CALL_OUTPUT.size // 8
_ORIGINS = (1 << layout.AGAIN_ORIGIN_BITS) - 1
_U64 = np.uint64
_EVEN_BYTES = _U64(0xFF00FF)
_LOW, _HANDLE = _U64(0xFFFFFFFF), _U64((1 << 48) - 1)
_TOOK_BITS = 27
_ALIKE = np.array([0, 1, 2, 3, 5, 7])
"""Words of a CALL that a CALL_LIKE does not give: those of its form, of times and number."""
_BITS = np.array([number.bit_count() for number in range(256)])


class Expanded(NamedTuple):
    """``words`` are more by the new CALL records. By record that was given: ``at``, where its CALL is now; ``is_call``: it is one, and no
    other record tells of it; ``broken``: it is none, since what it refers to is not there."""

    words: Array
    at: Array
    is_call: Array
    broken: Array


class _Short:
    """What the records of calls of some chunks say of times and numbers; short ones say how these differ from those of the call before.
    ``heads``: the first words of all."""

    def __init__(self, words: Array, at: Array) -> None:
        self.heads = heads = words[at]
        kinds = heads >> _U64(32) & _U64(0xFFFF)
        self.again = kinds == RecordType.CALL_AGAIN
        self.likes = np.flatnonzero(kinds == RecordType.CALL_LIKE)
        is_short = self.again.copy()
        is_short[self.likes] = True
        times = np.where(is_short, _words_at(words, at + 1), _U64(0))
        calls = np.where(self.again, heads >> _U64(24) & _U64(0xFF), _U64(0))
        calls[self.likes] = words[at[self.likes] + 2] >> _U64(24) & _U64(0xFF)
        last = np.maximum.accumulate(np.where(is_short, 0, np.arange(len(at))))
        since, count = np.cumsum(times & _LOW), np.cumsum(calls)
        self.entered = _words_at(words, at[last] + 2) + since - since[last]
        self.number = _words_at(words, at[last] + 5) + count - count[last]
        took = times >> _U64(32)
        self.pending, self.told = is_short & (took == 0), took == layout.AGAIN_TOLD
        ticks = (took & _U64((1 << _TOOK_BITS) - 1)) << (took >> _U64(_TOOK_BITS))
        self.returned = np.where(self.pending, _U64(0), self.entered + ticks)
        self.in_full = np.flatnonzero(~is_short)

    def fill(self, made: Array, rows: Array) -> None:
        """The words of some CALLs that say this."""
        made[:, 2], made[:, 3], made[:, 5] = self.entered[rows], self.returned[rows], self.number[rows]
        made[:, 1] = made[:, 1] & _LOW | np.where(self.pending[rows], _LOW << _U64(32), _U64(0))


class _Calls:
    """The records of calls of some chunks, column by column; those of a CALL_AGAIN are its origin's. ``bodies``: where the CALL of each
    is, ``at`` of those that are CALLs themselves; 0 of a CALL_LIKE that is none."""

    def __init__(self, words: Array, at: Array, sizes: Array, short: _Short, bodies: Array) -> None:
        self._words = words
        self.at, self.sizes, self.again = at, sizes, short.again
        heads = short.heads
        self.given = np.where(self.again, heads >> _U64(16) & _U64(0xFF), _U64(0))
        reference = heads >> _U64(48)
        self.back = (reference >> _U64(layout.AGAIN_ORIGIN_BITS)).astype(np.int64)
        place = at // _CHUNK * _CHUNK + (reference & _U64(_ORIGINS)).astype(np.int64)
        rows = np.arange(len(at))
        self.wholes = np.flatnonzero(~self.again & (bodies > 0))
        first = bodies[self.wholes]
        counts = self.words(first + _FIXED - 1)
        fits = bytes_of(counts) <= sizes[self.wholes]
        counts[~fits] = 0
        number = np.minimum(np.searchsorted(at[self.wholes], place), max(len(first) - 1, 0))
        origin = self.wholes[number] if len(first) else rows
        needed = layout.AGAIN.itemsize + 8 * _BITS[self.given.astype(np.int64)]
        found = (at[origin] == place) & (origin < rows) & (needed <= sizes)
        self.whole = np.where(self.again, found & fits[number] if len(first) else False, bodies > 0)
        self.origin = np.where(self.again & self.whole, origin, rows)
        arguments, objects, outputs = ((counts >> _U64(8 * byte) & _U64(0xFF)).astype(np.int64) for byte in range(3))
        makes, names = outputs == 1, (outputs == 0) & (objects > 0)
        subject = _subjects(self, first, arguments, objects, makes, names)
        has = makes | names
        self.arguments, self.makes, self.names = (self.as_origins(each) for each in (arguments, makes, names))
        self.subject = self.as_origins(subject)
        self.generation = self.as_origins(self.words(first + np.where(has, subject, 0)) >> _U64(32))
        self.handle = self.as_origins(self.words(first + np.where(has, subject + 1, 0)))

    def as_origins(self, values: Array) -> Array:
        """By record: what a column of the CALL records says of its origin, or of itself."""
        column = np.zeros(len(self.at), values.dtype)
        column[self.wholes] = values
        spread: Array = column[self.origin]
        return spread

    def words(self, places: Array) -> Array:
        """Words of the data; what is behind its end is not looked at."""
        return _words_at(self._words, places)

    def resolved(self) -> tuple[Array, Array]:
        """Handle and generation of each call's subject."""
        has = self.makes | self.names
        known, handle, generation = self.generation, self.handle.copy(), self.generation.copy()
        told = self.again & has & (self.given & _U64(layout.AGAIN_SUBJECT) != 0)
        word = self.words(self.at[told] + 2)
        handle[told] = word & _HANDLE
        grown = ((word >> _U64(48)) - known[told]).astype(np.uint16).view(np.int16).astype(np.int64)
        generation[told] = known[told] + grown.astype(np.uint64)
        source, one = np.arange(len(self.at)), np.zeros(len(self.at), np.uint64)
        referring = self.again & has & ~told
        for those, others, grows in ((self.makes, self.names, 1), (self.names, self.makes, 0)):
            rows, candidates = np.flatnonzero(referring & those), np.flatnonzero(others)
            place = np.searchsorted(candidates, rows) - 1 - self.back[rows]
            inside = place >= 0
            rows, found = rows[inside], candidates[place[inside]]
            same = self.at[rows] // _CHUNK == self.at[found] // _CHUNK
            source[rows[same]], one[rows[same]] = found[same], grows
        while (source[source] != source).any():
            one += one[source]
            source = source[source]
        return handle[source], generation[source] + one & _LOW


def _subjects(calls: _Calls, first: Array, arguments: Array, objects: Array, makes: Array, names: Array) -> Array:
    """Where the object that a CALL makes, or names first, stands in it: so many words from its start. ``first``: that, in words."""
    field = _FIXED + arguments
    subject: Array = field + np.where(makes, _OBJECT * objects, 0)
    looking = names.copy()
    for number in range(int(objects[names].max(initial=0))):
        looking &= objects > number
        kinds = calls.words(first + np.where(looking, field + _OBJECT * number, 0)) >> _U64(8) & _U64(0xFF)
        here = looking & (kinds != int(Kind.STREAM))
        subject[here] = field[here] + _OBJECT * number
        looking &= ~here
    return subject


def bytes_of(counts: Array) -> Array:
    """How many bytes the last word of a CALL's fixed part asks for: in its lower half are the numbers of arguments, objects, outputs and
    pointers, of 1, 3, 2 and 1 words, a byte each. Two products have the sums of two each from their bit 16 on."""
    pairs = counts & _EVEN_BYTES
    words = pairs * _U64(1 << 16 | 2)
    np.bitwise_and(counts >> _U64(8), _EVEN_BYTES, out=pairs)
    pairs *= _U64(3 << 16 | 1)
    words += pairs
    words >>= _U64(16)
    words &= _U64(0xFFFF)
    words += _U64(_FIXED)
    needed: Array = (words.view(np.int64) << 3) + (counts >> _U64(32)).view(np.int64)
    return needed


def expand(words: Array, at: Array, sizes: Array, examples: Array) -> Expanded:
    """``words``: whole chunks, and what may be behind them; ``at``: where the records of calls are in them, in order, from the beginning of
    each chunk; their ``sizes`` in bytes; ``examples``: where the example of each CALL_LIKE is, 0 if it is not there."""
    short = _Short(words, at)
    words, bodies, sizes = _told_by_examples(words, at, sizes, examples, short)
    calls = _Calls(words, at, sizes, short, bodies)
    handle, generation = calls.resolved()
    is_call = calls.whole & ~short.told
    pending = np.flatnonzero(short.pending)
    if len(pending):
        # One that was killed before it could say that a CALL tells of it.
        key = short.number ^ (at // _CHUNK).astype(np.uint64) << _U64(48)
        is_call[pending[among(key[pending], key[short.in_full])]] = False
    rows = np.flatnonzero(short.again & is_call)
    sizes = sizes[calls.origin]
    new, end = bodies.copy(), len(words)
    parts = [words]
    for size in distinct(sizes[rows]).tolist():
        of_size = rows[sizes[rows] == size]
        made = _records(words, bodies[calls.origin[of_size]], size)
        _fill(made, calls, of_size, handle, generation, short.pending[of_size])
        short.fill(made, of_size)
        new[of_size] = end + size // 8 * np.arange(len(of_size))
        end += size // 8 * len(of_size)
        parts.append(made.reshape(-1))
    return Expanded(np.concatenate(parts), new, is_call, ~calls.whole)


def _words_at(words: Array, places: Array) -> Array:
    """What is behind the end is not looked at."""
    found: Array = words[np.minimum(places, len(words) - 1)]
    return found


def _records(words: Array, at: Array, size: int) -> Array:
    """Copies of records of so many bytes: a row of words for each."""
    records: Array = at_every_word(words, size)[at].view("<u8").reshape(len(at), -1)
    return records


def _told_by_examples(
    words: Array, at: Array, sizes: Array, examples: Array, short: _Short
) -> tuple[Array, Array, Array]:
    """The words with a CALL behind them for each CALL_LIKE; where the CALL of each record is, or 0, and their sizes."""
    likes = short.likes
    if not len(likes):
        return words, at, sizes
    halves = words.view("<u2")
    bodies, sizes = at.copy(), sizes.copy()
    bodies[likes] = 0
    count = (words[at[likes] + 2] >> _U64(16) & _U64(0xFF)).astype(np.int64)
    before = (layout.LIKE.itemsize + 2 * count + 7) // 8
    whole = (examples > 0) & (8 * (before + count) <= sizes[likes])
    likes, examples, count, before = likes[whole], examples[whole], count[whole], before[whole]
    sizes[likes] = (words[examples] & _LOW).astype(np.int64)
    parts, end = [words], len(words)
    for size in distinct(sizes[likes]).tolist():
        of_size = np.flatnonzero(sizes[likes] == size)
        rows = likes[of_size]
        made, fits = _records(words, examples[of_size], size), np.ones(len(rows), bool)
        for number in range(int(count[of_size].max(initial=0))):
            having = np.flatnonzero(count[of_size] > number)
            begin = at[rows[having]]
            position = halves[4 * begin + layout.LIKE.itemsize // 2 + number].astype(np.int64)
            may_differ = (position < size // 8) & ~among(position, _ALIKE)
            fits[having] &= may_differ
            value = words[begin + before[of_size[having]] + number]
            made[having[may_differ], position[may_differ]] = value[may_differ]
        short.fill(made, rows)
        bodies[rows] = np.where(fits, end + size // 8 * np.arange(len(rows)), 0)
        end += size // 8 * len(rows)
        parts.append(made.reshape(-1))
    return np.concatenate(parts), bodies, sizes


def _fill(made: Array, calls: _Calls, rows: Array, handle: Array, generation: Array, pending: Array) -> None:
    """The words in which CALLs of one size differ from their origins'."""
    line = np.arange(len(rows))
    names, makes = calls.names[rows], calls.makes[rows]
    subject = calls.subject[rows]
    at, named = line[names], subject[names]
    parameter = (made[at, named] & _U64(0xFF)).astype(np.int64)
    place = np.where(parameter < calls.arguments[rows[names]], _FIXED + parameter, named + 1)
    same = made[at, place] == made[at, named + 1]
    made[at[same], place[same]] = handle[rows[names]][same]
    made[at, named] = made[at, named] & _LOW | generation[rows[names]] << _U64(32)
    made[at, named + 1] = handle[rows[names]]
    back = ~pending[makes]
    at, output = line[makes], subject[makes]
    kept = np.where(back, _LOW, _U64(0xFF))
    made[at, output] = made[at, output] & kept | np.where(back, generation[rows[makes]], _U64(0)) << _U64(32)
    made[at, output + 1] = np.where(back, handle[rows[makes]], _U64(0))
    given = calls.given[rows]
    word = calls.at[rows] + 2 + (given >> _U64(7)).astype(np.int64)
    for argument in range(layout.AGAIN_ARGUMENTS):
        has = (given >> _U64(argument) & _U64(1) != 0) & (calls.arguments[rows] > argument)
        if has.any():
            made[has, _FIXED + argument] = calls.words(word[has])
            word += has
