"""Whose an address was: every memory of a recording that covered it, what lay beside it, and the launches that were given it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from cuvet import CuvetError, __version__
from cuvet.analysis.calls import Calls, RecordedCall, site_of
from cuvet.analysis.crashes import Crashes
from cuvet.catalog import Kind, Verb
from cuvet.findings import Site, Tool
from cuvet.image.core_dump import CoreDump, read
from cuvet.image.errors import ImageError
from cuvet.image.source import opened
from cuvet.meta import read_meta
from cuvet.model import Allocation, Call, Function, HostMemory, Model
from cuvet.printable import valid
from cuvet.recording import Recording, RecordingError
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.launches import Launched, launched
from cuvet.recording.ordering import Ordering
from cuvet.recording.records import CallRecord
from cuvet.recording.sites import Sites
from cuvet.recording.symbols import demangle
from cuvet.rules.lifecycle import ending

SCHEMA = "cuvet-whose/1"
DUMP_SCHEMA = "cuvet-whose-dump/1"
NEAR = 1 << 20
"""Bytes from an address in which memory beside it is named."""
_MOST = 1000
"""Memory of a process that is told, and launches."""
_MOST_NOTES = 20
_MOST_ADDRESSES = 8
"""Of a dump: each is a walk through the recording."""
_LEAST_ADDRESS = 1 << 16
"""Words below are numbers."""

Memory = Allocation | HostMemory


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """Memory from its creation to its end. ``offset``: where the address is in it, from its start; of memory beside the address it is
    negative, or not below ``bytes``. ``end`` is the word for how it ended, None if it was alive when the recording ended. ``made`` and
    ``ended`` are None if the recording lacks the call."""

    process: int
    name: str
    kind: str
    start: str
    bytes: int
    offset: int
    device: int | None = None
    made: Site | None = None
    end: str | None = None
    ended: Site | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A launch, or several from one place, that was given the address or one in memory that covers it. ``argument`` counts from 0;
    ``value`` is that of the newest."""

    process: int
    kernel: str
    argument: int
    value: str
    site: Site | None = None
    times: int = 1


class Whose(msgspec.Struct, frozen=True, kw_only=True):
    """``lives`` covered the address, in their order. ``beside`` lay near it: told if nothing covered it. ``given``: as far as it is known,
    which is those in the flight recorders when a context was lost."""

    schema: str = SCHEMA
    tool: Tool
    address: str
    lives: tuple[Life, ...] = ()
    beside: tuple[Life, ...] = ()
    given: tuple[Given, ...] = ()
    notes: tuple[str, ...] = ()


class WhoseOfDump(msgspec.Struct, frozen=True, kw_only=True):
    """``addresses``: words of 8 bytes that the kernels which failed were given."""

    schema: str = DUMP_SCHEMA
    tool: Tool
    file: str
    dump: CoreDump
    addresses: tuple[Whose, ...] = ()


def whose_of_dump(file: Path, directories: Sequence[Path]) -> WhoseOfDump:
    """CuvetError as ``whose``, and if the file is no GPU core dump."""
    try:
        with opened(file) as source:
            dump = read(source)
    except (ImageError, OSError) as error:
        raise CuvetError(f"cannot read {valid(str(file))}: {error}") from error
    words = dict.fromkeys(value for grid in dump.failed() for _, _, value in grid.words() if value >= _LEAST_ADDRESS)
    found = tuple(whose(value, directories) for value in islice(words, _MOST_ADDRESSES))
    return WhoseOfDump(tool=Tool(version=__version__), file=valid(str(file)), dump=dump, addresses=found)


def whose(address: int, directories: Sequence[Path]) -> Whose:
    """CuvetError if a directory holds no recording, or only such that cannot be read."""
    found = [_Process(path, address) for path in _recordings(directories)]
    covering = tuple(life for each in found for life in each.lives(covers=True))
    return Whose(
        tool=Tool(version=__version__),
        address=f"{address:#x}",
        lives=covering[:_MOST],
        beside=() if covering else _nearest(life for each in found for life in each.lives(covers=False)),
        given=tuple(given for each in found for given in each.given())[:_MOST],
        notes=tuple(note for each in found for note in each.notes),
    )


def _recordings(directories: Sequence[Path]) -> Iterator[Path]:
    """Each once, however often and by whatever name its directory is given."""
    for directory in {os.path.realpath(each): each for each in directories}.values():
        read_meta(directory)
        yield from sorted(directory.glob("*.cuvet"))


def _nearest(beside: Iterator[Life]) -> tuple[Life, ...]:
    """The nearest before the address and the nearest behind it, each with those that were in the same place."""
    found = list(beside)
    below = [life for life in found if life.offset >= 0]
    above = [life for life in found if life.offset < 0]
    ends = min((life.offset - life.bytes for life in below), default=0)
    starts = max((life.offset for life in above), default=0)
    near = [life for life in below if life.offset - life.bytes == ends]
    return (*near, *(life for life in above if life.offset == starts))[:_MOST]


