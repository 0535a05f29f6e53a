"""A baseline of runs: a recording or a report whose findings are known, so that only others are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.findings import SCHEMA, Finding, Report
from cuvet.printable import valid
from cuvet.regular import read_whole
from cuvet.reports.identity import fingerprint
from cuvet.reports.ignored import without
from cuvet.reports.terminal import located

_MOST_BYTES = 64 << 20

Place = tuple[str, ...]
"""What tells a finding from others; of a race both sides."""


class Known:
    """The findings of a baseline. How many there are of one kind counts: of two calls in a function, one can be new."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        every = [each for finding in findings for each in _with_consequences(finding)]
        self._places = Counter(map(_place, every))
        self._lines = Counter((_place(each), _lines(each)) for each in every)

    def has(self, finding: Finding) -> bool:
        """Whether there is one like it."""
        return _place(finding) in self._places

    def new(self, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], int]:
        """Those that are not known, and how many are. One on the line of a known one is that; of the others in its function as many as are
        left."""
        places, lines = self._places.copy(), self._lines.copy()
        known: set[int] = set()
        for exactly in (True, False):
            for index, finding in enumerate(findings):
                place = _place(finding)
                key = (place, _lines(finding))
                if index not in known and places[place] > 0 and (lines[key] > 0 or not exactly):
                    known.add(index)
                    places[place] -= 1
                    lines[key] -= exactly
        decided = {id(finding): index in known for index, finding in enumerate(findings)}
        return without(lambda each: decided[id(each)] if id(each) in decided else self.has(each), findings)


def _with_consequences(finding: Finding) -> Iterator[Finding]:
    yield finding
    for each in finding.consequences:
        yield from _with_consequences(each)


def _place(finding: Finding) -> Place:
    earlier = (fingerprint(finding.name, each.site.api, each.site, None) for each in finding.earlier[:1])
    return (fingerprint(finding.name, finding.api, finding.site, None), *earlier)


def _lines(finding: Finding) -> tuple[int | None, ...]:
    return tuple(frame.line for frame in located(finding.site))


def read(path: Path, *, leaks: bool) -> Known:
    """The findings of a directory of recordings, or of a report of ``--format json``. CuvetError if it is neither."""
    if path.is_dir():
        from cuvet.analysis import analyze  # start: only for a recording

        return Known(analyze([path], leaks=leaks).findings)
    return Known(_report(path).findings)


def _report(path: Path) -> Report:
    what = f"{valid(path)} is not a baseline"
    try:
        report = msgspec.json.decode(read_whole(path, _MOST_BYTES), type=Report)
    except OSError as error:
        raise CuvetError(f"cannot read the baseline {valid(path)}: {error.strerror}") from None
    except RecursionError:
        raise CuvetError(f"{what}: it is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CuvetError(f"{what}: it is no recording, and no report of --format json: {error}") from None
    if report.schema != SCHEMA:
        raise CuvetError(f"{what} that this cuvet reads: its schema is {report.schema}, not {SCHEMA}")
    return report
