"""Sizes in elements where CUDA wants bytes: the same function or class gives the right size for the same memory elsewhere."""

import re
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding, Severity
from cuvet.rules.source.size_in_elements import SourceSizeInElements
from cuvet.source.calls import Sized, sized
from cuvet.source.languages.cpp import Class
from cuvet.source.syntax.parsing import Node, text_of
from cuvet.source.textual.written import Body, Written

_TARGET = re.compile(r"&([A-Za-z_][\w.\->\[\]]*)\)?$")
_BYTES = re.compile(r"sizeof\((?:unsigned|signed)?(?:char|bool|u?int8_t|std::byte|s?byte|uchar|void)\)")
_COUNTS = re.compile(r"MemsetD(?:2D)?(?:16|32)")
"""These are given a number of elements (CUDA Driver API, Memory Management)."""
_SIZEOF = r"sizeof\((?:[^()]|\([^()]*\))*\)"


def in_elements(body: Body) -> Iterator[Finding]:
    """Allocations whose size a copy or a memset of the same memory multiplies by ``sizeof``, and the other way round."""
    allocated = {variable: call for call in body.calls if (variable := _made(call))}
    filled: set[str] = set()
    for call, moved in _moves(body) if allocated else ():
        for side in moved.memory:
            name = _plain(text_of(call.arguments[side]))
            made = allocated.get(name)
            if made is None or made.start > call.start or name in filled:
                continue
            own, other = _size(made), _size(call)
            if own == other:
                filled.add(name)  # what follows may be about a part of it
            if is_times_sizeof(other, own):
                yield _finding(body, made, own, call, other)
                return
            if is_times_sizeof(own, other):
                yield _finding(body, call, other, made, own)
                return


def of_members(found: Sequence[Body], classes: Sequence[Class]) -> Iterator[Finding]:
    """The same of members of a class: what one of its functions allocates, and another one copies or sets. The count is made of members,
    so that it means the same in both."""
    members = {each.name: frozenset(each.members) for each in classes}
    by_class: dict[str, list[Body]] = {}
    for body in found:
        if members.get(body.owner) and body.calls:
            by_class.setdefault(body.owner, []).append(body)
    for owner, bodies in by_class.items():
        if len(bodies) > 1 and any(b"sizeof" in each.text for each in bodies):
            yield from _of_class(bodies, members[owner])


def _of_class(bodies: list[Body], members: frozenset[str]) -> Iterator[Finding]:
    made: dict[str, list[tuple[Body, Written]]] = {}
    for body in bodies:
        for call in body.calls:
            if (name := _made(call)) in members and not body.declarations(name):
                made.setdefault(name, []).append((body, call))
    once = {name: calls[0] for name, calls in made.items() if len(calls) == 1}
    for body in bodies if once else ():
        for call, known in _moves(body):
            for side in known.memory:
                name = _plain(text_of(call.arguments[side]))
                where, making = once.get(name, (body, call))
                if where is body or body.declarations(name):
                    continue
                own, other = _size(making), _size(call)
                if not _is_of_members(own, where, members) or not _is_of_members(other, body, members):
                    continue
                if is_times_sizeof(own, other):
                    yield _finding(body, call, other, making, own, "note")
                    return
                if is_times_sizeof(other, own):
                    yield _finding(where, making, own, call, other, "note")
                    return


def _moves(body: Body) -> Iterator[tuple[Written, Sized]]:
    """Calls that copy or set memory, with a size in bytes."""
    for call in body.calls:
        moved = None if _COUNTS.search(call.name) else sized(call.name)
        if moved is not None and not moved.made and moved.size < len(call.arguments):
            yield call, moved


def _is_of_members(size: str, body: Body, members: frozenset[str]) -> bool:
    """Whether the size is made of members, but for what stands in ``sizeof``."""
    words = re.findall(r"[A-Za-z_]\w*", re.sub(_SIZEOF, " ", size))
    return bool(words) and all(each in members and not body.declarations(each) for each in words)


def _finding(
    body: Body, wrong: Written, size: str, right: Written, bytes_: str, severity: Severity | None = None
) -> Finding:
    line = body.line(right.node)
    message = f"{wrong.name} is given the size `{size}`, and {right.name} in line {line} `{bytes_}` for the same memory"
    at = _size_of(wrong)
    path = (body.step(right.node, "bytes are meant here"),)
    return body.finding(SourceSizeInElements, at, message, api=wrong.name, path=path, severity=severity)


def _made(call: Written) -> str:
    made = sized(call.name)
    if made is None or not made.made or made.size >= len(call.arguments):
        return ""
    match = _TARGET.search(_plain(text_of(call.arguments[made.memory[0]])))
    return match[1] if match else ""


def _size(call: Written) -> str:
    return _plain(text_of(_size_of(call)))


def _size_of(call: Written) -> Node:
    found = sized(call.name)
    assert found is not None
    return call.arguments[found.size]


def _plain(text: str) -> str:
    text = re.sub(r"\s+", "", text)
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" and text.count("(") == 1 else text


def is_times_sizeof(size: str, count: str) -> bool:
    """Whether the size is the count times the size of something that is larger than a byte."""
    if not count or "sizeof" in count or _BYTES.search(size):
        return False
    products = ((each, part) for part in re.findall(_SIZEOF, size) for each in (count, f"({count})"))
    return any(size in (f"{each}*{part}", f"{part}*{each}") for each, part in products)


def is_times_size(size: str) -> bool:
    """Whether the size is a product, and one factor is the size of something that is larger than a byte."""
    factors = _plain(size).split("*")
    return (
        len(factors) > 1
        and not _BYTES.search(_plain(size))
        and any(re.fullmatch(_SIZEOF, each) for each in factors)
        and not re.search(r"[/+%-]", size)
    )
