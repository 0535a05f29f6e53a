"""Findings as an editor shows them, and the edits that it offers for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from cuvet.findings import Frame, Severity
from cuvet.printable import printable
from cuvet.reports.check import frame_of, steps
from cuvet.reports.terminal import sentence
from cuvet.source import SUFFIXES
from cuvet.source.tool import fixes
from cuvet.source.tool.fingerprints import place
from cuvet.source.tool.ignores import MARK
from cuvet.source.tool.lines import line_of, lines_of
from cuvet.source.tool.report import CheckFinding, CheckReport

SOURCE = "cuvet"
_SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


class Diagnostics:
    """Positions are in the units that the editor chose: ``codec`` knows which. ``root`` is what the names of files are relative to."""

    def __init__(self, root: Path, codec: PositionCodec) -> None:
        self._root = root
        self._codec = codec

    def of(self, report: CheckReport) -> dict[Path, list[types.Diagnostic]]:
        """By file: what was found, and comments that ignore nothing."""
        found: dict[Path, list[types.Diagnostic]] = {}
        for finding in report.findings:
            found.setdefault(self._path(place(finding)), []).append(self._diagnostic(finding))
        for ignore in report.unused_ignores:
            frame = frame_of(ignore)
            unused = types.Diagnostic(
                range=self._range(frame),
                message=printable(ignore.why),
                severity=types.DiagnosticSeverity.Warning,
                source=SOURCE,
                tags=[types.DiagnosticTag.Unnecessary],
            )
            found.setdefault(self._path(frame), []).append(unused)
        return found

    def _diagnostic(self, finding: CheckFinding) -> types.Diagnostic:
        told = [sentence(finding), *finding.because, *([f"help: {finding.help}"] if finding.help else [])]
        return types.Diagnostic(
            range=self._range(place(finding)),
            message="\n".join(map(printable, told)),
            severity=_SEVERITIES[finding.severity],
            code=finding.rule,
            source=SOURCE,
            related_information=[
                types.DiagnosticRelatedInformation(
                    types.Location(uris.from_fs_path(str(self._path(step.frame))) or "", self._range(step.frame)),
                    printable(step.text),
                )
                for step in steps(finding)
            ],
            data=finding.fingerprint,
        )

    def actions(
        self, uri: str, path: Path, finding: CheckFinding, every: Sequence[CheckFinding]
    ) -> Iterator[types.CodeAction]:
        """What can be done about a finding of a file, of which ``every`` are all: fix it, if that is mechanical and safe; or ignore it."""
        text = "\n".join(lines_of(path)).encode()
        edits, _ = fixes.edits_in(path, text, [finding], every)
        if edits:
            yield self._action(
                uri, finding, f"Fix {finding.rule}", [self._edit(text, edit) for edit in edits], preferred=True
            )
        line = line_of(path, place(finding).line)
        if MARK.decode() not in line and not line.endswith("\\"):
            mark = "#" if SUFFIXES[path.suffix.lower()] == "python" else "//"
            at = types.Position((place(finding).line or 1) - 1, len(line))
            added = types.TextEdit(self._units(path, at, at), f"  {mark} cuvet: ignore[{finding.name}]")
            yield self._action(uri, finding, f"Ignore {finding.rule} in this line", [added])

    def _action(
        self, uri: str, finding: CheckFinding, title: str, edits: list[types.TextEdit], preferred: bool = False
    ) -> types.CodeAction:
        return types.CodeAction(
            title=f"{title} ({finding.name})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(finding)],
            is_preferred=preferred,
            edit=types.WorkspaceEdit(changes={uri: edits}),
        )

    def _edit(self, text: bytes, edit: fixes.Edit) -> types.TextEdit:
        start, end = (_position(text, offset) for offset in (edit.start, edit.end))
        units = self._codec.range_to_client_units(text.decode("utf-8", "replace").split("\n"), types.Range(start, end))
        return types.TextEdit(units, edit.text.decode())

    def _path(self, frame: Frame) -> Path:
        return self._root / (frame.file or "")

    def _range(self, frame: Frame) -> types.Range:
        """A frame without columns is its line."""
        path, line = self._path(frame), (frame.line or 1) - 1
        start = (frame.column or 1) - 1
        end = frame.end_column - 1 if frame.end_column is not None else len(line_of(path, frame.line))
        return self._units(path, types.Position(line, start), types.Position(line, max(start, end)))

    def _units(self, path: Path, start: types.Position, end: types.Position) -> types.Range:
        return self._codec.range_to_client_units(list(lines_of(path)), types.Range(start, end))


def _position(text: bytes, offset: int) -> types.Position:
    """In characters, of a byte."""
    before = text[:offset].decode("utf-8", "replace").split("\n")
    return types.Position(len(before) - 1, len(before[-1]))
