"""The calls and forks of one process in an order that is consistent with causality, and only those that can matter.

Every call has one instant. A call that makes an object has it at its return: no other thread can know the object earlier, and
a re-issued handle returns after the call that freed it entered. Every other call, also one that has not returned,
has it at its entry: what destroys an object makes it unusable from there on, and a wait that is still blocked must not be
blamed for what was destroyed meanwhile. The calls of one thread keep their order, because its next call enters after
the last one returned.

Calls are delivered while the file is read. Chunks are claimed in the order of time, so that what is not read yet is
not older than the newest chunk (less ``SLACK_NS``, for threads that were interrupted between reading the clock and storing the call).

Calls of the driver without flags (``--record full``) changed no lifetime and named live objects only. All that the model needs of them is
the last work on each stream before the thread's next notable call of the driver (``is_notable`` is False for it): the others are counted
and not decoded. Of calls of libraries without flags that are alike, in entry point, arguments and context, the first is delivered, and
the first after each call that ended something: what they were given may have ended with it.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from cuvet import catalog
from cuvet.catalog import EntryPoint, Verb
from cuvet.catalog.results import NOT_READY
from cuvet.catalog.roles import ENDS, MAKES
from cuvet.recording import layout
from cuvet.recording.layout import CHUNK_BYTES, HEADER_BYTES, PENDING, CallFlag
from cuvet.recording.reader import Array, Batch, Recording
from cuvet.recording.records import CallRecord, Fork, decode

SLACK_NS = 50_000_000

_MOST_ALIKE = 1 << 17
"""Calls of libraries that are remembered."""

_ENDS = ENDS | {Verb.RESETS, Verb.RELEASES}
_MAKES = MAKES | {Verb.RETURNS, Verb.REGISTERS, Verb.RETAINS}
_NOTABLE = (CallFlag.LIFECYCLE | CallFlag.SUSPECT | CallFlag.FAILED | CallFlag.ORDER | CallFlag.STREAM_ORDERED).value
_MIX = np.uint64(0x9E3779B97F4A7C15)
_PENDING_BYTES = PENDING.to_bytes(4, "little")


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
        self.makes = np.zeros(max(self._by_id, default=0) + 1, bool)
        self.stream = np.full(len(self.makes), -1)
        self.ends = np.zeros(len(self.makes), bool)
        self.library = np.zeros(len(self.makes), bool)
        for number, entry_point in self._by_id.items():
            self.library[number] = entry_point.api != "driver"
            self.ends[number] = entry_point.api == "driver" and any(role.verb in _ENDS for role in entry_point.roles)
            self.makes[number] = any(role.verb in _MAKES for role in entry_point.roles)
            on = [role.parameter for role in entry_point.roles if role.verb is Verb.ON and not role.field]
            if on and not self.library[number]:
                self.stream[number] = entry_point.index[on[0]]

    def __getitem__(self, number: int) -> EntryPoint | None:
        return self._by_id.get(number)

    def name(self, number: int) -> str:
        return self._names.get(number, f"entry point {number}")


class Ordering:
    """``poll`` gives what is new. ``counted`` is how many calls were read, decoded or not."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.entry_points = EntryPoints(recording)
        self.counted = 0
        self._ended = 0
        self._alike: set[int] = set()
        self._waiting: list[tuple[int, int, int, bytes | Fork]] = []
        self._forks_taken = 0
        self._slack = round(SLACK_NS / recording.clock.ns_per_tick)

    def poll(self, *, running: bool = False) -> Iterator[CallRecord | Fork]:
        """Calls and forks in order. While the process is running, those that others may still precede are held back."""
        newest = 0
        for batch in self.recording.poll(running=running):
            self._take(batch)
            newest = max(newest, int(batch.calls["entered"].max()))
            yield from self._release(_begun(batch) - self._slack, running)
        self._take_forks()
        if running and newest:
            yield from self._release(newest - self._slack, running)
        else:
            yield from self._release(1 << 64, running)

    def _take(self, batch: Batch) -> None:
        if len(self.recording.entry_points) != self.entry_points.known:
            self.entry_points = EntryPoints(self.recording)
        self._take_forks()
        calls = batch.calls
        self.counted += len(calls)
        known = calls["entry_point"] < len(self.entry_points.makes)
        number = np.where(known, calls["entry_point"], 0)
        makes = self.entry_points.makes[number] & known & (calls["returned"] > 0)
        instants = np.where(makes, calls["returned"], calls["entered"])
        notable = (calls["flags"] & _NOTABLE != 0) | ~np.isin(calls["status"], (0, NOT_READY))
        ended = np.sort(calls["entered"][self.entry_points.ends[number] & known])
        library = self.entry_points.library[number] & known
        notable[self._first_alike(batch, np.flatnonzero(library & ~notable), ended)] = True
        self._ended += len(ended)
        if not notable.all():
            stream = np.where(known & ~notable, self.entry_points.stream[number], -1)
            notable[_last_work(batch, notable & ~library, stream)] = True
        for index in np.flatnonzero(notable).tolist():
            item = (int(instants[index]), int(calls["number"][index]), int(batch.offsets[index]), batch.record(index))
            heapq.heappush(self._waiting, item)

    def _first_alike(self, batch: Batch, indices: Array, ended: Array) -> Array:
        """Of some calls, those that are the first of their like; ``ended``: when others of the batch ended something."""
        calls = batch.calls[indices]
        like = calls["entry_point"] + (self._ended + np.searchsorted(ended, calls["entered"])).astype(np.uint64) * _MIX
        like = (like ^ calls["context"]) * _MIX
        for position in range(int(calls["arguments"].max(initial=0))):
            having = np.flatnonzero(calls["arguments"] > position)
            words = batch.words(indices[having], np.full(len(having), layout.CALL.itemsize + 8 * position))
            like[having] = (like[having] ^ words) * _MIX
        found, first = np.unique(like, return_index=True)
        fresh = [at for at, one in zip(first.tolist(), found.tolist(), strict=True) if one not in self._alike]
        if len(self._alike) > _MOST_ALIKE:
            self._alike.clear()
        self._alike.update(found.tolist())
        return indices[fresh]

    def _take_forks(self) -> None:
        for fork in self.recording.forks[self._forks_taken :]:
            heapq.heappush(self._waiting, (fork.ticks, 0, -1 - self._forks_taken, fork))
            self._forks_taken += 1

    def _release(self, until: int, running: bool) -> Iterator[CallRecord | Fork]:
        while self._waiting and self._waiting[0][0] <= until:
            instant, number, offset, item = heapq.heappop(self._waiting)
            if isinstance(item, Fork):
                yield item
                continue
            call = self._present(offset, item)
            if call.status is None and running:
                heapq.heappush(self._waiting, (instant, number, offset, item))
                return
            if call.returned > instant and self._makes(call):
                heapq.heappush(self._waiting, (call.returned, number, offset, item))
            else:
                yield call

    def _present(self, offset: int, record: bytes) -> CallRecord:
        """The call as it is now, if it had not returned when it was read."""
        if record[12:16] == _PENDING_BYTES:
            newer = self.recording.reread(offset, len(record))
            # The status is written last: a second read sees the outputs that belong to it.
            newer = self.recording.reread(offset, len(record))
            if newer[:6] == record[:6] and newer[56:64] == record[56:64] and len(newer) == len(record):
                record = newer
        return decode(record)

    def _makes(self, call: CallRecord) -> bool:
        return call.entry_point < len(self.entry_points.makes) and bool(self.entry_points.makes[call.entry_point])


def is_notable(call: CallRecord) -> bool:
    return bool(call.flags & _NOTABLE) or call.status not in (0, NOT_READY)


def _begun(batch: Batch) -> int:
    """Ticks at which the newest chunk of the batch was begun."""
    chunk = (batch.offsets - HEADER_BYTES) // CHUNK_BYTES
    return int(batch.calls["entered"][np.searchsorted(chunk, chunk[-1])])


def _last_work(batch: Batch, dividing: Array, stream: Array) -> Array:
    """Indices of calls that enqueue on their parameter ``stream`` (-1: they do not): the last per stream between two ``dividing`` calls
    of a thread."""
    works = np.flatnonzero((stream >= 0) & (stream < batch.calls["arguments"]))
    if not works.size:
        return works
    chunk = (batch.offsets - HEADER_BYTES) // CHUNK_BYTES
    segment = np.cumsum(dividing) + chunk * (len(dividing) + 1)
    streams, which = np.unique(batch.words(works, layout.CALL.itemsize + 8 * stream[works]), return_inverse=True)
    _, last = np.unique((segment[works] * len(streams) + which)[::-1], return_index=True)
    return works[::-1][last]
