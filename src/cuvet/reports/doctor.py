"""What ``cuvet doctor`` found, for people and as JSON (``cuvet-doctor/1``, whose schema is ``doctor.schema.json``)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cuvet.doctor.diagnosis import Diagnosis, Subject
from cuvet.doctor.probe import Conclusion, Severity
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.terminal import STYLES, console, labelled, show
from cuvet.sizes import counted

SCHEMA_FILE = Path(__file__).with_name("doctor.schema.json")
_STYLES = {**STYLES, "healthy": "bold green", "unknown": "dim"}
_LONGEST_SEVERITY = max(map(len, _STYLES))


def document(diagnosis: Diagnosis, *, every_probe: bool, summary: Sequence[str] = ()) -> Document:
    """The diagnosis; for people with what every probe looked at, or as the lines of a summary (``doctor.summary``)."""
    if summary:
        return Document(diagnosis, lambda out, color: out.writelines(f"{printable(line)}\n" for line in summary))
    return Document(diagnosis, lambda out, color: render(diagnosis, console(out, color), every_probe=every_probe))


def render(diagnosis: Diagnosis, output: Console, *, every_probe: bool = False) -> None:
    """The verdict, then each problem with what was found and what fixes it, then, if asked for, every probe."""
    show(output, _verdict(diagnosis))
    for line in _subject(diagnosis.subject):
        show(output, Text(f"  {line}", style="dim"))
    for conclusion in diagnosis.of("error", "warning", "note"):
        show(output, "")
        _problem(conclusion, output)
    show(output, "")
    if every_probe:
        _every_probe(diagnosis, output)
    else:
        show(output, Text(_summary(diagnosis), style="dim"))


def _verdict(diagnosis: Diagnosis) -> Text:
    if diagnosis.healthy:
        subject = diagnosis.subject
        names = list(dict.fromkeys(subject.gpus))
        gpus = ", ".join(
            f"{subject.gpus.count(name)} x {name}" if subject.gpus.count(name) > 1 else name for name in names
        )
        facts = [
            f"driver {subject.driver}" if subject.driver else "",
            f"CUDA {subject.cuda}" if subject.cuda else "",
            gpus,
        ]
        return Text("healthy", style=_STYLES["healthy"]).append(": " + ", ".join(filter(None, facts)), style="default")
    numbers = ((sum(1 for _ in diagnosis.of(severity)), severity) for severity in ("error", "warning"))
    counts = [counted(number, severity) for number, severity in numbers if number]
    severity: Severity = "error" if any(diagnosis.of("error")) else "warning"
    first = next(diagnosis.of(severity)).verdict
    return Text(" and ".join(counts), style=_STYLES[severity]).append(f": {printable(first)}", style="default")


def _subject(subject: Subject) -> Iterator[str]:
    if subject.program:
        yield f"for {printable(subject.program)}"
    if subject.python:
        yield f"with the packages of {printable(subject.python)}"


def _problem(conclusion: Conclusion, output: Console) -> None:
    headline = Text(f"{conclusion.severity}[{conclusion.cause}]", style=_STYLES[conclusion.severity])
    show(output, headline.append(f": {printable(conclusion.verdict)}", style="default bold"))
    for line in conclusion.evidence:
        labelled("found", line, output)
    labelled("help", conclusion.fix, output)
    labelled("more", f"cuvet explain {conclusion.cause}", output)


def _every_probe(diagnosis: Diagnosis, output: Console) -> None:
    for examination in diagnosis.probes:
        show(output, Text(f"{examination.probe}: {examination.title}", style="bold"))
        for conclusion in examination.conclusions:
            severity = Text(f"  {conclusion.severity:<{_LONGEST_SEVERITY}} ", style=_STYLES[conclusion.severity])
            show(output, severity.append(printable(conclusion.verdict), style="default"))
            if conclusion.looked_at:
                labelled("looked at", "; ".join(conclusion.looked_at), output)
            for line in conclusion.evidence:
                labelled("found", line, output)


def _summary(diagnosis: Diagnosis) -> str:
    blind = [each.probe for each in diagnosis.probes if any(c.severity == "unknown" for c in each.conclusions)]
    could_not = f", {len(blind)} of which could not look" if blind else ""
    return f"{len(diagnosis.probes)} probes{could_not}: cuvet doctor -v shows what each examined"
