"""Reads the calls and side tables from the file of one process. FORMAT.md describes the file.

The process may still run, or may have been killed at any instruction, and the file may be damaged or made up. So the reader bounds
every length by what holds it. What does not parse becomes a ``Problem``, and every whole record is used. The reader uses ``pread``
and does not map the file, so that a file which shrinks meanwhile causes a short read, not a SIGBUS.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cuvet import CuvetError
from cuvet.recording import layout
from cuvet.recording.again import bytes_of, expand
from cuvet.recording.columns import distinct
from cuvet.recording.layout import CHUNK_BYTES, CHUNK_HEADER_BYTES, HEADER_BYTES, ChunkKind, RecordType
from cuvet.recording.records import Fork, LeftOutCalls, SideTables, text_of
from cuvet.regular import open_regular

Array = NDArray[Any]

GROUP = 128
"""Chunks read at a time: 8 MiB."""
FEW = 8
"""So many at a time, where calls that are made again become seven times as large."""
_SIZE = struct.Struct("<I")
_BEGINNING = 4096
"""Bytes of a chunk in which its first call is looked for."""
_NEVER = (1 << 64) - 1
"""Ticks later than all others."""
_FEWEST_ALIKE = 8
"""Records at the beginning of a chunk that must be like those of another, before the rest is compared."""
_HEAD, _HEAD_OF_AGAIN, _TYPE = np.uint64(0xFFFFFFFFFFFF), np.uint64(0xFFFF0000FFFF), np.uint64(0xFFFF00000000)
"""Size and type in the first word of a record."""
_AGAIN = np.uint64(RecordType.CALL_AGAIN << 32)
MOST_PROBLEMS = 20
CLAIMS_IN_FLIGHT = 64
"""Chunks that threads of a killed process may have claimed and not made; more that are missing were cut off."""
MOST_ABSENT = 1 << 16
"""Chunks that are claimed, lie within the file and were never written. After so many, as many as fit a recording of the usual limit,
the rest is not looked at: a sparse file can be of any length."""


KEPT_SUFFIX = ".kept"
"""Of the file beside a recording that has what lasts of the chunks that were freed."""
_KEPT_OFFSET = 1 << 48
"""Places in that file, less this, are those of its calls: they lie before all of the recording itself."""


class RecordingError(CuvetError):
    """A file that is no recording, or of which nothing can be read."""


class Problem(NamedTuple):
    path: Path
    offset: int
    what: str

    def __str__(self) -> str:
        return f"{self.path.name}: byte {self.offset}: {self.what}"


class Stop(NamedTuple):
    """When a recording stopped growing, and why: an errno, or 0 for its size limit."""

    time_ns: int
    error: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls of up to ``GROUP`` chunks: ``calls`` (dtype ``layout.CALL``) in file order; ``offsets`` are their places in the file."""

    calls: Array
    offsets: Array
    _data: bytearray
    _at: Array

    def record(self, index: int) -> bytes:
        """The bytes of one call, for ``decode``."""
        start = int(self._at[index])
        (size,) = _SIZE.unpack_from(self._data, start)
        return bytes(self._data[start : start + size])

    def only(self, index: int) -> "Batch":
        """One call, without the memory of the others."""
        alone = slice(index, index + 1)
        return Batch(
            self.calls[alone].copy(), self.offsets[alone].copy(), bytearray(self.record(index)), np.zeros(1, np.int64)
        )

    def words(self, indices: Array, offset: Array) -> Array:
        """One word of each of some calls, ``offset`` bytes from its start."""
        words: Array = np.frombuffer(self._data, "<u8")[(self._at[indices] + offset) // 8]
        return words

    def block(self, indices: Array, positions: Array) -> Array:
        """Some words of each of some calls: a row for each call. Positions are counted in words."""
        words: Array = np.frombuffer(self._data, "<u8")[(self._at[indices] // 8)[:, None] + positions]
        return words


@dataclass(slots=True)
class _Chunk:
    """``superseded``: its thread has a newer one. (A new thread may still go on with it, if the old one ended.)"""

    index: int
    position: int = CHUNK_HEADER_BYTES
    thread: int = 0
    kind: int = 0
    superseded: bool = False


class Clock:
    """Ticks to nanoseconds since the first sample, through the first and the newest sample."""

    def __init__(self, samples: Array, newest: int) -> None:
        self.origin = int(samples[0][0])
        last = samples[newest] if newest in (1, 2) else samples[0]
        ticks, elapsed = int(last[0]) - self.origin, int(last[1]) - int(samples[0][1])
        self.ns_per_tick = elapsed / ticks if ticks > 0 and elapsed > 0 else 1.0

    def ns(self, ticks: int) -> int:
        return max(0, round((ticks - self.origin) * self.ns_per_tick))


class Recording(SideTables):
    """The recording of one process. ``poll`` reads what is new; the side tables grow with it. ``kept``: what lasts of chunks that were
    freed, if that is not beside it.

    Raises RecordingError if the file is no recording.
    """

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        super().__init__()
        self.path = path
        self._kept_path = kept or path.with_suffix(KEPT_SUFFIX)
        self._kept_is_read = False
        self.problems: list[Problem] = []
        self._unread: dict[int, _Chunk] = {}
        self._newest_of_thread: dict[int, _Chunk] = {}
        self._flight: dict[int, _Chunk] = {}
        self._set_aside: list[_Chunk] = []
        self._known_chunks = 0
        self._absent = 0
        self.calls_of_thread: dict[int, int] = {}
        """How many calls each thread is known to have made, stored or not."""
        self._descriptor = -1
        self._read_header()

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """A descriptor of the file. It is not kept: a program may start more processes than descriptors can be had."""
        if self._descriptor >= 0:
            yield self._descriptor
            return
        try:
            self._descriptor = open_regular(self.path)
            yield self._descriptor
        except OSError as error:
            raise RecordingError(f"{self.path}: {error.strerror}") from None
        finally:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def _read(self, size: int, offset: int) -> bytes:
        with self._opened() as descriptor:
            return os.pread(descriptor, size, offset)

    def _read_header(self) -> None:
        data = self._read(HEADER_BYTES, 0)
        if not data:
            raise RecordingError(
                f"{self.path}: empty: this process was not recorded: the disk was full, or no file may grow (ulimit -f)"
            )
        if data[: len(layout.MAGIC)] != layout.MAGIC:
            raise RecordingError(f"{self.path}: byte 0: not a cuvet recording")
        if len(data) < HEADER_BYTES:
            raise RecordingError(f"{self.path}: byte {len(data)}: the file ends within its header")
        header = np.frombuffer(data, layout.HEADER)[0]
        if int(header["version"]) not in layout.VERSIONS:
            raise RecordingError(
                f"{self.path}: byte 8: recording format {header['version']}; this cuvet reads format {layout.VERSIONS[-1]}"
            )
        if int(header["header_bytes"]) != HEADER_BYTES or int(header["chunk_bytes"]) != CHUNK_BYTES:
            raise RecordingError(
                f"{self.path}: byte 12: header or chunk size is not the one of format {header['version']}"
            )
        self.header: Any = header
        self.clock = Clock(header["clock"], int(header["newest_sample"]))

    @property
    def pid(self) -> int:
        return int(self.header["pid"])

    @property
    def is_running(self) -> bool:
        """Whether the process lives, on this machine."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            return False
        return fields[0] not in "ZX" and int(fields[19]) == int(self.header["process_start"])

    @property
    def full(self) -> bool:
        return bool(int(self.header["flags"]) & layout.HeaderFlag.FULL)

    @property
    def has_accesses(self) -> bool:
        """Whether it has what kernels were given, and the code that was loaded."""
        return bool(int(self.header["flags"]) & layout.HeaderFlag.ACCESSES)

    @property
    def is_guarded(self) -> bool:
        """Whether any memory that work in flight uses was guarded."""
        return bool(int(self.header["flags"]) & layout.HeaderFlag.GUARDED)

    @property
    def awaits_all(self) -> bool:
        """Whether the shim waited for the work of each launch."""
        stopped = any(note.code == layout.NoteCode.NOT_AWAITED for note in self.notes)
        return bool(int(self.header["flags"]) & layout.HeaderFlag.NARROWED) and not stopped

    @property
    def gpu_memory(self) -> int:
        """Bytes of the largest GPU; 0 if unknown."""
        return int(self.header["gpu"]["memory"].max())

    @property
    def gpu_memories(self) -> tuple[int, ...]:
        """Bytes of each GPU; 0 where unknown."""
        known = min(int(self.header["gpus"]), layout.MOST_GPUS)
        return tuple(self.header["gpu"]["memory"][:known].tolist())

    @property
    def capabilities(self) -> tuple[int, ...]:
        """Compute capability of each GPU, 10 × major + minor; 0 where unknown."""
        known = min(int(self.header["gpus"]), layout.MOST_GPUS)
        return tuple(self.header["gpu"]["capability"][:known].tolist())

    @property
    def not_pageable(self) -> frozenset[int]:
        """GPUs that cannot access memory of the host that CUDA does not know."""
        known = min(int(self.header["gpus"]), layout.MOST_GPUS)
        told = self.header["gpu"]["pageable"][:known].tolist()
        return frozenset(number for number, pageable in enumerate(told) if pageable == layout.NOT_PAGEABLE)

    @property
    def stop(self) -> Stop | None:
        """None: it has not stopped growing."""
        ticks = int(self.header["stopped"])
        return Stop(self.clock.ns(ticks), int(self.header["stop_error"])) if ticks else None

    @property
    def newest_ticks(self) -> int:
        """Of the clock, when the file was last looked at, or before."""
        newest = int(self.header["newest_sample"])
        return int(self.header["clock"][newest if newest in (1, 2) else 0][0])

    @property
    def executable(self) -> str:
        return text_of(bytes(self.header["executable"]))

    @property
    def calls_made(self) -> int:
        """Calls made, stored or not, as far as the file tells."""
        return max(int(self.header["calls"]), sum(self.calls_of_thread.values()))

    def poll(self, *, running: bool = False) -> Iterator[Batch]:
        """Read the whole records that were not read before, 8 MiB at a time.

        While the process is ``running`` its last records are left for the next poll if they are not whole yet.
        """
        with self._opened() as descriptor:
            self._read_header()
            yield from self._poll_kept()
            self._find_chunks(descriptor, running)
            waiting = sorted(self._unread)
            for first in range(0, len(waiting), GROUP):
                group = [self._unread[index] for index in waiting[first : first + GROUP]]
                for batch in self._read_group(descriptor, group, running):
                    if len(batch.calls):
                        yield batch

    def _poll_kept(self) -> Iterator[Batch]:
        """What lasts of chunks that were freed before anything was read; what is freed later has been read."""
        if self._kept_is_read:
            return
        self._kept_is_read = True
        if not self._kept_path.exists():
            if int(self.header["version"]) == layout.SHORTENED:
                self._problem(0, f"it was shortened, and {self._kept_path.name}, which has the rest, is not there")
            return
        try:
            kept = _Kept(self._kept_path, self)
            if any(kept.header[name] != self.header[name] for name in ("pid", "process_start")):
                raise RecordingError(f"{kept.path}: it is of another process")
            kept.problems = self.problems
            for batch in kept.poll():
                self._count_calls(batch.calls)
                yield replace(batch, offsets=batch.offsets - _KEPT_OFFSET)
        except RecordingError as error:
            self._problem(0, f"the rest of it could not be read: {error}")
        for thread, left_out in self.left_out_calls.items():
            self._count_thread(thread, left_out.number)

    def left_out_so_far(self) -> dict[int, LeftOutCalls]:
        """By thread, as the file beside it says now."""
        told = SideTables()
        with suppress(RecordingError):
            next(_Kept(self._kept_path, told).poll(), None)
        return told.left_out_calls

    def left_chunks(self) -> Iterator[tuple[int, int]]:
        """Chunks of records that nobody writes any more, and the ticks at which their threads had left them."""
        with self._opened() as descriptor:
            for _ in self._poll_kept():
                pass
            for index in self._not_freed(0, int(self.header["chunks"])):
                data = os.pread(descriptor, CHUNK_HEADER_BYTES, HEADER_BYTES + index * CHUNK_BYTES)
                if len(data) < CHUNK_HEADER_BYTES:
                    return
                magic, kind, _, _, left = layout.CHUNK_HEADER.unpack(data)
                if magic == layout.CHUNK_MAGIC and kind == ChunkKind.RECORDS and left:
                    yield index, left

    def oldest_not_freed(self) -> int:
        """Ticks at which the first call entered of those in chunks that are not freed; 0 if that is not known."""
        oldest, absent = _NEVER, 0
        with self._opened() as descriptor:
            for index in self._not_freed(0, int(self.header["chunks"])):
                data = os.pread(descriptor, _BEGINNING, HEADER_BYTES + index * CHUNK_BYTES)
                absent += not any(data[:8])
                if not data or absent > MOST_ABSENT:
                    break
                oldest = min(oldest, _first_entered(data))
        return 0 if absent > MOST_ABSENT else oldest

    def reread(self, offset: int, record: bytes) -> bytes:
        """The present bytes of a CALL that was whole but had not returned; empty if another record tells of it now."""
        newer = self._read(len(record), offset)
        if int.from_bytes(newer[4:6], "little") != RecordType.CALL_AGAIN:
            return newer
        place = (offset - HEADER_BYTES) % CHUNK_BYTES
        data = bytearray(self._read(CHUNK_BYTES, offset - place).ljust(CHUNK_BYTES, b"\0"))
        at, sizes, _, _ = _whole_records(_words(data), np.array([CHUNK_HEADER_BYTES]), np.array([CHUNK_BYTES]))
        at, sizes = _calls_among(data, at, sizes)
        expanded = expand(data, at, sizes)
        for index in np.flatnonzero((at == place) & expanded.is_call).tolist():
            start = int(expanded.at[index])
            return bytes(expanded.data[start : start + len(record)])
        return b""

    def child_of(self, fork: Fork) -> int:
        """The process that a fork made; 0 if it never said so."""
        if fork.child or fork.offset < 0:
            return fork.child
        return int.from_bytes(self._read(4, fork.offset + layout.RECORD_HEADER.size), "little")

    def flight(self) -> dict[int, Array]:
        """Flight recorder: thread to its last calls (dtype ``layout.FLIGHT_SLOT``), oldest first. Counts the threads' calls, too."""
        rings = {}
        for chunk in self._flight.values():
            data = self._read(CHUNK_BYTES, HEADER_BYTES + chunk.index * CHUNK_BYTES)
            if len(data) < CHUNK_HEADER_BYTES:
                continue
            count = min((len(data) - CHUNK_HEADER_BYTES) // layout.FLIGHT_SLOT.itemsize, layout.FLIGHT_SLOTS)
            slots = np.frombuffer(data[CHUNK_HEADER_BYTES:], layout.FLIGHT_SLOT, count)
            used = slots[slots["number"] != 0]
            _, _, thread, *_ = layout.CHUNK_HEADER.unpack_from(data)
            rings[thread] = used[np.argsort(used["number"], kind="stable")]
            self._count_thread(thread, int(used["number"].max(initial=0)))
        return rings

    def _problem(self, offset: int, what: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(self.path, offset, what))

    def _count_thread(self, thread: int, number: int) -> None:
        if self.calls_of_thread.get(thread, 0) < number < 1 << 56:
            self.calls_of_thread[thread] = number

    def _find_chunks(self, descriptor: int, running: bool) -> None:
        size = os.fstat(descriptor).st_size
        claimed = int(self.header["chunks"])
        held = max(0, size - HEADER_BYTES + CHUNK_BYTES - 1) // CHUNK_BYTES
        if not running:
            self._check_length(size, claimed, held)
            self._unread.update((chunk.index, chunk) for chunk in self._set_aside)
            self._set_aside.clear()
        waiting = [chunk for chunk in self._unread.values() if not chunk.kind]
        absent = self._absent + sum(not self._read_chunk_header(chunk, running) for chunk in waiting)
        for index in self._not_freed(self._known_chunks, min(claimed, held)):
            chunk = self._unread[index] = _Chunk(index)
            absent += not self._read_chunk_header(chunk, running)
            if absent > MOST_ABSENT:
                what = f"{absent} of the first {index + 1} chunks were never written; what follows is not read"
                self._problem(HEADER_BYTES + index * CHUNK_BYTES, what)
                break
        self._known_chunks = max(self._known_chunks, min(claimed, held))

    def _not_freed(self, first: int, end: int) -> Iterator[int]:
        """The chunks of a range that were not freed. There may be more that were than can be looked at one by one."""
        for freed, count in sorted(self.freed):
            yield from range(first, min(freed, end))
            first = max(first, freed + count)
        yield from range(first, end)

    def _check_length(self, size: int, claimed: int, held: int) -> None:
        """A thread that is killed, or meets the size limit, while it claims a chunk leaves a claim without a chunk."""
        explained = 0 if int(self.header["end"]) else CLAIMS_IN_FLIGHT
        if claimed - held > explained and not int(self.header["dropped"]):
            self._problem(size, f"the file ends here, with {held} of its {claimed} chunks")

    def _read_chunk_header(self, chunk: _Chunk, running: bool) -> bool:
        """Whether the chunk has been written."""
        offset = HEADER_BYTES + chunk.index * CHUNK_BYTES
        data = self._read(CHUNK_HEADER_BYTES, offset)
        if len(data) < CHUNK_HEADER_BYTES:
            return True
        magic, kind, thread, *_ = layout.CHUNK_HEADER.unpack(data)
        if magic == layout.CHUNK_MAGIC and kind in (ChunkKind.RECORDS, ChunkKind.FLIGHT):
            chunk.kind, chunk.thread = kind, thread
            if kind == ChunkKind.FLIGHT:
                self._flight[chunk.index] = self._unread.pop(chunk.index)
                return True
            older = self._newest_of_thread.get(thread)
            if older is not None:
                older.superseded = True
            self._newest_of_thread[thread] = chunk
        elif not running:
            del self._unread[chunk.index]
            if magic or kind:
                self._problem(offset, "a chunk does not begin as chunks do")
            else:
                self._absent += 1
        return bool(magic or kind)

    def _read_group(self, descriptor: int, group: list[_Chunk], running: bool) -> Iterator[Batch]:
        data = bytearray(len(group) * CHUNK_BYTES)
        held = self._read_chunks(descriptor, group, data)
        starts = np.array([chunk.position for chunk in group], np.int64)
        at, sizes, ends, broken = _whole_records(_words(data), starts, held)
        if running:
            # What was written before a record's size became visible is visible to a second read.
            self._read_chunks(descriptor, group, data)
        places = np.array([HEADER_BYTES + chunk.index * CHUNK_BYTES for chunk in group], np.int64)
        offsets = places[at // CHUNK_BYTES] + at % CHUNK_BYTES if len(at) else at
        for row, what in broken:
            self._problem(int(places[row] + ends[row]), what)
        for row, chunk in enumerate(group):
            quiet = chunk.superseded and ends[row] == chunk.position
            chunk.position = int(ends[row])
            if chunk.kind and (quiet or not running or chunk.position == CHUNK_BYTES):
                del self._unread[chunk.index]
                if quiet and running:
                    self._set_aside.append(chunk)
        for row, _ in broken:
            self._unread.pop(group[row].index, None)
        types = _types(data, at)
        if not (types == RecordType.CALL_AGAIN).any():
            yield self._batch(data, at, sizes, offsets, types)
            return
        again = distinct(at[types == RecordType.CALL_AGAIN] // CHUNK_BYTES)
        earlier = self._read_earlier(descriptor, group, data, starts, again)
        for first in range(0, len(data), FEW * CHUNK_BYTES):
            end = first + FEW * CHUNK_BYTES
            those = (at >= first) & (at < end)
            part = data[first:end]
            yield self._batch(*self._expanded(part, at[those] - first, sizes[those], offsets[those], earlier - first))

    def _read_earlier(
        self, descriptor: int, group: list[_Chunk], data: bytearray, starts: Array, again: Array
    ) -> Array:
        """Where the records are that were read before, of the chunks in which a call is made ``again``; they are read into ``data`` once
        more."""
        view, held = memoryview(data), np.zeros(len(group), np.int64)
        for row in again.tolist():
            begin, held[row] = row * CHUNK_BYTES, starts[row]
            offset = HEADER_BYTES + group[row].index * CHUNK_BYTES
            os.preadv(descriptor, [view[begin : begin + int(starts[row])]], offset)
        return _whole_records(_words(data), np.full(len(group), CHUNK_HEADER_BYTES), held)[0]

    def _read_chunks(self, descriptor: int, group: list[_Chunk], data: bytearray) -> Array:
        """Returns how much of each chunk the file holds."""
        view = memoryview(data)
        held = np.zeros(len(group), np.int64)
        for row, chunk in enumerate(group):
            if chunk.kind:
                begin = row * CHUNK_BYTES + chunk.position
                offset = HEADER_BYTES + chunk.index * CHUNK_BYTES + chunk.position
                held[row] = chunk.position + os.preadv(descriptor, [view[begin : (row + 1) * CHUNK_BYTES]], offset)
        return held

    def _batch(self, data: bytearray, at: Array, sizes: Array, offsets: Array, types: Array) -> Batch:
        words = np.frombuffer(data, "<u4")
        for index in np.flatnonzero(types != RecordType.CALL).tolist():
            start, size = int(at[index]), int(sizes[index])
            try:
                flags = int(words[start // 4 + 1]) >> 16
                self.take(int(types[index]), flags, bytes(data[start + 8 : start + size]), int(offsets[index]))
            except ValueError as error:
                self._problem(int(offsets[index]), str(error))
        is_call = (types == RecordType.CALL) & (sizes >= layout.CALL.itemsize)
        for index in np.flatnonzero((types == RecordType.CALL) & ~is_call).tolist():
            self._problem(int(offsets[index]), f"a call record of {int(sizes[index])} bytes")
        if not is_call.all():
            at, offsets, sizes = at[is_call], offsets[is_call], sizes[is_call]
        calls = _at_every_word(data, layout.CALL.itemsize)[at // 8].view(layout.CALL)
        fits = bytes_of(calls.view("<u8").reshape(-1, layout.CALL.itemsize // 8)[:, -1]) <= calls["size"]
        if not fits.all():
            for index in np.flatnonzero(~fits).tolist():
                self._problem(int(offsets[index]), "a call record says that it holds more than its size")
            calls, offsets, at = calls.take(np.flatnonzero(fits)), offsets[fits], at[fits]
        self._count_calls(calls)
        return Batch(calls, offsets, data, at)

    def _expanded(
        self, data: bytearray, at: Array, sizes: Array, offsets: Array, earlier: Array
    ) -> tuple[bytearray, Array, Array, Array, Array]:
        """The same with a CALL for each CALL_AGAIN, and their types."""
        earlier = earlier[(earlier >= 0) & (earlier < len(data))]
        every = np.sort(np.concatenate([earlier, at]))
        calls, call_sizes = _calls_among(data, every, _size_at(data, every))
        expanded = expand(data, calls, call_sizes)
        types = _types(data, at)
        is_again = (types == RecordType.CALL_AGAIN) & (sizes >= layout.AGAIN.itemsize)
        place = np.searchsorted(calls, at[is_again])
        for index in np.flatnonzero(expanded.broken[place]).tolist():
            self._problem(int(offsets[is_again][index]), "a call that is made again, and not the one that it is like")
        kept = ~is_again
        kept[is_again] = expanded.is_call[place]
        new, types = at.copy(), np.where(is_again, RecordType.CALL, types)
        new[is_again] = expanded.at[place]
        at, types = new[kept], types[kept]
        return expanded.data, at, _size_at(expanded.data, at), offsets[kept], types

    def _count_calls(self, calls: Array) -> None:
        """The last call of each run of calls of one thread has its highest number."""
        ends = np.flatnonzero(np.append(calls["thread"][1:] != calls["thread"][:-1], len(calls) > 0))
        for thread, number in zip(calls["thread"][ends].tolist(), calls["number"][ends].tolist(), strict=True):
            self._count_thread(thread, number)


class _Kept(Recording):
    """What lasts of the chunks of another, ``whose`` tables grow with it."""

    def __init__(self, path: Path, whose: SideTables) -> None:
        super().__init__(path)
        self._whose = whose

    def take(self, kind: int, flags: int, data: bytes, offset: int) -> None:
        self._whose.take(kind, flags, data, offset - _KEPT_OFFSET)

    def _poll_kept(self) -> Iterator[Batch]:
        return iter(())


def _first_entered(chunk: bytes) -> int:
    """Ticks at which the first call entered in the beginning of a chunk; 0 if it is further behind."""
    position = CHUNK_HEADER_BYTES
    if len(chunk) < position or layout.CHUNK_HEADER.unpack_from(chunk)[:2] != (layout.CHUNK_MAGIC, ChunkKind.RECORDS):
        return _NEVER
    while position + layout.CALL.itemsize <= len(chunk):
        size, kind, _ = layout.RECORD_HEADER.unpack_from(chunk, position)
        if not size:
            return _NEVER
        if kind == RecordType.CALL:
            return int(np.frombuffer(chunk, layout.CALL, 1, position)[0]["entered"])
        position += size
    return 0


def _whole_records(words: Array, starts: Array, held: Array) -> tuple[Array, Array, Array, list[tuple[int, str]]]:
    """Walk all chunks (rows of 8-byte ``words``, of which ``held`` bytes are there): some record by record, those whose records have the
    sizes of an earlier chunk's at once, as far as they have.

    Returns places of the records (bytes, row after row) in file order, their sizes, where each row ended, and rows that broke off.
    """
    ends, broken, found = starts.copy(), [], [np.zeros(0, np.int64)]
    foreseen: dict[int, Array] = {}
    unforeseen = held == CHUNK_BYTES
    for row, (position, end) in enumerate(zip(starts.tolist(), held.tolist(), strict=True)):
        alike, unforeseen[row] = foreseen.get(row, found[0]), False
        if len(alike):
            position = int(alike[-1]) + _size_of(int(words[row, alike[-1] // 8]))
        own = memoryview(words[row]).cast("B").cast("I")
        walked, position = _walk(own, position, end)
        places = np.array(walked, np.int64)
        found += [alike + row * CHUNK_BYTES, places + row * CHUNK_BYTES]
        if len(walked) > len(alike):
            rows = np.flatnonzero(unforeseen & (starts == starts[row]))
            foreseen |= _like_another(words, rows, words[row], np.concatenate([alike, places]))
            unforeseen[list(foreseen)] = False
        ends[row] = position
        size = _size_of(int(words[row, position // 8])) if position + 8 <= end else 0
        if size:
            cut_off = end < CHUNK_BYTES and position + size <= CHUNK_BYTES
            broken.append((row, "the file ends within a record" if cut_off else "a record does not fit its chunk"))
    at = np.concatenate(found)
    return at, _sizes(words.reshape(-1)[at // 8]), ends, broken


def _like_another(words: Array, rows: Array, other: Array, places: Array) -> dict[int, Array]:
    """Where some rows of words have records of the types and sizes that another has at ``places``, from the first on; by row."""
    if not len(rows) or len(places) < _FEWEST_ALIKE:
        return {}
    heads = other[places // 8]
    looked_at = np.where((heads & _TYPE) == _AGAIN, _HEAD_OF_AGAIN, _HEAD)
    heads &= looked_at
    few = slice(_FEWEST_ALIKE)
    begin = words[rows[:, None], places[few] // 8] & looked_at[few]
    rows = rows[(begin == heads[few]).all(1)]
    differ = (words[rows[:, None], places // 8] & looked_at) != heads
    counts = np.where(differ.any(1), np.argmax(differ, 1), len(places))
    return {row: places[:count] for row, count in zip(rows.tolist(), counts.tolist(), strict=True)}


def _walk(words: memoryview, position: int, held: int) -> tuple[list[int], int]:
    """Places of the next records, and where the last of them ends. ``words`` are of 4 bytes."""
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


def _words(data: bytearray) -> Array:
    """A row for each chunk."""
    return np.frombuffer(data, "<u8").reshape(-1, CHUNK_BYTES // 8)


def _size_of(head: int) -> int:
    """Of a record that begins with this word."""
    return head & (0xFFFF if head >> 32 & 0xFFFF == RecordType.CALL_AGAIN else 0xFFFFFFFF)


def _sizes(heads: Array) -> Array:
    """Of records that fit their chunks."""
    sizes: Array = (heads & np.uint64(0xFFFF)).astype(np.int64)
    return sizes


def _size_at(data: bytearray, at: Array) -> Array:
    sizes: Array = (np.frombuffer(data, "<u4")[at // 4] & 0xFFFF).astype(np.int64)
    return sizes


def _types(data: bytearray, at: Array) -> Array:
    types: Array = np.frombuffer(data, "<u4")[at // 4 + 1] & 0xFFFF
    return types


def _calls_among(data: bytearray, at: Array, sizes: Array) -> tuple[Array, Array]:
    """Of records, in order: where those of calls are, and their sizes."""
    types = _types(data, at)
    least = np.where(types == RecordType.CALL, layout.CALL.itemsize, layout.AGAIN.itemsize)
    are_calls = ((types == RecordType.CALL) | (types == RecordType.CALL_AGAIN)) & (sizes >= least)
    return at[are_calls], sizes[are_calls]


def _at_every_word(data: bytearray, size: int) -> Array:
    """The ``size`` bytes from each word of 8 bytes on, as one element: numpy copies these faster than structures."""
    view: Array = np.ndarray((max((len(data) - size) // 8 + 1, 0),), np.dtype(f"V{size}"), data, strides=(8,))
    return view
