"""Which memory the work of a call touches (``Touch``): that of copies, sets, kernels and captured graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from struct import Struct
from typing import Protocol

from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind, Verb
from cuvet.kernels import Dimensions
from cuvet.kernels.thread import Span
from cuvet.kernels.use import ANY, KernelUse
from cuvet.model.accesses import (
    BATCHES,
    BATCHES_OF_BOXES,
    COPIES,
    NODES,
    SETS,
    Access,
    accesses,
    array_accesses,
    node_kernel,
)
from cuvet.model.alike import MOST
from cuvet.model.call import Arguments, Call
from cuvet.model.library_accesses import is_work, touched_by_library, works_on
from cuvet.model.naming import member
from cuvet.model.objects import Array, Function, GraphExec, Object, Stream
from cuvet.model.touches import Memory, Touch
from cuvet.model.view import ModelView

SERIALIZED = frozenset({"cuMemcpyPeer", "cuMemcpy3DPeer"})
"""Copies that are "serialized with respect to all pending and future asynchronous work" of their contexts and the current one (CUDA
Driver API, cuMemcpyPeer): they race with nothing."""

_NUMBERS = re.compile(
    r"[\w:]*\b[Aa]rray<((?:unsigned |signed )?(?:char|short|int|long|long long)|bool|float|double), (\d{1,4})u?l*>"
)
_BYTES = {"bool": 1, "char": 1, "short": 2, "int": 4, "float": 4}
_REVERSE = re.compile(r"(?:const )?[\w:]*\breverse_iterator<")
_COPIES = COPIES | SETS | BATCHES | BATCHES_OF_BOXES
_FREES = "cuMemFreeAsync"
_MOST_TYPE = 200
"""Letters of the name of a type."""
Pointers = dict[tuple[int, int], tuple[int, Memory]]
"""By parameter and offset: an address, and what it points to."""
_LAUNCHED = (Kind.FUNCTION, Kind.KERNEL, Kind.GRAPH_EXEC)
_AXES = ("X", "Y", "Z")
_WORD = 8
_MOST_PLANES = 64


class Kernels(Protocol):
    """What is known of the code of functions."""

    def name(self, function: Function) -> str:
        """As C++ writes it; "" if it is not known."""

    def parameters(self, function: Function) -> tuple[str, ...]:
        """The types of its parameters, as C++ writes them; none if they are not known."""

    def use(self, function: Function) -> KernelUse | None:
        """None if it is not known."""

    def spans(
        self, function: Function, arguments: Arguments, grid: Dimensions, block: Dimensions
    ) -> tuple[Span, ...] | None:
        """None if its threads could not be followed."""


@cache
def touches_memory(entry_point: EntryPoint) -> bool:
    """Whether ``touched`` looks at calls of the entry point."""
    if entry_point.api != "driver":
        return is_work(entry_point)
    return entry_point.name in _COPIES - SERIALIZED or entry_point.does(Verb.LAUNCHES, to=_LAUNCHED)


def touches_in_capture(entry_point: EntryPoint) -> bool:
    """Whether ``touched`` looks at calls of the entry point that add nodes to a capture: these may free memory of the graph too."""
    return entry_point.name == _FREES or touches_memory(entry_point)


def touched(call: Call, model: ModelView) -> tuple[Touch, ...]:
    """The memory that is known to the driver and that the call's work touches. Worked out once for those who ask about the same call one
    after the other."""
    asked, found = _newest[0]
    if asked is not call:
        if call.inner:
            found = ()
        elif call.entry_point.api != "driver":
            found = tuple(touched_by_library(call, model))
        elif call.entry_point.name in _COPIES:
            found = tuple(_copied(call, model))
        elif call.name in NODES:
            found = _of_node(call, model)
        elif call.name == _FREES:
            memory = memory_at(model, call.arg("dptr"))
            found = () if memory is None else (life(memory, "frees"),)
        elif call.arguments is not None:
            found = tuple(_used(call, model))
        elif call.pointers:
            found = tuple(_pointed(call, model))
        else:
            executable = launched(call, model)
            nodes = executable.touches if isinstance(executable, GraphExec) else ()
            found = tuple(touch for touch in nodes if touch.memory.alive)
        _newest[0] = call, found
    return found


def stream_worked_on(call: Call, model: ModelView) -> Stream | None:
    """The stream that the call gives its work to, named or not; None if it is not known."""
    return model.stream_worked_on(call) if call.entry_point.api == "driver" else works_on(call, model)


def life(memory: Memory, what: str) -> Touch:
    """Of work that allocates or frees it."""
    return Touch(memory, memory.handle, memory.end, True, life=what)


_newest: list[tuple[Call | None, tuple[Touch, ...]]] = [(None, ())]


def _of_node(call: Call, model: ModelView) -> tuple[Touch, ...]:
    """What the node touches that the call adds or changes."""
    found = _copied(call, model) if node_kernel(call) is None else _used(call, model)
    return tuple(dict.fromkeys(replace(touch, argument=None, node=call) for touch in found))


def _copied(call: Call, model: ModelView) -> Iterator[Touch]:
    for access in accesses(call):
        memory = memory_at(model, access.address)
        if memory is None:
            continue
        for start, end in _parts(access):
            yield Touch(memory, start, end, access.writes, access.argument, access.row, access.pitch)
    for part in array_accesses(call):
        array = model.find(Kind.ARRAY, part.array)
        if isinstance(array, Array) and array.alive:
            yield Touch(array, array.handle, None, part.writes, part.argument, box=part.box)


def _parts(access: Access) -> Iterator[tuple[int, int]]:
    """Its planes, if other rows lie between them: of many, the first ones and the last."""
    size = access.size - (access.planes - 1) * access.plane
    if access.planes == 1 or access.plane - size < max(access.pitch, 1):
        yield access.address, access.address + access.size
        return
    for number in (*range(min(access.planes, _MOST_PLANES) - 1), access.planes - 1):
        start = access.address + number * access.plane
        yield start, start + size


def memory_at(model: ModelView, address: int) -> Memory | None:
    """Living memory of a device, or pinned, that holds the address."""
    found = model.living_memory_at(address)
    return found if found is not None and found.alive else None


def _used(call: Call, model: ModelView) -> Iterable[Touch]:
    """By a kernel. Of code that is not known all pointers count, and it may read or write what they point to; its other arguments make
    no difference, and only tell nodes of graphs apart. A kernel that may wait for other work is ordered with it in a way that no call
    shows."""
    function, arguments = launched(call, model), call.arguments
    if not isinstance(function, Function) or arguments is None:
        return ()
    use = model.kernels.use(function) if model.kernels is not None else None
    pointers = _pointers(arguments, model, types_given(call, model), use is not None)
    argument = call.entry_point.index.get("kernelParams")
    if use is None:
        in_graph = bool(model.captures()) or node_kernel(call) is not None
        launch = (function, _numbers(arguments, pointers) if in_graph else b"")
        return [_of_pointer(*each, argument, launch, call.by_library) for each in pointers.values()]
    return () if use.waits else _followed(call, model, function, use, arguments, pointers)


@lru_cache(maxsize=MOST)
def _of_pointer(
    start: int, memory: Memory, argument: int | None, launch: tuple[Function, bytes], begins: bool
) -> Touch:
    return Touch(memory, start, None, None, argument, launch=launch, begins=begins)


def _followed(
    call: Call, model: ModelView, function: Function, use: KernelUse, arguments: Arguments, pointers: Pointers
) -> Iterator[Touch]:
    """By a kernel of which the code is known."""
    argument = call.entry_point.index.get("kernelParams")
    launch = (function, _numbers(arguments, pointers))
    spans = _spans(call, model, function, arguments)
    for span in spans or ():
        where = memory_at(model, span.start)
        if where is not None:
            touch = Touch(where, span.start, span.end, span.writes, argument, launch=launch, atomic=span.atomic)
            yield replace(touch, partly=True) if span.partly else touch
    for place, (start, memory) in pointers.items() if spans is None else ():
        for writes, atomic in _ways(use, *place):
            yield Touch(memory, start, None, writes, argument, launch=launch, atomic=atomic)


def _pointed(call: Call, model: ModelView) -> Iterator[Touch]:
    """By a kernel of which nothing but pointers is known, as in source code."""
    for pointer in dict.fromkeys(call.pointers):
        memory = memory_at(model, pointer)
        if memory is not None and memory.handle == pointer:
            yield Touch(memory, pointer, None, None)


def launched(call: Call, model: ModelView) -> Object | None:
    """The kernel or executable graph that the call launches, or the kernel of the node that it adds or changes; None of another call."""
    node = node_kernel(call)
    if node is not None:
        handle = node[1]["func"] or node[1].get("kern", 0)
        return model.find(Kind.FUNCTION, handle) if handle else None
    return model.launched(call)


def _ways(use: KernelUse, parameter: int, offset: int) -> Iterator[tuple[bool | None, bool]]:
    """How a kernel accesses what a word of its parameters points to: whether it writes, and as one operation. Only what begins there
    counts: of an index that is found in memory it is not known where it leads."""
    direct = [each for each in use.uses if each.parameter == parameter and not each.indexed]
    yield from dict.fromkeys((each.writes, each.atomic) for each in direct if each.offset == offset)
    if any(each.offset == ANY for each in direct):
        yield None, False


def _pointers(arguments: Arguments, model: ModelView, types: tuple[str, ...], code_is_known: bool) -> Pointers:
    """The words of the parameters that point to memory of CUDA. A structure has words that nobody wrote: what stood on the stack before.
    Of code that is not known, those of arrays of numbers do not count, and of structures of unknown type the first word does."""
    found: Pointers = {}
    low, high = model.bounds_of_memory()
    words, places = _words(arguments.layout)
    for place, address in zip(places, words.unpack_from(arguments.data), strict=True):
        if low <= address < high and (code_is_known or _may_point(arguments, types, place)):
            memory = model.living_memory_at(address)
            if memory is not None and memory.alive and not _may_be_end(model, address, memory, types, place[0]):
                found[place] = (address, memory)
    return found


def _may_point(arguments: Arguments, types: tuple[str, ...], place: tuple[int, int]) -> bool:
    parameter, offset = place
    return not _is_array_of_numbers(types[parameter], arguments.layout[parameter][1]) if types else offset == 0


@lru_cache(maxsize=MOST)
def _is_array_of_numbers(name: str, size: int) -> bool:
    """Whether a parameter of that type and so many bytes holds nothing else."""
    numbers = _NUMBERS.fullmatch(name) if len(name) <= _MOST_TYPE else None
    return numbers is not None and size == _BYTES.get(numbers[1].split()[-1], 8) * int(numbers[2])


def _may_be_end(model: ModelView, address: int, memory: Memory, types: tuple[str, ...], parameter: int) -> bool:
    """Whether the parameter is an iterator that goes backwards, from the end of other memory than what begins there."""
    begins = bool(types) and address == memory.handle
    return begins and _REVERSE.match(types[parameter]) is not None and _ends_at(model, address)


def _ends_at(model: ModelView, address: int) -> bool:
    """Whether living memory ends there."""
    below = model.living_memory_at(address - 1)
    return below is not None and below.alive and below.end == address


@lru_cache(maxsize=MOST)
def _words(layout: tuple[tuple[int, int], ...]) -> tuple[Struct, tuple[tuple[int, int], ...]]:
    """All words of parameters with that layout, and the parameter of each with its offset there."""
    behind = [0, *(at + size // _WORD * _WORD for at, size in layout)]
    parts = (f"{at - end}x{size // _WORD}Q" for (at, size), end in zip(layout, behind, strict=False))
    places = ((parameter, offset) for parameter, (_, size) in enumerate(layout) for offset in range(0, size - 7, _WORD))
    return Struct(f"<{''.join(parts)}"), tuple(places)


def types_given(call: Call, model: ModelView) -> tuple[str, ...]:
    """The types of the parameters of the launched kernel; none if its name does not tell one for each that it was given. Numba gives seven
    words for an array."""
    function, arguments = launched(call, model), call.arguments
    if not isinstance(function, Function) or arguments is None or model.kernels is None:
        return ()
    types = model.kernels.parameters(function)
    return types if len(types) == len(arguments.layout) else ()


def parameters_into(call: Call, memory: Memory) -> tuple[int, ...]:
    """The parameters of the launched kernel that hold a word which points into ``memory``; none of another call."""
    each = () if call.arguments is None else call.arguments.each()
    words = (
        (number, int.from_bytes(data[offset : offset + _WORD], "little"))
        for number, data in enumerate(each)
        for offset in range(0, len(data) - _WORD + 1, _WORD)
    )
    return tuple(dict.fromkeys(number for number, word in words if memory.handle <= word < memory.end))


def may_be_ends(call: Call, memory: Memory, model: ModelView) -> bool:
    """Whether all parameters that begin where ``memory`` does may be ends of other memory: iterators that go backwards."""
    function = launched(call, model)
    if not isinstance(function, Function) or not _ends_at(model, memory.handle):
        return False
    types, numbers = types_given(call, model), parameters_into(call, memory)
    if types and numbers:
        return all(_REVERSE.match(types[number]) for number in numbers)
    return "reverse_iterator" in function.symbol


def _numbers(arguments: Arguments, pointers: Pointers) -> bytes:
    """The bytes of the arguments that are no pointers."""
    rest = bytearray(arguments.data)
    for parameter, offset in pointers:
        start = arguments.layout[parameter][0] + offset
        rest[start : start + _WORD] = bytes(_WORD)
    return bytes(rest)


def _spans(call: Call, model: ModelView, function: Function, arguments: Arguments) -> tuple[Span, ...] | None:
    grid, block = _dimensions(call, "gridDim"), _dimensions(call, "blockDim")
    if model.kernels is None or grid is None or block is None:
        return None
    return model.kernels.spans(function, arguments, grid, block)


def shape_of_node(call: Call) -> tuple[Dimensions, Dimensions] | None:
    """Grid and block of the kernel node that the call adds or changes; None of another call."""
    grid, block = (_dimensions(call, name) if node_kernel(call) else None for name in ("gridDim", "blockDim"))
    return (grid, block) if grid is not None and block is not None else None


def _dimensions(call: Call, name: str) -> Dimensions | None:
    """Of a launch, from its parameters or from the struct that describes it; None if that is not known."""
    node = node_kernel(call)
    if node is not None:
        x, y, z = (node[1][f"{name}{axis}"] for axis in _AXES)
        return x, y, z
    index = call.entry_point.index
    if f"{name}X" in index:
        x, y, z = (call.arg(f"{name}{axis}") for axis in _AXES)
        return x, y, z
    if "config" not in index:
        return None
    members = [member(call, "config", f"{name}{axis}") for axis in _AXES]
    return None if None in members else (members[0] or 0, members[1] or 0, members[2] or 0)
