"""The records of FORMAT.md, decoded one by one."""

import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cuvet.recording import layout
from cuvet.recording.layout import RecordType

MOST_LOSSES = 16
"""Calls with which launches are stored; a recording that says more is not to be believed."""
_PER_THREAD = layout.CallFlag.PER_THREAD.value


class Stack(NamedTuple):
    """Innermost first. ``python`` holds (code id, line)."""

    native: tuple[int, ...]
    python: tuple[tuple[int, int], ...]


class PythonCode(NamedTuple):
    file: str
    name: str


class Module(NamedTuple):
    """A file mapped into the process at [start, end); an address minus ``bias`` is an address of the file's symbols."""

    start: int
    end: int
    bias: int
    build_id: str
    path: str


class Image(NamedTuple):
    """What a load was given that failed, or may be the driver's death: ``readable`` bytes from its start (-1: a file that cannot be
    opened), of which ``data`` are the first; ``terminated``: they are text that a NUL ends."""

    readable: int
    data: bytes
    terminated: bool


class Overlap(NamedTuple):
    """Another thread was inside a call, of ``entry_point``, with the object that ``parameter`` of the call names."""

    thread: int
    entry_point: int
    parameter: int


class LaunchPlace(NamedTuple):
    """One way to launch ``function`` on ``stream``. ``words`` are those of its arguments that a launch leaves: index of the parameter,
    and bytes from its start."""

    stack: int
    function: int
    stream: int
    words: tuple[tuple[int, int], ...]


class Ring(NamedTuple):
    """The flight recorder of a thread as it was at some call: one element of dtype ``layout.RING``."""

    thread: int
    data: Any


class Fault(NamedTuple):
    signal: int
    thread: int
    code: int
    stack: int
    address: int
    instruction: int
    ticks: int


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


class SeenObject(NamedTuple):
    parameter: int
    kind: int
    alive: bool
    known: bool
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

    @property
    def per_thread(self) -> bool:
        return bool(self.flags & _PER_THREAD)


def decode(record: bytes) -> CallRecord:
    """A whole CALL record whose counts fit its size (as ``Batch`` holds them)."""
    _, _, flags, entry_point, status, entered, returned, thread, stack, number, context, *counts = (
        layout.CALL_FIXED.unpack_from(record)
    )
    arguments, objects, outputs, pointers, input_bytes = counts
    position = layout.CALL_FIXED.size
    args = struct.unpack_from(f"<{arguments}Q", record, position)
    position += 8 * arguments
    seen = tuple(
        SeenObject(
            parameter,
            kind,
            bool(state & layout.OBJECT_ALIVE),
            bool(state & layout.OBJECT_KNOWN),
            generation,
            handle,
            of,
        )
        for parameter, kind, state, generation, handle, of in layout.CALL_OBJECT.iter_unpack(
            record[position : position + 24 * objects]
        )
    )
    position += 24 * objects
    written = _outputs(record[position : position + 16 * outputs])
    position += 16 * outputs
    named = struct.unpack_from(f"<{pointers}Q", record, position)
    position += 8 * pointers
    return CallRecord(
        flags, entry_point, None if status == layout.PENDING else status, entered, returned, thread, stack, number, context,
        args, seen, written, named, _inputs(record[position : position + input_bytes]) if input_bytes else {},
    )  # fmt: skip


def _outputs(data: bytes) -> tuple[Output, ...]:
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


