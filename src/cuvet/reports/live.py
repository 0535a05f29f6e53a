"""The page of ``cuvet live``: what a program does at the moment, in lines that fit a terminal, and what the keys change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from cuvet.analysis.now import Now, ThreadNow
from cuvet.findings import Finding, MemoryUse, Program
from cuvet.printable import printable
from cuvet.reports import memory, terminal
from cuvet.sizes import binary_size, counted, plural

MOST_LINES = 10_000
"""Of a finding that is shown whole."""
MOST_PLACES = 5
"""That hold memory, of each kind of memory."""
MOST_KINDS = 12
_HEADING = "bold cyan"
_KEYS = "q quit · ↑↓ or jk choose · Enter show the finding · p pause"
_KEYS_OF_FINDING = "q quit · ↑↓ or jk scroll · Enter or Esc back"


class Moment(NamedTuple):
    """What is shown. ``rate``: calls per second since the last look; None before the second. ``since``: by process and thread, seconds for
    which it has been seen in the call that it is in. None in place of ``now``: nothing was read yet."""

    program: Program
    now: Now | None = None
    rate: float | None = None
    since: Mapping[tuple[int, int], float] = {}


@dataclass(frozen=True)
class View:
    """What the keys chose: the finding of that index is ``selected``; it is ``opened``, from its line ``top`` on. ``held``: what is shown
    while it is paused."""

    selected: int = 0
    opened: bool = False
    top: int = 0
    held: Moment | None = None


def pressed(view: View, key: str, moment: Moment, bottom: int) -> View:
    """The view after a key: ``up``, ``down``, ``enter``, ``escape``, ``p`` or ``j`` and ``k``. Others change nothing. ``bottom``: how far
    an opened finding can be scrolled."""
    step = {"up": -1, "k": -1, "down": 1, "j": 1}.get(key, 0)
    shown = view.held or moment
    findings = shown.now.findings if shown.now is not None else ()
    if key == "p":
        return replace(view, held=None if view.held is not None else moment)
    if view.opened:
        closes = key in ("enter", "escape")
        return replace(view, opened=False, top=0) if closes else replace(view, top=max(0, min(view.top + step, bottom)))
    if key == "enter" and findings:
        return replace(view, opened=True, top=0)
    return replace(view, selected=max(0, min(view.selected + step, len(findings) - 1)))


def lines(moment: Moment) -> Iterator[Text]:
    """All of it, for what is no terminal."""
    yield from _heading(moment)
    for title, rows in _sections(moment, None):
        yield Text()
        yield title
        yield from rows


def page(moment: Moment, view: View, console: Console, width: int, height: int) -> list[Text]:
    """As many lines as the terminal has, none longer than it is wide."""
    shown = view.held or moment
    found = _whole(shown, view, console, width)[view.top :] if view.opened else _fitting(shown, view, height - 1)
    keys = _KEYS_OF_FINDING if view.opened else _KEYS
    found = [*found[: height - 1], *[Text()] * (height - 1 - len(found))]
    paused = Text("paused · ", style="bold yellow") if view.held is not None else Text()
    found.append(paused.append(keys, style="dim"))
    return [_cut(line, console, width) for line in found]


def _cut(line: Text, console: Console, width: int) -> Text:
    """In one line, without what would control the terminal."""
    safe = Text.assemble(*((printable(piece.text), piece.style or "") for piece in line.render(console)))
    safe.truncate(width, overflow="ellipsis")
    return safe


def _heading(moment: Moment) -> Iterator[Text]:
    program, now = moment.program, moment.now
    yield Text("cuvet live", style="bold").append(f"  {printable(shlex.join(program.argv))}"[:1000], style="not bold")
    if now is None:
        yield Text("reading the recording", style="dim")
        return
    state = f"{now.running} of {counted(now.processes, 'process')} running" if now.processes else "no CUDA call yet"
    rate = f", {moment.rate:,.0f} a second" if moment.rate is not None else ""
    yield Text(f"{state} · {counted(now.calls, 'call')}{rate}")


def _sections(moment: Moment, selected: int | None) -> Iterator[tuple[Text, list[Text]]]:
    """Headings, each with its lines. ``selected``: the finding that is marked."""
    now = moment.now
    if now is None:
        return
    title = counted(len(now.findings), "finding") if now.findings else "no findings"
    yield Text(title, style=_HEADING), [_finding(each, at == selected) for at, each in enumerate(now.findings)]
    if now.objects:
        yield Text("alive", style=_HEADING), list(_objects(now))
    for use in now.memory:
        yield _memory_title(use, now), list(_places(use))
    if now.threads:
        yield Text("threads", style=_HEADING), [_thread(each, moment) for each in now.threads]


def _finding(finding: Finding, selected: bool) -> Text:
    times = f" × {finding.repeats:,}" if finding.repeats > 1 else ""
    text = Text("> " if selected else "  ", style="bold").append_text(terminal.concise(finding)).append(times)
    if selected:
        text.stylize("reverse")
    return text


def _objects(now: Now) -> Iterator[Text]:
    for each in now.objects[:MOST_KINDS]:
        noun = each.kind.counted if each.alive == 1 else plural(each.kind.counted)
        yield Text(f"  {each.alive:>9,} {noun:<24} of {each.made:,} made")


def _memory_title(use: MemoryUse, now: Now) -> Text:
    of = f" of {binary_size(use.capacity)}" if use.capacity else ""
    text = Text(memory.title(use.memory, use.device), style=_HEADING)
    if now.running > 1:
        text.append(f", process {use.process}")
    held = f": {binary_size(use.bytes)}{of}, {binary_size(use.peak_bytes)} at the peak"
    return text.append(held, style="not bold default")


def _places(use: MemoryUse) -> Iterator[Text]:
    holding = [place for place in use.places if place.bytes]
    for row in list(memory.held(holding))[:MOST_PLACES]:
        yield Text(f"  {row}")


def _thread(thread: ThreadNow, moment: Moment) -> Text:
    name = f" ({thread.name})" if thread.name else ""
    text = Text(f"  {thread.thread}{name}: ")
    if thread.call is None:
        return text.append("in no call", style="dim")
    seconds = moment.since.get((thread.process, thread.thread), 0)
    for_ = f" for at least {seconds:,.0f} s" if seconds >= 1 else ""
    return text.append(f"{thread.call}{for_}", style="bold").append(
        f"  [call #{thread.number:,}]", style="dim not bold"
    )


def _fitting(moment: Moment, view: View, height: int) -> list[Text]:
    """Each section gets an equal part of the lines, and what others leave."""
    found = list(_heading(moment))
    sections = list(_sections(moment, view.selected))
    room = height - len(found) - 2 * len(sections)
    waiting = sorted(range(len(sections)), key=lambda at: len(sections[at][1]))
    shares = {}
    for number, at in enumerate(waiting):
        shares[at] = max(0, min(len(sections[at][1]), room // (len(waiting) - number)))
        room -= shares[at]
    for at, (title, rows) in enumerate(sections):
        selected = view.selected if at == 0 else 0
        found += [Text(), title, *_window(rows, selected, shares[at])]
    return found


def _window(rows: Sequence[Text], selected: int, count: int) -> list[Text]:
    """So many rows, with the one that is selected, and how many there are behind them."""
    if len(rows) <= count or count <= 0:
        return list(rows[:count])
    kept = count - 1
    first = max(0, min(selected - kept + 1, len(rows) - kept)) if kept else 0
    left = len(rows) - kept
    return [*rows[first : first + kept], Text(f"  and {left:,} more", style="dim")]


def bottom(moment: Moment, view: View, console: Console, width: int, height: int) -> int:
    """Lines that an opened finding has too many for the terminal."""
    return max(0, len(_whole(view.held or moment, view, console, width)) - (height - 1)) if view.opened else 0


def _whole(moment: Moment, view: View, console: Console, width: int) -> list[Text]:
    """The lines of the finding that is selected."""
    findings = moment.now.findings if moment.now is not None else ()
    if not findings:
        return []
    text = terminal.text_of(findings[min(view.selected, len(findings) - 1)], moment.program)
    wrapped: list[Text] = []
    for line in text.splitlines()[:MOST_LINES]:
        wrapped += Text(line).wrap(console, max(width, 1)) if line else [Text()]
    return wrapped
