"""The calls and forks of one process, and the host's touches of guarded memory, in an order that is consistent with causality, and only
those that can matter.

Every call has one instant. A call that makes an object has it at its return: no other thread can know the object earlier, and
a re-issued handle returns after the call that freed it entered. Every other call, also one that has not returned,
has it at its entry: what destroys an object makes it unusable from there on, and a wait that is still blocked must not be
blamed for what was destroyed meanwhile. The calls of one thread keep their order, because its next call enters after
the last one returned.

Calls are delivered while the file is read, and those that are newer than all of the last poll with the next one. Chunks are claimed in
the order of time, so that what is not read yet is not older than the newest chunk (less ``SLACK_NS``, for threads that were interrupted
between reading the clock and storing the call).

Calls of the driver without flags (``--record full``) changed no lifetime and named live objects only. All that the model needs of them is
the last work on each stream before the thread's next notable call of the driver (``is_notable`` is False for it): the others are counted
and not decoded. (Where accesses are recorded, all work has a flag.) Of calls of libraries without flags that are alike, in entry point,
arguments and context, the first is delivered, and the first after each call that ended something: what they were given may have ended
with it.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise

import numpy as np

from cuvet import catalog
from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.catalog.authored.libraries.accessed import accessed
from cuvet.catalog.kinds import Part
from cuvet.catalog.results import NOT_READY
from cuvet.catalog.roles import ENDS, MAKES
from cuvet.recording import layout
from cuvet.recording.columns import among, distinct, joined, wholes
from cuvet.recording.layout import CHUNK_BYTES, HEADER_BYTES, PENDING, CallFlag
from cuvet.recording.reader import Array, Batch, Recording
from cuvet.recording.records import CallRecord, Fork, HostAccess, decode
from cuvet.recording.repeats import MIX, ROW, Boundary, Codeless, Repeats, Skipped, Unread, likeness
from cuvet.recording.rests import Rests, State
from cuvet.recording.short_lives import FEWEST, LASTING, Alike, LeftOut, Run, columns_of, ended_by, made_by, needless

SLACK_NS = 50_000_000

_MANY = 4
"""A batch is kept as a whole if one in so many of its calls waits."""
_LEAST_PART, _DOUBLED = 256, 4
_PART = _LEAST_PART << _DOUBLED
"""Calls that are compared together, where some of what kernels are given is not: few at first."""
_MOST_ALIKE = 1 << 17
"""Calls of libraries that are remembered."""

_ENDS = ENDS | {Verb.RESETS, Verb.RELEASES}
_MAKES = MAKES | {Verb.RETURNS, Verb.REGISTERS, Verb.RETAINS}
_NOTABLE = (
    CallFlag.LIFECYCLE | CallFlag.SUSPECT | CallFlag.FAILED | CallFlag.ORDER | CallFlag.STREAM_ORDERED | CallFlag.WORK
).value
_PENDING_BYTES = PENDING.to_bytes(4, "little")
_FIXED = layout.CALL.itemsize // 8
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
EVER = (1 << 64) - 1
"""Later than all instants."""
_SUSPECT = (CallFlag.SUSPECT | CallFlag.FAILED).value
_FORK, _HOST_ACCESS = -1, -2
"""In place of the number of a batch."""
Item = CallRecord | Fork | HostAccess | Boundary | Skipped | LeftOut | Alike
"""What is given, in order."""
_NAMED = frozenset({Kind.CONTEXT, Kind.STREAM, Kind.EVENT, Kind.MEMORY, Kind.HOST_MEMORY, Kind.NONE})
_REPEATED = {
    Verb.CREATES: frozenset({Kind.STREAM, Kind.EVENT}),
    Verb.ALLOCATES: frozenset({Kind.MEMORY, Kind.HOST_MEMORY}),
    Verb.DESTROYS: frozenset({Kind.STREAM, Kind.EVENT}),
    Verb.FREES: frozenset({Kind.MEMORY, Kind.HOST_MEMORY}),
    Verb.LAUNCHES: frozenset({Kind.FUNCTION, Kind.KERNEL}),
    Verb.USES: frozenset({Kind.STREAM, Kind.EVENT, Kind.MEMORY, Kind.HOST_MEMORY, Kind.MEMORY_POOL}),
    Verb.ON: _NAMED,
    Verb.READS: _NAMED,
    Verb.WRITES: _NAMED,
    Verb.RECORDS: _NAMED,
    Verb.WAITS: _NAMED,
    Verb.BLOCKS: _NAMED,
    Verb.QUERIES: _NAMED,
}
"""What calls do that may be left out when they are repeated: with these objects nothing is counted but the objects themselves."""
_CALM = frozenset(
    {
        Verb.INITIALISES, Verb.USES, Verb.RETURNS, Verb.RETAINS, Verb.LOADS, Verb.CREATES,
        Verb.SETS_CURRENT, Verb.PUSHES, Verb.POPS,
    }
)  # fmt: skip
"""What calls do that change nothing about objects which they do not name."""
_WORKS = frozenset({Verb.USES, Verb.ON, Verb.READS, Verb.WRITES})
"""What calls of libraries do that may be left out when they are repeated."""


class EntryPoints:
    """Entry points by their ids in one recording: the names it stores, else this catalog's if it is the same one."""

    def __init__(self, recording: Recording) -> None:
        driver = catalog.driver()
        names = recording.entry_points
        if not names and int(recording.header["catalog"]) == driver.identity:
            names = {entry_point.id: entry_point.name for entry_point in driver.entry_points}
        self.known = len(recording.entry_points)
        self._names = names
        self._by_id = {
            number: known
            for number, name in names.items()
            if number < 1 << 16 and (known := catalog.recorded_entry_point(name))
        }
        self._unknown = max(self._by_id, default=0) + 1
        self.makes = np.zeros(self._unknown + 1, bool)
        self.stream = np.full(len(self.makes), -1)
        self.ends = np.zeros(len(self.makes), bool)
        self.library = np.zeros(len(self.makes), bool)
        self.repeatable = np.zeros(len(self.makes), bool)
        self.calm = np.zeros(len(self.makes), bool)
        self.maps = np.zeros(len(self.makes), bool)
        """Whether there may be other memory after a call."""
        self.written = np.zeros(len(self.makes), np.uint64)
        """A bit for each parameter through which the driver writes."""
        self.function, self.given = np.full(len(self.makes), -1), np.full(len(self.makes), -1)
        """The parameters that are the kernel which a call launches, and its arguments."""
        self.made, self.ended = np.zeros(len(self.makes), np.int8), np.zeros(len(self.makes), np.int8)
        self.allocates, self.lasts = np.zeros(len(self.makes), bool), np.zeros(len(self.makes), bool)
        self.maps[self._unknown] = True
        for number, entry_point in self._by_id.items():
            self.library[number] = entry_point.api != "driver"
            self.ends[number] = entry_point.api == "driver" and any(role.verb in _ENDS for role in entry_point.roles)
            self.makes[number] = any(role.verb in _MAKES for role in entry_point.roles)
            self.repeatable[number] = _is_repeatable(entry_point)
            allocates = any(role.verb is Verb.ALLOCATES for role in entry_point.roles)
            self.maps[number] = not self.repeatable[number] or allocates
            self.calm[number] = entry_point.api == "driver" and all(role.verb in _CALM for role in entry_point.roles)
            self.written[number] = sum(1 << at for at, each in enumerate(entry_point.parameters[:64]) if each.out)
            self.made[number], self.ended[number] = made_by(entry_point), ended_by(entry_point)
            self.allocates[number] = allocates
            self.lasts[number] = any(role.verb in _MAKES and role.kind is LASTING for role in entry_point.roles)
            on = [role.parameter for role in entry_point.roles if role.verb is Verb.ON and not role.field]
            if on and not self.library[number]:
                self.stream[number] = entry_point.index[on[0]]
            launched = [role.parameter for role in entry_point.roles if role.verb is Verb.LAUNCHES and not role.field]
            if launched and "kernelParams" in entry_point.index:
                self.function[number] = entry_point.index[launched[0]]
                self.given[number] = entry_point.index["kernelParams"]

    def numbers(self, ids: Array) -> Array:
        """Where the columns have these entry points; all that are unknown are one."""
        found: Array = np.minimum(ids, self._unknown).astype(np.intp)
        return found

    def __getitem__(self, number: int) -> EntryPoint | None:
        return self._by_id.get(number)

    def name(self, number: int) -> str:
        return self._names.get(number, f"entry point {number}")


