"""Text to syntax trees, with tree-sitter."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cuvet import CuvetError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_GRAMMARS = {
    "cuda": "tree_sitter_cuda",
    "cpp": "tree_sitter_cpp",
    "python": "tree_sitter_python",
    "c#": "tree_sitter_c_sharp",
}
_CALLED = re.compile(rb"\b(?=([A-Za-z_]\w*))\1(?=\s*(?:<[^;<>()]*>)?\s*[({])")
"""The name in one piece: it is not tried in parts."""


@cache
def parser(grammar: str) -> Parser:
    """The parser of ``cuda``, ``cpp``, ``python`` or ``c#``. CuvetError if it is not installed."""
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(import_module(_GRAMMARS[grammar]).language()))
    except ImportError as error:
        raise CuvetError(f"cuvet check needs {error.name}: pip install 'cuvet[check]'") from error


class Source:
    """A file's text and what finds places in it. ``language`` is that of ``cuvet.findings.Frame``."""

    def __init__(self, path: Path, text: bytes, language: Literal["c++", "python", "cuda", "c#"]) -> None:
        self.path = path
        self.text = text
        self.language = language
        self._lines: list[int] = []

    @cached_property
    def released_by_macros(self) -> frozenset[str]:
        """Names that a macro of the file gives to something that sounds like a release."""
        bodies = b"\n".join(_MACRO.findall(self.text)) if b"#define" in self.text else b""
        return frozenset(
            word.decode() for match in _RELEASE.findall(bodies) for word in re.findall(rb"[A-Za-z_]\w*", match)
        )

    @cached_property
    def called(self) -> list[tuple[str, int, int]]:
        """Name, start and end of whatever stands before an opening bracket: what is called, declared or initialised."""
        return [(match[1].decode(), match.start(), match.end()) for match in _CALLED.finditer(self.text)]

    @property
    def lines(self) -> list[int]:
        """Offset of each line's first byte."""
        if not self._lines:
            offsets, at = [0], self.text.find(b"\n")
            while at >= 0:
                offsets.append(at + 1)
                at = self.text.find(b"\n", at + 1)
            self._lines = offsets
        return self._lines

    def line(self, offset: int) -> int:
        """Line, from 1, of a byte offset."""
        return bisect_right(self.lines, offset)

    def column(self, offset: int) -> int:
        """Column, from 1 and in characters, of a byte offset."""
        start = self.lines[self.line(offset) - 1]
        return len(self.text[start:offset].decode("utf-8", "replace")) + 1

    def line_end(self, offset: int) -> int:
        """Offset of the end of the line that holds the offset."""
        end = self.text.find(b"\n", offset)
        return len(self.text) if end < 0 else end

    def function_name(self, owner: str, name: str) -> str:
        """How the language writes a function of ``cuvet.source.program``, with its class."""
        if self.language == "python":
            return f"{owner}.{name}" if owner else name
        ending, dot = ("Dispose", ".") if self.language == "c#" else (f"~{owner}", "::")
        name = {"__init__": owner, "__del__": ending}.get(name, name)
        return f"{owner}{dot}{name}" if owner else name

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end].decode("utf-8", "replace")


_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(?:[^\\\n]|\\\r?\n|\\.)*", re.M)
_RELEASE = re.compile(rb"(?i)\b\w*(?:free|destroy|release|delete)\w*\s*\(([^;{}]*?)\)")
_QUALIFIER_MACRO = re.compile(rb"(?<=[*\s])\w*RESTRICT\w*(?=\s+(?:const\s+)?\w)")
"""Between a pointer's ``*`` and its name the grammar knows keywords only."""


_LONE_MACRO = re.compile(rb"(\)[ \t]*;\s*)([A-Z][A-Z0-9_]{2,})(?=[ \t]*(?:\r?\n|\}|//))")
"""A macro that is a statement without brackets or ``;``: with what follows it, it reads as a declaration."""
_POINTER_CAST = re.compile(rb"(?<=\*)\([\w.]+[ \t]*\*+\)(?=\w)|\*\([\w.]+[ \t]*\*+\)(?=[(&])")
"""``*(float*)p`` in C#: the grammar reads no cast behind the star."""
_STATEMENT_MACRO = re.compile(rb"^[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*\(", re.M)
_BRACKETS = re.compile(rb"[()]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*")
_MOST_IN_BRACKETS = 4000
"""Bytes."""


_PIECES = re.compile(
    rb"^[ \t]*#[ \t]*(\w+)(?:[^\\\n]|\\\r?\n|\\.)*|//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[{}]",
    re.M | re.S,
)
"""Directives, and braces outside of comments and texts."""
_NO_CODE = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\\\n]|\\\r?\n|\\.)*", re.M | re.S)
_NEVER = re.compile(rb"\s*#\s*if\s+0\b")
_VISIBLE = re.compile(rb"[^\r\n]")
_SHORT_ARM = 400
"""Bytes."""


