"""Extents in bytes where CUDA wants elements: of arrays, and of copies in which an array takes part."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from cuvet.catalog import Kind
from cuvet.findings import Finding
from cuvet.rules.source.size_in_elements import SourceSizeInElements
from cuvet.source.calls import meaning
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.sizes import is_times_size
from cuvet.source.textual.written import Body

_SET = re.compile(rb"\b([A-Za-z_]\w{0,60})\s{0,9}(?:\.|->)\s{0,9}extent(?:\s{0,9}\.\s{0,9}width)?\s{0,9}=(?!=)")
_ARRAY = rb"\b%s\s*(?:\.|->)\s*(?:dst|src)Array\s*=\s*(?!nullptr|NULL|0\b)"
_OF_BYTES = re.compile(
    rb"cudaCreateChannelDesc\s{0,9}(?:<[^;<>]{0,80}(?:char|int8_t|bool|byte)[^;<>]{0,80}>|\(\s{0,9}8\s{0,9},\s{0,9}0\b)"
)
"""An array whose elements are bytes."""
_MOST_SETS = 32
"""Extents of one function."""
_MAKES = "make_cudaExtent"


def in_bytes(body: Body) -> Iterator[Finding]:
    """The first width of each function that is multiplied by ``sizeof``."""
    if b"Array" not in body.text or b"sizeof" not in body.text or _has_bytes(body.source):
        return
    for api, extent in (*_copied(body), *_made(body)):
        width = _width(extent, body)
        if width is not None and is_times_size(text_of(width)):
            message = f"the width `{text_of(width)}` is in bytes, and that of an array is in elements"
            yield body.finding(SourceSizeInElements, width, message, api=api, severity="note")
            return


@lru_cache(maxsize=1)
def _has_bytes(source: Source) -> bool:
    """Whether the file has arrays of bytes, whose elements and bytes are the same."""
    return _OF_BYTES.search(source.code) is not None


def _copied(body: Body) -> Iterator[tuple[str, Node]]:
    """What the extents of copies are set to in which an array takes part; each is set once."""
    sets = list(islice(_SET.finditer(body.code), _MOST_SETS))
    names = [match[1] for match in sets]
    for match in sets:
        if names.count(match[1]) == 1 and re.search(_ARRAY % match[1], body.code):
            at = body.at(body.body.start_byte + match.start(1))
            assigned = enclosing(at, "assignment_expression")
            right = assigned.child_by_field_name("right") if assigned is not None else None
            if right is not None:
                yield _MAKES, right


def _made(body: Body) -> Iterator[tuple[str, Node]]:
    """What arrays are allocated with."""
    for call in body.calls:
        known = meaning(call.name)
        if known is None or not any(role.kind in (Kind.ARRAY, Kind.MIPMAPPED_ARRAY) for _, role in known.made):
            continue
        index = known.entry_point.index
        at = index.get("extent", index.get("width", len(call.arguments)))
        if at < len(call.arguments):
            yield call.name, call.arguments[at]


def _width(extent: Node, body: Body) -> Node | None:
    """The width of ``make_cudaExtent(width, height, depth)``, which may be what a variable is declared with; else the expression."""
    if extent.type == "identifier":
        declared = only_declaration(text_of(extent), body)
        if declared is None or _is_set(text_of(extent), body) or declared.node.parent is None:
            return None
        value = declared.node.parent.child_by_field_name("value")
        return _width(value, body) if value is not None and value.type == "call_expression" else value
    if extent.type == "call_expression":
        given = arguments_of(extent) if field_text(extent, "function").removeprefix("::") == _MAKES else []
        return given[0] if given else None
    return extent


def _is_set(name: str, body: Body) -> bool:
    """Whether the variable, or its width, is set after its declaration."""
    sets = rb"\b%s\s*(?:\.\s*width\s*)?[-+*/]?=(?!=)" % re.escape(name.encode())
    return len(re.findall(sets, body.code)) > 1
