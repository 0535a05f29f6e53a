"""Writes the report for people.

Different labels mark what was seen (sites, result), what was inferred (because), what is known (measured, documented) and what is
advised (help).
"""

import io
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cuvet import ranks
from cuvet.catalog import Kind, api_of, status_name
from cuvet.findings import Evidence, Finding, Frame, MachineCause, ObjectReport, Program, Report, Site
from cuvet.printable import printable
from cuvet.reports import first_failure, memory, summary, unexplained
from cuvet.reports.selection import fitting, select
from cuvet.reports.source import excerpt, sources_elsewhere, window
from cuvet.signals import signal_name

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")
"""Of the report's JSON form, ``cuvet-report/1``."""
PLAIN_WIDTH = 110
"""Columns of explanations and sources when the report does not go to a terminal. Other lines are not wrapped there, so that a
search in a log finds them whole."""
_MOST_CALLERS = 3
_MOST_CONSEQUENCES = 3
_SYSTEM_FILES = ("/usr/include/", "/usr/lib/", "/include/c++/", "<frozen ")
INJECTED = "inject"
"""In place of a rule's code: what injected faults showed."""
STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_PLACE = "blue"
_LABELS = {
    **dict.fromkeys(("result", "driver", "measured", "documented", "found"), "cyan"),
    "because": "magenta",
    "help": "bold green",
    "waits": "cyan",
}
_MEMORY = frozenset(kind.noun for kind in (Kind.MEMORY, Kind.HOST_MEMORY, Kind.ARRAY, Kind.MIPMAPPED_ARRAY))
_REGISTERED = frozenset({Kind.HOST_MEMORY.noun, Kind.GRAPHICS_RESOURCE.noun})
_CODE = frozenset(kind.noun for kind in (Kind.MODULE, Kind.CULIBRARY, Kind.FUNCTION, Kind.KERNEL))
_ENDS = (("Unregister", "unregistered", _REGISTERED), ("Unload", "unloaded", _CODE), ("Free", "freed", _MEMORY))
_MAKES = (
    ("Register", "registered", _REGISTERED),
    ("Alloc", "allocated", _MEMORY),
    ("Malloc", "allocated", _MEMORY),
    ("Load", "loaded", _CODE),
    ("Get", "handed out", frozenset(kind.noun for kind in Kind if kind is not Kind.CONTEXT)),
)
"""Words for what a call did to objects of these kinds, by a part of its name: a program's first call also creates the context."""
CLONE = re.compile(r"(\.(cold|part|constprop|isra|lto_priv|clone)(\.\d+)*)+$")
"""What compilers append to the names of the pieces that they split from a function."""


class _Console(Console):
    """Prints no text as it is, whoever wrote it: what would control the terminal is escaped."""

    def print(self, *things: Any, **options: Any) -> None:
        super().print(*map(self._safe, things), **options)

    def _safe(self, thing: object) -> object:
        if isinstance(thing, str):
            return printable(thing)
        if not isinstance(thing, Text) or thing.plain.isprintable():
            return thing
        return Text.assemble(*((printable(piece.text), piece.style or "") for piece in thing.render(self)))

    def on_broken_pipe(self) -> None:
        """The BrokenPipeError goes to the caller: rich would end cuvet, and the program's exit code would be lost."""
        raise


def console(file: TextIO, color: str = "auto") -> Console:
    """A console for reports. ``color`` is auto (a terminal, and no ``NO_COLOR``), always or never."""
    width = None if file.isatty() else PLAIN_WIDTH
    if color == "auto":
        return _Console(file=file, width=width, highlight=False)
    return _Console(
        file=file,
        width=width,
        highlight=False,
        force_terminal=color == "always",
        no_color=color == "never",
        color_system="standard" if color == "always" else None,
    )


