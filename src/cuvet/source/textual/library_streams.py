"""Calls of libraries on the default stream, since nothing gives their handle another one, beside work on a stream of the program."""

import re
from collections.abc import Iterator
from functools import lru_cache

from cuvet.catalog import Kind
from cuvet.catalog.authored.libraries.accessed import accessed
from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.findings import Finding
from cuvet.rules.source.async_on_default_stream import SourceAsyncOnDefaultStream
from cuvet.source.calls import meaning
from cuvet.source.textual.bounds import first
from cuvet.source.textual.made_streams import (
    NON_BLOCKING,
    PATH,
    Work,
    all_are_non_blocking,
    is_parameter,
    last_name,
    nothing_waits_between,
    plain,
    works_on_streams,
)
from cuvet.source.textual.streams import is_ordered
from cuvet.source.textual.written import Body, Written, called

_CALL = re.compile(rb"cu(?<!\wcu)(?:fft|blas|sparse|rand)[A-Z]\w{0,80}(?=\s{0,80}\()")
_MADE = re.compile(rb"(cu(?<!\wcu)(?:fft|blas|sparse|rand)[A-Z]\w{0,80})\s{0,80}\(\s{0,80}&?\s?([\w.>*-]{1,100})")
_GIVES_STREAM = re.compile(rb"\w[sS]et_?[sS]tream")


def not_given(body: Body) -> Iterator[Finding]:
    """The first call of a library that shares memory with work on a stream that does not wait for the default one."""
    code = body.source.code
    if NON_BLOCKING not in body.source.text or _GIVES_STREAM.search(code) or not all_are_non_blocking(code):
        return
    start = body.body.start_byte
    names = ((match[0].decode(), start + match.start()) for match in _CALL.finditer(body.text))
    works = [*first(work for call in called(body, names) if (work := _of_library(call, body)) is not None)]
    on_stream = list(first(works_on_streams(body))) if works else []
    for work in works:
        for other in on_stream:
            shared = [
                each for each, writes in work.memory.items() if each in other.memory and (writes or other.memory[each])
            ]
            if (
                shared
                and not is_ordered(work.node, other.node, body)
                and nothing_waits_between(work.node, other.node, body)
            ):
                yield _finding(work, other, shared[0], body)
                return


def _finding(work: Work, other: Work, shared: str, body: Body) -> Finding:
    message = (
        f"{work.name} works on `{shared}` on the default stream, since nothing in this file gives its handle another one, and "
        f"{other.name} in line {body.line(other.node)} works on it on `{other.stream}`, which does not wait for the default stream"
    )
    path = (body.step(other.node, f"{other.name} works on `{shared}` on `{other.stream}`"),)
    rule = SourceAsyncOnDefaultStream
    return body.finding(rule, work.node, message, api=work.name, path=path, severity="note")


def _of_library(call: Written, body: Body) -> Work | None:
    """The work that the call enqueues, if the file makes the handle and gives it to nobody who may set its stream."""
    found = meaning(call.name)
    kind = (
        next((role.kind for role in found.entry_point.roles if role.kind in LIBRARY_OBJECTS), None) if found else None
    )
    name = plain(call.arguments[0]) if call.arguments else ""
    if found is None or kind is None or not PATH.fullmatch(name) or not _is_own(name, kind, body):
        return None
    index = found.entry_point.index
    memory = {
        plain(call.arguments[index[each.parameter]]): each.writes
        for each in accessed(found.entry_point)
        if index[each.parameter] < len(call.arguments)
    }
    return Work(call.node, call.name, memory, "") if memory else None


def _is_own(name: str, kind: Kind, body: Body) -> bool:
    """``name``: what is written for the handle. A smart pointer was made by a function that is not followed."""
    last = last_name(name.removesuffix(".get()"))
    if is_parameter(name, body):
        return False
    made = _made(body.source.code).get(kind, frozenset())
    returned = re.search(rb"\breturn\s[^;(]{0,40}\b" + last.encode() + rb"\b(?:\.get\(\))?\s*;", body.source.code)
    return returned is None and (last in made or (name.endswith(".get()") and bool(made)))


@lru_cache(maxsize=1)
def _made(code: bytes) -> dict[Kind, frozenset[str]]:
    """By kind of object of a library: the last names of what the file makes such objects in."""
    found: dict[Kind, set[str]] = {}
    for match in _MADE.finditer(code):
        known = meaning(match[1].decode())
        for _, role in known.made if known is not None else ():
            found.setdefault(role.kind, set()).add(last_name(match[2].decode()))
    return {kind: frozenset(names) for kind, names in found.items()}
