"""Findings as annotations of GitHub Actions: workflow commands, one a line, which its runner reads from the output."""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from cuvet import CuvetError
from cuvet.configuration import repository
from cuvet.findings import Frame, Report
from cuvet.printable import printable
from cuvet.reports import Document, summary
from cuvet.reports.check import first_of_each, frame_of
from cuvet.reports.selection import select
from cuvet.reports.terminal import result, sentence, users_frame
from cuvet.source.tool.fingerprints import place, relative
from cuvet.source.tool.report import CheckReport

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a check or of a run. GitHub chooses the ``color``."""
    found = document.content
    if isinstance(found, CheckReport):
        out.writelines(f"{line}\n" for line in commands(found))
    elif isinstance(found, Report):
        out.writelines(f"{line}\n" for line in of_run(found, _root()))


def _root() -> Path:
    try:
        directory = Path.cwd()
    except FileNotFoundError:
        raise CuvetError("annotations name files from the current directory, which was deleted") from None
    return repository(directory) or directory


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


def of_run(report: Report, root: Path) -> Iterator[str]:
    """A command for each finding that is shown, at the innermost frame of the user's own code, and for what is to be said of the run."""
    shown = select(report.findings)
    for finding in shown:
        about = (*finding.because, result(finding, report.program), f"help: {finding.help}")
        text = "\n".join((sentence(finding), *about, f"more: cuvet explain {finding.rule}"))
        frame = users_frame(finding) or Frame(function="")
        yield _command(_COMMANDS[finding.severity], frame, root, f"{finding.rule} {finding.name}", text)
    if more := len(report.findings) - len(shown):
        yield _notice(f"{more:,} more findings; --format json lists them")
    for cause in report.machine:
        yield _command("error", Frame(function=""), root, f"cuvet machine {cause.cause}", cause.verdict)
    yield from map(_notice, summary.about_choice(report))


def _notice(text: str) -> str:
    return f"::notice title=cuvet::{_data(text)}"


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
