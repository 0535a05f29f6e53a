"""Reads the calls and side tables from the file of one process. FORMAT.md describes the file.

The process may still run, or may have been killed at any instruction, and the file may be damaged or made up. So the reader bounds
every length by what holds it. What does not parse becomes a ``Problem``, and every whole record is used. The reader uses ``pread``
and does not map the file, so that a file which shrinks meanwhile causes a short read, not a SIGBUS.
"""

import os
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
from cuvet.recording.chunks import Shape, sizes_of, types_of, whole_records
from cuvet.recording.columns import at_every_word, distinct, keep_freed_memory
from cuvet.recording.examples import is_call, without_mark
from cuvet.recording.layout import CHUNK_BYTES, CHUNK_HEADER_BYTES, HEADER_BYTES, CallFlag, ChunkKind, RecordType
from cuvet.recording.records import Fork, LeftOutCalls, Ring, SideTables, text_of
from cuvet.regular import open_regular

Array = NDArray[Any]

GROUP = 128
"""Chunks read at a time: 8 MiB."""
FEW = 8
"""So many at a time, where calls that are made again become seven times as large."""
_WORDS = CHUNK_BYTES // 8
_NO_CHUNKS = np.zeros((0, _WORDS), np.uint64)
_BEGINNING = 4096
"""Bytes of a chunk in which its first call is looked for."""
_NEVER = (1 << 64) - 1
"""Ticks later than all others."""
_SHORT = (RecordType.CALL_AGAIN, RecordType.CALL_LIKE)
"""Types of records of calls that say only what is new."""
_MARK = np.uint64(CallFlag.EXAMPLE << 48)
_EXAMPLE, _TYPE_AND_MARK = _MARK | np.uint64(RecordType.CALL << 32), _MARK | np.uint64(0xFFFF << 32)
"""In the first word of a record."""
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
    _words: Array
    _at: Array

    def record(self, index: int) -> bytes:
        """The bytes of one call, for ``decode``."""
        start = int(self._at[index])
        return self._words[start : start + (int(self.calls["size"][index]) >> 3)].tobytes()

    def those(self, indices: Array) -> "Batch":
        """Some calls, without the memory of the others."""
        calls = self.calls.take(indices)
        lengths = calls["size"].astype(np.int64) >> 3
        at = np.cumsum(lengths) - lengths
        places = np.repeat(self._at[indices] - at, lengths) + np.arange(int(lengths.sum()))
        return Batch(calls, self.offsets[indices], self._words[places], at)

    def memory(self) -> Array:
        """Of all of its records, as chunks."""
        chunks: Array = self._words[: len(self._words) // _WORDS * _WORDS].reshape(-1, _WORDS)
        return chunks

    def words(self, indices: Array, positions: Array | int) -> Array:
        """One word of each of some calls, so many words from its start."""
        places: Array = self._at[indices] + positions
        words: Array = self._words.take(places)
        return words

    def block(self, indices: Array, positions: Array) -> Array:
        """Some words of each of some calls: a row for each call."""
        words: Array = self._words.take(self._at[indices][:, None] + positions)
        return words


@dataclass(slots=True)
class _Chunk:
    """``superseded``: its thread has a newer one. (A new thread may still go on with it, if the old one ended.)"""

    index: int
    position: int = CHUNK_HEADER_BYTES
    thread: int = 0
    writer: int = 0
    kind: int = 0
    superseded: bool = False


class Clock:
    """Ticks to nanoseconds since the first sample, through the first and the newest sample."""

    def __init__(self, samples: tuple[tuple[int, int], ...]) -> None:
        self.samples = samples
        """The first and the newest: ticks, and nanoseconds of CLOCK_MONOTONIC."""
        (self.origin, first), (last, newest) = samples
        ticks, elapsed = last - self.origin, newest - first
        self.ns_per_tick = elapsed / ticks if ticks > 0 and elapsed > 0 else 1.0

    def ns(self, ticks: int) -> int:
        return max(0, round((ticks - self.origin) * self.ns_per_tick))


def _samples(clock: Array, newest: int) -> tuple[tuple[int, int], ...]:
    """The first sample of the clocks and the newest, as a header has them."""
    last = clock[newest] if newest in (1, 2) else clock[0]
    return tuple((int(ticks), int(monotonic)) for ticks, monotonic, _ in (clock[0], last))


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
        self._shapes: list[Shape] = []
        self._spare = _NO_CHUNKS
        """Memory for chunks that are read."""
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
        self.clock = Clock(_samples(header["clock"], int(header["newest_sample"])))

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
        keep_freed_memory()
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
            self._spare = _NO_CHUNKS

    def reuse(self, batch: Batch) -> None:
        """Its words and records are not needed any more: their memory takes what is read next."""
        chunks = batch.memory()
        if len(chunks) > len(self._spare):
            self._spare = chunks

    def _poll_kept(self) -> Iterator[Batch]:
        """What lasts of chunks that were freed before anything was read; what is freed later has been read."""
        if self._kept_is_read:
            return
        self._kept_is_read = True
        if not self._kept_path.exists():
            if int(self.header["version"]) in layout.WERE_SHORTENED:
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
        if int.from_bytes(newer[4:6], "little") not in _SHORT:
            return without_mark(newer)
        place = (offset - HEADER_BYTES) % CHUNK_BYTES
        words = np.frombuffer(self._read(CHUNK_BYTES, offset - place).ljust(CHUNK_BYTES, b"\0"), "<u8")
        found = whole_records(words.reshape(1, -1), np.array([CHUNK_HEADER_BYTES]), np.array([CHUNK_BYTES]), [])
        at, heads = _calls_among(found.places, found.heads)
        words, examples = self._with_examples(words, at, heads, np.array([offset - place]))
        expanded = expand(words, at, sizes_of(heads), examples)
        for index in np.flatnonzero((at == place >> 3) & expanded.is_call).tolist():
            start = int(expanded.at[index])
            return expanded.words[start : start + (len(record) >> 3)].tobytes()
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

    def rings(self) -> Iterator[Ring]:
        """The flight recorder of each thread, with its launches. It is not known which of their words are addresses of the host."""
        for chunk in self._flight.values():
            data = self._read(CHUNK_BYTES, HEADER_BYTES + chunk.index * CHUNK_BYTES)
            if len(data) < CHUNK_HEADER_BYTES:
                continue
            _, _, thread, *_ = layout.CHUNK_HEADER.unpack_from(data)
            ring = data[CHUNK_HEADER_BYTES:].ljust(layout.RING.itemsize, b"\0")
            yield Ring(thread, np.frombuffer(ring, layout.RING, 1)[0])

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
        absent = self._absent + sum(not self._read_chunk_header(descriptor, chunk, running) for chunk in waiting)
        for index in self._not_freed(self._known_chunks, min(claimed, held)):
            chunk = self._unread[index] = _Chunk(index)
            absent += not self._read_chunk_header(descriptor, chunk, running)
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

    def _read_chunk_header(self, descriptor: int, chunk: _Chunk, running: bool) -> bool:
        """Whether the chunk has been written."""
        offset = HEADER_BYTES + chunk.index * CHUNK_BYTES
        data = os.pread(descriptor, CHUNK_HEADER_BYTES, offset)
        if len(data) < CHUNK_HEADER_BYTES:
            return True
        magic, kind, thread, writer, _ = layout.CHUNK_HEADER.unpack(data)
        if magic == layout.CHUNK_MAGIC and kind in (ChunkKind.RECORDS, ChunkKind.FLIGHT):
            chunk.kind, chunk.thread, chunk.writer = kind, thread, writer
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
        words, self._spare = self._spare[: len(group)], _NO_CHUNKS
        if len(words) < len(group):
            words = np.empty((len(group), _WORDS), np.uint64)
        held = self._read_chunks(descriptor, group, words)
        starts = np.array([chunk.position for chunk in group], np.int64)
        found = whole_records(words, starts, held, self._shapes)
        if running:
            # What was written before a record's size became visible is visible to a second read.
            self._read_chunks(descriptor, group, words)
        places = HEADER_BYTES + np.array([chunk.index for chunk in group], np.int64) * CHUNK_BYTES
        for row, what in found.broken:
            self._problem(int(places[row] + found.ends[row]), what)
        for chunk, end in zip(group, found.ends.tolist(), strict=True):
            quiet = chunk.superseded and end == chunk.position
            chunk.position = end
            if chunk.kind and (quiet or not running or chunk.position == CHUNK_BYTES):
                del self._unread[chunk.index]
                if quiet and running:
                    self._set_aside.append(chunk)
        for row, _ in found.broken:
            self._unread.pop(group[row].index, None)
        at = found.places + np.repeat(np.arange(len(group)) * _WORDS, found.counts)
        offsets = 8 * found.places + np.repeat(places, found.counts)
        bits = int(np.bitwise_or.reduce(found.heads))
        if bits & int(_MARK):
            self._find_examples(group, words.reshape(-1), at, found.heads, offsets)
        may_be_short = any(bits >> 32 & kind == kind for kind in _SHORT)
        is_short = _are_short(types_of(found.heads)) if may_be_short else np.zeros(1, bool)
        if not is_short.any():
            yield self._batch(words.reshape(-1), at, found.heads, offsets)
            return
        earlier = self._read_earlier(descriptor, group, words, starts, distinct(at[is_short] // _WORDS))
        for first in range(0, words.size, FEW * _WORDS):
            part = words.reshape(-1)[first : first + FEW * _WORDS]
            those = slice(*np.searchsorted(at, (first, first + len(part))))
            before = earlier[slice(*np.searchsorted(earlier, (first, first + len(part))))] - first
            of_part = part, at[those] - first, found.heads[those], offsets[those]
            yield self._batch(*self._expanded(*of_part, before, places[first // _WORDS :]))
        self._spare = words

    def _find_examples(self, group: list[_Chunk], words: Array, at: Array, heads: Array, offsets: Array) -> None:
        """From here on they are calls as others are."""
        marked = heads & _TYPE_AND_MARK == _EXAMPLE
        words[at[marked]] &= ~_MARK
        lengths = sizes_of(heads[marked]) >> 3
        for start, length, offset in zip(at[marked].tolist(), lengths.tolist(), offsets[marked].tolist(), strict=True):
            self.note_example(group[start // _WORDS].writer, offset, words[start : start + length].tobytes())

    def _with_examples(self, words: Array, at: Array, heads: Array, places: Array) -> tuple[Array, Array]:
        """The words of the chunks at ``places``, and behind them the examples of CALL_LIKEs; where that of each CALL_LIKE is in them, or 0.
        ``heads``: the first words of the records ``at`` these places."""
        likes = np.flatnonzero(types_of(heads) == RecordType.CALL_LIKE)
        if not len(likes):
            return words, likes
        back = (words[at[likes] + 2] & np.uint64(0xFFFF)).astype(np.int64)
        place = places[at[likes] // _WORDS] - back * CHUNK_BYTES + 8 * (heads[likes] >> np.uint64(48)).astype(np.int64)
        which, parts, end = distinct(place), [words], len(words)
        where = np.zeros(len(which), np.int64)
        for number, each in enumerate(which.tolist()):
            example = self.examples.get(each) or self._read_example(each)
            if example:
                parts.append(np.frombuffer(example, "<u8"))
                where[number], end = end, end + len(parts[-1])
        return np.concatenate(parts), where[np.searchsorted(which, place)]

    def _read_example(self, place: int) -> bytes:
        """One that was not read yet, since its chunk was read before it was written; empty if there is none."""
        if place < HEADER_BYTES:
            return b""
        data = self._read(layout.EXAMPLE_BYTES, place)
        record = data[: int.from_bytes(data[:4], "little")]
        return without_mark(record) if is_call(record) else b""

    def _read_earlier(self, descriptor: int, group: list[_Chunk], words: Array, starts: Array, again: Array) -> Array:
        """Where the records are that were read before, of the chunks in which a call is made ``again``; they are read into ``words`` once
        more."""
        view, held = words.data.cast("B"), np.zeros(len(group), np.int64)
        for row in again.tolist():
            begin, held[row] = row * CHUNK_BYTES, starts[row]
            offset = HEADER_BYTES + group[row].index * CHUNK_BYTES
            os.preadv(descriptor, [view[begin : begin + int(starts[row])]], offset)
        found = whole_records(words, np.full(len(group), CHUNK_HEADER_BYTES), held, [])
        places: Array = found.places + np.repeat(np.arange(len(group)) * _WORDS, found.counts)
        return places

    def _read_chunks(self, descriptor: int, group: list[_Chunk], words: Array) -> Array:
        """Returns how much of each chunk the file holds."""
        view = words.data.cast("B")
        held = np.zeros(len(group), np.int64)
        for row, chunk in enumerate(group):
            if chunk.kind:
                begin = row * CHUNK_BYTES + chunk.position
                offset = HEADER_BYTES + chunk.index * CHUNK_BYTES + chunk.position
                held[row] = chunk.position + os.preadv(descriptor, [view[begin : (row + 1) * CHUNK_BYTES]], offset)
        return held

    def _batch(self, words: Array, at: Array, heads: Array, offsets: Array) -> Batch:
        """Of records that begin with ``heads``; those that are no calls are taken into the side tables."""
        types, sizes = types_of(heads), sizes_of(heads)
        for index in np.flatnonzero(types != RecordType.CALL).tolist():
            start, size = int(at[index]), int(sizes[index])
            try:
                flags = int(words[start]) >> 48
                self.take(int(types[index]), flags, words[start + 1 : start + size // 8].tobytes(), int(offsets[index]))
            except ValueError as error:
                self._problem(int(offsets[index]), str(error))
        is_call = (types == RecordType.CALL) & (sizes >= layout.CALL.itemsize)
        for index in np.flatnonzero((types == RecordType.CALL) & ~is_call).tolist():
            self._problem(int(offsets[index]), f"a call record of {int(sizes[index])} bytes")
        if not is_call.all():
            at, offsets, sizes = at[is_call], offsets[is_call], sizes[is_call]
        calls = at_every_word(words, layout.CALL.itemsize)[at].view(layout.CALL)
        fits = bytes_of(calls.view("<u8").reshape(-1, layout.CALL.itemsize // 8)[:, -1]) <= sizes
        if not fits.all():
            for index in np.flatnonzero(~fits).tolist():
                self._problem(int(offsets[index]), "a call record says that it holds more than its size")
            calls, offsets, at = calls.take(np.flatnonzero(fits)), offsets[fits], at[fits]
        self._count_calls(calls)
        return Batch(calls, offsets, words, at)

    def _expanded(
        self, words: Array, at: Array, heads: Array, offsets: Array, earlier: Array, places: Array
    ) -> tuple[Array, Array, Array, Array]:
        """The same with a CALL for each short record. ``places``: of the chunks, in the file."""
        every = np.sort(np.concatenate([earlier, at]))
        calls, call_heads = _calls_among(every, words[every])
        words, examples = self._with_examples(words, calls, call_heads, places)
        expanded = expand(words, calls, sizes_of(call_heads), examples)
        types = types_of(heads)
        is_short = _are_short(types) & (sizes_of(heads) >= _least_bytes(types))
        place = np.searchsorted(calls, at[is_short])
        for index in np.flatnonzero(expanded.broken[place]).tolist():
            self._problem(int(offsets[is_short][index]), "a call that is made again, and not the one that it is like")
        kept = ~is_short
        kept[is_short] = expanded.is_call[place]
        new = at.copy()
        new[is_short] = expanded.at[place]
        at = new[kept]
        return expanded.words, at, expanded.words[at], offsets[kept]

    def _count_calls(self, calls: Array) -> None:
        """The last call of each run of calls of one thread has its highest number."""
        threads = calls["thread"].copy()
        ends = np.append(np.flatnonzero(threads[1:] != threads[:-1]), len(calls) - 1)[: len(calls)]
        for thread, number in zip(threads[ends].tolist(), calls["number"][ends].tolist(), strict=True):
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


def _calls_among(at: Array, heads: Array) -> tuple[Array, Array]:
    """Of records, in order: where those of calls are, and their first words."""
    types = types_of(heads)
    are_calls = ((types == RecordType.CALL) | _are_short(types)) & (sizes_of(heads) >= _least_bytes(types))
    return at[are_calls], heads[are_calls]


def _are_short(types: Array) -> Array:
    are_short: Array = (types == RecordType.CALL_AGAIN) | (types == RecordType.CALL_LIKE)
    return are_short


def _least_bytes(types: Array) -> Array:
    """Of records of calls."""
    short = np.where(types == RecordType.CALL_AGAIN, layout.AGAIN.itemsize, layout.LIKE.itemsize + 4)
    least: Array = np.where(types == RecordType.CALL, layout.CALL.itemsize, short)
    return least
