"""Sizes of pointers where the size of what they point to is meant."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.size_of_pointer import SourceSizeOfPointer
from cuvet.source.calls import sized
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.declared import declared_around, told
from cuvet.source.textual.written import Body

_SIZE = re.compile(r"sizeof ?\(? ?([A-Za-z_]\w*) ?\)?")
_SMALL = re.compile(
    r"(?:const )?(?:(?:un)?signed )?(?:char|short|int|float|bool|unsigned|u?int(?:8|16|32)_t|uchar|uint|half|__half|float4|int4)(?: const)?"
)
"""Types of another size than a pointer."""


def of_pointers(body: Body) -> Iterator[Finding]:
    """Memory that is set or copied with the size of the pointer to it."""
    for call in body.calls:
        where = sized(call.name)
        if where is None or where.made or where.size >= len(call.arguments):
            continue
        given = call.arguments[where.size]
        size = _SIZE.fullmatch(told(given))
        if size is None or size[1] not in [told(call.arguments[place]) for place in where.memory]:
            continue
        declared = declared_around(size[1], call.node, body)
        if declared is not None and declared.declarator == "pointer_declarator" and _SMALL.fullmatch(declared.kind):
            outer = declared.node.parent.parent if declared.node.parent is not None else None
            if outer is not None and outer.type == "pointer_declarator":
                continue
            message = f"`{text_of(given)}` is the size of the pointer, and not of the memory that it points to"
            yield body.finding(SourceSizeOfPointer, given, message, api=call.name)
