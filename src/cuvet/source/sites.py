"""Places in source files, as findings name them."""

from __future__ import annotations

from cuvet.findings import Frame, Site
from cuvet.source.parsing import Source


def frame(source: Source, start: int, end: int, function: str) -> Frame:
    """The text from offset ``start`` to ``end``, as far as it stands in one line; ``function`` is the one around it."""
    end = min(end, source.line_end(start))
    return Frame(
        function=function,
        file=str(source.path),
        line=source.line(start),
        column=source.column(start),
        end_column=source.column(end),
        language=source.language,
    )


def site(api: str, at: Frame) -> Site:
    """The place of a call of ``api``. Source code has no processes, threads and times; lines stand in for numbers of calls."""
    return Site(api=api, call=at.line or 0, process=0, thread=0, time_ns=0, frames=(at,))
