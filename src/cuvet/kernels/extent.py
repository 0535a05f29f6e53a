"""Which bytes the threads of a launch access, from those of a few threads: the first, the last along each axis of grid and block, and the
last of all.

What an instruction accesses is one span if it has no holes: the places of the threads, and of the rounds of a loop, follow each other as
the rows of a matrix do. Where there may be holes, only the bytes count that the followed threads access.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from cuvet.kernels.follow import Dimensions, way_of
from cuvet.kernels.text import Program
from cuvet.kernels.thread import Place, Span

_MOST = 64
"""Spans of a launch that are told."""


def spans_of(
    program: Program, name: str, arguments: tuple[bytes, ...], grid: Dimensions, block: Dimensions
) -> tuple[Span, ...] | None:
    """What threads of a launch certainly access; None if they could not be followed to their ends."""
    shape, counts = (grid, block), (*grid, *block)
    axes = [axis for axis, count in enumerate(counts) if count > 1]
    followed = [_place(counts, ()), *(_place(counts, (axis,)) for axis in axes), _place(counts, axes)]
    accessed: defaultdict[Place, list[list[Span]]] = defaultdict(lambda: [[] for _ in followed])
    for number, place in enumerate(followed):
        way = way_of(program, name, arguments, shape, place)
        if way is None or way.touched is None:
            return None
        for instruction, span in way.touched:
            accessed[instruction][number].append(span)
    found: dict[Span, None] = {}
    for first, *others, last in accessed.values():
        spans = [span for each in (first, *others, last) for span in each]
        dense = _is_dense(first, others, [counts[axis] for axis in axes])
        found.update(dict.fromkeys([_hull(spans)] if dense else spans))
    return tuple(_merged(found))[:_MOST]


def _place(counts: tuple[int, ...], axes: Iterable[int]) -> tuple[Dimensions, Dimensions]:
    """The thread that is the last along ``axes`` and the first along the others."""
    x, y, z, u, v, w = (count - 1 if axis in axes else 0 for axis, count in enumerate(counts))
    return (x, y, z), (u, v, w)


def _is_dense(first: list[Span], others: list[list[Span]], counts: list[int]) -> bool:
    """Whether an instruction accesses every byte between. ``first``: what it does in the first thread; ``others``: in the last thread of
    each axis, which has so many threads. No step, from thread to thread or from round to round, may be longer than what lies before."""
    if not first or not all(others):
        return False
    start = first[0].start
    rounds = {second.start - before.start for before, second in pairwise(first)}
    steps = [(abs(step), len(first)) for step in rounds]
    for spans, count in zip(others, counts, strict=True):
        distance = abs(spans[0].start - start)
        if distance % (count - 1):
            return False
        steps.append((distance // (count - 1), count))
    covered = first[0].end - start
    for step, count in sorted(steps):
        if step > covered:
            return False
        covered += step * (count - 1)
    return len(rounds) <= 1


def _hull(spans: list[Span]) -> Span:
    return spans[0]._replace(start=min(each.start for each in spans), end=max(each.end for each in spans))


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """In order of their places, and those in one that are accessed in the same way and overlap or touch."""
    kept: dict[tuple[bool, bool], Span] = {}
    for span in sorted(spans):
        how = (span.writes, span.atomic)
        before = kept.get(how)
        if before is not None and span.start <= before.end:
            kept[how] = before._replace(end=max(before.end, span.end))
        else:
            if before is not None:
                yield before
            kept[how] = span
    yield from kept.values()
