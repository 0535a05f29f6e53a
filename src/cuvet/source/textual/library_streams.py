"""Calls of libraries on the default stream, since nothing gives their handle another one, beside work on a stream of the program."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from cuvet.catalog import Kind, Verb
from cuvet.catalog.authored.libraries.accessed import accessed
from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.findings import Finding
from cuvet.rules.source.async_on_default_stream import SourceAsyncOnDefaultStream
from cuvet.source import kernels
from cuvet.source.calls import meaning
from cuvet.source.quiet import CUDA, is_check, is_plain
from cuvet.source.syntax.parsing import Node, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.reached import calls_in
from cuvet.source.textual.streams import is_ordered, shape_of
from cuvet.source.textual.written import Body, Written, called

_CALL = re.compile(rb"cu(?<!\wcu)(?:fft|blas|sparse|rand)[A-Z]\w{0,80}(?=\s{0,80}\()")
_MADE = re.compile(rb"(cu(?<!\wcu)(?:fft|blas|sparse|rand)[A-Z]\w{0,80})\s{0,80}\(\s{0,80}&?\s?([\w.>*-]{1,100})")
_NON_BLOCKING = b"cudaStreamNonBlocking"
_CREATES = re.compile(rb"\bcudaStreamCreate(?:WithFlags|WithPriority)?\s{0,80}\(([^;{},)]{0,100})[^;{}]{0,200}")
_GIVES_STREAM = re.compile(rb"\w[sS]et_?[sS]tream")
_PATH = re.compile(r"(?:this->)?\w+(?:(?:\.|->)\w+)*(?:\.get\(\))?")
_LONGEST = 4000
"""Bytes between two works."""


class _Work(NamedTuple):
    """``memory``: what it is given, and whether it is known to write that; ``stream``: what is written for the stream."""

    node: Node
    name: str
    memory: dict[str, bool]
    stream: str


def not_given(body: Body) -> Iterator[Finding]:
    """The first call of a library that shares memory with work on a stream that does not wait for the default one."""
    code = body.source.code
    if _NON_BLOCKING not in body.source.text or _GIVES_STREAM.search(code) or not _all_are_non_blocking(code):
        return
    start = body.body.start_byte
    names = ((match[0].decode(), start + match.start()) for match in _CALL.finditer(body.text))
    works = [work for call in called(body, names) if (work := _of_library(call, body)) is not None]
    on_stream = list(_on_streams(body)) if works else []
    for work in works:
        for other in on_stream:
            shared = [
                each for each, writes in work.memory.items() if each in other.memory and (writes or other.memory[each])
            ]
            if (
                shared
                and not is_ordered(work.node, other.node, body)
                and _is_quiet_between(work.node, other.node, body)
            ):
                yield _finding(work, other, shared[0], body)
                return


def _finding(work: _Work, other: _Work, shared: str, body: Body) -> Finding:
    message = (
        f"{work.name} works on `{shared}` on the default stream, since nothing in this file gives its handle another one, and "
        f"{other.name} in line {body.line(other.node)} works on it on `{other.stream}`, which does not wait for the default stream"
    )
    path = (body.step(other.node, f"{other.name} works on `{shared}` on `{other.stream}`"),)
    rule = SourceAsyncOnDefaultStream
    return body.finding(rule, work.node, message, api=work.name, path=path, severity="warning")


def _of_library(call: Written, body: Body) -> _Work | None:
    """The work that the call enqueues, if the file makes the handle and gives it to nobody who may set its stream."""
    found = meaning(call.name)
    kind = (
        next((role.kind for role in found.entry_point.roles if role.kind in LIBRARY_OBJECTS), None) if found else None
    )
    name = _plain(call.arguments[0]) if call.arguments else ""
    if found is None or kind is None or not _PATH.fullmatch(name) or not _is_own(name, kind, body):
        return None
    index = found.entry_point.index
    memory = {
        _plain(call.arguments[index[each.parameter]]): each.writes
        for each in accessed(found.entry_point)
        if index[each.parameter] < len(call.arguments)
    }
    return _Work(call.node, call.name, memory, "") if memory else None


def _is_own(name: str, kind: Kind, body: Body) -> bool:
    """``name``: what is written for the handle. A smart pointer was made by a function that is not followed."""
    last = _last(name.removesuffix(".get()"))
    if _is_parameter(name, body):
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
            found.setdefault(role.kind, set()).add(_last(match[2].decode()))
    return {kind: frozenset(names) for kind, names in found.items()}


def _last(path: str) -> str:
    return re.split(r"\W+", path)[-1]


def _all_are_non_blocking(code: bytes) -> bool:
    """Whether every stream that the file makes is one that does not wait for the default stream."""
    return all(_NON_BLOCKING in match[0] for match in _CREATES.finditer(code))


def _on_streams(body: Body) -> Iterator[_Work]:
    """Launches, copies and sets on streams that are not parameters of the function."""
    for launch in body.launches:
        shape = shape_of(launch)
        if len(shape) > 3 and _is_made(stream := shape[3].decode().strip(), body):
            name = field_text(launch, "function").partition("<")[0]
            given = [_plain(each) for each in arguments_of(launch)]
            memory = {
                each: kernels.how(body.source.code, name, at, len(given)) == "writes" for at, each in enumerate(given)
            }
            yield _Work(launch, name, memory, stream)
    for call in body.calls:
        found = meaning(call.name)
        at = found.entry_point.index.get("stream", -1) if found is not None and call.name.endswith("Async") else -1
        if found is None or not 0 <= at < len(call.arguments) or not _is_made(_plain(call.arguments[at]), body):
            continue
        copied = {
            _plain(call.arguments[place]): role.verb is Verb.WRITES
            for place, role in found.named
            if role.verb in (Verb.READS, Verb.WRITES) and place < len(call.arguments)
        }
        yield _Work(call.node, call.name, copied, _plain(call.arguments[at]))


def _is_made(stream: str, body: Body) -> bool:
    """Whether the stream is one that the file makes, as far as its name tells. A smart pointer was made by a function."""
    if _PATH.fullmatch(stream) is None or _is_parameter(stream, body):
        return False
    last = _last(stream.removesuffix(".get()"))
    return stream.endswith(".get()") or any(
        _last(match[1].decode().strip()) == last for match in _CREATES.finditer(body.source.code)
    )


def _is_parameter(name: str, body: Body) -> bool:
    declared = (enclosing(each.node, "parameter_declaration", "compound_statement") for each in body.declarations(name))
    return any(around is not None and around.type == "parameter_declaration" for around in declared)


def _is_quiet_between(one: Node, other: Node, body: Body) -> bool:
    """Whether nothing is called between the works that may wait."""
    first, last = sorted((one, other), key=lambda node: node.start_byte)
    if last.start_byte - first.end_byte > _LONGEST:
        return False
    between = calls_in(body.body, first.end_byte, last.start_byte)
    return _are_quiet((field_text(each, "function") for each in between), body)


def _are_quiet(names: Iterable[str], body: Body) -> bool:
    return all(
        CUDA.fullmatch(name) or is_plain(name) or _CALL.fullmatch(name.encode()) or is_check(name, body.source.code)
        for name in names
    )


def _plain(node: Node) -> str:
    return "".join(text_of(node).split())