def parse(source: Source, grammar: str) -> Tree:
    """The tree of the source. What the grammar cannot read is blanked or completed where that changes no offset."""
    text = source.text
    if b"RESTRICT" in text and grammar in ("cuda", "cpp"):
        text = _QUALIFIER_MACRO.sub(_blank, text)
    if grammar in ("cuda", "cpp"):
        text = _LONE_MACRO.sub(lambda match: match[1] + b" " * len(match[2]), text)
    if b"*)" in text and grammar == "c#":
        text = _POINTER_CAST.sub(_blank, text)
    tree = parser(grammar).parse(text)
    if tree.root_node.has_error and grammar in ("cuda", "cpp"):
        mended = _end_statements(_take_arms(text))
        if mended != text:
            tree = parser(grammar).parse(mended)
    return tree


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


def _end_statements(text: bytes) -> bytes:
    """Statements that are a macro's call, ``CHECK(call)``, end with ``;`` although the macro brings its own."""
    changed = bytearray(text)
    for match in _STATEMENT_MACRO.finditer(text):
        depth, end = 1, -1
        for bracket in _BRACKETS.finditer(text, match.end(), match.end() + _MOST_IN_BRACKETS):
            depth += {b"(": 1, b")": -1}.get(bracket.group(), 0)
            if depth == 0:
                end = bracket.end()
                break
        after = text[end : end + 200].lstrip() if end >= 0 else b""
        if after and text[end : end + 1].isspace() and (after[:1].isalpha() or after[:1] in b"_}/"):
            changed[end] = 59
    return bytes(changed)


@dataclass
class _Arm:
    """Of an #if: the offsets of its text, how many braces it leaves open, and the fewest that are open in it."""

    start: int
    end: int = 0
    depth: int = 0
    lowest: int = 0

    def count(self, depth: int, lowest: int) -> None:
        self.lowest = min(self.lowest, self.depth + lowest)
        self.depth += depth

    def is_part(self, text: bytes) -> bool:
        """Whether it holds a part of a statement or of a block, which the grammar does not take for an arm."""
        return self.depth != 0 or self.lowest < 0 or (self.end - self.start < _SHORT_ARM and self._is_cut(text))

    def _is_cut(self, text: bytes) -> bool:
        bare = _NO_CODE.sub(b"", text[self.start : self.end]).strip()
        return bool(bare) and bare[-1:] not in b';{}:,>"'


def _take_arms(text: bytes) -> bytes:
    """Of each #if whose arms are parts of statements or blocks, the first arm that is not ``#if 0``, as if there were no #if."""
    changed = bytearray(text)
    groups: list[tuple[list[re.Match[bytes]], list[_Arm]]] = []
    for match in _PIECES.finditer(text):
        directive = match[1]
        if directive in (b"if", b"ifdef", b"ifndef"):
            groups.append(([match], [_Arm(match.end())]))
        elif groups and directive in (b"elif", b"else", b"endif"):
            directives, arms = groups[-1]
            directives.append(match)
            arms[-1].end = match.start()
            if directive != b"endif":
                arms.append(_Arm(match.end()))
                continue
            groups.pop()
            taken = arms[1] if len(arms) > 1 and _NEVER.match(directives[0].group()) else arms[0]
            if any(arm.is_part(text) for arm in arms):
                for start, end in (*(each.span() for each in directives), *((each.start, each.end) for each in arms)):
                    if start != taken.start:
                        changed[start:end] = _VISIBLE.sub(b" ", changed[start:end])
            if groups:
                groups[-1][1][-1].count(taken.depth, taken.lowest)
        elif groups and match.group() in (b"{", b"}"):
            depth = 1 if match.group() == b"{" else -1
            groups[-1][1][-1].count(depth, min(depth, 0))
    return bytes(changed)


def not_parsed(node: Node, besides: frozenset[str] = frozenset()) -> Iterator[tuple[Node, Node]]:
    """What could not be parsed or had to be supplied below the node, each with what it is in; not what is in nodes of the types
    ``besides``."""
    cursor = node.walk()
    around = [node]
    down = node.has_error and cursor.goto_first_child()
    while len(around) > 0:
        each = cursor.node if down else None
        if each is not None and (each.is_error or each.is_missing):
            yield each, around[-1]
        elif each is not None and each.has_error and each.type not in besides and cursor.goto_first_child():
            around.append(each)
            continue
        down = cursor.goto_next_sibling()
        if not down:
            around.pop()
            cursor.goto_parent()


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
