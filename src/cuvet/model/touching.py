"""Which memory the work of a call touches (``Touch``): that of copies, sets, kernels and captured graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from struct import unpack_from
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
from cuvet.model.call import Arguments, Call
from cuvet.model.library_accesses import is_work, touched_by_library, works_on
from cuvet.model.naming import member
from cuvet.model.objects import Array, Function, GraphExec, Object, Stream
from cuvet.model.touches import Memory, Touch
from cuvet.model.view import ModelView

SERIALIZED = frozenset({"cuMemcpyPeer", "cuMemcpy3DPeer"})
"""Copies that are "serialized with respect to all pending and future asynchronous work" of their contexts and the current one (CUDA
Driver API, cuMemcpyPeer): they race with nothing."""

_FREES = "cuMemFreeAsync"
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
    copies = (COPIES | SETS | BATCHES | BATCHES_OF_BOXES) - SERIALIZED
    if entry_point.api != "driver":
        return is_work(entry_point)
    return entry_point.name in copies or entry_point.does(Verb.LAUNCHES, to=_LAUNCHED)


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
        elif call.entry_point.name in COPIES | SETS | BATCHES | BATCHES_OF_BOXES:
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


def _used(call: Call, model: ModelView) -> Iterator[Touch]:
    """By a kernel. Of code that is not known all pointers count, and it may read or write what they point to. A kernel that may wait for
    other work is ordered with it in a way that no call shows."""
    function, arguments = launched(call, model), call.arguments
    if not isinstance(function, Function) or arguments is None:
        return
    pointers = _pointers(arguments, model)
    launch = (function, _numbers(arguments, pointers))
    argument = call.entry_point.index.get("kernelParams")
    use = model.kernels.use(function) if model.kernels is not None else None
    if use is None:
        for start, memory in pointers.values():
            yield Touch(memory, start, None, None, argument, launch=launch, begins=call.by_library)
        return
    if use.waits:
        return
    spans = _spans(call, model, function, arguments)
    for span in spans or ():
        where = memory_at(model, span.start)
        if where is not None:
            yield Touch(where, span.start, span.end, span.writes, argument, launch=launch, atomic=span.atomic)
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
    named = (model.object_named(call, role) for role in call.entry_point.roles if role.verb is Verb.LAUNCHES)
    return next(named, None)


def _ways(use: KernelUse, parameter: int, offset: int) -> Iterator[tuple[bool | None, bool]]:
    """How a kernel accesses what a word of its parameters points to: whether it writes, and as one operation. Only what begins there
    counts: of an index that is found in memory it is not known where it leads."""
    direct = [each for each in use.uses if each.parameter == parameter and not each.indexed]
    yield from dict.fromkeys((each.writes, each.atomic) for each in direct if each.offset == offset)
    if any(each.offset == ANY for each in direct):
        yield None, False


def _pointers(arguments: Arguments, model: ModelView) -> dict[tuple[int, int], tuple[int, Memory]]:
    """The words of the parameters that point to memory of CUDA, by parameter and offset: the address, and what it points to."""
    found = {}
    low, high = model.bounds_of_memory()
    for parameter, data in enumerate(arguments.each()):
        for place, address in enumerate(unpack_from(f"<{len(data) // _WORD}Q", data)):
            if low <= address < high and (memory := memory_at(model, address)) is not None:
                found[parameter, _WORD * place] = (address, memory)
    return found


def parameters_into(call: Call, memory: Memory) -> tuple[int, ...]:
    """The parameters of the launched kernel that hold a word which points into ``memory``; none of another call."""
    each = () if call.arguments is None else call.arguments.each()
    words = (
        (number, int.from_bytes(data[offset : offset + _WORD], "little"))
        for number, data in enumerate(each)
        for offset in range(0, len(data) - _WORD + 1, _WORD)
    )
    return tuple(dict.fromkeys(number for number, word in words if memory.handle <= word < memory.end))


def _numbers(arguments: Arguments, pointers: dict[tuple[int, int], tuple[int, Memory]]) -> bytes:
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
