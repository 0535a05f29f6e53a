"""The records of FORMAT.md, decoded one by one."""

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from cuvet.recording import layout
from cuvet.recording.examples import Examples
from cuvet.recording.layout import RecordType

MOST_LOSSES = 16
"""Calls with which launches are stored; a recording that says more is not to be believed."""
MOST_ALIKE = 1 << 12
"""Sorts of calls of which something is remembered."""
_NO_INPUTS: dict[int, bytes] = {}
"""Of all calls without: an empty dictionary for each would be much of the memory of a model."""
_PER_THREAD = layout.CallFlag.PER_THREAD.value
_REFUSED = layout.CallFlag.REFUSED.value
_INJECTED = layout.CallFlag.INJECTED.value
_TRAPPED = layout.CallFlag.TRAPPED.value
_ENDED_PROCESS = layout.CallFlag.ENDED_PROCESS.value
_AWAITED = layout.CallFlag.AWAITED.value
Refusal = Literal["returned", "trapped", "ended"]
"""What the shim did when it had not made a call: it returned, raised SIGTRAP first, or ended the process."""


class Stack(NamedTuple):
    """Innermost first. ``python`` holds (code id, line). ``era``: how often files had been unmapped."""

    native: tuple[int, ...]
    python: tuple[tuple[int, int], ...]
    era: int = 0


class PythonCode(NamedTuple):
    file: str
    name: str


class Module(NamedTuple):
    """A file mapped into the process at [start, end); an address minus ``bias`` is an address of the file's symbols. ``era``: how often
    files had been unmapped when it was found there."""

    start: int
    end: int
    bias: int
    build_id: str
    path: str
    era: int = 0


class Image(NamedTuple):
    """What a load was given that failed, or may be the driver's death: ``readable`` bytes from its start (-1: a file that cannot be
    opened), of which ``data`` are the first; ``terminated``: they are text that a NUL ends."""

    readable: int
    data: bytes
    terminated: bool


class Code(NamedTuple):
    """The code that a call loaded: ``total`` bytes at ``address`` of the process; ``data``, unless it lies in a file."""

    address: int
    total: int
    data: bytes = b""


class Overlap(NamedTuple):
    """Another thread was inside a call, of ``entry_point``, with the object that ``parameter`` of the call names."""

    thread: int
    entry_point: int
    parameter: int


class LaunchPlace(NamedTuple):
    """One way to launch ``function`` on ``stream``. ``words`` are those of its arguments that a launch leaves: index of the parameter,
    bytes from its start, and how many."""

    stack: int
    function: int
    stream: int
    words: tuple[tuple[int, int, int], ...]


class Ring(NamedTuple):
    """The flight recorder of a thread as it was at some call: one element of dtype ``layout.RING``. ``shaped``: it has the grids and blocks
    of its launches, and says which of their words could not be read."""

    thread: int
    data: Any
    shaped: bool = True


class Fault(NamedTuple):
    signal: int
    thread: int
    code: int
    stack: int
    address: int
    instruction: int
    ticks: int


class Exit(NamedTuple):
    """The process called exit, or returned from main."""

    stack: int
    thread: int


class HostAccess(NamedTuple):
    """Code of the host touched guarded memory, after ``number`` calls of its thread."""

    number: int
    thread: int
    stack: int
    address: int
    instruction: int
    ticks: int
    writes: int


class Fork(NamedTuple):
    """``child`` is written by the child, and may still be 0: ``Recording.child_of`` looks again. ``offset`` is the record's place."""

    child: int
    thread: int
    ticks: int
    stack: int
    offset: int


class Note(NamedTuple):
    code: int
    text: str


class LeftOutObjects(NamedTuple):
    """So many objects of a kind were made and ended by calls that were left out, before those whose instant is ``ticks`` or later."""

    ticks: int
    kind: int
    objects: int


class LeftOutCalls(NamedTuple):
    """So many calls of a thread were left out, of those from ``first`` to ``last`` (ticks). ``number``: of the last call that was looked
    at."""

    calls: int
    number: int
    first: int
    last: int


