"""Which memory the work of a library's call touches (``cuvet.catalog.authored.libraries.accessed``), and on which stream it works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cuvet.catalog import EntryPoint
from cuvet.catalog.authored.libraries.accessed import ELEMENT_BYTES, Accessed, accessed, held
from cuvet.catalog.roles import Kind, Verb
from cuvet.model.call import Call
from cuvet.model.naming import role_on
from cuvet.model.objects import Allocation, LibraryObject, Stream
from cuvet.model.touches import Touch
from cuvet.model.view import ModelView

_ON_HOST = "curandCreateGeneratorHost"
"""What it makes works on the host."""


def works_on(call: Call, model: ModelView) -> Stream | None:
    """The stream that the call names, or that its handle was given; None if that is not known. A handle that was given none works on the
    default stream (cublasSetStream, cufftSetStream, curandSetStream)."""
    if call.entry_point.does(Verb.ENDS_GROUP):
        streams = streams_of_group(call, model)
        return next(iter(streams)) if len(streams) == 1 else None
    if role_on(call.entry_point) is not None:
        return model.stream_on(call)
    used = (model.object_named(call, role) for role in call.entry_point.roles if role.verb is Verb.USES)
    handle = next((each for each in used if isinstance(each, LibraryObject)), None)
    if handle is None or not handle.alive or (handle.created_by is not None and handle.created_by.name == _ON_HOST):
        return None
    if handle.stream_set_by is not None:
        return handle.works_on
    return model.default_stream(call) if handle.context is model.current_context(call) else None


def is_work(entry_point: EntryPoint) -> bool:
    """Whether it is known which memory calls of a library's entry point touch."""
    return bool(accessed(entry_point)) or entry_point.does(Verb.ENDS_GROUP)


def grouped(call: Call, model: ModelView) -> list[Call]:
    """The calls that are done together now, if this one ends their group."""
    thread = model.threads.get(call.thread)
    ends = thread is not None and thread.groups == 1 and call.entry_point.does(Verb.ENDS_GROUP)
    return thread.grouped if thread is not None and ends else []


def in_group(call: Call, model: ModelView) -> bool:
    """Whether it is done when the thread's group ends."""
    thread = model.threads.get(call.thread)
    return call.entry_point.api == "nccl" and thread is not None and thread.groups > 0


def streams_of_group(call: Call, model: ModelView) -> set[Stream | None]:
    """Those of all its calls; None for one that is not known."""
    return {works_on(each, model) for each in grouped(call, model)}


def touched_by_library(call: Call, model: ModelView) -> Iterator[Touch]:
    """As far as it is memory of CUDA. Of a group on several streams nothing is known: each of them waits for all (NCCL, Group Calls)."""
    if call.entry_point.does(Verb.ENDS_GROUP):
        calls = grouped(call, model) if len(streams_of_group(call, model)) == 1 else []
        yield from (replace(touch, node=each) for each in calls for touch in _touched(each, model))
    elif not in_group(call, model):
        yield from _touched(call, model)


def _touched(call: Call, model: ModelView) -> Iterator[Touch]:
    """Nothing is certain of an operation one of whose sizes is 0."""
    known = accessed(call.entry_point)
    if any(_number(call, size) <= 0 for each in known for size in (each.rows, each.columns)):
        return
    for each in known:
        argument = call.entry_point.index[each.parameter]
        if each.unless and call.arg(each.unless) == call.args[argument]:
            continue
        for giver, given in _givers(call, each, model):
            touch = _touch(giver, given, model)
            if touch is None:
                continue
            if giver is not call and not each.writes:  # a sparse operand decides which elements are read
                touch = replace(touch, end=None, row=0, pitch=0)
            yield replace(touch, writes=each.writes, argument=argument)


def _givers(call: Call, each: Accessed, model: ModelView) -> Iterator[tuple[Call, Accessed]]:
    """The calls that say where the memory is: this one, or those that gave it to the descriptor."""
    role = next((role for role in call.entry_point.roles if role.parameter == each.parameter), None)
    if role is None or role.kind is not Kind.CUSPARSE_DESCRIPTOR:
        yield call, each
        return
    descriptor = model.object_named(call, role)
    for parameter, giver in descriptor.holds.items() if isinstance(descriptor, LibraryObject) else ():
        yield from ((giver, given) for given in held(giver.entry_point) if given.parameter == parameter)


def _touch(call: Call, each: Accessed, model: ModelView) -> Touch | None:
    """None if nothing is accessed, or no memory of CUDA."""
    start, bytes_of_one = call.arg(each.parameter), _element_bytes(call, each)
    memory = model.living_memory_at(start)
    if memory is None or not memory.alive:
        return None
    if not (each.rows or each.columns) or not bytes_of_one:
        return Touch(memory, start, None, each.writes)
    rows, columns = _number(call, each.rows), _number(call, each.columns)
    if each.turned and _number(call, each.turned):
        rows, columns = columns, rows
    if rows <= 0 or columns <= 0:
        return None
    pitch = abs(_number(call, each.pitch)) if each.pitch else rows
    end = start + ((columns - 1) * pitch + rows) * bytes_of_one
    gaps = columns > 1 and pitch > rows
    row, distance = (rows * bytes_of_one, pitch * bytes_of_one) if gaps else (0, 0)
    return Touch(memory, start, end, each.writes, row=row, pitch=distance)


def _number(call: Call, parameter: str) -> int:
    """The value of an integer parameter, of which the word has the sign; 1 if none is named."""
    value = call.arg(parameter) & (1 << 64) - 1 if parameter else 1
    return value - (1 << 64) if value >> 63 else value


def _element_bytes(call: Call, each: Accessed) -> int:
    """0 if it is not known."""
    index = call.entry_point.index
    if each.type not in index:
        return call.entry_point.parameters[index[each.parameter]].pointee_bytes
    kind = call.entry_point.parameters[index[each.type]].type
    return ELEMENT_BYTES.get(kind, {}).get(call.arg(each.type) & 0xFFFFFFFF, 0)


def may_wait(call: Call, model: ModelView) -> bool:
    """Whether the host may wait for the call's work: it is given host memory to write a result to."""
    written = (
        (parameter, call.args[position])
        for position, parameter in enumerate(call.entry_point.parameters)
        if parameter.pointee is not None and not parameter.const
    )
    return any(address and not _is_of_device(model, address) for _, address in written)


def _is_of_device(model: ModelView, address: int) -> bool:
    memory = model.living_memory_at(address)
    return isinstance(memory, Allocation) and memory.kind is Kind.MEMORY and memory.variant != "managed"
