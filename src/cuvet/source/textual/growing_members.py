"""Vectors of a class that one function registers, and another one lets grow and registers anew: the old memory was never unregistered."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.findings import Finding
from cuvet.rules.source.freed_while_registered import SourceFreedWhileRegistered
from cuvet.source.languages.cpp import Definition
from cuvet.source.syntax.parsing import Source, enclosing
from cuvet.source.textual.reached import CALLED, called_here
from cuvet.source.textual.written import Body, functions

_REGISTERS = re.compile(
    rb"\b(?:cuda|cuMem)HostRegister(?:_v2)?\s{0,9}\(\s{0,9}(?:\(void\s?\*\)\s?)?"
    rb"(?:([A-Za-z_]\w{0,60})\s?\.\s?data\s?\(\s?\)|&\s?([A-Za-z_]\w{0,60})\s?\[\s?0\s?\])\s{0,9},"
)
_UNREGISTERS = re.compile(rb"\bcu(?:da|Mem)HostUnregister\b")
_GROWS = re.compile(
    rb"(?<![\w.>])(?:this\s?->\s?)?([A-Za-z_]\w{0,60})\s?\.\s?"
    rb"(?:resize|push_back|emplace_back|insert|assign|reserve|shrink_to_fit)\s?\("
)
_FLAG = re.compile(rb"\b\w*(?:regist|pin|lock)\w*\b", re.I)
_MOST_FUNCTIONS = 400
"""Of a class; one with more is left alone."""
_MOST_MEMBERS = 16
"""That one function lets grow."""


class _Named(NamedTuple):
    """The functions of one class that register the elements of a member, those that unregister something, also through others, and its
    constructor with those that it calls."""

    registers: dict[bytes, set[bytes]]
    unregisters: set[bytes]
    constructs: set[bytes]


def members_while_registered(definitions: list[Definition], source: Source) -> Iterator[Finding]:
    """The first growth of each class."""
    if b"HostRegister" not in source.text or b"HostUnregister" not in source.text:
        return
    by_class: dict[str, list[Body]] = {}
    for body in functions(definitions, source):
        by_class.setdefault(body.owner, []).append(body)
    for owner, found in by_class.items():
        if owner and len(found) <= _MOST_FUNCTIONS and any(_REGISTERS.search(each.code) for each in found):
            yield from _of_class(found)


def _of_class(found: list[Body]) -> Iterator[Finding]:
    named = _named(found)
    defined = {each.name.encode() for each in found}
    for body in found:
        first = {match[1]: match for match in reversed(list(_GROWS.finditer(body.code))) if match[1] in named.registers}
        for member, grows in list(first.items())[:_MOST_MEMBERS]:
            again = _registered_again(member, grows.end(), body, named)
            if again < 0 or body.declarations(member.decode()) or body.name == "__init__" or b"#" in body.code:
                continue
            if _may_unregister(body.code[: grows.start()], named, defined):
                continue
            if _may_be_registered(
                member, body.code[grows.end() : again], body.code[: grows.start()], body.name.encode(), named
            ):
                yield from _finding(member, grows.start(), again, body)
                return


def _finding(member: bytes, grows: int, again: int, body: Body) -> Iterator[Finding]:
    at = enclosing(body.at(body.body.start_byte + grows), "call_expression")
    last = enclosing(body.at(body.body.start_byte + again), "call_expression")
    if at is not None and last is not None and enclosing(at, "lambda_expression") is None:
        name = member.decode()
        message = f"`{name}` may move the elements that are registered, and free their memory"
        path = (body.step(last, f"the elements of `{name}` are registered again here"),)
        api = "cudaHostRegister"
        yield body.finding(SourceFreedWhileRegistered, at, message, api=api, severity="note", path=path)


def _named(found: list[Body]) -> _Named:
    registers: dict[bytes, set[bytes]] = {}
    unregisters: set[bytes] = set()
    for body in found:
        name = body.name.encode()
        for match in _REGISTERS.finditer(body.code):
            member = match[1] or match[2]
            if not body.declarations(member.decode()):
                registers.setdefault(member, set()).add(name)
        if _UNREGISTERS.search(body.code):
            unregisters.add(name)
    for body in found:
        if unregisters.intersection(called_here(body.code)):
            unregisters.add(body.name.encode())
    constructs = {name for body in found if body.name == "__init__" for name in (b"__init__", *called_here(body.code))}
    return _Named(registers, unregisters, constructs)


def _registered_again(member: bytes, start: int, body: Body, named: _Named) -> int:
    """Where behind the growth the elements are registered; -1 if nowhere."""
    for match in _REGISTERS.finditer(body.code, start):
        if member in (match[1], match[2]):
            return match.start()
    helpers = named.registers.get(member, set()) - {body.name.encode()}
    return next((match.start(1) for match in CALLED.finditer(body.code, start) if match[1] in helpers), -1)


def _may_unregister(before: bytes, named: _Named, defined: set[bytes]) -> bool:
    """Whether something before the growth unregisters, or is called that is not there."""
    if _UNREGISTERS.search(before) or _FLAG.search(before):
        return True
    called = called_here(before)
    return bool(called & named.unregisters or called - defined)


def _may_be_registered(member: bytes, between: bytes, before: bytes, own: bytes, named: _Named) -> bool:
    """Whether the class shows that the elements may be registered by then: its constructor does it, the function unregisters behind the
    growth, or it grows where they are too few. Nothing is by then where the constructor calls the function, ``own``."""
    helpers = named.registers.get(member, set())
    if own in named.constructs:
        return False
    if helpers & named.constructs:
        return True
    if _UNREGISTERS.search(between) or named.unregisters.intersection(called_here(between)):
        return True
    few = (
        rb"\bif\s?\([^;{}]{0,200}(?:[^0-9\s]\s?[<>]=?\s?%s\s?\.\s?(?:size|capacity)\b|"
        rb"\b%s\s?\.\s?(?:size|capacity)\s?\(\)\s?[<>]=?\s?(?=[^0-9\s=]))"
    )
    few %= re.escape(member), re.escape(member)
    return re.search(few, before) is not None
