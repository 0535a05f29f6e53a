"""Which of several ranks failed first, for people: in one line, with how the others followed in one line each."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from cuvet import ranks
from cuvet.findings import FirstFailure, Follower, Waiting
from cuvet.printable import printable
from cuvet.reports import terminal
from cuvet.sizes import counted

MOST_FOLLOWERS = 10


def render(first: FirstFailure, console: Console) -> None:
    who = ranks.told(first.rank) if first.rank is not None else f"process {first.process}"
    label = Text("failed first", style=terminal.STYLES["error"])
    terminal.line(console, label.append(f": {printable(who)}: {printable(first.text)}", style="bold"))
    if first.waiting is not None:
        terminal.render_site(first.waiting.site, console)
    for key, text in _explanation(first):
        terminal.labelled(key, text, console)
    console.print()


def render_waiting(waiting: Sequence[Waiting], console: Console) -> None:
    """Where ranks were when somebody ended the job."""
    for each in waiting[:MOST_FOLLOWERS]:
        least = "at least " if each.at_least else ""
        for_ = f", for {least}{terminal.duration(each.for_ns)}" if each.for_ns is not None else ""
        text = f": {ranks.told_all(each.ranks)} {'were' if len(each.ranks) > 1 else 'was'} in {each.site.api}{for_}"
        terminal.line(console, Text("when it was ended", style=terminal.STYLES["note"]).append(text, style="bold"))
        if each.site.frames:
            terminal.render_site(each.site, console)
        for more in waits(each):
            terminal.labelled("waits", more, console)
    if waiting:
        console.print()


def _explanation(first: FirstFailure) -> Iterator[tuple[str, str]]:
    if first.waiting is not None:
        for text in waits(first.waiting):
            yield "waits", text
    for follower in first.followers[:MOST_FOLLOWERS]:
        yield "then", _follower(follower)
    if len(first.followers) > MOST_FOLLOWERS:
        yield "then", counted(len(first.followers) - MOST_FOLLOWERS, "more way", "more ways") + " to fail"
    if first.clocks:
        yield "clocks", first.clocks


def _follower(follower: Follower) -> str:
    who = ranks.told_all(follower.ranks, follower.processes)
    return f"{terminal.duration(follower.after_ns)} later, {who}: {follower.text}"


def waits(waiting: Waiting) -> Iterator[str]:
    """What a call waits for, and who put the last work there."""
    if waiting.waits_for:
        yield f"for {waiting.waits_for}"
    if waiting.last_work is not None:
        place = terminal.place_of(terminal.located(waiting.last_work))
        before_ns = waiting.site.time_ns - waiting.last_work.time_ns
        before = "" if waiting.at_least or before_ns < 0 else f", {terminal.duration(before_ns)} before this call"
        yield (
            f"its last work is of {waiting.last_work.api}{f' at {place}' if place else ''} "
            f"[thread {waiting.last_work.thread}, call #{waiting.last_work.call}]{before}"
        )
