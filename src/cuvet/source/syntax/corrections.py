"""Text that a grammar cannot read, blanked or completed so that it can. No offset changes."""

import re
from dataclasses import dataclass

_QUALIFIER_MACRO = re.compile(rb"(?<=[*\s])\w*RESTRICT\w*(?=\s+(?:const\s+)?\w)")
"""Between a pointer's ``*`` and its name the grammar knows keywords only."""
_LONE_MACRO = re.compile(rb"(\)[ \t]*;\s*)([A-Z][A-Z0-9_]{2,})(?=[ \t]*(?:\r?\n|\}|/[/*]))")
"""A macro that is a statement without brackets or ``;``: with what follows it, it reads as a declaration."""
_OF_LAMBDA = re.compile(rb"(?<=\])\s*(?:(?:__(?:host|device|forceinline)__|[A-Z_]*(?:DEVICE|HOST)[A-Z_]*)\s*)+(?=[({])")
"""Where a lambda runs: ``[=] __device__(int i) { ... }``, or a macro for it."""
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
NEVER = re.compile(rb"\s*#\s*if\s+0\b")
_VISIBLE = re.compile(rb"[^\r\n]")
_SHORT_ARM = 400
"""Bytes."""


def corrected(text: bytes, grammar: str) -> bytes:
    """Without macros and casts that no reading of the grammar allows."""
    if grammar in ("cuda", "cpp"):
        if b"RESTRICT" in text:
            text = _QUALIFIER_MACRO.sub(_blank, text)
        if b"] __" in text or b"]__" in text or b"DEVICE" in text:
            text = _OF_LAMBDA.sub(_blank, text)
        return _LONE_MACRO.sub(lambda match: match[1] + b" " * len(match[2]), text)
    return _POINTER_CAST.sub(_blank, text) if b"*)" in text and grammar == "c#" else text


def with_whole_statements(text: bytes) -> bytes:
    """C++ with one arm of each #if that cuts statements, and with the ``;`` that macros bring along."""
    return _end_statements(_take_arms(text))


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
            changed[end] = ord(";")
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
            taken = arms[1] if len(arms) > 1 and NEVER.match(directives[0].group()) else arms[0]
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