_OBJECT_FLAGS = (layout.OBJECT_ALIVE, layout.OBJECT_KNOWN, layout.OBJECT_KEPT, layout.OBJECT_RECORDED)


class SeenObject(NamedTuple):
    """``kept``: it has ended, and the quarantine keeps it. ``recorded``: an event that some call has recorded."""

    parameter: int
    kind: int
    alive: bool
    known: bool
    kept: bool
    recorded: bool
    generation: int
    handle: int
    context: int


class Output(NamedTuple):
    parameter: int
    kind: int
    generation: int
    value: int


@dataclass(slots=True)
class CallRecord:
    """One CALL, decoded. ``status`` is None while the call has not returned."""

    flags: int
    entry_point: int
    status: int | None
    entered: int
    returned: int
    thread: int
    stack: int
    number: int
    context: int
    args: tuple[int, ...]
    objects: tuple[SeenObject, ...]
    outputs: tuple[Output, ...]
    pointers: tuple[int, ...]
    inputs: dict[int, bytes]
    named: bytes = field(compare=False)
    """Arguments, objects and outputs, not decoded."""

    @property
    def per_thread(self) -> bool:
        return bool(self.flags & _PER_THREAD)

    @property
    def refused(self) -> Refusal | None:
        """None if the call was made. Else ``status`` is what the shim answered."""
        if not self.flags & _REFUSED:
            return None
        if self.flags & _ENDED_PROCESS:
            return "ended"
        return "trapped" if self.flags & _TRAPPED else "returned"

    @property
    def injected(self) -> bool:
        """Whether the call failed, or its work, because that was asked for (``cuvet inject``)."""
        return bool(self.flags & _INJECTED)

    @property
    def awaited(self) -> bool:
        """Whether the driver accepted the call, and ``status`` is how its work ended, for which the shim waited."""
        return bool(self.flags & _AWAITED)


def decode(record: bytes) -> CallRecord:
    """A whole CALL record whose counts fit its size (as ``Batch`` holds them)."""
    _, _, flags, entry_point, status, entered, returned, thread, stack, number, context, *counts = (
        layout.CALL_FIXED.unpack_from(record)
    )
    arguments, objects, outputs, pointers, input_bytes = counts
    position = layout.CALL_FIXED.size + 8 * arguments + 24 * objects + 16 * outputs
    named = record[layout.CALL_FIXED.size : position]
    args, seen, written = _named(named, arguments, objects)
    into = struct.unpack_from(f"<{pointers}Q", record, position) if pointers else ()
    position += 8 * pointers
    return CallRecord(
        flags, entry_point, None if status == layout.PENDING else status, entered, returned, thread, stack, number, context,
        args, seen, written, into, _inputs(record[position : position + input_bytes]) if input_bytes else _NO_INPUTS, named,
    )  # fmt: skip


@lru_cache(maxsize=MOST_ALIKE)
def _named(
    data: bytes, arguments: int, objects: int
) -> tuple[tuple[int, ...], tuple[SeenObject, ...], tuple[Output, ...]]:
    """What calls often have in common: so many arguments, objects and, behind them, outputs."""
    seen, written = 8 * arguments, 8 * arguments + 24 * objects
    return struct.unpack_from(f"<{arguments}Q", data), _objects(data[seen:written]), _outputs(data[written:])


def _objects(data: bytes) -> tuple[SeenObject, ...]:
    if not data:
        return ()
    return tuple(
        SeenObject(parameter, kind, *(bool(state & flag) for flag in _OBJECT_FLAGS), *rest)
        for parameter, kind, state, *rest in layout.CALL_OBJECT.iter_unpack(data)
    )


def _outputs(data: bytes) -> tuple[Output, ...]:
    if not data:
        return ()
    unpacked = layout.CALL_OUTPUT.iter_unpack(data)
    return tuple(Output(parameter, kind, generation, value) for parameter, kind, _, generation, value in unpacked)


