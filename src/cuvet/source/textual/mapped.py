"""Resources of graphics APIs that a function maps and leaves mapped on one way out."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.left_mapped import SourceLeftMapped
from cuvet.source.textual.ways_out import MAY_END, Pair, way_out
from cuvet.source.textual.written import Body

_MAPPED = Pair(
    begins=frozenset({"cudaGraphicsMapResources", "cuGraphicsMapResources"}),
    ends=frozenset({"cudaGraphicsUnmapResources", "cuGraphicsUnmapResources"}),
    may_end=re.compile(MAY_END + rb"|(?i:unmap)"),
    argument=1,
)


def left_mapped(body: Body) -> Iterator[Finding]:
    """The first of each function."""
    found = way_out(body, _MAPPED)
    if found is not None:
        message = f"what is mapped here stays mapped when the function returns in line {body.line(found.left)}"
        path = (
            body.step(found.left, "the function returns here"),
            body.step(found.end.node, "on its other way it unmaps the resources"),
        )
        yield body.finding(SourceLeftMapped, found.begin.node, message, api=found.begin.name, path=path)