def render(
    report: Report, console: Console, recording: str | None = None, kept: int = 0, verbose: bool = False
) -> None:
    """Print the findings, then the summary. ``recording`` is the directory to look at again; ``kept`` are the bytes of
    all recordings there, told when they are many. ``verbose``: every finding in full, with all that is known about its rule."""
    if report.first_failure is not None:
        first_failure.render(report.first_failure, console)
    first_failure.render_waiting(report.waiting, console)
    shown = report.findings if verbose else select(report.findings)
    known: set[str] = set()
    for finding in shown:
        evidence = () if finding.rule in known else finding.evidence
        render_finding(finding, report.program, console, evidence if verbose else fitting(finding))
        known.add(finding.rule)
        console.print()
    left_out = _left_out(report.findings, shown)
    for text in left_out:
        line(console, text)
    if left_out:
        console.print()
    if report.unexplained:
        unexplained.render(report.unexplained, report.stats.get("unexplained_failures", 0), console)
    for cause in report.machine:
        _machine(cause, console)
        console.print()
    if report.memory is not None:
        memory.render(report.memory, console)
    for pieces in summary.lines(report, recording, kept, cut=bool(left_out), elsewhere=sources_elsewhere()):
        line(console, Text.assemble(*pieces))


def render_finding(finding: Finding, program: Program, console: Console, evidence: Sequence[Evidence]) -> None:
    """``evidence``: what of it is shown."""
    style = STYLES[finding.severity]
    line(console, headline(finding))
    _site(finding.site, finding.argument, style, console)
    _history(finding, console)
    for label, text in explanation(finding, program, evidence):
        labelled(label, text, console)


def text_of(finding: Finding, program: Program) -> str:
    """A finding as people read it, without colours: printable lines."""
    out = io.StringIO()
    render_finding(finding, program, console(out, "never"), fitting(finding))
    return out.getvalue()


def _left_out(findings: Sequence[Finding], shown: Sequence[Finding]) -> list[Text]:
    """A line for each rule with findings that are not shown."""
    count = Counter(finding.rule for finding in findings)
    count.subtract(finding.rule for finding in shown)
    first = {finding.rule: finding for finding in reversed(findings)}
    return [
        _tag(first[rule]).append(f": and {more:,} more at other places", style="bold").append(f" ({first[rule].name})")
        for rule, more in count.items()
        if more
    ]


def render_site(site: Site, console: Console) -> None:
    """Print where a call was made: its source line, and who called."""
    _site(site, None, STYLES["note"], console)


def _machine(cause: MachineCause, console: Console) -> None:
    line(
        console, Text(f"machine[{cause.cause}]", style=STYLES["error"]).append(f": {printable(cause.verdict)}", "bold")
    )
    for each in cause.evidence:
        labelled("found", each, console)
    labelled("help", cause.fix, console)
    labelled("more", f"cuvet explain {cause.cause}", console)


def _history(finding: Finding, console: Console) -> None:
    """Calls of ``history``, each with its source."""
    for text, site in history(finding):
        line(console, text)
        if site is not None:
            _site(site, None, _PLACE, console)


def history(finding: Finding) -> Iterator[tuple[Text, Site | None]]:
    """Earlier calls that belong to it, and where each object was destroyed and created, other than by the finding's own call. A call
    that did it to several has its place once."""
    for each in finding.earlier:
        yield Text("note", style=STYLES["note"]).append(f": {printable(each.text)}", style="not bold"), each.site
    shown = {_call(each.site) for each in finding.earlier}
    for thing in finding.objects:
        for site, verbs, usual in ((thing.destroyed, _ENDS, "destroyed"), (thing.created, _MAKES, "created")):
            if site is None or _call(site) == _call(finding.site):
                continue
            verb = next((verb for part, verb, kinds in verbs if part in site.api and thing.kind in kinds), usual)
            again = _call(site) in shown
            yield _note(thing, verb, site, finding.site, again=again), None if again else site
            shown.add(_call(site))


def _call(site: Site) -> tuple[int, int, int]:
    return site.process, site.thread, site.call


def headline(finding: Finding) -> Text:
    """The first line of a finding; it makes sense alone."""
    text = _tag(finding).append(f": {printable(sentence(finding))}", style="bold")
    return text.append(f" ({finding.name})", style="not bold")


def _tag(finding: Finding) -> Text:
    return Text(f"{finding.severity}[{finding.rule}]", style=STYLES[finding.severity])


def sentence(finding: Finding) -> str:
    """The message with the call that it is about."""
    return finding.message if finding.message.startswith(finding.api) else f"{finding.api}: {finding.message}"


def users_frame(finding: Finding) -> Frame | None:
    """The innermost frame of the user's own code; None without a stack."""
    return next(iter(located(finding.site)), None)


