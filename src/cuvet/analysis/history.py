"""What a process did over time: its calls, the lives of its objects, and what held memory, as columns for pages and traces.

The recording is read once more, after it has been judged. Which calls made and ended objects is told by their roles; what ended with
something else, and names, are told by the model; memory by the model's ledger.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cuvet.analysis.memory import HeldOverTime, held_over_time
from cuvet.catalog import EntryPoint, Kind
from cuvet.catalog.roles import ENDS, MAKES, Verb
from cuvet.findings import Site
from cuvet.model import Model
from cuvet.recording import Recording, layout
from cuvet.recording.columns import joined
from cuvet.recording.ordering import EntryPoints
from cuvet.recording.reader import Array, Batch, Clock
from cuvet.recording.sites import Sites
from cuvet.sizes import counted

MOST_CALLS = 4_000_000
"""Of a process: later ones are not looked at."""
MOST_ASKED = 1 << 16
"""Objects whose end no call of theirs tells, of which the model is asked."""
LATEST_NS = 1 << 52
"""A time behind this one is not to be believed; JavaScript has all numbers before it."""
NO_STREAM = NO_SIZE = (1 << 64) - 1
_FIXED = layout.CALL.itemsize // 8
_OBJECT_WORDS, _OUTPUT_WORDS = 3, 2
_KINDS = frozenset({Kind.FUNCTION, Kind.KERNEL, Kind.GRAPH_NODE, Kind.DEVICE, Kind.NONE})
"""Of objects without a life of their own."""

CALL = np.dtype(
    [
        ("entered", "<u8"),
        ("returned", "<u8"),
        ("number", "<u8"),
        ("stream", "<u8"),
        ("thread", "<u4"),
        ("status", "<u4"),
        ("place", "<u4"),
        ("kind", "<u2"),
        ("ends", "?"),
        ("maybe", "?"),
        ("handle", "<u8"),
        ("size", "<u8"),
    ]
)
"""``entered`` and ``returned`` are ticks. ``kind`` and ``handle``: of what it makes, or ``ends``; ``maybe``: it hands out what can be there
already. ``size``: bytes of the memory that it makes, or ``NO_SIZE``."""


class Place(NamedTuple):
    """Calls of one entry point from one stack. ``api``: the function that the user wrote."""

    site: Site
    library: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """Objects, by the time at which they were made. ``ended_ns``: -1 if they lived at the end; ``made``: index of the call;
    ``ended``: of the one that ended it, -1 if none of its own did; ``size``: bytes of memory, or ``NO_SIZE``."""

    kind: Array
    handle: Array
    made: Array
    made_ns: Array
    ended_ns: Array
    ended: Array
    size: Array


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """One process. Times are nanoseconds since its first record, which was ``start_ns`` after the epoch.

    Columns with a row for each stored call, in the order in which they entered: ``thread``, ``number``, ``place`` (an index for
    ``place_of``,
    ``api_of`` and ``entry_point_of``), ``entered_ns``, ``duration_ns`` (-1: it did not return), ``status``, ``stream`` (the handle on which
    it enqueued, or ``NO_STREAM``). ``name_of`` gives the name of a stream in reports; None if the model does not know it any more.
    ``arguments_of`` reads the words of the arguments of some calls, given by their rows in ascending order. ``left_out``: sentences."""

    process: int
    executable: str
    start_ns: int
    end_ns: int
    threads: dict[int, str]
    thread: Array
    number: Array
    place: Array
    entered_ns: Array
    duration_ns: Array
    status: Array
    stream: Array
    lives: Lives
    memory: tuple[HeldOverTime, ...]
    place_of: Callable[[int], Place]
    api_of: Callable[[int], str]
    entry_point_of: Callable[[int], EntryPoint | None]
    name_of: Callable[[int], str | None]
    arguments_of: Callable[[Array], list[tuple[int, ...]]]
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Known:
    """What calls of each entry point make or end: columns by its number. ``parameter``: the one that names it."""

    entry_points: EntryPoints
    kind: Array = field(init=False)
    parameter: Array = field(init=False)
    size: Array = field(init=False)
    """The parameter that says how many bytes, and -1 for none."""
    unit: Array = field(init=False)
    ends: Array = field(init=False)
    written: Array = field(init=False)
    maybe: Array = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.entry_points.makes)
        self.kind, self.parameter = np.zeros(size, np.uint16), np.zeros(size, np.int64)
        self.size, self.unit = np.full(size, -1, np.int64), np.ones(size, np.uint64)
        self.ends, self.written, self.maybe = (np.zeros(size, bool) for _ in range(3))
        for number in range(size):
            entry_point = self.entry_points[number]
            if entry_point is not None:
                self._fill(number, entry_point)

    def _fill(self, number: int, entry_point: EntryPoint) -> None:
        for role in entry_point.roles:
            plain = role.parameter and not role.field and not role.count and role.kind not in _KINDS
            hands_out = role.verb is Verb.RETURNS and role.kind is Kind.CONTEXT
            if not plain or not (role.verb in MAKES | ENDS or role.verb is Verb.REGISTERS or hands_out):
                continue
            self.kind[number], self.parameter[number] = role.kind, entry_point.index[role.parameter]
            self.ends[number], self.maybe[number] = role.verb in ENDS, hands_out
            self.written[number] = role.verb in MAKES or hands_out
            if role.size and role.verb not in ENDS:
                self.size[number], self.unit[number] = entry_point.index[role.size], role.element
            return


def history(recording: Recording, sites: Sites, model: Model | None) -> History:
    """Of a process whose recording was judged. RecordingError if it cannot be read any more."""
    again = Recording(recording.path)
    rows, pairs, left_out = _read(again)
    order = np.argsort(rows["entered"], kind="stable")
    rows = rows.take(order)
    clock, entry_points = again.clock, EntryPoints(again)
    entered_ns, returned_ns = _ns(rows["entered"], clock), _ns(rows["returned"], clock)
    pending = rows["status"] == layout.PENDING
    stacks = [(entry_point, sites.first(stack)) for entry_point, stack in pairs]
    end_ns = int(
        max(entered_ns.max(initial=0), returned_ns.max(initial=0), _ns(np.array([again.newest_ticks]), clock)[0])
    )
    return History(
        process=again.pid,
        executable=again.executable,
        start_ns=int(again.header["clock"][0][2]),
        end_ns=end_ns,
        threads=dict(recording.threads),
        thread=rows["thread"],
        number=rows["number"],
        place=rows["place"],
        entered_ns=entered_ns,
        duration_ns=np.where(pending, -1, np.maximum(returned_ns - entered_ns, 0)),
        status=rows["status"],
        stream=rows["stream"],
        lives=_lives(rows, entered_ns, np.where(pending, entered_ns, returned_ns), model),
        memory=held_over_time(model.ledger) if model is not None else (),
        place_of=partial(_place, stacks, entry_points, sites, again.pid),
        api_of=lambda place: _api(stacks[place], entry_points, sites),
        entry_point_of=lambda place: entry_points[stacks[place][0]],
        name_of=lambda handle: _stream_name(model, handle),
        arguments_of=partial(_arguments, recording.path, order),
        left_out=tuple(left_out or _not_stored(recording, len(rows))),
    )


def _read(recording: Recording) -> tuple[Array, list[tuple[int, int]], list[str]]:
    """The calls in the order of the file; entry point and stack of each place; what is not there, in sentences."""
    parts: list[Array] = []
    places: dict[int, int] = {}
    known, left_out, count = _Known(EntryPoints(recording)), [], 0
    for batch in recording.poll():
        if len(recording.entry_points) != known.entry_points.known:
            known = _Known(EntryPoints(recording))
        if count >= MOST_CALLS:
            left_out = [f"only the first {counted(MOST_CALLS, 'stored call')} of process {recording.pid} are shown"]
            break
        rows = _rows(batch, known)
        rows["place"] = _places_of(batch.calls, places)
        parts.append(rows[: MOST_CALLS - count])
        count += len(rows)
    rows = joined(parts) if parts else np.zeros(0, CALL)
    return rows, [(pair >> 32, pair & 0xFFFFFFFF) for pair in places], left_out


def _places_of(calls: Array, places: dict[int, int]) -> Array:
    """By number, in the order in which they were met."""
    pairs = calls["entry_point"].astype(np.uint64) << np.uint64(32) | calls["stack"].astype(np.uint64)
    found, inverse = np.unique(pairs, return_inverse=True)
    numbers = [places.setdefault(pair, len(places)) for pair in found.tolist()]
    return np.array(numbers, np.uint32)[inverse] if numbers else np.zeros(0, np.uint32)


def _rows(batch: Batch, known: _Known) -> Array:
    calls = batch.calls
    number = known.entry_points.numbers(calls["entry_point"])
    rows = np.zeros(len(calls), CALL)
    for name in ("entered", "returned", "number", "thread", "status"):
        rows[name] = calls[name]
    rows["stream"] = NO_STREAM
    stream = known.entry_points.stream[number]
    works = np.flatnonzero((stream >= 0) & (stream < calls["arguments"]))
    rows["stream"][works] = batch.words(works, _FIXED + stream[works])
    rows["ends"], rows["maybe"] = known.ends[number], known.maybe[number]
    changes = (known.kind[number] > 0) & ((calls["status"] == 0) | (calls["status"] == layout.PENDING) & rows["ends"])
    named = np.flatnonzero(changes & ~known.written[number] & (known.parameter[number] < calls["arguments"]))
    rows["handle"][named] = batch.words(named, _FIXED + known.parameter[number][named])
    rows["kind"][named] = known.kind[number][named]
    _take_outputs(batch, rows, np.flatnonzero(changes & known.written[number]), known, number)
    sized = np.flatnonzero(changes & (known.size[number] >= 0) & (known.size[number] < calls["arguments"]))
    rows["size"] = NO_SIZE
    rows["size"][sized] = batch.words(sized, _FIXED + known.size[number][sized]) * known.unit[number][sized]
    return rows


def _take_outputs(batch: Batch, rows: Array, making: Array, known: _Known, number: Array) -> None:
    """The handles that calls wrote."""
    calls = batch.calls
    start = _FIXED + calls["arguments"].astype(np.int64) + _OBJECT_WORDS * calls["objects"].astype(np.int64)
    for index in range(int(calls["outputs"][making].max(initial=0))):
        having = making[calls["outputs"][making] > index]
        at = start[having] + _OUTPUT_WORDS * index
        parameter = batch.words(having, at) & np.uint64(0xFF)
        meant = parameter == known.parameter[number][having].astype(np.uint64)
        having, at = having[meant], at[meant]
        rows["handle"][having] = batch.words(having, at + 1)
        rows["kind"][having] = known.kind[number][having]


def _arguments(path: Path, order: Array, rows: Array) -> list[tuple[int, ...]]:
    """``order``: by row, which call of the file it is."""
    wanted = np.sort(order[rows])
    found: dict[int, tuple[int, ...]] = {}
    first = 0
    for batch in Recording(path).poll():
        here = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, first + len(batch.calls))]
        for each in here.tolist():
            words = batch.record(each - first)[layout.CALL.itemsize :]
            count = min(int(batch.calls["arguments"][each - first]), len(words) // 8)
            found[each] = struct.unpack_from(f"<{count}Q", words)
        first += len(batch.calls)
        if not len(wanted) or first > wanted[-1]:
            break
    return [found.get(each, ()) for each in order[rows].tolist()]


def _lives(rows: Array, entered_ns: Array, returned_ns: Array, model: Model | None) -> Lives:
    """Each end belongs to the newest object of its handle. An object whose handle was made again before had ended unseen."""
    index = np.flatnonzero((rows["kind"] > 0) & (rows["handle"] > 0))
    ends = rows["ends"][index]
    at_ns = np.where(ends, entered_ns[index], returned_ns[index])
    order = np.lexsort((at_ns, rows["handle"][index], rows["kind"][index]))
    index, ends, at_ns = index[order], ends[order], at_ns[order]
    kind, handle, maybe = (rows[name][index] for name in ("kind", "handle", "maybe"))
    same = np.append((kind[1:] == kind[:-1]) & (handle[1:] == handle[:-1]), False)
    there = np.concatenate([[False], same[:-1] & ~ends[:-1]]) if len(ends) else ends
    kept = ends | ~(maybe & there)  # a context that is handed out once more is no new one
    index, ends, at_ns, kind, handle = (column[kept] for column in (index, ends, at_ns, kind, handle))
    same = np.append((kind[1:] == kind[:-1]) & (handle[1:] == handle[:-1]), False)
    until = np.where(same, np.append(at_ns[1:], 0), -1) if len(at_ns) else at_ns
    ending = np.where(same & np.append(ends[1:], False), np.append(index[1:], -1), -1) if len(index) else index
    made = np.flatnonzero(~ends)
    made = made[np.argsort(at_ns[made], kind="stable")]
    ended_ns = until[made].astype(np.int64)
    _ask(model, kind[made], handle[made], ended_ns)
    calls = index[made]
    return Lives(kind[made], handle[made], calls, at_ns[made], ended_ns, ending[made], rows["size"][calls])


def _ask(model: Model | None, kind: Array, handle: Array, ended_ns: Array) -> None:
    """Of objects that no call of theirs ends: the model knows what ended with something else."""
    if model is None:
        return
    alive = model.table.alive()
    for each in np.unique(kind).tolist():
        open_ = np.flatnonzero((kind == each) & (ended_ns < 0))
        if len(open_) <= alive[each]:
            continue
        for row in open_[-MOST_ASKED:].tolist():
            found = model.find(Kind(each), int(handle[row]))
            if found is not None and found.destroyed_by is not None:
                ended_ns[row] = found.destroyed_by.time_ns


def _ns(ticks: Array, clock: Clock) -> Array:
    since = (ticks.astype(np.uint64) - np.uint64(clock.origin)).astype(np.int64) * clock.ns_per_tick  # modulo 2^64
    found: Array = np.clip(since, 0, LATEST_NS).astype(np.int64)
    return found


def _not_stored(recording: Recording, stored: int) -> Iterator[str]:
    if recording.calls_made <= stored:
        return
    made = counted(recording.calls_made, "call")
    only_hot = not (recording.full or recording.left_out_calls)
    hint = ": `cuvet run --record full` records all" if only_hot else ""
    yield f"process {recording.pid} made {made}, of which {stored:,} are in the recording one by one{hint}"


def _api(pair: tuple[int, int], entry_points: EntryPoints, sites: Sites) -> str:
    return sites.api(pair[1]) or entry_points.name(pair[0])


def _place(pairs: list[tuple[int, int]], entry_points: EntryPoints, sites: Sites, process: int, place: int) -> Place:
    entry_point, stack = pairs[place]
    api, frames = sites.of_stack(stack)
    name = api or entry_points.name(entry_point)
    return Place(Site(api=name, call=0, process=process, thread=0, time_ns=0, frames=frames), sites.library(stack))


def _stream_name(model: Model | None, handle: int) -> str | None:
    if handle in (0, 1):
        return "default-stream"
    if handle == 2:
        return "per-thread-default-stream"
    found = model.find(Kind.STREAM, handle) if model is not None else None
    return found.name if found is not None else None
