"""Finds objects of which nothing is said after they were made, until they end if they do, so that these calls need not be judged.

Programs make and end events, streams and memory again and again, in an order that is no loop (``repeats.py`` has loops). Of the calls of
one handle in a run of calls that succeeded, named living objects only and changed nothing about others, most leave nothing behind that a
later call, a finding or the report could show. ``needless`` finds those pairs. Why they can be left out:

* **Nobody asks about the object.** No call of the run names its handle, or has a word that points into its memory, but those that make
  and end objects of this handle. Calls outside of the run come before all of its pairs of the handle, or after: what they can still find
  are the objects that the handle named last, and these ``KEPT`` are not left out. Memory that overlaps other memory of the run is judged.
* **The calls themselves are judged alike.** A verdict depends on the call and on what is known of other objects. The first pair of all
  that are equal but for times and handles is judged. If anything is said of a call, what follows is judged
  (``Ordering.told``). So are runs with a capture or a lost context, and each call of a thread that has another context than the one
  before.
* **Addresses.** What lay where memory was freed is told by the last pair that covered the address: the last of each handle and size is
  judged. So is the first: what seemed to live there was freed unseen.
* **Order.** Calls that enqueue on a stream, and those that wait for a context, matter to others only by the last of them: the last before
  each call that is no such pair is judged. That there were fewer calls on a stream changes no comparison of those that are judged.
* **Peaks of memory.** Between two calls that are no such pairs the sum of memory is largest at one call. What was allocated there is
  judged, so that each new peak is seen, with its places; for memory of several contexts with each set of them, as a set may be of one GPU.
* **Numbers.** Objects are counted where they are left out (``LeftOut``), so that all others have the numbers that they would have.

Of events that were made and not ended in the run, the first of all that are equal but for times and handles is judged. The others of which
no call of the run says anything are told of at its end (``Alike``), so that the model can have them as rows, and make objects of those
that something is said of later.

More than ``REMEMBERED`` ended handles are forgotten a little later than otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from cuvet.catalog import EntryPoint, Kind
from cuvet.recording import layout
from cuvet.recording.columns import distinct
from cuvet.recording.reader import Array
from cuvet.recording.repeats import COMPARED, MIX

KEPT = 6
"""Newest pairs of a handle that are judged: more than there are generations of a handle that are remembered."""
FEWEST = 256
"""Calls of a run in which it is worth to look for pairs."""
FEWEST_ALIKE = 8
"""Objects that live on and are alike, of which it is worth to make rows."""
MOST_CONTEXTS = 4
_FIXED = layout.CALL.itemsize // 8
_SHIFT = np.uint64(29)
_MAKES = {
    "cuEventCreate": Kind.EVENT,
    "cuStreamCreate": Kind.STREAM,
    "cuStreamCreateWithPriority": Kind.STREAM,
    "cuMemAlloc": Kind.MEMORY,
    "cuMemAllocAsync": Kind.MEMORY,
}
"""Entry points that write a new handle through their first parameter and change nothing else; the second is the size of memory."""
LASTING = Kind.EVENT
"""What is made without memory or order of its own: objects that are like another but for their handles."""
_ENDS = {
    "cuEventDestroy": Kind.EVENT,
    "cuStreamDestroy": Kind.STREAM,
    "cuMemFree": Kind.MEMORY,
    "cuMemFreeAsync": Kind.MEMORY,
}
"""Entry points that end what their first parameter names."""


def made_by(entry_point: EntryPoint) -> int:
    """The kind of object that calls make and that can be left out; 0 for none."""
    return _MAKES.get(entry_point.name, 0) if entry_point.api == "driver" else 0


def ended_by(entry_point: EntryPoint) -> int:
    """Likewise what they end."""
    return _ENDS.get(entry_point.name, 0) if entry_point.api == "driver" else 0


class LeftOut(NamedTuple):
    """So many objects of each kind were made and ended here."""

    counts: tuple[int, ...]


MADE = np.dtype([(name, "<u8") for name in ("handle", "generation", "later", "entered", "number", "argument")])
"""A call that made an object. ``later``: how many objects of the kind were made behind it in the run; ``argument``: its first."""


class Alike(NamedTuple):
    """``rows`` (dtype ``MADE``): objects that are like one which a call has made that was judged, ``first``, but for handles and times."""

    kind: Kind
    first: np.void
    rows: Array


class Spared(NamedTuple):
    """Indices of calls that need not be judged. Those of ``make`` made what those of ``end`` ended. Each list of ``lasting`` is of calls
    that are alike and made objects that lived on; only the first of each is judged."""

    make: Array
    end: Array
    lasting: tuple[Array, ...] = ()


class Run(NamedTuple):
    """Columns of calls in their order, all of which succeeded and named living objects only. ``made``, ``ended``: the kinds of
    ``made_by`` and ``ended_by``; ``allocates``: whether they make memory in any way, ``lasts``: the same of ``LASTING``; ``stream``: index
    of the parameter that they enqueue on, -1 if there is none. ``words`` gives a word of each of some calls (indices, words from the start
    of each). ``able``: whether they may be left out."""

    calls: Array
    made: Array
    ended: Array
    allocates: Array
    lasts: Array
    stream: Array
    words: Callable[[Array, Array], Array]
    able: Array


class _Lives(NamedTuple):
    """``order``: indices of the calls that make or end objects, by kind and handle; the columns behind it have a row for each of them.
    ``group``: a number for each kind and handle; ``making``: it makes one; ``touched``: other calls name the handle."""

    order: Array
    group: Array
    making: Array
    touched: Array


class _Pairs(NamedTuple):
    """Indices of the calls that make an object, in their order, and of those that end it; ``group`` as in ``_Lives``; ``newer``: how many
    pairs of the group follow."""

    make: Array
    end: Array
    group: Array
    newer: Array


def needless(run: Run) -> Spared:
    """Calls that need not be judged."""
    handles, sizes = _handles_and_sizes(run)
    streams = _streams(run)
    lives = _lives(run, handles, sizes, streams)
    pairs = _pairs(run, lives, streams)
    needed = _changes_context(run.calls)
    lasting = tuple(_lasting(run, lives, needed, handles))
    if not len(pairs.make):
        return Spared(pairs.make, pairs.end, lasting)
    pair_of = np.full(len(run.calls), -1)
    pair_of[pairs.make] = pair_of[pairs.end] = np.arange(len(pairs.make))
    judged = pairs.newer < KEPT
    judged |= _first_or_last_alike(run, pairs, sizes)
    segment = np.cumsum(pair_of < 0)
    needed |= _last_in_order(run, segment, streams, pair_of >= 0)
    judged[pair_of[needed & (pair_of >= 0)]] = True
    judged |= _at_peaks(run, pairs, segment, sizes)
    return Spared(pairs.make[~judged], pairs.end[~judged], lasting)


def columns_of(run: Run, members: Array, behind: int) -> Array:
    """Of calls that make objects of the kind ``LASTING``: dtype ``MADE``. The run goes on for them until ``behind``."""
    calls, columns = run.calls.take(members), np.zeros(len(members), MADE)
    makes = np.cumsum(run.made == LASTING)
    columns["later"] = makes[behind - 1] - makes[members]
    output = _FIXED + calls["arguments"].astype(np.int64)
    columns["generation"] = run.words(members, output) >> np.uint64(32)
    columns["handle"] = run.words(members, output + 1)
    columns["argument"] = run.words(members, np.full(len(members), _FIXED))
    columns["entered"], columns["number"] = calls["entered"], calls["number"]
    return columns


def _handles_and_sizes(run: Run) -> tuple[Array, Array]:
    """Of each call: the handle of what it makes or ends, 0 if it does not; bytes of the memory that it makes."""
    calls = run.calls
    handles, sizes = np.zeros(len(calls), np.uint64), np.zeros(len(calls), np.uint64)
    ends = np.flatnonzero((run.ended > 0) & (calls["arguments"] > 0))
    handles[ends] = run.words(ends, np.full(len(ends), _FIXED))
    makes = np.flatnonzero((run.made > 0) & (calls["outputs"] == 1) & (calls["arguments"] > 1))
    at = _FIXED + calls["arguments"][makes].astype(np.int64) + 3 * calls["objects"][makes].astype(np.int64)
    what = run.words(makes, at)
    known = (what & np.uint64(0xFFFF) == run.made[makes].astype(np.uint64) << np.uint64(8)) & (
        what >> np.uint64(32) > 0
    )
    makes, at = makes[known], at[known]
    handles[makes] = run.words(makes, at + 1)
    memory = makes[run.made[makes] == Kind.MEMORY]
    sizes[memory] = run.words(memory, np.full(len(memory), _FIXED + 1))
    return handles, sizes


def _streams(run: Run) -> Array:
    """The stream that each call enqueues on; all ones if it enqueues on none."""
    streams = np.full(len(run.calls), np.uint64(layout.NOT_ASKED))
    on = np.flatnonzero((run.stream >= 0) & (run.stream < run.calls["arguments"]) & ((run.made > 0) | (run.ended > 0)))
    streams[on] = run.words(on, _FIXED + run.stream[on])
    return streams


def _lasting(run: Run, lives: _Lives, needed: Array, handles: Array) -> Iterator[Array]:
    """Calls that are alike and make objects that the run neither ends nor names; no call that is ``needed``."""
    of_kind = run.made == LASTING
    if not of_kind.any() or (handles[of_kind] == 0).any() or (run.lasts & ~of_kind).any():
        return
    only = np.bincount(lives.group, minlength=1)[lives.group] == 1
    members = np.sort(lives.order[only & lives.making & ~lives.touched])
    calls = run.calls.take(members)
    plain = of_kind[members] & run.able[members] & ~needed[members] & (calls["context"] != np.uint64(layout.NOT_ASKED))
    plain &= (calls["objects"] == 0) & (calls["pointers"] == 0) & (calls["input_bytes"] == 0)
    members = members[plain]
    like = _likeness(run, members)
    order = np.argsort(like, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(like[order])) + 1):
        if len(same) >= FEWEST_ALIKE:
            yield members[same]


def _lives(run: Run, handles: Array, sizes: Array, streams: Array) -> _Lives:
    kinds = np.where(handles > 0, run.made + run.ended, 0)
    ours = np.flatnonzero(kinds)
    others = np.flatnonzero(kinds == 0)
    order = ours[np.lexsort((ours, handles[ours], kinds[ours]))]
    same = (kinds[order[1:]] == kinds[order[:-1]]) & (handles[order[1:]] == handles[order[:-1]])
    group = np.concatenate([[0], np.cumsum(~same)]) if len(order) else np.zeros(0, np.int64)
    touched = _touched(run, others, order, group, kinds, handles, sizes, streams)
    return _Lives(order, group, run.made[order] > 0, touched[group])


def _pairs(run: Run, lives: _Lives, streams: Array) -> _Pairs:
    """Those of objects of which nothing is said in between."""
    order, group, making, touched = lives
    same = group[1:] == group[:-1]
    bad = np.zeros(int(group.max(initial=0)) + 1, bool)
    bad[group[touched]] = True
    bad[group[1:][same & (making[1:] == making[:-1])]] = True
    first = np.flatnonzero(making[:-1] & ~making[1:] & same)
    make, end, group = order[first], order[first + 1], group[first]
    fitting = ~bad[group] & (streams[make] == streams[end]) & _on_own_stream(run, make, streams)
    fitting &= run.able[make] & run.able[end]
    newer = np.searchsorted(group, group, side="right") - 1 - np.arange(len(group))
    fitting = np.flatnonzero(fitting)
    fitting = fitting[np.argsort(make[fitting])]
    return _Pairs(make[fitting], end[fitting], group[fitting], newer[fitting])


def _touched(
    run: Run, others: Array, order: Array, group: Array, kinds: Array, handles: Array, sizes: Array, streams: Array
) -> Array:
    """By group: whether other calls name its objects, or memory of others overlaps them."""
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1])) if len(group) else np.zeros(0, np.int64)
    handle, memory = handles[order[starts]], kinds[order[starts]] == Kind.MEMORY
    most = np.maximum.reduceat(sizes[order], starts) if len(starts) else np.zeros(0, np.uint64)
    end = handle + np.where(memory, np.maximum(most, np.uint64(1)), np.uint64(1))
    words = distinct(np.concatenate([_words_behind(run, others), streams]))
    touched = np.searchsorted(words, handle) < np.searchsorted(words, end)
    touched |= end < handle
    at = np.flatnonzero(memory)
    if len(at) > 1:
        reached = np.maximum.accumulate(end[at])
        overlaps = handle[at[1:]] < reached[:-1]
        touched[at[1:][overlaps]] = True
        touched[at[:-1][handle[at[1:]] < end[at[:-1]]]] = True
    if run.allocates[others].any():
        touched |= memory
    result: Array = touched
    return result


def _words_behind(run: Run, indices: Array) -> Array:
    """All words of some calls behind the fixed parts of their records."""
    lengths = run.calls["size"][indices].astype(np.int64) // 8 - _FIXED
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return run.words(np.repeat(indices, lengths), _FIXED + within)


def _on_own_stream(run: Run, make: Array, streams: Array) -> Array:
    """Whether a call enqueues on no stream, on a default stream, or on one of the context that is current."""
    own = streams[make] == np.uint64(layout.NOT_ASKED)
    own |= streams[make] <= 2
    named = np.flatnonzero(~own & (run.calls["objects"][make] == 1))
    calls = run.calls.take(make[named])
    at = _FIXED + calls["arguments"].astype(np.int64) + 2
    own[named] = run.words(make[named], at) == calls["context"]
    result: Array = own
    return result


def _first_or_last_alike(run: Run, pairs: _Pairs, sizes: Array) -> Array:
    """Whether a pair is the first of those with the same calls, whatever their handles, or the first or the last of a handle with that
    size."""
    calls = _likeness(run, pairs.make) * MIX ^ _likeness(run, pairs.end)
    objects = (pairs.group.astype(np.uint64) * MIX ^ sizes[pairs.make]) * MIX
    found = np.zeros(len(calls), bool)
    found[np.unique(calls, return_index=True)[1]] = True
    found[np.unique(objects, return_index=True)[1]] = True
    found[len(found) - 1 - np.unique(objects[::-1], return_index=True)[1]] = True
    return found


def _likeness(run: Run, indices: Array) -> Array:
    """Equal for calls that are the same but for their handles, times and numbers."""
    calls = run.calls.take(indices)
    words = calls.view("<u8").reshape(-1, _FIXED)
    like = np.zeros(len(indices), np.uint64)
    for position in COMPARED:
        like = (like ^ words[:, position]) * MIX
        like ^= like >> _SHIFT
    for argument in (1, 2):
        having = np.flatnonzero(calls["arguments"] > argument)
        found = run.words(indices[having], np.full(len(having), _FIXED + argument))
        like[having] = (like[having] ^ found) * MIX
    return like


def _changes_context(calls: Array) -> Array:
    """Whether a call has another context than the one before in its thread, as far as that was asked, or is the thread's first."""
    changes = np.zeros(len(calls), bool)
    asked = calls["context"] != np.uint64(layout.NOT_ASKED)
    for thread in distinct(calls["thread"]).tolist():
        own = np.flatnonzero(calls["thread"] == thread)
        changes[own[0]] = True
        own = own[asked[own]]
        contexts = calls["context"][own]
        changes[own[np.append(True, contexts[1:] != contexts[:-1])[: len(own)]]] = True
    return changes


