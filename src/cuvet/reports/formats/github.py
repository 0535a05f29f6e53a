"""Findings as annotations of GitHub Actions: workflow commands, one a line, which its runner reads from the output."""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from cuvet.findings import Frame
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.check import first_of_each, frame_of
from cuvet.reports.terminal import sentence
from cuvet.source.tool.fingerprints import place, relative
from cuvet.source.tool.report import CheckReport

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a check. GitHub chooses the ``color``."""
    if isinstance(document.content, CheckReport):
        out.writelines(f"{line}\n" for line in commands(document.content))


def commands(report: CheckReport) -> Iterator[str]:
    """A command for each finding that is shown, for each comment that ignores nothing and for each file that could not be read."""
    root = Path(report.root)
    shown, more = first_of_each(report.findings)
    for finding in shown:
        steps = [f"line {step.frame.line}: {step.text}" for step in finding.path]
        text = "\n".join((sentence(finding), *steps, f"help: {finding.help}", f"more: cuvet explain {finding.rule}"))
        yield _command(_COMMANDS[finding.severity], place(finding), root, f"{finding.rule} {finding.name}", text)
    yield from (f"::notice title=cuvet check::{_data(sentence)}" for sentence in more)
    for ignore in report.unused_ignores:
        yield _command("warning", frame_of(ignore), root, "cuvet: ignore", ignore.why)
    for unread in report.unread:
        yield _command("error", Frame(function="", file=unread.file), root, "cuvet check", unread.why)


def _command(name: str, frame: Frame, root: Path, title: str, text: str) -> str:
    properties = {
        "file": relative(frame.file, root) if frame.file else None,
        "line": frame.line,
        "col": frame.column,
        "endColumn": frame.end_column,
        "title": title,
    }
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"::{name} {listed}::{_data(text)}"


def _data(text: str) -> str:
    """As the runner's toolkit escapes it."""
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
