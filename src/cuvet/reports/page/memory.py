"""What held memory over time, by place: the points of curves that the page's script draws, and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cuvet.analysis.history import History
from cuvet.analysis.memory import HeldOverTime
from cuvet.recording.reader import Array
from cuvet.reports.memory import NOT_COUNTED, title, where_of
from cuvet.reports.page.markup import Markup, cut, tag
from cuvet.sizes import binary_size, counted

_POINTS = 400
"""Of a curve; all curves of the page have four times as many."""
MOST_CURVES = 12


def section(histories: Sequence[History]) -> tuple[Markup, list[dict[str, object]]]:
    """The section, and the data of its drawings."""
    held = [(history, each) for history in histories for each in history.memory]
    shown, several = held[:MOST_CURVES], len(histories) > 1
    if not shown:
        return Markup(), []
    figures, data = [], []
    for index, (history, each) in enumerate(shown):
        chosen = samples(each, min(_POINTS, 4 * _POINTS // len(shown)))
        held_by = [by_place(each, place) for place in range(len(each.places) + bool(each.others))]
        values, most = [of[chosen].tolist() for of in held_by], [int(of.max()) for of in held_by]
        name = title(each.heap[0], each.heap[1]) + (f", process {history.process}" if several else "")
        figures.append(_figure(index, name, each, values, most))
        data.append(
            {
                "name": cut(name),
                "end": history.end_ns,
                "capacity": each.capacity,
                "t": each.time_ns[chosen].tolist(),
                "v": values,
            }
        )
    parts = [tag("h2", "Memory over time by place"), *figures]
    if len(held) > len(shown):
        parts.append(
            tag(
                "p",
                f"{counted(len(held) - len(shown), 'more kind')} of memory of other processes not shown.",
                class_="left",
            )
        )
    about = (
        "Bytes that were asked for, from the first use to the last. Between two points of a curve is what was held longest or most."
        " Calls that allocate and free the same again and again are judged once: their rise is in the curve where it is highest."
    )
    parts += [tag("p", about, class_="about"), tag("p", f"Not counted: {NOT_COUNTED}.", class_="about")]
    return tag("section", *parts, id="memory"), data


def _figure(index: int, name: str, held: HeldOverTime, values: Sequence[Sequence[int]], most: Sequence[int]) -> Markup:
    of = f" of {binary_size(held.capacity)}" if held.capacity else ""
    caption = tag("h3", f"{name}: {binary_size(held.peak_bytes)}{of} at the peak")
    rows = [
        tag("tr", tag("td", class_=f"swatch m{number % 13}"), tag("td", where, class_="place"),
            tag("td", binary_size(peak), class_="number"),
            tag("td", binary_size(each[-1]) if each and each[-1] else "none", class_="number"))
        for number, (where, each, peak) in enumerate(zip(wheres(held), values, most, strict=True))
    ]  # fmt: skip
    names = (tag("th", each, scope="col") for each in ("Colour", "Held by", "At most", "At the end"))
    table = tag("table", tag("thead", tag("tr", *names)), tag("tbody", *rows), class_="legend")
    drawing = tag(
        "div",
        class_="curves",
        data_index=index,
        role="img",
        aria_label=f"{name} over time; the table below has the numbers",
    )
    return tag("figure", caption, drawing, tag("div", table, class_="scroll"))


def wheres(held: HeldOverTime) -> Iterator[str]:
    for place in held.places:
        yield where_of(place.site, place.library)
    if held.others:
        yield counted(held.others, "other place")


def by_place(held: HeldOverTime, place: int) -> Array:
    found: Array = np.cumsum(np.where(held.place == place, held.bytes, 0))
    return found


def samples(held: HeldOverTime, most: int) -> Array:
    """Indices of changes, in order: of each of so many parts of the time the one after which most was held, and the last."""
    count = len(held.time_ns)
    if count <= most:
        return np.arange(count)
    total = np.cumsum(held.bytes)
    first, last = int(held.time_ns[0]), int(held.time_ns[-1])
    part = ((held.time_ns - first) / max(last - first + 1, 1) * (most // 2)).astype(np.int64)
    order = np.lexsort((total, part))
    ends = np.append(np.flatnonzero(np.diff(part[order])), count - 1)
    lasts = np.append(np.flatnonzero(np.diff(part)), count - 1)
    found: Array = np.unique(np.concatenate([order[ends], lasts]))
    return found