def _newest_made() -> Array:
    """By kind, the newest generation of an object whose making was recorded. Of descriptors, those made at one place are not recorded
    beyond a few hundred; of all others, all are."""
    newest = np.full(1 << 8, np.iinfo(np.uint64).max, np.uint64)
    newest[[kind for kind in Kind if kind.row.part is Part.DESCRIPTOR]] = 0
    return newest


def _is_repeatable(entry_point: EntryPoint) -> bool:
    """Of what a struct names, the struct is compared if it describes a launch: its attributes are then stored too."""
    if entry_point.api != "driver":
        return bool(accessed(entry_point)) and all(role.verb in _WORKS for role in entry_point.roles)
    described = "config" if "kernelParams" in entry_point.index else ""
    return bool(entry_point.roles) and all(
        role.kind in _REPEATED.get(role.verb, ()) and not role.count and (not role.field or role.parameter == described)
        for role in entry_point.roles
    )


class Ordering:
    """``poll`` gives what is new. ``counted`` is how many calls were read, decoded or not. With ``repeats`` not all repetitions of the
    same calls are given (``repeats.py``); whoever judges them calls ``after_period``, and sets ``told``, which says how much was said of
    calls so far, None if a call may be judged otherwise than one like it (``short_lives.py``)."""

    def __init__(self, recording: Recording, *, repeats: bool = False) -> None:
        self.recording = recording
        self._entry_points: EntryPoints | None = None
        self.counted = 0
        self.pinned: Callable[[Array], Array] | None = None
        """Says of calls, by their places, which are to be given whatever is like them."""
        self.instant = 0
        """Of what was given last."""
        self._given = (0, 0)
        self.told: Callable[[], int | None] = lambda: None
        self.codeless: Callable[[], Codeless | None] = lambda: None
        """What is known of kernels without code, when all calls that were read before have been judged; None: all they are given counts."""
        self._repeats = Repeats() if repeats else None
        self._rests = Rests(self._repeats) if self._repeats is not None else None
        self._newest_made = _newest_made()
        self._ended = 0
        self._alike: set[int] = set()
        self._waiting: list[Array] = []
        """Parts in order, each of which comes after the one before."""
        self._batches: dict[int, Batch] = {}
        self._batches_taken = 0
        self._newest = 0
        """Ticks at which the newest call entered that was read before this poll."""
        self._forks_taken = self._host_accesses_taken = 0
        self._slack = round(SLACK_NS / recording.clock.ns_per_tick)

    @property
    def entry_points(self) -> EntryPoints:
        """Those that have been read; there are none before the first calls."""
        if self._entry_points is None or len(self.recording.entry_points) != self._entry_points.known:
            self._entry_points = EntryPoints(self.recording)
        return self._entry_points

    def after_period(self, steady: bool) -> None:
        """Told after each ``Boundary``: whether the last repetitions left the state as it was."""
        if self._repeats is not None:
            self._repeats.steady = steady

    def wants_state(self) -> bool:
        """Whether the state is asked for after the call that was given last, if the host has waited for all work."""
        return self._rests is not None and self._rests.wants_state(*self._given)

    def rested(self, state: State | None, pause: int) -> None:
        """Told then (``Rests.rested``)."""
        if self._rests is not None:
            self._rests.rested(*self._given, state, pause)

    def given(self) -> tuple[int, bytes]:
        """Place and record of the call that was given last, if it had returned when it was read."""
        batch, row = self._batches[self._given[0]], self._given[1]
        return int(batch.offsets[row]), batch.record(row)

    def poll(self, *, running: bool = False) -> Iterator[Item]:
        """Calls, forks and touches in order. While the process is running, those that others may still precede are held back."""
        newest = 0
        oldest: int | None = None
        for batch in self.recording.poll(running=running):
            self._take(batch)
            newest = max(newest, int(batch.calls["entered"].max()))
            begun = _begun(batch)
            if batch.offsets[-1] < 0:  # of chunks that were freed: others may have been begun earlier
                oldest = self.recording.oldest_not_freed() if oldest is None else oldest
                begun = min(begun, oldest)
            yield from self._release(begun - self._slack, running)
            self._forget()
        self._take_others()
        # Of what came after the last poll, a chunk that was read early in this one may lack calls that a later one has.
        until = self._newest - self._slack if running and newest else EVER
        self._newest = max(self._newest, newest)
        yield from self._release(until, running)
        yield from self._decoded(self._flushed(wait=running and newest > 0))
        self._forget()

    def _take(self, batch: Batch) -> None:
        self._take_others()
        calls, known = batch.calls, self.entry_points
        self.counted += len(calls)
        codes = calls.view("<u8")[1::_FIXED].copy()  # fields of structures far apart take long to read
        number, status = known.numbers(codes & _LOW), codes >> _HALF
        notable = (calls["flags"] & _NOTABLE != 0) | ((status != 0) & (status != NOT_READY))
        ended = np.sort(calls["entered"][np.flatnonzero(known.ends[number])])
        library = known.library[number]
        notable[self._first_alike(batch, np.flatnonzero(library & ~notable), ended)] = True
        self._ended += len(ended)
        if not notable.all():
            stream = known.stream[number]
            stream[notable] = -1
            notable[_last_work(batch, notable & ~library, stream)] = True
        self._wait(batch, np.flatnonzero(notable), number)

    def _wait(self, batch: Batch, indices: Array, number: Array) -> None:
        """Calls of a batch wait for their turn."""
        calls, known, number = batch.calls.take(indices), self.entry_points, number[indices]
        rows = np.zeros(len(indices), ROW)
        makes = known.makes[number] & (calls["returned"] > 0)
        rows["instant"] = np.where(makes, calls["returned"], calls["entered"])
        rows["number"], rows["offset"] = calls["number"], batch.offsets[indices]
        rows["source"], rows["row"] = self._batches_taken, indices
        rows["special"] = calls["status"] == PENDING
        if self._repeats is not None:
            self._note_made(batch, indices[known.library[number] & makes])
            calm = (calls["status"] == 0) & (calls["flags"] & _SUSPECT == 0)
            rows["able"] = known.repeatable[number] & calm
            rows["calm"] = rows["able"] | (known.calm[number] & calm)
            rows["maps"] = known.maps[number]
        if _MANY * len(indices) < len(batch.calls):
            few, rows["row"] = batch.those(indices), np.arange(len(indices))
            self.recording.reuse(batch)
            batch = few
        self._batches[self._batches_taken] = batch
        self._batches_taken += 1
        for at in np.flatnonzero(rows["special"]).tolist():  # they may wait for long, and keep no batch
            self._batches[self._batches_taken] = batch.those(rows["row"][at : at + 1])
            rows["source"][at], rows["row"][at] = self._batches_taken, 0
            self._batches_taken += 1
        self._add(rows)

    def _note_made(self, batch: Batch, indices: Array) -> None:
        """What calls of libraries made."""
        calls = batch.calls.take(indices)
        outputs = _FIXED + calls["arguments"].astype(np.int64) + 3 * calls["objects"]
        for at in range(int(calls["outputs"].max(initial=0))):
            has = calls["outputs"] > at
            words = batch.words(indices[has], outputs[has] + 2 * at)
            np.maximum.at(self._newest_made, words >> np.uint64(8) & np.uint64(0xFF), words >> np.uint64(32))

    def _compared(self, rows: Array) -> Iterator[Array]:
        """The same rows in parts, with their likeness. What came before a part has been judged when it is asked for."""
        if self.pinned is not None:
            rows["able"] &= ~self.pinned(rows["offset"])
        for part in _parts(rows) if self.recording.has_accesses else [rows]:
            held = self._repeats is not None and self._repeats.maps()
            codeless = None if held or part["maps"].any() else self.codeless()
            for source in distinct(part["source"]).tolist():
                members = np.flatnonzero(part["source"] == source)
                of_source = part.take(members)
                self._compare(self._batches[source], of_source, codeless)
                for column in ("like", "generations"):
                    part[column][members] = of_source[column]
            yield part

    def _compare(self, batch: Batch, rows: Array, codeless: Codeless | None) -> None:
        """``codeless``: kernels that have been launched. None if not all calls have been judged after which there may be other memory."""
        known, indices = self.entry_points, rows["row"].astype(np.int64)
        number = known.numbers(batch.calls.take(indices)["entry_point"])
        unread = self._unread(batch, indices, number, codeless) if codeless is not None else None
        found = likeness(batch, indices, rows["able"], known.written[number], self._newest_made, unread)
        rows["like"], rows["generations"] = found

    def _unread(self, batch: Batch, indices: Array, number: Array, codeless: Codeless) -> Unread | None:
        """What of the arguments of these calls makes no difference."""
        if not len(codeless.handles) or not len(codeless.starts):
            return None
        function, functions = self.entry_points.function[number], np.zeros(len(indices), np.uint64)
        launches = np.flatnonzero((function >= 0) & (function < batch.calls["arguments"][indices]))
        handles = batch.words(indices[launches], _FIXED + function[launches])
        place = np.minimum(np.searchsorted(codeless.handles, handles), len(codeless.handles) - 1)
        functions[launches] = np.where(codeless.handles[place] == handles, handles, np.uint64(0))
        return Unread(functions, self.entry_points.given[number], codeless.starts, codeless.ends)

    def _add(self, rows: Array) -> None:
        """Rows wait for their turn, before those of the parts that are not all earlier."""
        if not len(rows):
            return
        first, parts = int(rows["instant"].min()), [part for part in self._waiting if len(part)]
        earlier = sum(int(part["instant"][-1]) < first for part in parts)
        self._waiting = [*parts[:earlier], _in_order(joined([*parts[earlier:], rows]))]

    def _forget(self) -> None:
        """Batches of which nothing waits any more."""
        used = {source for part in self._waiting for source in distinct(part["source"]).tolist()}
        for waiting in (self._repeats, self._rests):
            used |= waiting.sources() if waiting is not None else set()
        self._batches = {number: batch for number, batch in self._batches.items() if number in used}

    def _first_alike(self, batch: Batch, indices: Array, ended: Array) -> Array:
        """Of some calls, those that are the first of their like; ``ended``: when others of the batch ended something."""
        calls = batch.calls.take(indices)
        like = calls["entry_point"] + (self._ended + np.searchsorted(ended, calls["entered"])).astype(np.uint64) * MIX
        like = (like ^ calls["context"]) * MIX
        for position in range(int(calls["arguments"].max(initial=0))):
            having = np.flatnonzero(calls["arguments"] > position)
            words = batch.words(indices[having], _FIXED + position)
            like[having] = (like[having] ^ words) * MIX
        found, first = np.unique(like, return_index=True)
        fresh = [at for at, one in zip(first.tolist(), found.tolist(), strict=True) if one not in self._alike]
        if len(self._alike) > _MOST_ALIKE:
            self._alike.clear()
        self._alike.update(found.tolist())
        return indices[fresh]

    def _take_others(self) -> None:
        self._forks_taken = self._take_from(self.recording.forks, self._forks_taken, _FORK)
        accesses = self.recording.host_accesses
        self._host_accesses_taken = self._take_from(accesses, self._host_accesses_taken, _HOST_ACCESS)

    def _take_from(self, others: Sequence[Fork] | Sequence[HostAccess], taken: int, source: int) -> int:
        """What is no call waits for its turn, from number ``taken`` on; how many there are."""
        new = others[taken:]
        if new:
            rows = np.zeros(len(new), ROW)
            rows["instant"], rows["source"], rows["special"] = [each.ticks for each in new], source, True
            rows["row"] = np.arange(taken, taken + len(new))
            rows["offset"] = -rows["row"]
            self._add(rows)
        return taken + len(new)

    def _release(self, until: int, running: bool) -> Iterator[Item]:
        """Those whose instants are not later than ``until``."""
        while until >= 0 and self._waiting:
            due = sum(int(part["instant"][0]) <= until for part in self._waiting)
            if not due:
                return
            part, released = joined(self._waiting[:due]), 0
            self._waiting[:due] = [part]
            count = int(np.searchsorted(part["instant"], np.uint64(until), side="right"))
            for at in np.flatnonzero(part["special"][:count]).tolist():
                self._waiting[0] = part[at:]
                yield from self._decoded(self._without_repeats(part[released:at]))
                released, rest = at + 1, part[at + 1 :]
                if not (yield from self._release_special(part[at], rest, running)):
                    return
                if self._waiting[0] is not rest:  # the call waits for its return now
                    break
            else:
                self._waiting[:1] = [part[count:]] if count < len(part) else []
                yield from self._decoded(self._without_repeats(part[released:count]))
                if count < len(part):
                    return

    def _release_special(self, first: np.void, rest: Array, running: bool) -> Generator[Item, None, bool]:
        """The first that waits, no call or one that had not returned; whether what follows can be released: the ``rest`` of its part, and
        other parts."""
        if first["source"] < 0:
            self._waiting[0] = rest
            yield from self._interrupted()
            self.instant = int(first["instant"])
            others = self.recording.forks if first["source"] == _FORK else self.recording.host_accesses
            yield others[int(first["row"])]
            return True
        record = self._batches[int(first["source"])].record(int(first["row"]))
        call = self._present(int(first["offset"]), record)
        if call is not None and call.status is None and running:
            return False
        self._waiting[0] = rest
        if call is None:
            return True
        if call.returned > int(first["instant"]) and self._makes(call):
            moved = first.copy()
            moved["instant"] = call.returned
            self._add(moved.reshape(1))
            return True
        yield from self._interrupted()
        self._given, self.instant = (int(first["source"]), int(first["row"])), int(first["instant"])
        yield call
        return True

    def _interrupted(self) -> Iterator[CallRecord | Boundary | Skipped | LeftOut | Alike]:
        if self._repeats is None or self._rests is None:
            return
        for rows in self._rests.interrupt():
            yield from self._decoded(self._repeats.take(rows))
        yield from self._decoded(self._repeats.interrupt())

    def _flushed(self, *, wait: bool) -> Iterator[Array | Boundary | Skipped]:
        """What is held back. Nothing is said of it, so that it can ``wait`` for what follows."""
        if self._repeats is None or self._rests is None:
            return
        if not wait:
            for rows in self._rests.flush():
                yield from self._repeats.take(rows)
        if not (wait and self._repeats.repeating and self._repeats.steady):
            yield from self._repeats.flush()

    def _without_repeats(self, rows: Array) -> Iterator[Array | Boundary | Skipped]:
        if self._repeats is None or self._rests is None:
            yield rows
            return
        self._repeats.has_gaps = bool(self.recording.freed)
        for part in self._compared(rows) if len(rows) else ():
            for piece in self._rests.take(part) if self.recording.has_accesses else [part]:
                yield from self._repeats.take(piece)

    def _decoded(
        self, items: Iterator[Array | Boundary | Skipped]
    ) -> Iterator[CallRecord | Boundary | Skipped | LeftOut | Alike]:
        for item in items:
            if isinstance(item, (Boundary, Skipped)):
                yield item
                continue
            for part in self._without_short_lives(item):
                if isinstance(part, (LeftOut, Alike)):
                    yield part
                    continue
                rows = (part[name].tolist() for name in ("source", "row", "instant"))
                for source, row, self.instant in zip(*rows, strict=True):
                    self._given = (source, row)
                    yield decode(self._batches[source].record(row))

    def _without_short_lives(self, rows: Array) -> Iterator[Array | LeftOut | Alike]:
        """Rows to be judged, and how many objects were left out between them."""
        if self._repeats is None or self._repeats.repeating or len(rows) < FEWEST:
            yield rows
            return
        bounds = [0, *(np.flatnonzero(rows["calm"][1:] != rows["calm"][:-1]) + 1).tolist(), len(rows)]
        for begin, end in pairwise(bounds):
            told = self.told()
            if told is None or end - begin < FEWEST or not rows["calm"][begin]:
                yield rows[begin:end]
            else:
                yield from self._of_run(rows[begin:end], told)

    def _of_run(self, rows: Array, told: int) -> Iterator[Array | LeftOut | Alike]:
        """Likewise of a run of calls that are calm."""
        run = self._run(rows)
        make, end, lasting = needless(run)
        if (
            self.pinned is not None or self.recording.left_out
        ):  # what lasts is kept; numbers of objects follow what was left out
            lasting = ()
        kinds = np.zeros(len(rows), np.int64)
        kinds[make], kinds[end] = run.made[make], -1
        for members in lasting:
            kinds[members[1:]] = LASTING
        kept, at = np.flatnonzero(kinds == 0), 0
        for part in np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1):
            if self.told() != told:
                break
            yield _left_out(kinds[at : int(part[0])])
            at = int(part[-1]) + 1
            yield rows.take(part)
        if self.told() == told:
            yield _left_out(kinds[at:])
            at = len(rows)
        yield from _alike(run, lasting, at)
        if at < len(rows):  # the rest is judged, but for the ends of what was left out
            rest = np.arange(at, len(rows))
            yield rows.take(rest[~among(rest, end[make < at])])

    def _run(self, rows: Array) -> Run:
        """The columns of some calls."""
        sources, known = rows["source"], self.entry_points

        def words(indices: Array, positions: Array) -> Array:
            found = np.zeros(len(indices), np.uint64)
            for source in distinct(sources[indices]).tolist():
                of_source = np.flatnonzero(sources[indices] == source)
                batch_rows = rows["row"][indices[of_source]]
                found[of_source] = self._batches[source].words(batch_rows, positions[of_source])
            return found

        calls = np.zeros(len(rows), layout.CALL)
        for source in distinct(sources).tolist():
            of_source = np.flatnonzero(sources == source)
            wholes(calls)[of_source] = wholes(self._batches[source].calls.take(rows["row"][of_source]))
        of = calls["entry_point"]
        made, ended, stream = known.made[of].astype(np.int64), known.ended[of].astype(np.int64), known.stream[of]
        return Run(calls, made, ended, known.allocates[of], known.lasts[of], stream, words, rows["able"])

    def _present(self, offset: int, record: bytes) -> CallRecord | None:
        """The call as it is now, if it had not returned when it was read. None: another record tells of it."""
        if record[12:16] == _PENDING_BYTES:
            newer = self.recording.reread(offset, record)
            # The status is written last: a second read sees the outputs that belong to it.
            newer = self.recording.reread(offset, record)
            if not newer:
                return None
            if newer[:6] == record[:6] and newer[56:64] == record[56:64] and len(newer) == len(record):
                record = newer
        return decode(record)

    def _makes(self, call: CallRecord) -> bool:
        return call.entry_point < len(self.entry_points.makes) and bool(self.entry_points.makes[call.entry_point])


