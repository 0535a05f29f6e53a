"""The lives of objects, by the place that made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cuvet.analysis.history import History
from cuvet.catalog import Kind
from cuvet.recording.reader import Array
from cuvet.reports import terminal
from cuvet.reports.memory import where_of
from cuvet.reports.page.markup import Markup, tag
from cuvet.sizes import counted

MOST_PLACES = 3000
"""Of a process, of which stacks are looked up; objects of the others are counted together."""
OTHERS = "other places"
_COLUMNS = (
    ("Kind", "text"), ("Made by", "text"), ("Made", "number"), ("Alive at most", "number"), ("Alive at the end", "number"),
    ("Median life", "number"), ("Longest life", "number"),
)  # fmt: skip


class Row(NamedTuple):
    """Objects of a kind that one place made. Lives in nanoseconds are of those that ended; -1: none did."""

    kind: str
    where: str
    process: int
    made: int
    most: int
    at_end: int
    median_ns: int
    longest_ns: int


def section(histories: Sequence[History], most: int) -> Markup:
    """``most`` rows at most, those of which most were made."""
    rows = sorted(
        (row for each in histories for row in rows_of(each)), key=lambda row: (-row.made, row.kind, row.where)
    )
    if not rows:
        return Markup()
    several = len({row.process for row in rows}) > 1
    head = tag("tr", *(_heading(index, *column) for index, column in enumerate(_COLUMNS)))
    body = [_row(row, several) for row in rows[:most]]
    parts = [tag("table", tag("thead", head), tag("tbody", *body), class_="objects", id="object-table")]
    if len(rows) > most:
        rest = rows[most:]
        made = counted(sum(row.made for row in rest), "object")
        parts.append(tag("p", f"{counted(len(rest), 'more place')}, which made {made}, not shown.", class_="left"))
    told = "A life is from the return of the call that made the object to the call that ended it. Lives that had not ended do not count."
    scroll = tag("div", *parts, class_="scroll", tabindex="0", role="region", aria_label="Lives of objects")
    return tag(
        "section", tag("h2", "Objects by place of creation"), tag("p", told, class_="about"), scroll, id="objects"
    )


def _heading(index: int, name: str, sort: str) -> Markup:
    button = tag("button", name, type="button", data_column=index)
    return tag("th", button, scope="col", class_=sort, data_sort=sort)


def _row(row: Row, several: bool) -> Markup:
    where = f"{row.where}, process {row.process}" if several else row.where
    lives = (
        tag("td", terminal.duration(ns) if ns >= 0 else "–", class_="number", data_value=ns)
        for ns in (row.median_ns, row.longest_ns)
    )
    counts = (tag("td", f"{n:,}", class_="number", data_value=n) for n in (row.made, row.most, row.at_end))
    kept = "kept" if row.at_end and row.made > 1 and row.at_end == row.made else None
    return tag(
        "tr",
        tag("td", row.kind),
        tag("td", where, class_="place"),
        *counts,
        *lives,
        class_=kept,
        data_process=row.process,
    )


def rows_of(history: History) -> list[Row]:
    """One for each kind and place."""
    lives = history.lives
    places = history.place[lives.made]
    names, number_of = _names(history, places)
    group = number_of[places] * len(Kind) + lives.kind if len(places) else places
    found, index = np.unique(group, return_inverse=True)
    most = _alive_at_most(index, lives.made_ns, lives.ended_ns, len(found))
    made = np.bincount(index, minlength=len(found))
    at_end = np.bincount(index[lives.ended_ns < 0], minlength=len(found))
    median_ns, longest_ns = _lengths(index, lives.made_ns, lives.ended_ns, len(found))
    return [
        Row(Kind(each % len(Kind)).noun, names[each // len(Kind)], history.process, *map(int, counts))
        for each, *counts in zip(found.tolist(), made, most, at_end, median_ns, longest_ns, strict=True)
    ]


def _names(history: History, places: Array) -> tuple[list[str], Array]:
    """Texts for places, and the number of the text of each place. Places that read alike have one."""
    used, counts = np.unique(places, return_counts=True)
    looked_up = used[np.argsort(-counts, kind="stable")][:MOST_PLACES].tolist()
    numbers: dict[str, int] = {OTHERS: 0}
    number_of = np.zeros(int(places.max(initial=0)) + 1, np.int64)
    for place in looked_up:
        site, library = history.place_of(place)
        number_of[place] = numbers.setdefault(where_of(site, library), len(numbers))
    return [*numbers], number_of


def _alive_at_most(group: Array, made_ns: Array, ended_ns: Array, count: int) -> Array:
    """By group: how many lived at one moment. Of what ends and is made at the same time, the end comes first."""
    ended = np.flatnonzero(ended_ns >= 0)
    groups = np.concatenate([group, group[ended]])
    times = np.concatenate([made_ns, ended_ns[ended]])
    change = np.concatenate([np.ones(len(group), np.int64), np.full(len(ended), -1)])
    order = np.lexsort((change, times, groups))
    groups, sums = groups[order], np.cumsum(change[order])
    first = np.searchsorted(groups, np.arange(count))
    before = np.where(first > 0, sums[np.maximum(first - 1, 0)], 0) if len(sums) else np.zeros(count, np.int64)
    most = np.zeros(count, np.int64)
    np.maximum.at(most, groups, sums - before[groups])
    return most


def _lengths(group: Array, made_ns: Array, ended_ns: Array, count: int) -> tuple[Array, Array]:
    """By group: the median and the longest life."""
    ended = np.flatnonzero(ended_ns >= 0)
    groups, lengths = group[ended], np.maximum(ended_ns[ended] - made_ns[ended], 0)
    order = np.lexsort((lengths, groups))
    groups, lengths = groups[order], lengths[order]
    begin, end = np.searchsorted(groups, np.arange(count)), np.searchsorted(groups, np.arange(count), "right")
    some = end > begin
    median, longest = np.full(count, -1), np.full(count, -1)
    median[some] = lengths[(begin[some] + end[some] - 1) // 2]
    longest[some] = lengths[end[some] - 1]
    return median, longest
