"""Loops that make one device after the other current, and work on all of them with an object that belongs to one."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.function.other_context import FunctionOtherContext
from cuvet.rules.library_handle.of_other_device import LibraryHandleOfOtherDevice
from cuvet.rules.library_handles import works
from cuvet.rules.rule import Rule
from cuvet.source.calls import meaning, symbols
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Node, enclosing, field_text, is_within, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.turns import LOOPS, is_for_one, loop_variable, names
from cuvet.source.textual.written import Body, Written

_SWITCHES = re.compile(rb"\b(?:cudaSetDevice|cuCtxSetCurrent|cuCtxPushCurrent)\b")
_PLACE = re.compile(r"(?:this\s*->\s*)?[A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*")
_GETTER = re.compile(r"(?:this\s*->\s*)?(?:([A-Za-z_]\w*)\s*(?:\.|->)\s*)?([A-Za-z_]\w*)\s*\(\s*\)")
_DEFINED = rb"\b%s\s*\(\s*\)\s*(?:const\s*)?(?:noexcept\s*)?\{"
_RETURNS = re.compile(rb"\breturn\s+(?:this\s*->\s*)?([A-Za-z_]\w*)\s*;\s*$")
_BY_DEVICE = re.compile(rb"\[|Device|\bfor\b|\bwhile\b|::|#")
_OF_TYPE = rb"(?<!\w)(?<!thread_local )%s\s+(?:[A-Za-z_]\w*\s*(?:=\s*\w+\s*|\{\w*\}\s*)?,\s*){0,20}%s\s*(?:[=;,){]|$)"
_FUNCTION = "CUfunction"
_OF_LIBRARY = re.compile(rb"\bcu(?:KernelGetFunction|LibraryGet\w+|daGetFuncBySymbol)\b")
"""Such functions may belong to all contexts."""
_MOST_GETTERS, _MOST_FUNCTIONS = 4, 64
"""Functions of a name, and of a file that are looked at."""


def on_each_device(found: Sequence[Body]) -> Iterator[Finding]:
    """The first work of each function."""
    switching = (each for each in found if b"for" in each.text and _SWITCHES.search(each.text))
    for body in islice(switching, _MOST_FUNCTIONS):
        yield from islice(_of_function(body), 1)


def _of_function(body: Body) -> Iterator[Finding]:
    switches = [
        call for call in body.calls if (known := meaning(call.name)) is not None and known.switches and call.arguments
    ]
    for work in (*body.library_calls, *body.calls) if switches else ():
        rule, handle, at = _tied(work)
        loop = enclosing(work.node, *LOOPS)
        variable = loop_variable(loop) if rule is not None and loop is not None else ""
        if rule is None or loop is None or not variable or is_for_one(work.node, loop):
            continue
        switch = _current(switches, work, loop)
        if switch is None or not names(text_of(switch.arguments[0]), variable) or not _is_default(work, variable):
            continue
        if _is_one(work.arguments[at], handle, loop, work, body):
            place = text_of(work.arguments[at])
            message = f"`{place}` is the same for all devices, and belongs to one of them"
            path = (body.step(switch.node, "each turn of the loop makes another one current"),)
            yield body.finding(rule, work.arguments[at], message, api=work.name, severity="note", path=path)


def _tied(work: Written) -> tuple[type[Rule] | None, str, int]:
    """The type and the place of the argument that belongs to one device or context, if the call computes with it."""
    known = meaning(work.name)
    for at, role in known.named if known is not None else ():
        if at < len(work.arguments) and known is not None:
            if role.verb is Verb.USES and role.kind.row.tied and works(known.entry_point):
                return LibraryHandleOfOtherDevice, known.entry_point.parameters[at].type, at
            if role.verb is Verb.LAUNCHES and role.kind is Kind.FUNCTION:
                return FunctionOtherContext, known.entry_point.parameters[at].type, at
    return None, "", -1


def _is_default(work: Written, variable: str) -> bool:
    """Whether a launch is on the default stream, or on one of the turn's own; a launch runs where its stream is."""
    known = meaning(work.name)
    streams = [at for at, role in known.named if role.verb is Verb.ON] if known is not None else []
    given = [text_of(work.arguments[at]) for at in streams if at < len(work.arguments)]
    return all(each in ("0", "nullptr", "NULL") or names(each, variable) for each in given)


