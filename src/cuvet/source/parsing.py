"""Text to syntax trees, with tree-sitter."""

from __future__ import annotations

import re
from bisect import bisect_right
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


_POINTER_CAST = re.compile(rb"(?<=\*)\([\w.]+[ \t]*\*+\)(?=\w)|\*\([\w.]+[ \t]*\*+\)(?=[(&])")
"""``*(float*)p`` in C#: the grammar reads no cast behind the star."""
_STATEMENT_MACRO = re.compile(rb"^[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*\(", re.M)
_BRACKETS = re.compile(rb"[()]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*")
_MOST_IN_BRACKETS = 4000
"""Bytes."""


def parse(source: Source, grammar: str) -> Tree:
    """The tree of the source. What the grammar cannot read is blanked or completed where that changes no offset."""
    text = source.text
    if b"RESTRICT" in text and grammar in ("cuda", "cpp"):
        text = _QUALIFIER_MACRO.sub(lambda match: b" " * len(match.group()), text)
    if b"*)" in text and grammar == "c#":
        text = _POINTER_CAST.sub(lambda match: b" " * len(match.group()), text)
    tree = parser(grammar).parse(text)
    if tree.root_node.has_error and grammar in ("cuda", "cpp"):
        mended = _end_statements(text)
        if mended != text:
            tree = parser(grammar).parse(mended)
    return tree


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


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
