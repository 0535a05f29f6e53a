"""Edits that mend a finding, in C and C++: where a rule says how (``Rule.fix``), and where nothing else can come of it."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError
from cuvet.findings import Finding, Frame
from cuvet.rules import rule_called
from cuvet.source import SUFFIXES
from cuvet.source.syntax.parsing import Source, parse, text_of
from cuvet.source.tool.fingerprints import place

if TYPE_CHECKING:
    from tree_sitter import Node

_API = re.compile(r"(cuda|cu)[A-Z]\w*")
_NO_STATUS = re.compile(r"cudaGetError(String|Name)|cudaCreateChannelDesc")
"""Functions of the runtime that return something else."""
_SIMPLE = re.compile(r"\w+((\.|->)\w+)*")
"""An argument that means the same each time it is evaluated."""
_LEAVES = re.compile(rb"\b(return|goto|break|continue|throw)\b")
_NOT_CHECKS = frozenset(("assert", "static_assert", "sizeof", "decltype"))
"""What looks like a check macro; with NDEBUG, ``assert`` does not even make the call."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The bytes [start, end) of a file are replaced by ``text``."""

    start: int
    end: int
    text: bytes = b""


def fix(findings: Iterable[Finding]) -> int:
    """Edit the files of the findings that can be mended; how many findings were. CuvetError if a file cannot be written."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        rule = rule_called(finding.name)
        if rule is not None and rule.fix is not None:
            by_file.setdefault(place(finding).file or "", []).append(finding)
    return sum(_fix_file(Path(file), found) for file, found in by_file.items())


def _fix_file(path: Path, findings: Sequence[Finding]) -> int:
    if SUFFIXES.get(path.suffix.lower()) != "c++" or not path.is_file():
        return 0  # a name that is no text does not lead back to its file
    text = path.read_bytes()
    code = Code(path, text)
    edits: list[Edit] = []
    fixed = 0
    for finding in findings:
        more = edits_for(finding, code)
        if more and not _overlap([*edits, *more]):
            edits += more
            fixed += 1
    changed = apply(text, edits)
    if not edits or (Code(path, changed).root.has_error and not code.root.has_error):
        return 0
    _replace(path, changed)
    return fixed


def edits_for(finding: Finding, code: Code) -> list[Edit]:
    """How to mend a finding; nothing where that is not certain."""
    rule = rule_called(finding.name)
    if rule is not None and rule.fix == "remove-call":
        return list(_remove_second(finding, code))
    if rule is not None and rule.fix == "check-status":
        return list(_check_status(finding, code))
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


class Code:
    """A file's syntax tree, and what is looked up in it."""

    def __init__(self, path: Path, text: bytes) -> None:
        cuda = path.suffix.lower() in (".cu", ".cuh") or b"<<<" in text
        self.text = text
        self.source = Source(path, text, "cuda" if cuda else "c++")
        self.root = parse(self.source, "cuda" if cuda else "cpp").root_node

    @cached_property
    def checks(self) -> list[_Check]:
        """What the file puts around calls to check their status."""
        return list(_checks(self))

    def call_at(self, frame: Frame, api: str | None = None) -> Node | None:
        """The call of a function of CUDA (``api``) that the frame points into."""
        offset = self._offset(frame)
        node = self.root.descendant_for_byte_range(offset, offset) if offset is not None else None
        while node is not None:
            name = called(node)
            if name is not None and (name == api if api else _API.fullmatch(name)):
                return node
            node = node.parent
        return None

    def _offset(self, frame: Frame) -> int | None:
        lines = self.source.lines
        if frame.line is None or frame.column is None or frame.line > len(lines):
            return None
        start = lines[frame.line - 1]
        line = self.text[start : self.source.line_end(start)].decode("utf-8", "replace")
        before = line[: frame.column - 1]
        return None if "\N{REPLACEMENT CHARACTER}" in before else start + len(before.encode())