def concise(finding: Finding) -> Text:
    """A finding in one line: the headline and where."""
    place = place_of(located(finding.site))
    return headline(finding).append(f" at {place}", style=_PLACE) if place else headline(finding)


def located(site: Site) -> list[Frame]:
    """The frames of the user's own code, innermost first; without such those that can be opened, or all. Those of C# that cannot be opened
    are shown too, and what calls C# is not: it is a runtime."""
    managed = next((index for index, f in enumerate(site.frames) if f.language == "c#"), len(site.frames))
    frames = [f for index, f in enumerate(site.frames) if index < managed or f.language in ("c#", "python")]
    frames = [f for f in frames if not f.of_c_library] or frames  # it may have lines, too
    shown = [f for f in frames if (f.file and f.line) or f.language == "c#"]
    sourced = list(dropwhile(lambda f: not f.file, shown))
    return [f for f in sourced if not _of_library(f)] or sourced or shown or frames


def _of_library(frame: Frame) -> bool:
    """Whether the frame is of a system's header or library, or of a package of Python."""
    packaged = frame.language == "python" and frame.module is not None
    return packaged or any(part in (frame.file or "") for part in _SYSTEM_FILES)


def line(console: Console, text: Text | str, indent: int = 4) -> None:
    """Print a line. On a terminal it is wrapped between words, and what does not fit is indented by so many columns."""
    text = Text(text) if isinstance(text, str) else text
    breaks = _breaks(text.plain, console.width, indent) if console.file.isatty() else []
    for number, row in enumerate(text.divide(breaks)):
        row.rstrip()
        console.print(Text(" " * indent).append_text(row) if number else row, soft_wrap=True, markup=False)


def show(console: Console, text: Text | str) -> None:
    """Print a line as it is: it is left to the terminal to break it."""
    console.print(text, soft_wrap=True, markup=False)


def _breaks(text: str, width: int, indent: int) -> list[int]:
    """Where the rows begin, but for the first. A word that is longer than a row is left to the terminal."""
    breaks = []
    column = 0
    for word in re.finditer(r"(\s*)(\S+)", text):
        column += cell_len(word[0])
        alone = indent + cell_len(word[2])
        if column > width >= alone:
            breaks.append(word.start(2))
            column = alone
        elif column > width:
            column %= width
    return breaks


def place_of(frames: list[Frame]) -> str:
    """``train.py:41 in load``; empty without a frame."""
    if not frames:
        return ""
    frame = frames[0]
    where = f"{_short(frame.file)}:{frame.line}" if frame.file else _short(frame.module or "")
    function = CLONE.sub("", frame.function)
    return printable(f"{where} in {function}" if where else function)


