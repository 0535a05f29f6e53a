"""What held memory, for people: by place, at the peak and at the end."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from cuvet.findings import MemoryPlace, MemoryUse, Site
from cuvet.printable import printable
from cuvet.reports import terminal
from cuvet.sizes import binary_size, counted

MOST_ROWS = 10
"""Smaller places are summed up."""
NOT_COUNTED = "contexts, modules, local memory of kernels, memory that graphs allocate, freed memory that pools keep, other processes"
_STYLE = "blue"


@dataclass
class _Row:
    """Places that read alike: other stacks lead to them."""

    where: str
    peak_bytes: int = 0
    peak_count: int = 0
    bytes: int = 0
    count: int = 0

    def add(self, place: MemoryPlace) -> None:
        self.peak_bytes += place.peak_bytes
        self.peak_count += place.peak_count
        self.bytes += place.bytes
        self.count += place.count


def render(uses: tuple[MemoryUse, ...], console: Console) -> None:
    """A section for each kind of memory of each process."""
    several = len({use.process for use in uses}) > 1
    for use in uses:
        terminal.line(console, _headline(use, several))
        for row in _table(use):
            terminal.line(console, row)
        console.print()
    if uses:
        terminal.line(console, Text(f"memory not counted: {NOT_COUNTED}", style="dim"))
    else:
        terminal.line(console, "memory: the program allocated none that cuvet could see")


def held(places: Iterable[MemoryPlace]) -> Iterator[str]:
    """A line for each place, with what it holds: ``96.0 GiB in 3 allocations: main.py:12 in fill (cudaMalloc)``."""
    for row in _rows(places):
        yield f"{binary_size(row.bytes)} in {counted(row.count, 'allocation')}: {row.where}"


def title(memory: str, device: int | None) -> str:
    """Of a kind of memory: ``memory of GPU 0``."""
    if device is not None:
        return f"memory of GPU {device}"
    return {"managed": "managed memory", "host": "pinned host memory"}.get(memory, "memory of a GPU")


def _headline(use: MemoryUse, several: bool) -> Text:
    name = title(use.memory, use.device)
    of = f" of {binary_size(use.capacity)}" if use.capacity else ""
    text = Text(name + (f", process {use.process}" if several else ""), style="bold cyan")
    peak = f": {binary_size(use.peak_bytes)}{of} at the peak, in {counted(use.peak_count, 'allocation')}"
    text.append(peak, style="bold default")
    text.append(f", {terminal.duration(use.peak_ns)} after the first call", style="not bold default")
    return text.append(f"; {_amount(use.bytes, use.count)} at the end", style="not bold default")


def _amount(size: int, count: int) -> str:
    return f"{binary_size(size)} in {count:,}" if count else "none"


def _table(use: MemoryUse) -> Iterator[Text]:
    rows = _rows(use.places)
    shown = rows[:MOST_ROWS]
    others = _others(use, shown, len(rows) - len(shown))
    cells = [("at the peak", "at the end", "by")] + [
        (_amount(row.peak_bytes, row.peak_count), _amount(row.bytes, row.count), row.where) for row in (*shown, *others)
    ]
    widths = [max(len(cell[column]) for cell in cells) for column in (0, 1)]
    for number, (peak, end, where) in enumerate(cells):
        sizes = f"  {peak:>{widths[0]}}  {end:>{widths[1]}}  "
        yield Text(sizes, style="dim" if number == 0 else "").append(where, style="dim" if number == 0 else _STYLE)


def _rows(places: Iterable[MemoryPlace]) -> list[_Row]:
    rows: dict[str, _Row] = {}
    for place in places:
        where = where_of(place.site, place.library)
        rows.setdefault(where, _Row(where)).add(place)
    return sorted(rows.values(), key=lambda row: -max(row.peak_bytes, row.bytes))


def where_of(site: Site, library: str | None) -> str:
    """``train.py:41 in load, from main:90 (cudaMalloc by libtorch_cuda.so)``; without the library if its code is the place."""
    frames = terminal.located(site)
    where = terminal.place_of(frames) or "no stack was recorded"
    if len(frames) > 1 and frames[1].line:
        where += printable(f", from {frames[1].function}:{frames[1].line}")
    named = bool(frames) and os.path.basename(frames[0].module or "") == library
    by = f"{site.api} by {library}" if library and not named else site.api
    return f"{where} ({printable(by)})"


def _others(use: MemoryUse, shown: list[_Row], left_out: int) -> list[_Row]:
    """What the places that are not shown held together; nothing if there are none."""
    rest = _Row(
        "other places" if left_out != 1 else "another place",
        use.peak_bytes - sum(row.peak_bytes for row in shown),
        use.peak_count - sum(row.peak_count for row in shown),
        use.bytes - sum(row.bytes for row in shown),
        use.count - sum(row.count for row in shown),
    )
    return [rest] if rest.peak_count or rest.count else []
