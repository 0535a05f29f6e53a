"""Text to syntax trees, with tree-sitter, and what is asked of the trees of all languages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cuvet import CuvetError
from cuvet.source import SUFFIXES
from cuvet.source.ownership import arguments_of_releases
from cuvet.source.syntax.corrections import corrected, with_closed_brackets, with_constants, with_whole_statements
from cuvet.source.syntax.lexing import cpp_code

if TYPE_CHECKING:
    from tree_sitter import Node as Node
    from tree_sitter import Parser
    from tree_sitter import Tree as Tree
else:  # it comes with the extra [check]: ``parser`` says so if it is missing
    Node = Parser = Tree = object

_GRAMMARS = {
    "cuda": "tree_sitter_cuda",
    "cpp": "tree_sitter_cpp",
    "python": "tree_sitter_python",
    "c#": "tree_sitter_c_sharp",
}
_CALLED = re.compile(rb"\b(?=([A-Za-z_]\w*))\1(?=\s{0,200}(?:<[^;<>()]{0,400}>)?\s{0,200}[({])")
"""The name in one piece: it is not tried in parts."""
_CUDA_WORD = re.compile(rb"cu(?<!\wcu)[a-z]{0,10}[A-Z]\w{0,100}(?:\s{0,80}\()?")
_DRIVER_TYPE = re.compile(rb"CU(?<!\wCU)[a-z]\w{0,100}")


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
    def code(self) -> bytes:
        """In C++, the text with spaces for comments and for what stands in quotes: patterns are searched in this. Elsewhere the text."""
        return cpp_code(self.text) if self.is_cpp else self.text

    @property
    def is_cpp(self) -> bool:
        """Whether it is C, C++ or CUDA C++."""
        return self.language in ("c++", "cuda")

    @cached_property
    def released_by_macros(self) -> frozenset[str]:
        """Names that a macro of the file gives to something that sounds like a release."""
        bodies = b"\n".join(_MACRO.findall(self.text)) if b"#define" in self.text else b""
        return frozenset(
            word.decode() for given in arguments_of_releases(bodies) for word in re.findall(rb"[A-Za-z_]\w*", given)
        )

    @cached_property
    def jumping_macros(self) -> dict[str, tuple[str, int]]:
        """Macros of the file that go to a label if something fails: by name, the label, and which parameter names it, or -1."""
        found: dict[str, tuple[str, int]] = {}
        for macro in _MACRO.findall(self.text) if b"goto" in self.text and b"#define" in self.text else ():
            head, jumps = _MACRO_HEAD.match(macro), _GOTO.findall(macro)
            if head is None or len(jumps) != 1 or _SUCCEEDED.search(macro):
                continue
            if _ASKS.search(macro, head.end(), macro.find(b"goto")):
                parameters = [each.strip() for each in head[2].split(b",")]
                at = parameters.index(jumps[0]) if jumps[0] in parameters else -1
                found[head[1].decode()] = jumps[0].decode(), at
        return found

    def is_set_by_macro(self, name: str) -> bool:
        """Whether a macro of the file assigns a variable of the name."""
        sets = re.compile(rb"\b%s\s*=(?!=)" % re.escape(name.encode()))
        return any(sets.search(macro) for macro in _MACRO.findall(self.text))

    @cached_property
    def returning_macros(self) -> frozenset[str]:
        """Macros of the file that return from the function if something fails."""
        found: set[str] = set()
        for macro in _MACRO.findall(self.text) if b"#define" in self.text else ():
            head, returns = _MACRO_HEAD.match(macro), _RETURN.search(macro)
            if head is not None and returns is not None and _ASKS.search(macro, head.end(), returns.start()):
                found.add(head[1].decode())
        return frozenset(found)

    @cached_property
    def called(self) -> list[tuple[str, int, int]]:
        """Name, start and end of whatever stands before an opening bracket: what is called, declared or initialised."""
        return [(match[1].decode(), match.start(), match.end()) for match in _CALLED.finditer(self.text)]

    @cached_property
    def cuda_words(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names that are spelt like those of CUDA: those that stand before an opening bracket, and the others. Without those of the
        driver's types, if the file calls nothing that is named like the driver's functions."""
        words = {word.decode() for word in _CUDA_WORD.findall(self.text)}
        called = frozenset(word[:-1].rstrip() for word in words if word[-1] == "(")
        if any(name[2].isupper() for name in called):
            words.update(word.decode() for word in _DRIVER_TYPE.findall(self.text))
        return called, frozenset(word for word in words if word[-1] != "(")

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