def _current(switches: list[Written], work: Written, loop: Node) -> Written | None:
    """What was made current last in the loop before the work, if that is sure to be done in each turn."""
    before = [each for each in switches if loop.start_byte <= each.start < work.start]
    block = enclosing(before[-1].node, "compound_statement") if before else None
    around = block is not None and block.start_byte <= work.start < block.end_byte
    branch = enclosing(before[-1].node, "if_statement", "compound_statement") if before else None
    is_sure = branch is not None and (
        branch.type == "compound_statement" or is_within(before[-1].node, branch.child_by_field_name("condition"))
    )
    return before[-1] if around and is_sure else None


def _is_one(place: Node, handle: str, loop: Node, work: Written, body: Body) -> bool:
    """Whether the expression is the same object in all turns, as the file shows it."""
    text = text_of(place)
    declared = only_declaration(text, body) if text.isidentifier() else None
    if declared is not None and is_within(declared.node, loop):
        value = declared.node.parent.child_by_field_name("value") if declared.node.parent is not None else None
        is_set = len(re.findall(rb"\b%s\s*=(?!=)" % text.encode(), body.code)) > 1
        return (
            value is not None and not is_set and value.text != place.text and _is_one(value, handle, loop, work, body)
        )
    getter = _GETTER.fullmatch(text)
    if getter is not None:
        member = returned_member(getter[2].encode(), body)
        return bool(member) and getter[1] != loop_variable(loop) and _is_declared(member, handle, body)
    if not _PLACE.fullmatch(text) or names(text, loop_variable(loop)):
        return False
    root = re.split(r"\W+", text.removeprefix("this").lstrip("-> "))[0]
    owner = only_declaration(root, body)
    if (owner is None and body.declarations(root)) or (owner is not None and is_within(owner.node, loop)):
        return False
    return _is_declared(re.split(r"\W+", text)[-1].encode(), handle, body) and not _may_change(text, loop, work, body)


def _is_declared(name: bytes, handle: str, body: Body) -> bool:
    """Whether the file declares the name as one handle of the type, and nothing else; a function is also taken from a module."""
    code = body.source.code
    if re.search(_OF_TYPE % (re.escape(handle.encode()), re.escape(name)), code) is None or re.search(
        rb"\b%s\s*\[" % re.escape(name), code
    ):
        return False
    if handle != _FUNCTION:
        return True
    taken = rb"\bcuModuleGetFunction\s*\(\s*&\s*(?:this\s*->\s*)?%s\b" % re.escape(name)
    return re.search(taken, code) is not None and _OF_LIBRARY.search(code) is None


def returned_member(name: bytes, body: Body) -> bytes:
    """The member that a function without parameters returns, whichever device is current; empty if that is not sure."""
    code = body.source.code
    found = list(re.finditer(_DEFINED % re.escape(name), code))
    members = set()
    for match in found[:_MOST_GETTERS]:
        inside = code[match.end() : block_end(code, match.end())]
        returns = _RETURNS.search(inside[-200:]) if not _BY_DEVICE.search(inside) else None
        members.add(returns[1] if returns is not None and inside.count(b"return") == 1 else b"")
    return members.pop() if len(members) == 1 and len(found) <= _MOST_GETTERS else b""


def _may_change(place: str, loop: Node, work: Written, body: Body) -> bool:
    """Whether the loop sets the object, or gives it to something that may, before the work."""
    for node, parent in body.paths("".join(place.split())):
        if not loop.start_byte <= node.start_byte < loop.end_byte:
            continue
        if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
            return True
        if parent.type in ("pointer_expression", "update_expression"):
            return True
        called = parent.parent if parent.type == "argument_list" else None
        if called is not None and node.start_byte < work.start and field_text(called, "function") not in symbols():
            return True
    return False
