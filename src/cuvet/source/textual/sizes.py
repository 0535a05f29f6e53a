"""Sizes in elements where CUDA wants bytes: the same function gives the right size for the same memory elsewhere."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.size_in_elements import SourceSizeInElements
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.written import Body, Written

_ALLOCATES = {"cudaMalloc": 1, "cudaMallocAsync": 1, "cudaMallocManaged": 1, "cudaMallocHost": 1, "cudaHostAlloc": 1}
"""Argument that is the size."""
_MOVES = {"cudaMemcpy": 2, "cudaMemcpyAsync": 2, "cudaMemset": 2, "cudaMemsetAsync": 2}
_TARGET = re.compile(r"&([A-Za-z_][\w.\->\[\]]*)\)?$")
_BYTES = re.compile(r"sizeof\((?:unsigned|signed)?(?:char|bool|u?int8_t|std::byte|s?byte|uchar|void)\)")
_SIZEOF = r"sizeof\((?:[^()]|\([^()]*\))*\)"


def in_elements(body: Body) -> Iterator[Finding]:
    """Allocations whose size a copy or a memset of the same memory multiplies by ``sizeof``, and the other way round."""
    allocated = {variable: call for call in body.calls if (variable := _made(call))}
    for call in body.calls if allocated else ():
        at = _MOVES.get(call.name)
        if at is None or at >= len(call.arguments):
            continue
        for side in call.arguments[:2] if "cpy" in call.name else call.arguments[:1]:
            made = allocated.get(_plain(text_of(side)))
            if made is None or made.start > call.start:
                continue
            own, other = _size(made, _ALLOCATES[made.name]), _size(call, at)
            if is_times_sizeof(other, own):
                yield _finding(body, made, own, call, other)
                return
            if is_times_sizeof(own, other):
                yield _finding(body, call, other, made, own)
                return


def _finding(body: Body, wrong: Written, size: str, right: Written, bytes_: str) -> Finding:
    line = body.line(right.node)
    message = f"{wrong.name} is given the size `{size}`, and {right.name} in line {line} `{bytes_}` for the same memory"
    at = wrong.arguments[{**_ALLOCATES, **_MOVES}[wrong.name]]
    path = (body.step(right.node, "bytes are meant here"),)
    return body.finding(SourceSizeInElements, at, message, api=wrong.name, path=path)


def _made(call: Written) -> str:
    if call.name not in _ALLOCATES or len(call.arguments) < 2:
        return ""
    match = _TARGET.search(_plain(text_of(call.arguments[0])))
    return match[1] if match else ""


def _size(call: Written, at: int) -> str:
    return _plain(text_of(call.arguments[at]))


def _plain(text: str) -> str:
    text = re.sub(r"\s+", "", text)
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" and text.count("(") == 1 else text


def is_times_sizeof(size: str, count: str) -> bool:
    """Whether the size is the count times the size of something that is larger than a byte."""
    if not count or "sizeof" in count or _BYTES.search(size):
        return False
    products = ((each, part) for part in re.findall(_SIZEOF, size) for each in (count, f"({count})"))
    return any(size in (f"{each}*{part}", f"{part}*{each}") for each, part in products)