class _Process:
    """Follows the calls of one process."""

    def __init__(self, path: Path, address: int) -> None:
        self.notes: list[str] = []
        self._address = address
        self._known: dict[Memory, None] = {}
        try:
            self._recording = Recording(path)
        except RecordingError as error:
            raise CuvetError(str(error)) from error
        self._sites = Sites(self._recording, self._recording.executable, GeneratedCode(self._recording, None))
        self._ordering = Ordering(self._recording)
        self._model = Model(max(1, min(int(self._recording.header["gpus"]), 64)))
        self._follow()

    def _follow(self) -> None:
        calls = Calls(self._recording, self._sites, Crashes(self._recording))
        try:
            for item in self._ordering.poll():
                if isinstance(item, CallRecord):
                    self._take(item, calls)
        except RecordingError as error:
            self.notes.append(f"the recording could not be read to its end: {error}")
        damaged = [f"the recording is damaged: {problem}" for problem in self._recording.problems]
        self.notes = [*damaged, *self.notes][:_MOST_NOTES]

    def _take(self, record: CallRecord, calls: Calls) -> None:
        known = self._ordering.entry_points
        entry_point = known[record.entry_point]
        if entry_point is None:
            return
        try:
            call = calls.of_record(record, entry_point, known, self._model, None)
            self._model.observe(call, call.outcome)
        except Exception as error:  # whatever a recording says, the rest of it is followed
            if len(self.notes) < _MOST_NOTES:
                self.notes.append(f"call {record.number} of thread {record.thread} could not be followed: {error!r}")
            return
        if entry_point.does(Verb.ALLOCATES, Verb.CREATES, Verb.RETURNS, Verb.REGISTERS):
            self._look(call)

    def _look(self, call: RecordedCall) -> None:
        """Note all memory that is near the address now, and the range of addresses that the call made."""
        if len(self._known) >= _MOST:
            return
        start, size = max(self._address - NEAR, 0), 2 * NEAR
        self._known.update(dict.fromkeys(self._model.overlapping_allocations(start, size)))
        self._known.update(dict.fromkeys(self._model.overlapping_host_memory(start, size)))
        made = (self._model.find(Kind.ADDRESS_RANGE, value) for value in call.outcome.outputs.values())
        for each in made:
            if isinstance(each, Allocation) and each.handle <= self._address < each.end:
                self._known[each] = None

    def lives(self, *, covers: bool) -> Iterator[Life]:
        for each in self._known:
            if (each.handle <= self._address < each.end) is covers:
                yield self._life(each)

    def _life(self, memory: Memory) -> Life:
        ended = memory.destroyed_by
        return Life(
            process=self._recording.pid,
            name=memory.name,
            kind=memory.kind.noun,
            start=f"{memory.handle:#x}",
            bytes=memory.size,
            offset=self._address - memory.handle,
            device=memory.device,
            made=_site(memory.created_by),
            end=ending(ended) if ended is not None else "ended" if memory.lost else None,
            ended=_site(ended),
        )

    def given(self) -> Iterator[Given]:
        """Launches that were given an address in what covered the address, or the address itself."""
        covering = [each for each in self._known if each.handle <= self._address < each.end]
        found: dict[tuple[int, int, int], Given] = {}
        for launch in self._launches():
            for word in launch.words:
                value = word.value or 0
                inside = value == self._address or any(each.handle <= value < each.end for each in covering)
                if word.size == 8 and value and inside:
                    key = (launch.function, launch.stack, word.parameter)
                    times = found[key].times + 1 if key in found else 1
                    found[key] = self._given(launch, word.parameter, value, times)
        yield from found.values()

    def _launches(self) -> Iterator[Launched]:
        """Each once, however often flight recorders were stored."""
        known = self._ordering.entry_points.__getitem__
        rings = (ring for stored in self._recording.launches.values() for ring in stored)
        each = (launch for ring in rings for launch in launched(ring, self._recording, known))
        yield from {(launch.thread, launch.number): launch for launch in each}.values()

    def _given(self, launch: Launched, argument: int, value: int, times: int) -> Given:
        function = self._model.find(Kind.FUNCTION, launch.function)
        symbol = function.symbol if isinstance(function, Function) else ""
        api, frames = self._sites.of_stack(launch.stack)
        site = Site(
            api=api or "cuLaunchKernel",
            call=launch.number,
            process=self._recording.pid,
            thread=launch.thread,
            time_ns=self._recording.clock.ns(launch.after),
            frames=frames,
        )
        return Given(
            process=self._recording.pid,
            kernel=demangle(symbol),
            argument=argument,
            value=f"{value:#x}",
            site=site,
            times=times,
        )


def _site(call: Call | None) -> Site | None:
    return site_of(call) if isinstance(call, RecordedCall) else None