def _short(file: str) -> str:
    """The path from the working directory, if the file is below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):  # not below it, or the working directory was deleted
        return file


def _site(site: Site, argument: int | None, style: str, console: Console) -> None:
    frames = located(site)
    where = Text("  --> ", style=_PLACE)
    where.append(place_of(frames) or "no stack was recorded")
    rank = f"{ranks.told(site.rank)}, " if site.rank is not None and site.rank.size != 1 else ""
    where.append(printable(f"  [{rank}thread {site.thread}, call #{site.call}]"), style="dim")
    line(console, where, indent=6)
    if frames and frames[0].file and frames[0].line:
        _source(frames[0].file, frames[0].line, site.api, argument, style, console)
    for caller in frames[1 : 1 + _MOST_CALLERS]:
        if caller.file or caller.language == "c#":
            line(console, Text(f"   by {place_of([caller])}", style="dim"), indent=6)


def _source(file: str, number: int, api: str, argument: int | None, style: str, console: Console) -> None:
    found = excerpt(file, number, api, argument)
    if found is None:
        return
    gutter = len(str(found.first + len(found.lines) - 1))
    room = max(console.width - gutter - 3, 20)
    for row, text in enumerate(found.lines, found.first):
        mark = found.mark if found.mark and found.mark.line == row else None
        part = window(text, mark.start if mark else 0, mark.end if mark else 0, room)
        show(console, Text(f"{row:>{gutter}} | ", style=_PLACE).append(part.text, style="default"))
        if mark:
            under = " " * part.start + "^" * (part.end - part.start)
            show(console, Text(f"{'':>{gutter}} | ", style=_PLACE).append(under, style=style))


def _note(thing: ObjectReport, verb: str, site: Site, use: Site, again: bool) -> Text:
    text = Text("note", style=STYLES["note"])
    name = f": {thing.name} ({thing.handle})"
    if again:
        return text.append(f"{name} was {verb} by the same {site.api}", style="bold")
    text.append(f"{name} was {verb} here by {site.api}", style="bold")
    before = use.time_ns - site.time_ns
    if site.process == use.process and before >= 0:
        text.append(f", {duration(before)} before", style="not bold")
    return text


def duration(duration_ns: int) -> str:
    """A length of time in the unit that suits it: ``4.1 ms``."""
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        value = duration_ns / factor
        if float(f"{value:.3g}") >= 1:  # 999.6 µs is 1 ms
            return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"
    return f"{duration_ns} ns"


def explanation(finding: Finding, program: Program, known: Sequence[Evidence]) -> Iterable[tuple[str, str]]:
    """Labels and texts below a finding. ``known``: what of the evidence is shown."""
    for reason in finding.because:
        yield "because", reason
    if finding.memory:
        for place in memory.held(finding.memory):
            yield "held", place
    yield "result", result(finding, program)
    for message in finding.driver_log:
        yield "driver", message
    for message in finding.library_log:
        yield "cuDNN", message
    for consequence in finding.consequences[:_MOST_CONSEQUENCES]:
        yield "then", _consequence(consequence)
    if len(finding.consequences) > _MOST_CONSEQUENCES:
        yield "then", f"and {len(finding.consequences) - _MOST_CONSEQUENCES:,} more that follow from it"
    if finding.help:
        yield "help", finding.help
    for evidence in known:
        yield evidence.kind, f"{evidence.text} ({evidence.source})"
    if finding.during:
        yield "during", finding.during
    if len(finding.ranks) > 1:
        yield "ranks", ranks.told_all(finding.ranks).partition(" ")[2]
    if finding.repeats > 1:
        where = f", in {finding.processes:,} processes" if finding.processes > 1 else ""
        yield "repeats", f"{finding.repeats - 1:,} more like this one{where}"
    if finding.rule != INJECTED:
        yield "more", f"cuvet explain {finding.rule}"


def _consequence(finding: Finding) -> str:
    place = place_of(located(finding.site))
    return f"{sentence(finding)}{', at ' if place else ''}{place} ({finding.rule} {finding.name})"


def result(finding: Finding, program: Program) -> str:
    """What the call did, in words, and whether a real GPU did it."""
    by = " on the emulated device" if program.device == "emulated" else ""
    if finding.signal is not None:
        return f"the process died of {signal_name(finding.signal)} in {finding.api}{by}"
    if finding.host is not None:
        return f"{finding.api} went on; CUDA does not report the mistake"
    if finding.status is None:
        return f"{finding.api} had not returned when the recording ended{by}"
    name = status_name(api_of(finding.api), finding.status)
    if finding.refused_then == "ended":
        return "cuvet did not make the call and ended the process (--protect=abort)"
    if finding.refused_then == "trapped":
        return "cuvet did not make the call and raised SIGTRAP (--protect=trap)"
    if finding.refused:
        return f"cuvet did not make the call (--protect) and returned {name} ({finding.status}) in its place"
    more = "; CUDA did not report the mistake" if finding.status == 0 else ""
    if finding.kept == "asked":
        more = ", because cuvet keeps what has ended (--quarantine)" if finding.status == 0 else ""
    elif finding.kept == "refused":
        by, more = "", ": cuvet keeps what has ended (--quarantine), and did not ask the driver"
    return f"{finding.api} returned {name} ({finding.status}){by}{more}"


def labelled(label: str, text: str, console: Console, *, width: int = 0, style: str = "", indent: int = 3) -> None:
    """Print ``= label: text`` below a finding, wrapped at the console's width or a smaller one."""
    prefix = f"{' ' * indent}= {label}: "
    lines = wrapped(text, min(width or console.width, console.width) - len(prefix))
    for number, part in enumerate(lines):
        row = Text(prefix, style=style or _LABELS.get(label, "dim")) if number == 0 else Text(" " * len(prefix))
        show(console, row.append(part, style="default not bold"))


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of so many characters, or as many as its longest word has."""
    return textwrap.wrap(printable(text), max(width, 30), break_long_words=False, break_on_hyphens=False)