def _inputs(data: bytes) -> dict[int, bytes]:
    inputs: dict[int, bytes] = {}
    position = 0
    while position + layout.CALL_INPUT.size <= len(data):
        parameter, _, length = layout.CALL_INPUT.unpack_from(data, position)
        position += layout.CALL_INPUT.size
        if position + length > len(data):
            break
        inputs.setdefault(parameter, data[position : position + length])
        position += (length + 7) & ~7
    return inputs


def text_of(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


class _Rest:
    """What follows the fixed part of a record, from its beginning on. ``what``: the type of the record, ``flags``: of its header."""

    def __init__(self, data: bytes, what: str, flags: int, offset: int) -> None:
        self._data = data
        self._what = what
        self.flags = flags
        self.offset = offset

    def take(self, length: int) -> bytes:
        taken, self._data = self._data[:length], self._data[length:]
        if len(taken) < length:
            raise ValueError(f"a {self._what} record says that it holds more than its size")
        return taken

    def text(self, length: int, errors: str = "replace") -> str:
        return self.take(length).decode("utf-8", errors)

    def names(self, count: int) -> list[str]:
        """So many of all names, each of which a NUL ends."""
        return [name.decode("ascii", "replace") for name in self._data.split(b"\0")[:count]]


@dataclass
class SideTables:
    """Everything in a recording that is not a call. ``maps``, ``images``, ``overlaps``, ``launches``, ``handed_out`` and ``code`` have keys
    (thread, call number); ``notes`` is an ordered set."""

    stacks: dict[int, Stack] = field(default_factory=dict)
    codes: dict[int, PythonCode] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    threads: dict[int, str] = field(default_factory=dict)
    maps: dict[tuple[int, int], str] = field(default_factory=dict)
    images: dict[tuple[int, int], Image] = field(default_factory=dict)
    overlaps: dict[tuple[int, int], Overlap] = field(default_factory=dict)
    places: dict[int, LaunchPlace] = field(default_factory=dict)
    launches: dict[tuple[int, int], list[Ring]] = field(default_factory=dict)
    handed_out: dict[tuple[int, int], list[Output]] = field(default_factory=dict)
    code: dict[tuple[int, int], Code] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    host_accesses: list[HostAccess] = field(default_factory=list)
    forks: list[Fork] = field(default_factory=list)
    notes: dict[Note, None] = field(default_factory=dict)
    freed: list[tuple[int, int]] = field(default_factory=list)
    """First chunk, and how many: they are not read."""
    left_out: list[LeftOutObjects] = field(default_factory=list)
    left_out_calls: dict[int, LeftOutCalls] = field(default_factory=dict)
    """By thread."""
    entry_points: dict[int, str] = field(default_factory=dict)
    examples: Examples = field(default_factory=Examples)
    site_of: dict[int, int] = field(default_factory=dict)
    """By stack: the number of its site, which is the same in all runs of a program."""
    exits: list[Exit] = field(default_factory=list)

    def take(self, kind: int, flags: int, data: bytes, offset: int) -> None:
        """Puts a record that is no call where it belongs. ValueError, saying what is wrong, if it does not parse."""
        structure = layout.SIDE.get(kind)
        if structure is None:
            raise ValueError(f"a record of unknown type {kind}")
        what = RecordType(kind).name
        if len(data) < structure.size:
            raise ValueError(f"a {what} record of {len(data) + 8} bytes")
        rest = _Rest(data[structure.size :], what, flags, offset)
        getattr(self, f"_take_{what.lower()}")(rest, *structure.unpack_from(data))

    def _take_stack(self, rest: _Rest, number: int, native: int, python: int) -> None:
        addresses, frames = np.frombuffer(rest.take(8 * native), "<u8"), rest.take(8 * python)
        self.stacks[number] = Stack(
            tuple(addresses.tolist()), tuple(layout.PYTHON_FRAME.iter_unpack(frames)), rest.flags
        )

    def _take_python_code(self, rest: _Rest, number: int, file_bytes: int, name_bytes: int) -> None:
        self.codes[number] = PythonCode(rest.text(file_bytes), rest.text(name_bytes))

    def _take_module(self, rest: _Rest, start: int, end: int, bias: int, id_bytes: int, path_bytes: int) -> None:
        build_id = rest.take(id_bytes).hex()
        self.modules.append(Module(start, end, bias, build_id, rest.text(path_bytes, "surrogateescape"), rest.flags))

    def _take_thread(self, rest: _Rest, thread: int, length: int) -> None:
        self.threads[thread] = rest.text(length)

    def _take_maps(self, rest: _Rest, number: int, thread: int, length: int) -> None:
        self.maps[thread, number] = rest.text(length)

    def _take_fault(self, rest: _Rest, *fields: int) -> None:
        self.faults.append(Fault(*fields))

    def _take_host_access(self, rest: _Rest, *fields: int) -> None:
        self.host_accesses.append(HostAccess(*fields))

    def _take_fork(self, rest: _Rest, child: int, thread: int, ticks: int, stack: int, _: int) -> None:
        self.forks.append(Fork(child, thread, ticks, stack, rest.offset))

    def _take_entry_points(self, rest: _Rest, first: int, count: int) -> None:
        self.entry_points.update(enumerate(rest.names(count), first))

    def _take_note(self, rest: _Rest, code: int, length: int) -> None:
        self.notes[Note(code, text_of(rest.take(length)))] = None

    def _take_image(self, rest: _Rest, number: int, thread: int, length: int, readable: int) -> None:
        self.images[thread, number] = Image(readable, rest.take(length), bool(rest.flags & 1))

    def _take_overlap(self, rest: _Rest, number: int, thread: int, *other: int) -> None:
        self.overlaps[thread, number] = Overlap(*other)

    def _take_launch_place(self, rest: _Rest, number: int, stack: int, function: int, stream: int, count: int) -> None:
        words = np.frombuffer(rest.take(4 * min(count, layout.OLD_LAUNCH_WORDS)), "<u4").tolist()
        told = tuple((word >> 16 & 0xFF, word & 0xFFFF, word >> 24 or 8) for word in words)
        self.places[number] = LaunchPlace(stack, function, stream, told)

    def _take_launches(self, rest: _Rest, number: int, thread: int, launching: int) -> None:
        ring = np.frombuffer(rest.take(layout.RING.itemsize), layout.RING)[0]
        if len(self.launches) < MOST_LOSSES or (thread, number) in self.launches:
            self.launches.setdefault((thread, number), []).append(
                Ring(launching, ring, bool(rest.flags & layout.LAUNCH_SHAPED))
            )

    def _take_handed_out(self, rest: _Rest, number: int, thread: int, count: int) -> None:
        objects = _outputs(rest.take(layout.CALL_OUTPUT.size * count))
        self.handed_out.setdefault((thread, number), []).extend(objects)

    def _take_code(
        self, rest: _Rest, number: int, thread: int, length: int, address: int, total: int, offset: int
    ) -> None:
        before = self.code.get((thread, number), Code(address, total)).data
        if offset == len(before):
            self.code[thread, number] = Code(address, total, before + rest.take(length))

    def _take_freed_chunks(self, _: _Rest, first: int, count: int) -> None:
        self.freed.append((first, count))

    def _take_left_out_objects(self, _: _Rest, ticks: int, kind: int, _reserved: int, count: int) -> None:
        self.left_out.append(LeftOutObjects(ticks, kind, count))

    def _take_left_out_calls(self, _: _Rest, thread: int, _reserved: int, *told: int) -> None:
        self.left_out_calls[thread] = LeftOutCalls(*told)

    def _take_example(self, rest: _Rest, place: int, writer: int, length: int) -> None:
        self.note_example(writer, place, rest.take(length))

    def _take_site(self, _: _Rest, site: int, stack: int, _reserved: int) -> None:
        self.site_of[stack] = site

    def _take_exit(self, _: _Rest, *fields: int) -> None:
        self.exits.append(Exit(*fields))

    def note_example(self, writer: int, place: int, record: bytes) -> None:
        """A CALL that others can be told by, and its place in the file."""
        self.examples.add(writer, place, record)
