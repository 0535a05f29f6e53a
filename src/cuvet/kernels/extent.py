"""Which bytes the threads of a launch access, from those of a few threads: the first, the last along each axis of grid and block, and the
last of all.

What an instruction accesses is one span if it has no holes: the places of the threads, and of the rounds of a loop, follow each other as
the rows of a matrix do. The second thread of each axis must stand in line too: of threads that are chosen by a remainder
(``if (i % 2 == 0)``), the first and the last may be alike. Where there may be holes, only the bytes count that the followed threads access.

A launch often has more threads than there is to do, and those at the end do less (``if (x < width && y < height)``). Then the last along x,
y and z is looked for that does as much as the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise

from cuvet.kernels.follow import Dimensions, way_of
from cuvet.kernels.text import Program
from cuvet.kernels.thread import Place, Span

_MOST = 64
"""Spans of a launch that are told."""
_MOST_SOUGHT = 24
"""Threads that are followed to find the last one that does as much as the first."""
_WARP = 32

_Thread = tuple[Dimensions, Dimensions]
"""Where it is: its block, and its place there."""


def spans_of(
    program: Program, name: str, arguments: tuple[bytes, ...], grid: Dimensions, block: Dimensions
) -> tuple[Span, ...] | None:
    """What threads of a launch certainly access; None if they could not be followed to their ends."""
    counts = (*grid, *block)
    axes = [axis for axis, count in enumerate(counts) if count > 1]
    followed: dict[_Thread, dict[Place, list[Span]] | None] = {}

    def follow(thread: _Thread) -> dict[Place, list[Span]] | None:
        if thread not in followed:
            way = way_of(program, name, arguments, (grid, block), thread)
            followed[thread] = None if way is None or way.touched is None else _by_instruction(way.touched)
        return followed[thread]

    places = [_place(counts, each) for each in ((), *((axis,) for axis in axes), axes)]
    corners = [each for each in map(follow, places) if each is not None]
    if len(corners) < len(places):
        return None
    most = len(followed) + _MOST_SOUGHT

    def spans_at(instruction: Place, thread: _Thread) -> list[Span] | None:
        known = follow(thread) if thread in followed or len(followed) < most else None
        return None if known is None else known.get(instruction, [])

    found: dict[Span, None] = {}
    for instruction in dict.fromkeys(chain.from_iterable(corners)):
        of_corners = [each.get(instruction, []) for each in corners]
        found.update(dict.fromkeys(_of_instruction(of_corners, partial(spans_at, instruction), counts)))
    merged = tuple(_merged(found))
    return merged if len(merged) <= _MOST else tuple(each._replace(partly=True) for each in merged[:_MOST])


def _by_instruction(touched: Iterable[tuple[Place, Span]]) -> dict[Place, list[Span]]:
    found: defaultdict[Place, list[Span]] = defaultdict(list)
    for instruction, span in touched:
        found[instruction].append(span)
    return found


_Follow = Callable[[_Thread], list[Span] | None]
"""What an instruction accesses in a thread; None if that cannot be followed."""


def _of_instruction(corners: list[list[Span]], spans_at: _Follow, counts: tuple[int, ...]) -> Iterator[Span]:
    first = corners[0]
    fewest = min(map(len, corners))
    alike = all(len(each) == len(first) for each in corners)
    ends = _ends(first, spans_at, counts) if first and not alike else None
    common = _between([each[:fewest] for each in corners], [count for count in counts if count > 1])
    if not _seconds_in_line(corners, fewest, spans_at, counts):
        common = []
    before = _between(*ends) if ends is not None else []
    whole = (bool(common) and alike) or (bool(before) and (bool(common) or len(first) == 1))
    for span in (*common, *before, *(() if whole else chain.from_iterable(corners))):
        yield span._replace(partly=not whole)


def _seconds_in_line(corners: list[list[Span]], fewest: int, spans_at: _Follow, counts: tuple[int, ...]) -> bool:
    """Whether the second thread of each axis accesses memory as the first and the last do, a step from the first."""
    axes = [axis for axis, count in enumerate(counts) if count > 1]
    for axis, last in zip(axes, corners[1:], strict=False):
        if counts[axis] == 2 or not fewest:
            continue
        second = spans_at(_place(counts, (axis,), 1))
        if second is None or len(second) < fewest:
            return False
        if (second[0].start - corners[0][0].start) * (counts[axis] - 1) != last[0].start - corners[0][0].start:
            return False
    return True


def _between(corners: list[list[Span]], counts: list[int]) -> list[Span]:
    """What all threads access, which do so equally often; nothing if there may be holes. ``corners``: the first, the last of each axis,
    which has so many threads, and the last of all."""
    first, *others, _ = corners
    if not counts:
        return first
    if _is_dense(first, others, counts):
        return [_hull(chain.from_iterable(corners))]
    rounds = list(zip(*corners, strict=True))  # of a loop: each may be dense by itself
    dense = (_is_dense([start], [[stop] for stop in stops], counts) for start, *stops, _ in rounds)
    return [_hull(each) for each in rounds] if all(dense) else []


def _ends(first: list[Span], spans_at: _Follow, counts: tuple[int, ...]) -> tuple[list[list[Span]], list[int]] | None:
    """The corners of the threads that access memory as often as the first does, and how many there are along each axis; None if that is not
    known. Here x, y and z are the axes, with the threads of all blocks."""
    known = [_last_alike(first, spans_at, counts, axis) for axis in range(3)]
    last = [each for each in known if each is not None]
    if len(last) < len(known):
        return None
    axes = [axis for axis in range(3) if last[axis]]
    places = [[axis] for axis in axes] + [axes]
    corners = [spans_at(_thread(counts, [last[each] if each in at else 0 for each in range(3)])) for at in places]
    alike = [each for each in corners if each is not None and len(each) == len(first)]
    return ([first, *alike], [last[axis] + 1 for axis in axes]) if len(alike) == len(corners) else None


def _last_alike(first: list[Span], spans_at: _Follow, counts: tuple[int, ...], axis: int) -> int | None:
    """The last thread along the axis that accesses memory as often as the first does; None if it is not shown that those before it do, at
    places in one line, and none behind it does."""

    def accessed(at: int) -> list[Span] | None:
        return spans_at(_thread(counts, [at if each == axis else 0 for each in range(3)]))

    def is_alike(at: int) -> bool:
        return len(accessed(at) or ()) == len(first)

    threads = counts[axis + 3]
    count = counts[axis] * threads
    ends = {0, threads - 1, count - threads, count - 1}
    low, high = max(filter(is_alike, ends)), min((at for at in ends if not is_alike(at)), default=count)
    if high < low or (low == 0 and count > 1 and not is_alike(1)):
        return None  # few do it: there may be more further on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_alike(middle) else (low, middle)
    warp = low // _WARP * _WARP
    before = {at for at in (*ends, warp - 1, low - 1) if 0 < at < low}
    step = ((accessed(low) or first)[0].start - first[0].start) / max(low, 1)
    in_line = all(is_alike(at) and (accessed(at) or first)[0].start == first[0].start + at * step for at in before)
    ended = all(at >= count or (accessed(at) is not None and not is_alike(at)) for at in (high, warp + _WARP))
    return low if in_line and ended else None


def _place(counts: tuple[int, ...], axes: Iterable[int], at: int | None = None) -> _Thread:
    """The thread that is number ``at`` along ``axes``, or the last, and the first along the others."""
    x, y, z, u, v, w = ((count - 1 if at is None else at) if axis in axes else 0 for axis, count in enumerate(counts))
    return (x, y, z), (u, v, w)


def _thread(counts: tuple[int, ...], at: Sequence[int]) -> _Thread:
    """The one there along x, y and z."""
    (x, u), (y, v), (z, w) = (divmod(position, counts[axis + 3]) for axis, position in enumerate(at))
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


def _hull(spans: Iterable[Span]) -> Span:
    first, *others = spans
    return first._replace(
        start=min(each.start for each in (first, *others)), end=max(each.end for each in (first, *others))
    )


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """In order of their places, and those in one that are accessed in the same way and overlap or touch."""
    kept: dict[tuple[bool, bool], Span] = {}
    for span in sorted(spans):
        how = (span.writes, span.atomic)
        before = kept.get(how)
        if before is not None and span.start <= before.end:
            end, partly = max(before.end, span.end), before.partly or span.partly
            kept[how] = before._replace(end=end, partly=partly)
        else:
            if before is not None:
                yield before
            kept[how] = span
    yield from kept.values()
