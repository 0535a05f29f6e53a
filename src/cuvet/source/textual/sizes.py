"""Sizes in elements where CUDA wants bytes: the same function gives the right size for the same memory elsewhere."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.size_in_elements import SourceSizeInElements
from cuvet.source.calls import sized
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
    for call in body.calls if allocated else ():
        moved = None if _COUNTS.search(call.name) else sized(call.name)
        if moved is None or moved.made or moved.size >= len(call.arguments):
            continue
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


def _finding(body: Body, wrong: Written, size: str, right: Written, bytes_: str) -> Finding:
    line = body.line(right.node)
    message = f"{wrong.name} is given the size `{size}`, and {right.name} in line {line} `{bytes_}` for the same memory"
    at = _size_of(wrong)
    path = (body.step(right.node, "bytes are meant here"),)
    return body.finding(SourceSizeInElements, at, message, api=wrong.name, path=path)


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
