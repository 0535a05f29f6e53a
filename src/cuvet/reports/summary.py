"""The last lines of a program's report: all of it if nothing was found. Written without rich where nobody sees colours."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from cuvet.findings import SEVERITIES, Finding, Program, Report, Suppression
from cuvet.printable import printable
from cuvet.signals import signal_name
from cuvet.sizes import counted, plural

MANY_BYTES = 1 << 30
"""Recordings that take less are not worth a line."""
HIDDEN = {
    "ignored": "ignored by comments",
    "configured": "ignored by the configuration",
    "unselected": "of rules that are not selected",
    "suppressed": "suppressed",
    "baseline": "in the baseline",
    "unchanged": "not on lines that were changed",
}
"""Why findings are not shown."""
_MOST_UNUSED = 5
"""Suppressions without a finding that are told one by one."""
_COUNTED = ("context", "stream", "event", "thread", "process")
_STYLED_BY = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables for which rich takes a file for a terminal."""

Pieces = tuple[tuple[str, str], ...]
"""A line: texts, each with its style."""


def is_all(report: Report) -> bool:
    """Whether the summary is the whole report."""
    found = report.findings or report.unexplained or report.machine or report.first_failure or report.waiting
    return not found and report.memory is None


def is_plain(out: TextIO, color: str) -> bool:
    """Whether the file gets the mere text. ``color`` is auto, always or never."""
    if color == "always" or out.isatty():
        return False
    return color == "never" or not any(os.environ.get(name) for name in _STYLED_BY)


def write(lines: Iterable[Pieces], out: TextIO) -> None:
    """As ``terminal.render`` writes them to what is no terminal."""
    for pieces in lines:
        out.write(printable("".join(text for text, _ in pieces)).rstrip() + "\n")


def lines(
    report: Report, recording: str | None, kept: int, *, cut: bool = False, elsewhere: str = ""
) -> Iterator[Pieces]:
    """``cut``: not every finding is shown. ``elsewhere``: what is said of sources that were not read. The others as of
    ``terminal.render``."""
    yield totals(report)
    if report.program.signal is not None:
        yield ((f"program: died of {signal_name(report.program.signal)}", ""),)
    elif report.program.exit_code:
        yield ((f"program: exit code {report.program.exit_code}", ""),)
    for sentence in report.not_checked:
        yield ("not checked: ", "bold yellow"), (printable(sentence), "default not bold")
    for sentence in report.hints:
        yield ("hint: ", "bold green"), (printable(sentence), "default not bold")
    for sentence in about_choice(report):
        yield ("note: ", "bold cyan"), (printable(sentence), "default not bold")
    if report.stats.get("calls"):
        yield ((f"device: {device(report.program)}", ""),)
    if elsewhere:
        yield ((elsewhere, ""),)
    if recording is not None:
        yield ((f"look again: cuvet analyze {'-v ' if cut else ''}{_shell_word(recording)}", ""),)
        if kept >= MANY_BYTES:
            yield ((all_kept(Path(recording).parent, kept), ""),)


def all_kept(directory: Path, kept: int) -> str:
    """That the recordings there take so many bytes."""
    return f"recordings in {directory}: {kept / 1e9:,.1f} GB; delete those you no longer need"


def _shell_word(path: str) -> str:
    """The path for a shell; one that cannot be printed in the form ``$'...'``."""
    if path.isprintable():
        return shlex.quote(path)
    return (
        "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in os.fsencode(path)) + "'"
    )


def totals(report: Report) -> Pieces:
    """``1 error, 0 warnings in 5,120 calls (3 streams, 2 threads, 1 process)``."""
    parts = severities(report.findings)
    failed = sum(each.count for each in report.unexplained if each.library is None and not each.reason)
    parts += [counted(failed, "unexplained failure")] if failed else []
    calls = report.stats.get("calls", 0)
    seen = [counted(report.stats[plural(n)], n) for n in _COUNTED if report.stats.get(plural(n))]
    text = f"{', '.join(parts)} in {counted(calls, 'call')}" + (f" ({', '.join(seen)})" if seen else "")
    if calls == 0:
        text = "the program made no CUDA call that cuvet could see"
    text += hidden({name: report.stats.get(name, 0) for name in HIDDEN})
    return ((text, "bold" if parts[0].startswith("0 ") else "bold red"),)


def hidden(counts: Mapping[str, int]) -> str:
    """``; not shown: 2 ignored by comments, 1 in the baseline``, or nothing."""
    parts = [f"{count:,} {HIDDEN[name]}" for name, count in counts.items() if count]
    return f"; not shown: {', '.join(parts)}" if parts else ""


def about_choice(report: Report) -> Iterator[str]:
    """The suppressions that no finding had, a sentence each, and the configuration that chose the findings."""
    unused = report.unused_suppressions
    for each in unused[:_MOST_UNUSED]:
        named = ", ".join(f"{what} {name}" for what, name in _patterns(each) if name is not None)
        yield f"{each.source or 'suppression'}: no finding of {each.rule}{' in ' if named else ''}{named}"
    if len(unused) > _MOST_UNUSED:
        yield f"{len(unused) - _MOST_UNUSED:,} more suppressions without a finding; --format json lists them"
    if report.configuration:
        yield f"findings were chosen by {report.configuration} (--config off: by none)"


def _patterns(suppression: Suppression) -> tuple[tuple[str, str | None], ...]:
    return ("function", suppression.function), ("file", suppression.file), ("module", suppression.module)


def severities(findings: Iterable[Finding]) -> list[str]:
    """``2 errors``, ``0 warnings`` and, if there are any, ``1 note``."""
    count = Counter(finding.severity for finding in findings)
    return [counted(count[each], each) for each in SEVERITIES if count[each] or each != "note"]


def device(program: Program) -> str:
    """Which device answered the calls."""
    if program.device == "emulated":
        return "emulated; kernels were checked and ordered, but not run"
    if program.device == "unknown":
        return "not known, since the recording has no meta.json that says it"
    driver = f", driver for CUDA {program.driver}" if program.driver else ""
    return (", ".join(program.gpus) or "real GPU") + driver
