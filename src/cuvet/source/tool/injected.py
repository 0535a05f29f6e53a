"""What ``cuvet inject`` has shown of lines of the source, for ``cuvet check --injected``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.findings import Finding
from cuvet.inject.outcome import SCHEMA, InjectReport, Tried
from cuvet.regular import read_whole

_MOST_BYTES = 256 << 20
_ABOUT_STATUSES = frozenset({"source-status-dropped", "source-launch-unchecked", "error-unchecked"})
"""Rules about calls whose failure nobody would notice."""

Shown = Mapping[tuple[str, int], str]
"""By the real path of a file and a line: a sentence about what happens if the call there fails."""


def read(path: Path) -> Shown:
    """CuvetError if the file cannot be read or is no report of ``cuvet inject``."""
    try:
        report = msgspec.json.decode(read_whole(path, _MOST_BYTES), type=InjectReport)
    except OSError as error:
        raise CuvetError(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        report = None
    if report is None or report.schema != SCHEMA:
        raise CuvetError(f"{path} is not a report of cuvet inject: make one with --format json --output {path}")
    shown: dict[tuple[str, int], str] = {}
    for tried in report.sites:
        if tried.severity in ("error", "warning") and tried.verdict != "ignored":
            shown.update((place, _sentence(tried)) for place in _places(tried) if place not in shown)
    return shown


def _places(tried: Tried) -> list[tuple[str, int]]:
    """The innermost line of the program's own."""
    frames = (tried.trials[0].at or tried).frames if tried.trials else ()
    known = [(os.path.realpath(each.file), each.line) for each in frames if each.file and each.line]
    return known[:1]


def _sentence(tried: Tried) -> str:
    trial = tried.trials[0]
    why = f": {trial.because[0]}" if trial.because else ""
    return f"cuvet inject let {tried.api} fail with {trial.fault.code}: {tried.verdict}{why}"


def with_shown(finding: Finding, lines: Iterable[tuple[str, int]], shown: Shown) -> Finding:
    """The finding as an error, if it is about the status of a call on one of its ``lines`` of which it is shown what its failure does."""
    if finding.name not in _ABOUT_STATUSES:
        return finding
    said = [shown[place] for file, line in lines if (place := (os.path.realpath(file), line)) in shown]
    if not said:
        return finding
    return msgspec.structs.replace(finding, severity="error", because=(*finding.because, *dict.fromkeys(said)))
