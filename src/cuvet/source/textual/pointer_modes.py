"""Handles of cuBLAS and cuSPARSE that take scalars from the device, and are given the address of a variable of the host."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cuvet.findings import Finding, Step
from cuvet.rules.library_handles import works
from cuvet.rules.memory.not_device_memory import MemoryNotDeviceMemory
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, part, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Written

_SETS = frozenset({"cublasSetPointerMode", "cublasSetPointerMode_v2", "cusparseSetPointerMode"})
_OF_DEVICE = re.compile(r"CU(?:BLAS|SPARSE)_POINTER_MODE_DEVICE")
_MOST_SETTING = 16
"""Functions of a file that are looked at."""
_SCALARS = frozenset({"alpha", "beta", "result"})
_ADDRESS = re.compile(r"&\s*([A-Za-z_]\w*)")
_VALUES = frozenset({"declaration", "init_declarator", "parameter_declaration"})
"""Declarators of what is no pointer, reference or array."""
_RESTORES = re.compile(rb"[Gg]uard|[Ss]cope|[Rr]estor|#")


class _Leaves(NamedTuple):
    """A function that sets the mode, computes, and does not set it back. ``parameter`` is the index of the handle, -1 for a member."""

    body: Body
    set: Written
    handle: str
    parameter: int


def host_scalars(found: Sequence[Body], source: Source) -> Iterator[Finding]:
    """The first of each function that leaves the mode, and of each that sets it for itself."""
    if b"POINTER_MODE_DEVICE" not in source.text:
        return
    given = [(body, call, name) for body in found for call in body.library_calls if (name := _host_scalar(call, body))]
    setting = [each for each in found if b"POINTER_MODE_DEVICE" in each.text]
    for body in setting[:_MOST_SETTING] if given else ():
        sets = [call for call in body.library_calls if call.name in _SETS and len(call.arguments) > 1]
        if len(sets) != 1 or not _OF_DEVICE.fullmatch(text_of(sets[0].arguments[1])) or _RESTORES.search(body.code):
            continue
        own = next((each for each in given if each[0] is body and _comes_after(each[1], sets[0])), None)
        if own is not None:
            step = body.step(sets[0].node, "from here on the handle takes scalars from the device")
            yield _finding(own[1], own[2], body, (step,))
            continue
        leaves = _left(body, sets[0])
        if leaves is not None:
            yield from _after(leaves, found, given)


def _host_scalar(call: Written, body: Body) -> str:
    """The local variable whose address the call takes for a scalar; empty if there is none."""
    known = meaning(call.name)
    if known is None or known.entry_point.api not in ("cublas", "cusparse") or not works(known.entry_point):
        return ""
    for each, argument in zip(known.entry_point.parameters, call.arguments, strict=False):
        match = _ADDRESS.fullmatch(text_of(argument)) if each.name in _SCALARS else None
        declared = only_declaration(match[1], body) if match is not None else None
        if match is not None and declared is not None and declared.declarator in _VALUES:
            return match[1]
    return ""


def _comes_after(call: Written, setting: Written) -> bool:
    """Whether the call computes with the same handle behind what sets its mode, where that is sure to be done."""
    block = enclosing(setting.node, "compound_statement")
    same = call.arguments and text_of(call.arguments[0]) == text_of(setting.arguments[0])
    return bool(same) and block is not None and setting.end <= call.start < block.end_byte


def _left(body: Body, setting: Written) -> _Leaves | None:
    """What a function leaves that computes itself in the mode that it sets."""
    handle = text_of(setting.arguments[0]).removeprefix("this->")
    computes = any(
        _comes_after(call, setting) and (known := meaning(call.name)) is not None and works(known.entry_point)
        for call in body.library_calls
    )
    if not handle.isidentifier() or not computes or body.name == "__init__":
        return None
    if not body.declarations(handle):
        return _Leaves(body, setting, handle, -1) if body.owner else None
    named = _parameters(body)
    return _Leaves(body, setting, handle, named.index(handle)) if handle in named else None


def _parameters(body: Body) -> list[str]:
    return [each.name for each in parameters(function_declarator(part(body.node, "declarator")))]


def _after(leaves: _Leaves, found: Sequence[Body], given: Sequence[tuple[Body, Written, str]]) -> Iterator[Finding]:
    """A call behind one of the function, with the same handle; else, as a note, one of another function of the file."""
    step = leaves.body.step(leaves.set.node, f"{leaves.body.shown} sets the mode, and does not set it back")
    for body in found:
        if b"SetPointerMode" in body.text or b"#" in body.code:
            continue
        for call, handle in _calls(leaves, body):
            for where, work, name in given:
                if (
                    where is body
                    and work.start >= call.end_byte
                    and text_of(work.arguments[0]).removeprefix("this->") == handle
                ):
                    yield _finding(work, name, body, (step, body.step(call, "it is called here")))
                    return
    for where, work, name in given:
        if (
            b"SetPointerMode" not in where.text
            and where.body.id != leaves.body.body.id
            and _is_given(work, where, leaves)
        ):
            message = (
                f"the handle goes on taking scalars from the device, and {where.shown} gives it the address of `{name}`"
            )
            path = (where.step(work.node, "this is an address of the host"),)
            yield leaves.body.finding(
                MemoryNotDeviceMemory, leaves.set.node, message, api=leaves.set.name, severity="note", path=path
            )
            return


def _calls(leaves: _Leaves, body: Body) -> Iterator[tuple[Node, str]]:
    """Calls of the function, each with the handle as it is called there."""
    for at in body.words(leaves.body.name):
        node = body.at(at)
        call = node.parent if node is not None else None
        if call is None or call.type != "call_expression" or call.child_by_field_name("function") != node:
            continue
        if leaves.parameter < 0:
            if body.owner == leaves.body.owner:
                yield call, leaves.handle
        elif leaves.parameter < len(arguments_of(call)):
            yield call, text_of(arguments_of(call)[leaves.parameter])


def _is_given(work: Written, body: Body, leaves: _Leaves) -> bool:
    """Whether the function takes the handle as a parameter, or has the same member."""
    handle = text_of(work.arguments[0]).removeprefix("this->")
    if leaves.parameter < 0:
        return body.owner == leaves.body.owner and handle == leaves.handle
    return handle in _parameters(body)


def _finding(work: Written, name: str, body: Body, path: tuple[Step, ...]) -> Finding:
    message = f"the handle takes scalars from the device, and `{name}` is a variable of the host"
    return body.finding(MemoryNotDeviceMemory, work.node, message, api=work.name, severity="note", path=path)
