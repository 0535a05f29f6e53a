"""Where living processes stand, for people and as JSON (``cuvet-ps/1``, whose schema is ``standing.schema.json``)."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cuvet import ranks
from cuvet.analysis.standing import Standing, Standings
from cuvet.findings import Waiting
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.first_failure import waits
from cuvet.reports.terminal import STYLES, console, duration, labelled, line, located, place_of
from cuvet.sizes import counted

SCHEMA_FILE = Path(__file__).with_name("standing.schema.json")
MOST_THREADS = 20
"""Of a process, that are shown."""


def document(found: Standings) -> Document:
    def show(out: object, color: str) -> None:
        output = console(out, color)  # type: ignore[arg-type]
        for each in found.processes:
            _process(each, output)
        if not found.processes:
            line(output, "no program of yours that `cuvet run` records has called CUDA on this machine and still runs")
        for note in found.notes:
            line(output, f"note: {note}")

    return Document(found, show)


def _process(standing: Standing, output: Console) -> None:
    rank = f"{ranks.told(standing.rank)}, " if standing.rank is not None and standing.rank.size != 1 else ""
    line(output, Text(printable(f"{rank}process {standing.process}: {standing.program}"), style="bold"))
    for verdict in standing.verdicts:
        labelled("verdict", verdict, output)
    for waiting in standing.waiting[:MOST_THREADS]:
        for text in _thread(waiting):
            line(output, text, indent=6)
    if len(standing.waiting) > MOST_THREADS:
        line(output, f"   and {len(standing.waiting) - MOST_THREADS:,} more threads: see --format json")
    if standing.idle:
        line(output, Text(f"   {counted(standing.idle, 'thread')} in no CUDA call", style="dim"))


def _thread(waiting: Waiting) -> Iterator[Text]:
    site = waiting.site
    name = f" ({waiting.thread_name})" if waiting.thread_name else ""
    least = "at least " if waiting.at_least else ""
    for_ = f" for {least}{duration(waiting.for_ns)}" if waiting.for_ns is not None else ""
    yield (
        Text(f"   thread {site.thread}{name}: ")
        .append(f"{site.api}{for_}", style=STYLES["note"])
        .append(f"  [call #{site.call}]")
    )
    place = place_of(located(site))
    if place:
        yield Text(f"     at {place}", style="blue")
    for text in waits(waiting):
        yield Text(f"     waits: {text}")
