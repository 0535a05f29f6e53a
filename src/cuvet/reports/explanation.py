"""What ``cuvet explain`` found, for people. Its JSON form is ``cuvet-explanation/1``, whose schema is ``explanation.schema.json``."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cuvet.findings import Evidence
from cuvet.knowledge.device_faults import DeviceFault
from cuvet.knowledge.errors import integer
from cuvet.knowledge.explanation import CauseText, ErrorText, Explanation
from cuvet.knowledge.logs import Sighting
from cuvet.knowledge.mentions import place_of
from cuvet.printable import printable
from cuvet.reports.terminal import STYLES, labelled, show, wrapped
from cuvet.sizes import counted

SCHEMA_FILE = Path(__file__).with_name("explanation.schema.json")
_MOST_SIGHTINGS = 5
_MOST_FAULTS = 3
_MOST_LINE = 160
LIKELY = 70
"""Of the first causes with this score, five of six were right (docs/explain.md)."""
_LABELS = {"how to tell": "cyan", "check": "cyan", "fix": "bold green", "wrong belief": "magenta"}
_WIDTH = 100
"""Lines are no longer than this, in characters, where the terminal is wider."""


def render(found: Explanation, output: Console, *, everything: bool = False) -> None:
    """The verdict in a line, then within a screen: how to tell, the fix and why; of other causes how to tell and the fix; what the errors
    mean. ``everything``, and for a cause that was asked for by its id: all that is known.

    If a number was asked for that several errors have, the causes are those of the first, and the others are named."""
    if found.causes and not found.errors and not found.causes[0].score:
        _cause(found.causes[0], "", output, alone=True, several=False)
        return
    _verdict(found, output)
    _log(found, output)
    _faults(found.faults, output)
    if not found.known:
        _checks(found, output)
    elif everything:
        _all(found, output)
    else:
        _in_short(found, output)
    if _ambiguous(found):
        _others(found, output)
    if found.more_causes or (found.causes and not everything):
        causes = (
            f"{counted(found.more_causes, 'less likely cause')}, sources and all else"
            if found.more_causes
            else "all else"
        )
        show(output, f"{causes}: cuvet explain --all {printable(shlex.quote(found.asked))}")


def _verdict(found: Explanation, output: Console) -> None:
    """``line 4: CUDA_ERROR_NO_DEVICE; likely cause: There is a GPU, but the program sees none (device-none-visible)``."""
    if not found.known:
        unknown = (
            "a signal alone tells no cause: the lines before it are needed" if found.errors else "not known to cuvet"
        )
        parts = [f"{error.names[0]}: {_numbers(error)}" for error in found.errors[:1]]
        verdict = "; ".join([*parts, unknown, *(["what would tell:"] if found.checks else [])])
        show(output, Text(printable(verdict), style="bold"))
        return
    parts = []
    if found.begins:
        parts.append(f"line {found.begins.line:,}, before {found.sightings[0].error}")
    elif found.sightings:
        parts.append(f"line {found.sightings[0].line:,}: {found.sightings[0].error}")
    elif found.errors:
        parts.append(f"{', '.join(found.errors[0].names)}: {_numbers(found.errors[0])}")
    if found.causes:
        cause = found.causes[0]
        parts.append(f"{'likely' if cause.score >= LIKELY else 'possible'} cause: {cause.title} ({cause.id})")
    if parts:
        show(output, Text(printable("; ".join(parts)), style="bold"))


def _in_short(found: Explanation, output: Console) -> None:
    for number, cause in enumerate(found.causes):
        if number:
            show(output, Text("or: ", style="bold").append(printable(f"{cause.title} ({cause.id})"), style="default"))
        _labelled("how to tell", f"{cause.tell[0].command} → {cause.tell[0].shows}", output)
        _labelled("fix", cause.fix, output)
        if not number:
            _labelled("why", cause.why.replace("`", ""), output)
            if cause.like:
                _labelled("as in", cause.like, output)
    for error in found.errors[:1] if _ambiguous(found) else found.errors:
        if error.meaning:
            _paragraph(f"{error.names[0]}: {_sentence(error.meaning)}", output)
    _no_cause(found, output)


def _all(found: Explanation, output: Console) -> None:
    ambiguous = _ambiguous(found)
    for error in found.errors[:1] if ambiguous else found.errors:
        _error(error, output, alone=ambiguous or len(found.errors) == 1)
    if found.causes:
        show(output, Text("causes, the likeliest first", style="bold"))
        output.print()
    for number, cause in enumerate(found.causes, 1):
        several = len(found.errors) > 1 and not ambiguous
        _cause(cause, f"{number}. ", output, alone=len(found.causes) == 1, several=several)
    _no_cause(found, output)


def _no_cause(found: Explanation, output: Console) -> None:
    if not found.causes and any(set(error.numbers.values()) != {0} for error in found.errors):
        show(output, "no cause is known: cuvet run -- PROGRAM shows which call fails, and with what")


def _checks(found: Explanation, output: Console) -> None:
    """Commands, and for which cause each outcome speaks."""
    for check in found.checks:
        _labelled("check", check.command, output)
        for outcome in check.outcomes:
            _paragraph(f"   {outcome.shows} → {outcome.cause}", output)


def _others(found: Explanation, output: Console) -> None:
    """The other errors that have the number, a line each."""
    show(output, Text(f"{printable(found.asked)} is also", style="bold"))
    for error in found.errors[1:]:
        _paragraph(f"{error.names[0]} ({_numbers(error)}): {_sentence(error.meaning or '')}", output)
    show(output, f"   the causes of one: cuvet explain {found.errors[1].names[0]}")
    output.print()


def _sentence(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", text, maxsplit=1)[0]


def _ambiguous(found: Explanation) -> bool:
    """Whether a number was asked for that several errors have."""
    return len(found.errors) > 1 and integer(found.asked) is not None


def _log(found: Explanation, output: Console) -> None:
    sightings = found.sightings
    if found.begins:
        show(output, Text("first", style=STYLES["error"]).append(f": line {found.begins.line:,}", style="default bold"))
        show(output, Text(f"   | {printable(_quoted(found.begins.text, 0))}", style="dim"))
    for number, sighting in enumerate(sightings[:_MOST_SIGHTINGS]):
        label, style = ("then", STYLES["note"]) if number or found.begins else ("first", STYLES["error"])
        times = f", {sighting.times:,} times" if sighting.times > 1 else ""
        line = Text(label, style=style).append(
            f": line {sighting.line:,}: {sighting.error}{_from(sighting)}{times}", style="default bold"
        )
        show(output, line)
        quoted = _quoted(sighting.text, place_of(sighting.error, sighting.text))
        show(output, Text(f"   | {printable(quoted)}", style="dim"))
    if len(sightings) > _MOST_SIGHTINGS:
        show(output, f"then: {len(sightings) - _MOST_SIGHTINGS} other errors")
    if sightings:
        output.print()


def _quoted(line: str, place: int) -> str:
    """The line, or of a long one the words around the place."""
    if len(line) <= _MOST_LINE:
        return line
    start = _after_space(line, max(0, min(place - _MOST_LINE // 3, len(line) - _MOST_LINE)))
    end = start + _MOST_LINE
    if end < len(line):
        end = max(line.rfind(" ", start + _MOST_LINE // 2, end), 0) or end
    return f"{'… ' if start else ''}{line[start:end]}{' …' if end < len(line) else ''}"


def _after_space(line: str, start: int) -> int:
    """The beginning of the next word, if one begins soon."""
    space = line.find(" ", start, start + _MOST_LINE // 3)
    return space + 1 if start and space >= 0 else start


def _from(sighting: Sighting) -> str:
    """The function that returned it."""
    return f" from {sighting.calls[0]}" if sighting.calls else ""


def _faults(faults: Sequence[DeviceFault], output: Console) -> None:
    """The first of each address in a space."""
    first: dict[tuple[str, str | None], DeviceFault] = {}
    for fault in faults:
        first.setdefault((fault.space, fault.address), fault)
    for fault in list(first.values())[:_MOST_FAULTS]:
        show(output, Text("fault", style=STYLES["error"]).append(f": {_fault(fault)}", style="default"))
        if fault.nearest:
            show(output, f"   {printable(fault.nearest)}")
        for line in fault.whose:
            show(output, f"   | {printable(line)}")
        if fault.number is not None and not fault.whose:
            labelled("next", f"cuvet who {fault.address} RECORDING says whose memory that is", output, width=_WIDTH)
    if len(first) > _MOST_FAULTS:
        show(output, f"{len(first) - _MOST_FAULTS} other addresses")
    if faults:
        output.print()


def _fault(fault: DeviceFault) -> str:
    """``line 12: compute-sanitizer: write of 4 bytes at 0x7f00 is out of bounds, in kernel scale, thread (0,0,0), block (1,0,0)``."""
    at = f" at {fault.address}" if fault.address else ""
    sentence = f"line {fault.line:,}: {fault.source}: {fault.access or 'access'}{at}"
    if fault.source == "Xid 31":
        by = f" by {fault.engine}" if fault.engine else ""
        process = f", process {fault.process}" if fault.process is not None else ""
        return printable(f"{sentence}{by}: {fault.problem or 'MMU fault'}{process}")
    problem = f" is {fault.problem}" if fault.problem else ""
    space = "" if fault.space == "global" else f" ({fault.space} memory)"
    kernel = f", in {fault.kernel}" if fault.kernel else ""
    place = f", thread {fault.thread}, block {fault.block}" if fault.thread else ""
    return printable(f"{sentence}{problem}{space}{kernel[:_MOST_LINE]}{place}")


def _error(error: ErrorText, output: Console, alone: bool) -> None:
    """Of several errors, only what they mean."""
    show(output, Text(", ".join(error.names), style="bold").append(f": {_numbers(error)}", style="not bold"))
    if error.meaning:
        _paragraph(error.meaning, output)
    if alone:
        for belief in error.beliefs:
            _labelled("wrong belief", belief, output)
        _labelled("sources", _sources(error.evidence), output)
    output.print()


def _numbers(error: ErrorText) -> str:
    """``400 (33 in the runtime of CUDA 10.0 and older)``, ``1001 in cuDNN 9.28, 1 in 8.9``, ``7 in cuBLAS``."""
    newest, number = list(error.numbers.items())[-1]
    older = [(release, value) for release, value in error.numbers.items() if value != number]
    if error.title == "signal":
        return f"signal {number}"
    if error.title == "CUDA":
        return f"{number} ({older[0][1]} in the runtime of CUDA {older[0][0]} and older)" if older else str(number)
    if older:
        return ", ".join(
            [f"{number} in {error.title} {newest}", *(f"{value} in {release}" for release, value in older)]
        )
    return f"{number} in {error.title}"


def _cause(cause: CauseText, number: str, output: Console, *, alone: bool, several: bool) -> None:
    """``several``: of more than one error, so that it names the one that it is a cause of."""
    title = Text(f"{number}{printable(cause.title[:1].upper() + cause.title[1:])}", style="bold")
    show(output, title.append(f" ({cause.id})", style="not bold"))
    for step in cause.tell:
        _labelled("how to tell", f"{step.command} → {step.shows}", output)
    _labelled("fix", cause.fix, output)
    error = f"({cause.signs[0]}) " if several and cause.signs else ""
    _labelled("why", error + cause.why.replace("`", ""), output)
    if alone:
        for label, text in _known(cause.evidence, cause.beliefs):
            _labelled(label, text, output)
    else:
        _labelled("sources", _sources(cause.evidence), output)
    output.print()


def _known(evidence: Iterable[Evidence], beliefs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Label and text of what people wrongly hold for true, and of what is known."""
    yield from (("wrong belief", belief) for belief in beliefs)
    yield from ((one.kind, f"{one.text} ({one.source})") for one in evidence)


def _sources(evidence: Sequence[Evidence]) -> str:
    """How it is known, in short: ``measured on NVIDIA H200, driver 580.159; CUDA Driver API, cuEventRecord; 2 threads, https://…``."""
    of_kind: dict[str, list[str]] = {}
    for one in evidence:
        of_kind.setdefault(one.kind, []).append(one.source)
    parts = []
    for kind, sources in of_kind.items():
        if kind == "measured":
            parts.append("measured on " + ", ".join(sources[0].split(", ")[:2]))
        elif kind == "reported":
            threads = len(set(sources))
            parts.append(f"{threads} threads, {sources[0]}" if threads > 1 else sources[0])
        else:
            parts.append(sources[0])
    return "; ".join(parts)


def _paragraph(text: str, output: Console) -> None:
    for line in wrapped(" ".join(text.split()), min(output.width, _WIDTH) - 3):
        show(output, f"   {line}")


def _labelled(label: str, text: str, output: Console) -> None:
    style = _LABELS.get(label, "dim")
    labelled(label, " ".join(text.split()), output, width=_WIDTH, style=style)