_MACRO_HEAD = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()]{0,400})\)")
_SUCCEEDED = re.compile(rb"==\s*\(?\s*(?:cudaSuccess|CUDA_SUCCESS)\b|\b(?:cudaSuccess|CUDA_SUCCESS)\s*==")
_GOTO, _RETURN, _ASKS = (re.compile(rb"\b%s\b" % word) for word in (rb"goto\s+(\w+)", rb"return", rb"if"))


def readable(path: Path, text: bytes) -> bytes:
    """The text of a file as all that looks at it reads it; no offset changes."""
    return with_constants(with_closed_brackets(text)) if SUFFIXES.get(path.suffix.lower(), "c++") == "c++" else text


def parsed(path: Path, text: bytes) -> tuple[Source, Tree]:
    """A ``readable`` file of the language that its name tells. Text that launches kernels is CUDA C++."""
    suffix = path.suffix.lower()
    language = SUFFIXES.get(suffix, "c++")
    if language != "c++":
        source = Source(path, text, language)
    else:
        source = Source(path, text, "cuda" if suffix in (".cu", ".cuh") or b"<<<" in text else "c++")
    return source, parse(source, "cpp" if source.language == "c++" else source.language)


def parse(source: Source, grammar: str) -> Tree:
    """The tree of the source. What the grammar cannot read is blanked or completed where that changes no offset."""
    text = corrected(source.text, grammar)
    tree = parser(grammar).parse(text)
    if tree.root_node.has_error and grammar in ("cuda", "cpp"):
        completed = with_whole_statements(text)
        if completed != text:
            tree = parser(grammar).parse(completed)
    return tree


def not_parsed(node: Node, besides: frozenset[str] = frozenset()) -> Iterator[tuple[Node, Node]]:
    """What could not be parsed or had to be supplied below the node, each with what it is in; not in nodes of ``besides``."""
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


def field_text(node: Node, field: str) -> str:
    """Text of the node's child in that field; empty if there is none."""
    child = node.child_by_field_name(field)
    return text_of(child) if child is not None else ""


def part(node: Node, field: str) -> Node:
    """The node's child in a field that the grammar demands."""
    child = node.child_by_field_name(field)
    assert child is not None
    return child


def enclosing(node: Node | None, *kinds: str) -> Node | None:
    """The node itself, or the innermost one around it, that is of one of the kinds."""
    while node is not None and node.type not in kinds:
        node = node.parent
    return node


def storage(declaration: Node) -> set[bytes]:
    """In C++, ``static``, ``extern`` and their like."""
    return {each.text or b"" for each in declaration.children if each.type == "storage_class_specifier"}


def without_comments(node: Node | None) -> list[Node]:
    """The children of a list in brackets, or of a block; none if there is no node."""
    return [child for child in node.named_children if child.type != "comment"] if node is not None else []


def is_within(node: Node, other: Node | None) -> bool:
    """Whether the node begins in the other one."""
    return other is not None and other.start_byte <= node.start_byte < other.end_byte


def arguments_of(call: Node) -> list[Node]:
    return without_comments(call.child_by_field_name("arguments"))


def call_named_by(name: Node | None) -> Node | None:
    """In C++, the call of the function that the node names: ``name(...)``, ``scope::name<T>(...)``; None if it is none."""
    around = name.parent if name is not None else None
    while around is not None and around.type in ("qualified_identifier", "template_function"):
        around = around.parent
    return around if around is not None and around.type == "call_expression" else None