def _alike(run: Run, lasting: Sequence[Array], until: int) -> Iterator[Alike]:
    """What calls before ``until`` made like the first of their list."""
    for members in lasting:
        members = members[members < until]
        if len(members) > 1:
            columns = columns_of(run, members, until)
            yield Alike(LASTING, columns[0], columns[1:])


def _left_out(kinds: Array) -> LeftOut:
    """``kinds`` of the objects that calls make; not above 0 of other calls."""
    return LeftOut(tuple(np.bincount(kinds[kinds > 0], minlength=max(Kind) + 1).tolist()))


def is_notable(call: CallRecord) -> bool:
    return bool(call.flags & _NOTABLE) or call.status not in (0, NOT_READY)


def _in_order(rows: Array) -> Array:
    """By instant; of the same instant, by number and place."""
    instants = rows["instant"]
    if (instants[1:] > instants[:-1]).all():
        return rows
    return rows.take(np.lexsort((rows["offset"], rows["number"], instants)))


def _parts(rows: Array) -> list[Array]:
    """Rows in parts, so that what is known of kernels grows in between. Where many follow one another of which none maps memory, no part
    has one that does beside them."""
    maps = np.concatenate([[-1], np.flatnonzero(rows["maps"]), [len(rows)]])
    long = np.flatnonzero(np.diff(maps) > _PART)
    bounds = {0, len(rows), *(maps[long] + 1).tolist(), *maps[long + 1].tolist()}
    for begin, end in pairwise(sorted(bounds)):
        bounds.update(begin + (_LEAST_PART << more) for more in range(_DOUBLED) if begin + (_LEAST_PART << more) < end)
        bounds.update(range(begin + _PART, end, _PART))
    return [rows[begin:end] for begin, end in pairwise(sorted(bounds))]


def _begun(batch: Batch) -> int:
    """Ticks at which the newest chunk of the batch was begun."""
    last = int(batch.offsets[-1])
    begin = last - (last - HEADER_BYTES) % CHUNK_BYTES
    return int(batch.calls["entered"][np.searchsorted(batch.offsets, begin)])


def _last_work(batch: Batch, dividing: Array, stream: Array) -> Array:
    """Indices of calls that enqueue on their parameter ``stream`` (-1: they do not): the last per stream between two ``dividing`` calls
    of a thread."""
    works = np.flatnonzero((stream >= 0) & (stream < batch.calls["arguments"]))
    if not works.size:
        return works
    chunk = (batch.offsets - HEADER_BYTES) >> CHUNK_BYTES.bit_length() - 1
    segment = np.cumsum(dividing) + chunk * (len(dividing) + 1)
    streams = batch.words(works, _FIXED + stream[works])
    last = (streams[1:] != streams[:-1]) | (np.diff(segment[works]) != 0)
    works, streams = works[np.append(last, True)], streams[np.append(last, True)]
    known = distinct(streams)
    _, last = np.unique((segment[works] * len(known) + np.searchsorted(known, streams))[::-1], return_index=True)
    newest: Array = works[::-1][last]
    return newest
