"""Shortens the recording of a program that runs: what lasts of its oldest chunks is kept in a file of its own, and the chunks are freed.

What lasts is what judging the calls needs: the recording is analysed once more, and the calls that are given to the judge are kept, in
their order, with all records that are no calls. Those that ``short_lives.py`` and ``repeats.py`` leave out are left out for good.
FORMAT.md describes the files, docs/decisions/0013 why it is done so.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cuvet import CuvetError
from cuvet.analysis.folding import Findings
from cuvet.analysis.process import ProcessAnalysis
from cuvet.recording import Recording, layout
from cuvet.recording.examples import Examples
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.layout import CHUNK_BYTES, HEADER_BYTES, ChunkKind, RecordType
from cuvet.recording.likes import Likes
from cuvet.recording.ordering import Item
from cuvet.recording.reader import KEPT_SUFFIX, Array, Batch
from cuvet.recording.records import CallRecord, Fork, HostAccess, LeftOutCalls
from cuvet.recording.repeats import Skipped
from cuvet.recording.rests import State
from cuvet.signals import error_text

LEAST_GAIN = 0.25
"""Of the chunks that are to be freed: if the recording would take less of the disk by no more than that, it stays as it is. Calls that
all matter take more room in the file that is kept, where none is told as one like another."""
MOST_PASSES = 4
"""Where accesses are recorded, only what repeats is left out, and one pass finds it."""
_NICENESS = 10
_WORTH = 0.8
"""A pass that leaves more of what it was given is the last."""
_LITTLE = 0.125
"""Of the chunks that are to be freed: if what is kept grows by no more than that, one pass is enough."""
_PUNCH_HOLE, _KEEP_SIZE = 2, 1
"""FALLOC_FL_… of linux/falloc.h."""
_MADE_ANEW = (
    RecordType.FREED_CHUNKS,
    RecordType.LEFT_OUT_OBJECTS,
    RecordType.LEFT_OUT_CALLS,
    RecordType.EXAMPLE,
)
_THREAD = (layout.CALL.names or ()).index("thread")
_FIELDS: Mapping[str, Any] = layout.HEADER.fields or {}
_VERSION_AT, _CHUNKS_AT, _FREED_AT = (_FIELDS[name][1] for name in ("version", "chunks", "freed"))


class CannotShorten(CuvetError):
    """Why the recording stays as long as it is."""


class _Done(Exception):
    """All that is to be kept has been seen."""


class _Source(Recording):
    """A recording of which ``chunks`` are to be freed; ``kept``: what lasts of those that were freed before. ``records`` are all that last,
    of any type, in the order in which they are read, and calls in that in which they are judged."""

    def __init__(self, path: Path, kept: Path | None, chunks: Collection[int]) -> None:
        super().__init__(path, kept)
        self.chunks = sorted(chunks)
        self._is_pinned = np.ones(max(self.chunks, default=0) + 2, bool)
        """By chunk; the last counts for all others."""
        self._is_pinned[self.chunks] = False
        self.records: list[bytes] = []
        self.seen: dict[int, LeftOutCalls] = {}
        """By thread: the calls of the chunks."""
        self.lasting = Examples()
        """Those of chunks that are freed now, or were before."""
        self.unfinished: set[int] = set()
        """Chunks of which a forked child may still write a word."""

    def are_pinned(self, offsets: Array) -> Array:
        """Which calls stay in chunks that are not freed."""
        chunks = np.clip((offsets - HEADER_BYTES) // CHUNK_BYTES, 0, len(self._is_pinned) - 1)
        pinned: Array = (offsets >= 0) & self._is_pinned[chunks]
        return pinned

    def is_pinned(self, offset: int) -> bool:
        """Whether it is in a chunk that is not freed."""
        chunk = (offset - HEADER_BYTES) // CHUNK_BYTES
        return offset >= 0 and bool(self._is_pinned[min(chunk, len(self._is_pinned) - 1)])

    def poll(self, *, running: bool = False) -> Iterator[Batch]:
        """Also looks at the calls that are not pinned."""
        for batch in super().poll(running=running):
            calls = batch.calls[~self.are_pinned(batch.offsets)]
            for thread in np.unique(calls["thread"]).tolist():
                self._look_at(thread, calls[calls["thread"] == thread])
            yield batch

    def _look_at(self, thread: int, calls: Array) -> None:
        first, last = int(calls["entered"].min()), int(calls["entered"].max())
        before = self.seen.get(thread, LeftOutCalls(0, 0, first, last))
        self.seen[thread] = LeftOutCalls(
            before.calls + len(calls),
            max(before.number, int(calls["number"].max())),
            min(before.first, first),
            max(before.last, last),
        )

    def note_example(self, writer: int, place: int, record: bytes) -> None:
        """Also keeps it, if its chunk is freed or was before."""
        super().note_example(writer, place, record)
        chunk = (place - HEADER_BYTES) // CHUNK_BYTES
        if not self.is_pinned(place) or any(first <= chunk < first + count for first, count in self.freed):
            self.lasting.add(writer, place, record)

    def take(self, kind: int, flags: int, data: bytes, offset: int) -> None:
        """Also keeps it, if its chunk is freed."""
        super().take(kind, flags, data, offset)
        if kind in _MADE_ANEW or self.is_pinned(offset):
            return
        self.records.append(_record(RecordType(kind), data, flags))
        if kind == RecordType.FORK and not self.forks[-1].child:
            self.unfinished.add((offset - HEADER_BYTES) // CHUNK_BYTES)


class _Shortening(ProcessAnalysis):
    """Judges the calls up to ``until``, and keeps those of the source that are judged."""

    def __init__(self, source: _Source, until: int) -> None:
        super().__init__(source, Findings(), lambda _: None, GeneratedCode(source, None))
        self._source = source
        self._until = until
        self._ordering.pinned = source.are_pinned
        self._objects: Counter[int] = Counter()
        """By kind, those that were left out since a record told of some."""
        self.kept: Counter[int] = Counter()
        """Calls, by thread."""
        self._moments: dict[State, int] = {}
        """By the state of the model and how much was said of calls: how many records were kept before it. Since the last of what is given
        whether it is kept or not."""
        self._pause = 0
        """Calls that are kept before the state is looked at again."""

    def run(self) -> None:
        with suppress(_Done):
            self.advance(running=False)
        self._count_left_out(self._until)
        self._tell(self._until)

    def _take(self, item: Item, death: int | None) -> None:
        if isinstance(item, Skipped) and self.model is not None:
            before = self.model.table.counts()
            super()._take(item, death)
            self._note(after - was for was, after in zip(before, self.model.table.counts(), strict=True))
        elif isinstance(item, CallRecord):
            self._keep(item)
            super()._take(item, death)
            self._look_back()
        else:
            if isinstance(item, (Fork, HostAccess)):
                self._moments.clear()
            super()._take(item, death)

    def _keep(self, call: CallRecord) -> None:
        instant = self._ordering.instant
        self._count_left_out(instant)
        self._tell(instant)
        offset, record = self._ordering.given()
        if not self._source.is_pinned(offset):
            self._source.records.append(record)
            self.kept[call.thread] += 1
            self._pause -= 1
            return
        if instant > self._until:
            raise _Done
        self._moments.clear()

    def _look_back(self) -> None:
        """If the model is as it was at an earlier moment, and nothing was said since, no call since then need be kept."""
        model = self.model
        if self._pause > 0 or model is None or not model.order.at_rest():
            return
        state, self._pause = self._state(model)
        kept = len(self._source.records)
        then = kept if state is None else self._moments.setdefault(state, kept)
        if then < kept:
            self._forget_since(then)

    def _forget_since(self, then: int) -> None:
        """No call since there were so many records is kept. No object was made in between."""
        records = self._source.records
        since = records[then:]
        del records[then:]
        for each in since:
            if int.from_bytes(each[4:6], "little") == RecordType.CALL:
                self.kept[layout.CALL_FIXED.unpack_from(each)[_THREAD]] -= 1
            else:
                records.append(each)
        self._moments = {state: kept for state, kept in self._moments.items() if kept <= then}

    def _skip(self, counts: Sequence[int]) -> None:
        super()._skip(tuple(counts))
        self._note(counts)

    def _note(self, counts: Iterable[int]) -> None:
        self._objects.update({kind: count for kind, count in enumerate(counts) if count})

    def _tell(self, instant: int) -> None:
        """A record of the objects that were left out since the last one."""
        for kind, count in self._objects.items():
            told = layout.SIDE[RecordType.LEFT_OUT_OBJECTS].pack(instant, kind, 0, count)
            self._source.records.append(_record(RecordType.LEFT_OUT_OBJECTS, told))
        self._objects.clear()


def shorten(path: Path, until: int, most: int, largest: int | None = None) -> bool:
    """Free chunks of the recording that their threads had left at ``until`` ticks, so that half of ``most`` bytes remain; at most as many
    as ``largest`` bytes (``most``). False if that would gain too little (``LEAST_GAIN``). CannotShorten if that cannot be."""
    kept = path.with_suffix(KEPT_SUFFIX)
    chunks, left = _oldest(Recording(path), until, most, largest or most)
    if not chunks:
        return True
    made = [path.with_suffix(f"{KEPT_SUFFIX}{number}") for number in (0, 1)]
    try:
        with open(path, "rb+", buffering=0) as file:
            return _shorten(file, path, chunks, left, kept, made)
    except OSError as error:
        raise CannotShorten(error_text(error.errno or 0)) from None
    finally:
        for each in made:
            each.unlink(missing_ok=True)


def _pass(
    path: Path, kept: Path | None, chunks: Collection[int], until: int, new: Path
) -> tuple[_Source, list[tuple[int, int]]]:
    """Writes what lasts of the chunks and of what is kept."""
    source = _Source(path, kept, chunks)
    shortening = _Shortening(source, until)
    shortening.run()
    return source, _write(new, source, shortening.kept)


def _shorten(file: FileIO, path: Path, chunks: Collection[int], left: int, kept: Path, made: Sequence[Path]) -> bool:
    """``left``: ticks at which the last of the chunks was left. False: it would gain too little, and nothing was done."""
    source, freed = _pass(path, None, chunks, left, made[0])
    unfinished = source.unfinished
    new, size = made[0], len(chunks) * CHUNK_BYTES
    before_all = kept.stat().st_size if kept.exists() else 0
    passes = 1 if source.has_accesses else MOST_PASSES
    for number in range(1, passes):
        if new.stat().st_size - before_all <= _LITTLE * size:
            break
        before, new = new, made[number % 2]
        _pass(path, before, (), left, new)
        if new.stat().st_size > _WORTH * before.stat().st_size:
            break
    if new.stat().st_size - before_all > (1 - LEAST_GAIN) * size:
        return False
    os.replace(new, kept)
    _flush(kept.parent)
    os.pwrite(file.fileno(), layout.SHORTENED.to_bytes(4, "little"), _VERSION_AT)
    for first, count in freed:
        _free(file, first, count, unfinished)
    total = sum(count for _, count in freed)
    os.pwrite(file.fileno(), total.to_bytes(8, "little"), _FREED_AT)
    return True


def _oldest(recording: Recording, until: int, most: int, largest: int) -> tuple[list[int], int]:
    """Chunks to be freed, those first that were left first, and when the last of them was left."""
    left = sorted((ticks, index) for index, ticks in recording.left_chunks() if ticks <= until)
    held = os.stat(recording.path).st_blocks * 512
    wanted = min(max(0, held - most // 2), largest) // CHUNK_BYTES
    chosen = left[:wanted]
    return [index for _, index in chosen], chosen[-1][0] if chosen else 0


def _write(path: Path, source: _Source, kept: Mapping[int, int]) -> list[tuple[int, int]]:
    """The file of what lasts; ``kept``: how many calls of each thread it has. Returns the chunks that it stands for: first and count."""
    freed = _ranges(source)
    records = [*_calls_left_out(source, kept)]
    records += [_record(RecordType.FREED_CHUNKS, layout.SIDE[RecordType.FREED_CHUNKS].pack(*each)) for each in freed]
    example = layout.SIDE[RecordType.EXAMPLE]
    records += [
        _record(RecordType.EXAMPLE, example.pack(place, writer, len(call)) + call)
        for writer, place, call in source.lasting
    ]
    path.unlink(missing_ok=True)
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        _require_holes(file.fileno())
        file.write(bytes(HEADER_BYTES))
        count = 0
        for chunk in _chunks([*records, *source.records]):
            file.write(chunk)
            count += 1
        header = bytearray(source.header.tobytes())
        header[_CHUNKS_AT : _CHUNKS_AT + 8] = count.to_bytes(8, "little")
        header[_VERSION_AT : _VERSION_AT + 4] = layout.VERSION.to_bytes(4, "little")
        file.seek(0)
        file.write(header)
        file.flush()
        os.fsync(file.fileno())
    return freed


def _record(kind: RecordType, data: bytes, flags: int = 0) -> bytes:
    return layout.RECORD_HEADER.pack(layout.RECORD_HEADER.size + len(data), kind, flags) + data


def _calls_left_out(source: _Source, kept: Mapping[int, int]) -> Iterator[bytes]:
    for thread in source.seen | source.left_out_calls:
        both = [told[thread] for told in (source.left_out_calls, source.seen) if thread in told]
        told = layout.SIDE[RecordType.LEFT_OUT_CALLS].pack(
            thread,
            0,
            sum(each.calls for each in both) - kept.get(thread, 0),
            max(each.number for each in both),
            min(each.first for each in both),
            max(each.last for each in both),
        )
        yield _record(RecordType.LEFT_OUT_CALLS, told)


def _ranges(source: _Source) -> list[tuple[int, int]]:
    """Of chunks that are freed now or were before."""
    merged: list[tuple[int, int]] = []
    for first, count in sorted([*source.freed, *((index, 1) for index in source.chunks)]):
        if merged and first <= sum(merged[-1]):
            merged[-1] = (merged[-1][0], max(sum(merged[-1]), first + count) - merged[-1][0])
        else:
            merged.append((first, count))
    return merged


def _chunks(records: Sequence[bytes]) -> Iterator[bytes]:
    head = layout.CHUNK_HEADER.pack(layout.CHUNK_MAGIC, ChunkKind.RECORDS, 0, 0, 0)
    chunk, number, likes = bytearray(head), 0, Likes()
    before: Array | None = None
    """The last call in the chunk."""
    for each in records:
        launch = likes.find(each)
        short = likes.told(launch, before, number) if launch is not None and before is not None else None
        if len(chunk) + len(short or each) > CHUNK_BYTES:
            yield bytes(chunk.ljust(CHUNK_BYTES, b"\0"))
            chunk, number, short, before = bytearray(head), number + 1, None, None
        if short is None and launch is not None and launch.example < 0:
            short = likes.add(launch, number, len(chunk))
        chunk += short or each
        if int.from_bytes(each[4:6], "little") == RecordType.CALL:
            before = np.frombuffer(each, "<u8")
    yield bytes(chunk.ljust(CHUNK_BYTES, b"\0"))


def _flush(directory: Path) -> None:
    """So that a name in it lasts."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_holes(descriptor: int) -> None:
    """CannotShorten where files have none, before anything is done for them."""
    error = _punch(descriptor, 0, HEADER_BYTES)
    if error:
        raise CannotShorten(f"the file system frees no part of a file ({error_text(error)})")


def _free(file: FileIO, first: int, count: int, but: Collection[int]) -> None:
    """The room of some chunks. OSError if that cannot be."""
    bounds = [first - 1, *sorted(index for index in but if first <= index < first + count), first + count]
    for before, after in pairwise(bounds):
        size = (after - before - 1) * CHUNK_BYTES
        error = _punch(file.fileno(), HEADER_BYTES + (before + 1) * CHUNK_BYTES, size) if size else 0
        if error:
            raise OSError(error, error_text(error))


def _punch(descriptor: int, offset: int, size: int) -> int:
    """0 or an errno."""
    library = ctypes.CDLL(None, use_errno=True)
    punch = library.fallocate64 if hasattr(library, "fallocate64") else library.fallocate
    punch.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return ctypes.get_errno() if punch(descriptor, _PUNCH_HOLE | _KEEP_SIZE, offset, size) else 0


def main() -> int:
    """``PATH UNTIL MOST LARGEST``: as ``shorten``. Says on stdout why it left the recording as it was; with 1 if it cannot be shortened."""
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    try:
        if not shorten(Path(sys.argv[1]), *map(int, sys.argv[2:5])):
            print("nearly all of its calls are needed to judge it again")
    except CuvetError as error:
        print(error)
        return 1
    return 0
