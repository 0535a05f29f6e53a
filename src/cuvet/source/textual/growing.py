"""Vectors that grow while their elements are registered: they may move to other memory, and leave the registered memory freed."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.freed_while_registered import SourceFreedWhileRegistered
from cuvet.source.syntax.parsing import Node, enclosing, text_of
from cuvet.source.textual.declared import declared_around, told
from cuvet.source.textual.written import Body, Written

_REGISTERS = frozenset({"cudaHostRegister", "cuMemHostRegister", "cuMemHostRegister_v2"})
_UNREGISTERS = frozenset({"cudaHostUnregister", "cuMemHostUnregister"})
_OF_VECTOR = re.compile(r"([A-Za-z_]\w*)\.data\(\)|&([A-Za-z_]\w*)(?:\[0\]|\.front\(\))")
_VECTOR = re.compile(r"std::vector<[\w:\s]+>")
_GROWS = r"(?<![\w.>])%s\s*\.\s*(?:push_back|emplace_back|emplace|insert)\s*\("
_CHANGES = (
    r"(?<![\w.>])%s\s*\.\s*(?:clear|resize|erase|pop_back|swap|assign|shrink_to_fit)\s*\("
    r"|(?<![\w.>])%s\s*=(?!=)|\bmove\s*\(\s*%s\s*\)"
)
_RESERVED = r"(?<![\w.>])%s\s*\.\s*reserve\s*\(([^;{}]{1,200})\)\s*;"
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


def while_registered(body: Body) -> Iterator[Finding]:
    """The first growth of each function."""
    for call in body.calls:
        name = _vector_of(call) if call.name in _REGISTERS else ""
        declared = declared_around(name, call.node, body) if name else None
        if declared is None or not _VECTOR.fullmatch(declared.kind) or declared.declarator == "reference_declarator":
            continue
        ends = (
            each.start
            for each in body.calls
            if each.name in _UNREGISTERS and each.start > call.end and _vector_of(each) == name
        )
        grown = _grown(name, call, next(ends, body.body.end_byte), body)
        if grown is not None:
            message = (
                f"`{name}` may move the elements that line {body.line(call.node)} registers, and free their memory"
            )
            path = (body.step(call.node, f"the elements of `{name}` are registered here"),)
            yield body.finding(SourceFreedWhileRegistered, grown, message, api=call.name, severity="warning", path=path)
            return


def _vector_of(call: Written) -> str:
    """The vector whose elements are given; empty if it is no vector's own memory."""
    match = _OF_VECTOR.fullmatch(told(call.arguments[0]).replace(" ", "")) if call.arguments else None
    return next(filter(None, match.groups())) if match is not None else ""


def _grown(name: str, call: Written, end: int, body: Body) -> Node | None:
    """Where the vector grows before the offset ``end``, if nothing says that it has enough memory for that."""
    first = body.body.start_byte
    before = body.code[: call.start - first].decode("latin-1")
    between = body.code[call.end - first : end - first].decode("latin-1")
    if re.search(_CHANGES.replace("%s", name), before + " ; " + between) or "#" in before + between:
        return None
    match = re.search(_GROWS % name, between)
    node = body.at(call.end + match.start()) if match is not None else None
    grown = enclosing(node, "call_expression") if node is not None else None
    if grown is None or enclosing(grown, "lambda_expression") is not None:
        return None
    reserved = re.findall(_RESERVED % name, before)
    if not reserved and "capacity" not in text_of(call.node):
        return grown
    loop = enclosing(grown, *_LOOPS)
    words = set(re.findall(r"\w+", " ".join(reserved)))
    others = re.sub(_RESERVED % name, " ", body.code.decode("latin-1")).replace(text_of(call.node), " ")
    enough = (
        loop is None or not words or "capacity" in others or any(re.search(rf"\b{word}\b", others) for word in words)
    )
    return None if enough or len(reserved) != 1 else grown
