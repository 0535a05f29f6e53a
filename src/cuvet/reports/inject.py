"""What injected faults showed, for people and as JSON (``cuvet-inject/1``, whose schema is ``inject.schema.json``). The other formats get
it as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from rich.text import Text

from cuvet.findings import Finding, Report, Site
from cuvet.inject.outcome import VERDICTS, Fault, InjectReport, Place, Trial, Tried, Verdict
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.terminal import INJECTED, STYLES, console, line, located, place_of
from cuvet.sizes import counted

SCHEMA_FILE = Path(__file__).with_name("inject.schema.json")
MEANINGS: dict[Verdict, str] = {
    "crash": "the program died of a signal",
    "hang": "the program did not end any more",
    "double-destroy": "the way out of the error ends an object twice",
    "use-after-destroy": "the way out of the error uses what it has ended",
    "use-of-unmade": "the program goes on with what was not made",
    "leak": "the program goes on or returns, and leaves objects behind",
    "wrong-blame": "the first message names another call",
    "ignored": "the program goes on as if nothing had happened",
    "unstable": "runs with the fault give no sure answer",
    "handled": "the failure is reported, or the program recovers from it",
    "not-reached": "the call was not made any more",
    "not-tried": "its calls were only listed",
}
_WHICH = {(1, 0): "from the first call on", (1, 1): "the first call only"}
_MOST_TRIALS = 3
_MOST_ALIKE = 8
_MOST_CALLERS = 2


def document(found: InjectReport, *, listed: bool = False, verbose: bool = False) -> Document:
    """``listed``: only the places were looked for."""

    def show(out: TextIO, color: str) -> None:
        output = console(out, color)
        for text in _list(found) if listed else _lines(found, verbose=verbose):
            line(output, text)

    return Document(found, show)


def as_report(found: InjectReport) -> Report:
    """For formats that have findings: a finding for each place that does not deal with a failure."""
    findings = tuple(finding for each in found.sites if (finding := _finding(each)) is not None)
    notes = (*found.survey.unstable, *found.notes)
    return Report(
        tool=found.tool,
        program=found.program,
        findings=findings,
        not_checked=notes,
        stats={"calls": found.survey.calls},
    )


def _finding(tried: Tried) -> Finding | None:
    trial = tried.trials[0]
    place = trial.at or tried
    level = tried.severity
    if level is None:
        return None
    return Finding(
        rule=INJECTED,
        name=tried.verdict,
        severity=level,
        message=f"{place.api}: {MEANINGS[tried.verdict]} ({_fault(trial.fault)})",
        api=place.api,
        status=trial.fault.status,
        site=Site(api=place.api, call=0, process=0, thread=0, time_ns=0, frames=place.frames),
        because=trial.because,
        help=f"repeat it: {trial.command}",
        repeats=len([each for each in tried.trials if each.verdict == tried.verdict]),
    )


def text_of(tried: Tried) -> Iterator[str]:
    """A place as people read it, without colours: printable lines."""
    for text in _of_place(tried, (), verbose=False):
        yield text.plain if isinstance(text, Text) else text


def _list(found: InjectReport) -> Iterator[Text | str]:
    yield f"{counted(len(found.sites), 'place')} of {counted(found.survey.calls, 'call')} can fail:"
    width = max((len(each.api) for each in found.sites), default=0)
    for number, each in enumerate(found.sites, 1):
        yield f"{number:4}  {each.api:<{width}}  {where(each)}  ({counted(each.count, 'call')})"


def _lines(found: InjectReport, *, verbose: bool) -> Iterator[Text | str]:
    alike: dict[tuple[str, ...], list[Tried]] = {}
    for tried in found.sites:
        if tried.severity is not None or verbose:
            same = (
                (tried.verdict, *tried.trials[0].because) if tried.severity == "note" and not verbose else (tried.id,)
            )
            alike.setdefault(same, []).append(tried)
    for first, *others in alike.values():
        yield from _of_place(first, others, verbose=verbose)
    yield from (f"note: {sentence}" for sentence in _notes(found))
    yield summary(found)


def _of_place(tried: Tried, others: Sequence[Tried], *, verbose: bool) -> Iterator[Text | str]:
    """``others``: places of which the same is to be said."""
    place, level = tried.trials[0].at or tried, tried.severity
    head = Text(f"{level or 'ok'}[{tried.verdict}]", style=STYLES[level] if level else "green")
    head.append(f": {place.api}: {MEANINGS[tried.verdict]}", style="bold")
    yield head
    yield f"  --> {where(place)}"
    alike: dict[tuple[str, ...], list[Trial]] = {}
    for trial in tried.trials:
        if verbose or trial.verdict == tried.verdict:
            alike.setdefault((trial.verdict, *trial.because, *trial.output[:1]), []).append(trial)
    for trials in [*alike.values()][: None if verbose else _MOST_TRIALS]:
        yield from _of_trials(trials, tried)
    yield f"  repeat it: {printable(tried.trials[0].command)}"
    if tried.trials[0].recording:
        yield f"  look closer: cuvet analyze {printable(tried.trials[0].recording)}"
    yield from (f"  likewise: {each.api} at {where(each)}" for each in others[:_MOST_ALIKE])
    if len(others) > _MOST_ALIKE:
        yield f"  likewise: {len(others) - _MOST_ALIKE} more; -v shows all"
    yield ""


def _of_trials(trials: list[Trial], tried: Tried) -> Iterator[str]:
    """Those in which the program did the same."""
    trial = trials[0]
    other = f" ({trial.verdict})" if trial.verdict != tried.verdict else ""
    yield f"  when it fails with {' or '.join(dict.fromkeys(_fault(each.fault) for each in trials))}{other}:"
    yield from (f"    {printable(sentence)}" for sentence in trial.because)
    if trial.output and trial.output[0] not in trial.because:
        yield f"    it wrote: {printable(trial.output[0])}"


def _fault(fault: Fault) -> str:
    if fault.later:
        return f"{fault.code} from the work that the call enqueues"
    which = _WHICH.get((fault.first, fault.last), f"call {fault.first} only")
    return f"{fault.code}, {which}"


def where(place: Place) -> str:
    """The place in the program's own code."""
    frames = located(Site(api=place.api, call=0, process=0, thread=0, time_ns=0, frames=place.frames))
    callers = [place_of([frame]) for frame in frames[1 : 1 + _MOST_CALLERS]]
    called = f", called from {' from '.join(callers)}" if callers else ""
    return f"{place_of(frames)}{called}" if frames else "a place without lines"


def _notes(found: InjectReport) -> Iterator[str]:
    if found.survey.unstable:
        yield f"two runs without a fault differ ({'; '.join(found.survey.unstable)}): verdicts need more care"
    if found.survey.exit_code or found.survey.signal:
        yield "the program fails without a fault, too"
    yield from found.notes


def summary(found: InjectReport) -> Text:
    """How many places are handled, and what the others are."""
    counts = Counter(each.verdict for each in found.sites)
    tried = sum(count for verdict, count in counts.items() if verdict != "not-reached")
    others = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict] and verdict != "handled"
    )
    device = "the emulated device" if found.program.device == "emulated" else "the GPU"
    handled = counts["handled"]
    text = Text(
        f"cuvet: {handled} of {counted(tried, 'failure site')} {'is' if handled == 1 else 'are'} handled", style="bold"
    )
    text.append(f"{'; ' + others if others else ''}", style="not bold")
    text.append(f"; {counted(found.runs, 'run')} in {found.seconds:.0f} s on {device}", style="not bold")
    if found.untried:
        text.append(f"; {counted(found.untried, 'other place')} not tried", style="not bold")
    return text