def _last_in_order(run: Run, segment: Array, streams: Array, paired: Array) -> Array:
    """Whether a call is the last of its segment that enqueues on a stream, or that waits for a context."""
    last = np.zeros(len(segment), bool)
    enqueues = streams != np.uint64(layout.NOT_ASKED)
    waits = (run.ended == Kind.MEMORY) & ~enqueues
    for members in (np.flatnonzero(paired & enqueues), np.flatnonzero(paired & waits)):
        calls = run.calls.take(members)
        by = [segment[members], streams[members], calls["thread"], calls["context"]]
        order = np.lexsort((members, *by))
        change = np.zeros(max(len(order) - 1, 0), bool)
        for column in by:
            change |= column[order[1:]] != column[order[:-1]]
        last[members[order[np.append(change, True)[: len(order)]]]] = True
    return last


def _at_peaks(run: Run, pairs: _Pairs, segment: Array, sizes: Array) -> Array:
    """Whether the memory of a pair was there when the memory of a set of contexts was largest in a segment."""
    there = np.zeros(len(pairs.make), bool)
    of_memory = np.flatnonzero(run.made[pairs.make] == Kind.MEMORY)
    make, end = pairs.make[of_memory], pairs.end[of_memory]
    contexts = distinct(run.calls["context"][make])
    context = np.searchsorted(contexts, run.calls["context"][make])
    if len(contexts) > MOST_CONTEXTS:
        there[of_memory] = True
        return there
    starts = np.flatnonzero(np.append(True, segment[1:] != segment[:-1]))
    every = range(len(contexts))
    for chosen in (each for count in every for each in combinations(every, count + 1)):
        within = np.isin(context, chosen)
        change = np.zeros(len(segment), np.float64)
        change[make[within]] = sizes[make[within]]
        change[end[within]] -= sizes[make[within]]
        held = np.cumsum(change)
        highest = np.flatnonzero(held == np.maximum.reduceat(held, starts)[segment - segment[0]])
        peaks = highest[np.append(True, segment[highest[1:]] != segment[highest[:-1]])]
        there[of_memory] |= within & (np.searchsorted(peaks, make) < np.searchsorted(peaks, end))
    return there
