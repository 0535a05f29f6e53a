"""Edits that fix a finding, in C and C++: where a rule says how (``Rule.fix``), and where nothing else can come of it."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cuvet import CuvetError
from cuvet.findings import Finding
from cuvet.rules import rule_called
from cuvet.source import SUFFIXES
from cuvet.source.syntax.parsing import Node, arguments_of, text_of
from cuvet.source.textual.written import positions
from cuvet.source.tool.checks import Checks
from cuvet.source.tool.code import Code, statement
from cuvet.source.tool.fingerprints import place

_SIMPLE = re.compile(r"\w+((\.|->)\w+)*")
"""An argument that means the same each time it is evaluated."""
_ABOUT_LOSS = ("source-leak", "source-overwritten", "exit-leak", "source-status", "source-launch-unchecked")
"""Findings that stand at a call which is right in itself."""

_NOT_THERE = ("source-removed-entry-point", "source-unknown-entry-point")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The bytes [start, end) of a file are replaced by ``text``."""

    start: int
    end: int
    text: bytes = b""


def fix(findings: Iterable[Finding], every: Iterable[Finding]) -> int:
    """Edit the files of the findings that can be fixed; how many findings were. ``every`` are all that there are, whether or not they
    are wanted: what is called wrong is not only to be checked. CuvetError if a file cannot be written."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        rule = rule_called(finding.name)
        if rule is not None and rule.fix is not None:
            by_file.setdefault(place(finding).file or "", []).append(finding)
    others: dict[str, list[Finding]] = {file: [] for file in by_file}
    for finding in every:
        others.get(place(finding).file or "", []).append(finding)
    return sum(_fix_file(Path(file), found, others[file]) for file, found in by_file.items())


def _fix_file(path: Path, findings: Sequence[Finding], every: Sequence[Finding]) -> int:
    if not path.is_file():
        return 0  # a name that is no text does not lead back to its file
    text = path.read_bytes()
    edits, fixed = edits_in(path, text, findings, every)
    if fixed:
        _replace(path, apply(text, edits))
    return fixed


def edits_in(path: Path, text: bytes, findings: Sequence[Finding], every: Sequence[Finding]) -> tuple[list[Edit], int]:
    """Edits of a file that fix ``findings``, and how many of them these fix. ``every`` are all that the file has."""
    if SUFFIXES.get(path.suffix.lower()) != "c++":
        return [], 0
    code = Code(path, text)
    checks = Checks(code, _called_wrong(every, code))
    edits: list[Edit] = []
    fixed = 0
    for finding in findings:
        more = edits_for(finding, code, checks)
        if more and not _overlap([*edits, *more]):
            edits += more
            fixed += 1
    if not edits or (Code(path, apply(text, edits)).root.has_error and not code.root.has_error):
        return [], 0
    return edits, fixed


def edits_for(finding: Finding, code: Code, checks: Checks) -> list[Edit]:
    """How to fix a finding; nothing where that is not certain. ``checks`` are those of the file."""
    rule = rule_called(finding.name)
    if rule is not None and rule.fix == "remove-call":
        return list(_remove_second(finding, code))
    if rule is not None and rule.fix == "check-status":
        return list(_check_status(finding, code, checks))
    return []


def apply(text: bytes, edits: Sequence[Edit]) -> bytes:
    """The text after edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _overlap(edits: list[Edit]) -> bool:
    ordered = sorted(edits)
    return any(one.end > other.start or one == other for one, other in pairwise(ordered))


def _replace(path: Path, text: bytes) -> None:
    """The whole file at once, with its mode; what a link leads to, not the link."""
    real = Path(os.path.realpath(path))
    new = real.with_name(f".{real.name}.{os.getpid()}.cuvet")
    try:
        new.write_bytes(text)
        shutil.copymode(real, new)
        new.replace(real)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise CuvetError(f"cannot write {path}: {error.strerror}") from error


def _remove_second(finding: Finding, code: Code) -> Iterator[Edit]:
    """Remove the second of two destroys that are statements of one block, if what they destroy is not named in between."""
    first_site = finding.objects[0].destroyed if finding.objects else None
    if first_site is None or first_site.frames[0].file != place(finding).file:
        return
    first = code.call_at(first_site.frames[0], first_site.api)
    second = code.call_at(place(finding), finding.api)
    if first is None or second is None:
        return
    given = [
        text_of(call_arguments[0]) for call_arguments in (arguments_of(first), arguments_of(second)) if call_arguments
    ]
    one, other = statement(first), statement(second)
    if one is None or other is None or one.parent != other.parent or one.end_byte > other.start_byte:
        return
    if len(given) != 2 or given[0] != given[1] or not _SIMPLE.fullmatch(given[0]):
        return
    between = code.text[one.end_byte : other.start_byte].decode("utf-8", "replace")
    variable = re.split(r"\.|->", given[0])[0]
    if re.search(rf"\b{variable}\b|^\s*\w+\s*:[^:]|\b(goto|case|default)\b", between, re.M):
        return
    yield _whole_lines(other, code.text)


def _whole_lines(statement: Node, text: bytes) -> Edit:
    """Removes the statement, and its lines if nothing else is on them."""
    start, end = statement.start_byte, statement.end_byte
    line_start = text.rfind(b"\n", 0, start) + 1
    line_end = text.find(b"\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    alone = not text[line_start:start].strip() and not text[end:line_end].strip()
    return Edit(line_start, line_end) if alone else Edit(start, end)


def _check_status(finding: Finding, code: Code, checks: Checks) -> Iterator[Edit]:
    """Put the file's own check around the calls that the finding names, where it can stand there."""
    for frame in dict.fromkeys((place(finding), *(step.frame for step in finding.path))):
        call = code.call_at(frame) if frame.file == place(finding).file else None
        if call is None or call.parent is None or call.parent.type != "expression_statement" or not statement(call):
            continue
        check = checks.fitting(call)
        if check is not None:
            yield Edit(call.start_byte, call.start_byte, f"{check}(".encode())
            yield Edit(call.end_byte, call.end_byte, b")")


def _called_wrong(findings: Iterable[Finding], code: Code) -> set[int]:
    """Where the calls begin that are wrong as they are: they are to be corrected, and not only to be checked. A function that is not there
    is told of once, and wrong wherever it is called."""
    wrong: set[int] = set()
    for finding in findings:
        if finding.name in _NOT_THERE:
            wrong.update(positions(code.text, finding.api.encode()))
        elif not finding.name.startswith(_ABOUT_LOSS) and (call := code.call_at(place(finding))) is not None:
            wrong.add(call.start_byte)
    return wrong