def called(node: Node) -> str | None:
    """The plain name of the function that a call calls."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return text_of(function) if function is not None and function.type == "identifier" else None


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [child for child in listed.named_children if child.type != "comment"] if listed is not None else []


def _statement(call: Node) -> Node | None:
    """The statement in a block that consists of this call, or of a check around it, and of nothing else."""
    outer = call.parent
    if outer is not None and outer.type == "argument_list" and outer.parent is not None:
        outer = outer.parent
        call = outer if called(outer) and len(_arguments(outer)) == 1 else call
    statement = call.parent
    if statement is None or statement.type != "expression_statement" or statement.parent is None:
        return None
    return statement if statement.parent.type == "compound_statement" else None


def _remove_second(finding: Finding, code: Code) -> Iterator[Edit]:
    """Remove the second of two destroys that are statements of one block, if what they destroy is not named in between."""
    first_site = finding.objects[0].destroyed if finding.objects else None
    if first_site is None or first_site.frames[0].file != place(finding).file:
        return
    first = code.call_at(first_site.frames[0], first_site.api)
    second = code.call_at(place(finding), finding.api)
    if first is None or second is None:
        return
    given = [text_of(call_arguments[0]) for call_arguments in (_arguments(first), _arguments(second)) if call_arguments]
    one, other = _statement(first), _statement(second)
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


def _check_status(finding: Finding, code: Code) -> Iterator[Edit]:
    """Put the file's own check around the calls that the finding names, where it can stand there."""
    for frame in dict.fromkeys((place(finding), *(step.frame for step in finding.path))):
        call = code.call_at(frame) if frame.file == place(finding).file else None
        if call is None or call.parent is None or call.parent.type != "expression_statement" or not _statement(call):
            continue
        check = _fitting(call, code)
        if check is not None:
            yield Edit(call.start_byte, call.start_byte, f"{check}(".encode())
            yield Edit(call.end_byte, call.end_byte, b")")


def _calls(code: Code, start: int, end: int) -> Iterator[Node]:
    """The calls of functions of CUDA between two bytes."""
    for match in re.compile(rb"\b(?:cuda|cu)[A-Z]\w*\s*\(").finditer(code.text, start, end):
        name = code.root.descendant_for_byte_range(match.start(), match.start())
        if name is not None and name.parent is not None and called(name.parent) == text_of(name):
            yield name.parent


@dataclass(frozen=True, slots=True)
class _Check:
    """Something around a call that is a statement: ``CHECK(cudaFree(p));``. ``family`` is ``cuda`` or ``cu``."""

    name: str
    family: str
    function: Node


def _checks(code: Code) -> Iterator[_Check]:
    for call in _calls(code, 0, len(code.text)):
        outer = call.parent.parent if call.parent is not None and call.parent.type == "argument_list" else None
        function, api, name = _function(call), called(call), called(outer) if outer is not None else None
        if function is None or api is None or name is None or _statement(call) is None:
            continue
        if name not in _NOT_CHECKS and not _API.fullmatch(name) and not _NO_STATUS.fullmatch(api):
            yield _Check(name, _family(api), function)


def _family(api: str) -> str:
    """Functions of the runtime return other statuses than those of the driver."""
    return "cuda" if api.startswith("cuda") else "cu"


def _fitting(call: Node, code: Code) -> str | None:
    """The check that is used most for calls of this family, among those that can stand in the call's function.

    One that stands there already can, and a macro that is defined in the file and does not leave the function.
    """
    api, function = called(call), _function(call)
    if api is None or function is None or _NO_STATUS.fullmatch(api):
        return None
    of_family = [check for check in code.checks if check.family == _family(api)]
    beside = {check.name for check in of_family if check.function == function}
    stays = {check.name for check in of_family if _stays(check.name, code)} if not _is_destructor(function) else set()
    usable = Counter(check.name for check in of_family if check.name in beside | stays)
    return usable.most_common(1)[0][0] if usable else None


def _stays(name: str, code: Code) -> bool:
    """Whether the file defines a macro of this name that never leaves the function in which it stands."""
    defined = re.findall(
        rb"^[ \t]*#[ \t]*define[ \t]+" + re.escape(name.encode()) + rb"\(((?:[^\n\\]|\\\r?\n|\\.)*)", code.text, re.M
    )
    return bool(defined) and not any(_LEAVES.search(body) for body in defined)


def _function(node: Node) -> Node | None:
    """The innermost function or lambda around a node."""
    while node.parent is not None:
        node = node.parent
        if node.type in ("function_definition", "lambda_expression"):
            return node
    return None


def _is_destructor(function: Node) -> bool:
    declarator = function.child_by_field_name("declarator")
    return declarator is not None and "~" in text_of(declarator).split("(")[0]