@dataclass
class SideTables:
    """Everything in a recording that is not a call. ``maps``, ``images``, ``overlaps``, ``launches`` and ``handed_out`` have keys
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
    faults: list[Fault] = field(default_factory=list)
    forks: list[Fork] = field(default_factory=list)
    notes: dict[Note, None] = field(default_factory=dict)
    entry_points: dict[int, str] = field(default_factory=dict)


def take_side_record(into: SideTables, kind: int, flags: int, data: bytes, offset: int) -> None:
    """Puts a record that is no call where it belongs. ValueError, saying what is wrong, if it does not parse."""
    if kind == RecordType.FORK:
        _fork(into, offset, data)
    elif kind in _PARSERS:
        _PARSERS[RecordType(kind)](into, flags, data)
    else:
        raise ValueError(f"a record of unknown type {kind}")


def text_of(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _take(structure: Any, data: bytes, what: str) -> tuple[Any, ...]:
    if len(data) < structure.size:
        raise ValueError(f"a {what} record of {len(data) + 8} bytes")
    values: tuple[Any, ...] = structure.unpack_from(data)
    return values


def _rest(data: bytes, start: int, length: int, what: str) -> bytes:
    if start + length > len(data):
        raise ValueError(f"a {what} record says that it holds more than its size")
    return data[start : start + length]


def _stack(into: SideTables, flags: int, data: bytes) -> None:
    number, native, python = _take(layout.STACK, data, "STACK")
    start = layout.STACK.size
    addresses = _rest(data, start, 8 * native, "STACK")
    frames = _rest(data, start + 8 * native, 8 * python, "STACK")
    into.stacks[number] = Stack(
        tuple(np.frombuffer(addresses, "<u8").tolist()), tuple(layout.PYTHON_FRAME.iter_unpack(frames))
    )


def _python_code(into: SideTables, flags: int, data: bytes) -> None:
    number, file_bytes, name_bytes = _take(layout.PYTHON_CODE, data, "PYTHON_CODE")
    names = _rest(data, layout.PYTHON_CODE.size, file_bytes + name_bytes, "PYTHON_CODE")
    into.codes[number] = PythonCode(
        names[:file_bytes].decode("utf-8", "replace"), names[file_bytes:].decode("utf-8", "replace")
    )


def _module(into: SideTables, flags: int, data: bytes) -> None:
    start, end, bias, id_bytes, path_bytes = _take(layout.MODULE, data, "MODULE")
    names = _rest(data, layout.MODULE.size, id_bytes + path_bytes, "MODULE")
    into.modules.append(
        Module(start, end, bias, names[:id_bytes].hex(), names[id_bytes:].decode("utf-8", "surrogateescape"))
    )


def _thread(into: SideTables, flags: int, data: bytes) -> None:
    thread, length = _take(layout.THREAD, data, "THREAD")
    into.threads[thread] = _rest(data, layout.THREAD.size, length, "THREAD").decode("utf-8", "replace")


def _maps(into: SideTables, flags: int, data: bytes) -> None:
    number, thread, length = _take(layout.MAPS, data, "MAPS")
    into.maps[thread, number] = _rest(data, layout.MAPS.size, length, "MAPS").decode("utf-8", "replace")


def _fault(into: SideTables, flags: int, data: bytes) -> None:
    into.faults.append(Fault(*_take(layout.FAULT, data, "FAULT")))


def _fork(into: SideTables, offset: int, data: bytes) -> None:
    child, thread, ticks, stack, _ = _take(layout.FORK, data, "FORK")
    into.forks.append(Fork(child, thread, ticks, stack, offset))


def _entry_points(into: SideTables, flags: int, data: bytes) -> None:
    first, count = _take(layout.ENTRY_POINTS, data, "ENTRY_POINTS")
    names = data[layout.ENTRY_POINTS.size :].split(b"\0")[:count]
    for index, name in enumerate(names):
        into.entry_points[first + index] = name.decode("ascii", "replace")


def _note(into: SideTables, flags: int, data: bytes) -> None:
    code, length = _take(layout.NOTE, data, "NOTE")
    into.notes[Note(code, text_of(_rest(data, layout.NOTE.size, length, "NOTE")))] = None


def _image(into: SideTables, flags: int, data: bytes) -> None:
    number, thread, length, readable = _take(layout.IMAGE, data, "IMAGE")
    into.images[thread, number] = Image(readable, _rest(data, layout.IMAGE.size, length, "IMAGE"), bool(flags & 1))


def _overlap(into: SideTables, flags: int, data: bytes) -> None:
    number, thread, *other = _take(layout.OVERLAP, data, "OVERLAP")
    into.overlaps[thread, number] = Overlap(*other)


def _launch_place(into: SideTables, flags: int, data: bytes) -> None:
    number, stack, function, stream, count = _take(layout.LAUNCH_PLACE, data, "LAUNCH_PLACE")
    words = _rest(data, layout.LAUNCH_PLACE.size, 4 * min(count, layout.LAUNCH_WORDS), "LAUNCH_PLACE")
    told = np.frombuffer(words, "<u4").tolist()
    into.places[number] = LaunchPlace(stack, function, stream, tuple((word >> 16, word & 0xFFFF) for word in told))


def _launches(into: SideTables, flags: int, data: bytes) -> None:
    number, thread, launching = _take(layout.LAUNCHES, data, "LAUNCHES")
    ring = np.frombuffer(_rest(data, layout.LAUNCHES.size, layout.RING.itemsize, "LAUNCHES"), layout.RING)[0]
    if len(into.launches) < MOST_LOSSES or (thread, number) in into.launches:
        into.launches.setdefault((thread, number), []).append(Ring(launching, ring))


def _handed_out(into: SideTables, flags: int, data: bytes) -> None:
    number, thread, count = _take(layout.HANDED_OUT, data, "HANDED_OUT")
    objects = _rest(data, layout.HANDED_OUT.size, layout.CALL_OUTPUT.size * count, "HANDED_OUT")
    into.handed_out.setdefault((thread, number), []).extend(_outputs(objects))


_PARSERS = {
    RecordType.STACK: _stack,
    RecordType.PYTHON_CODE: _python_code,
    RecordType.MODULE: _module,
    RecordType.THREAD: _thread,
    RecordType.MAPS: _maps,
    RecordType.FAULT: _fault,
    RecordType.ENTRY_POINTS: _entry_points,
    RecordType.NOTE: _note,
    RecordType.IMAGE: _image,
    RecordType.OVERLAP: _overlap,
    RecordType.LAUNCH_PLACE: _launch_place,
    RecordType.LAUNCHES: _launches,
    RecordType.HANDED_OUT: _handed_out,
}
