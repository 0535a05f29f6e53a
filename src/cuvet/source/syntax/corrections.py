"""Text that a grammar cannot read, blanked or completed so that it can. No offset changes."""

import re
from dataclasses import dataclass

_QUALIFIER_MACRO = re.compile(rb"(?<=[*\s])\w*RESTRICT\w*(?=\s+(?:const\s+)?\w)")
"""Between a pointer's ``*`` and its name the grammar knows keywords only."""
_LONE_MACRO = re.compile(
    rb"((?:[;{}]|^[ \t]*#[^\n\\]*\n)(?:\s|//[^\n]*\n)*)(_{0,2}[A-Z][A-Z0-9_]{2,})(?=[ \t]*(?:\r?\n|\}|/[/*]))", re.M
)
"""A macro that is a statement, or a line, without brackets or ``;``: with what follows it, it reads as a declaration."""
_OF_CLASS = re.compile(
    rb"\b(?:class|struct)\s+(?:\[\[[^\]]{0,80}\]\]\s*)?"
    rb"((?:_{0,2}[A-Z][A-Z0-9_]{2,}(?:\s*\([^(){};]{0,80}\))?\s+|[a-z]\w{0,40}_(?:api|export)\s+)+)"
    rb"(?=[A-Za-z_][\w:]{0,200}(?:\s*<[^;{}()]{0,200}>)?(?:\s+final)?\s*(?:\{|:(?!:)))"
)
"""``class FOO_API Name ... {``, where a macro says who may use the class: it reads as a function."""
_OF_TYPE = re.compile(
    rb"^[ \t]*(?:(?:static|inline|virtual|constexpr|__\w{1,20}__|template\s*<[^;{}()]{0,200}>|extern\s+\"C\")\s+)*"
    rb"(_{0,2}[A-Z][A-Z0-9_]{2,})(?=\s+(?:(?:const|static|inline|virtual|extern|__\w{1,20}__)\s+)*[A-Za-z_][\w:]{0,80}(?:\s*<[^;{}()]{0,200}>)?[\s*&]+[A-Za-z_~][\w:]{0,200}\s*\()|"
    rb"^[ \t]*static\s+(_{0,2}[A-Z][A-Z0-9_]{2,})(?=\s+(?:const\s+)?[A-Za-z_][\w:]{0,80}[\s*&]+\w{1,200}\s*[=;])|"
    rb"^[ \t]*(_{0,2}[A-Z][A-Z0-9_]{2,})(?=\s+(?:class|struct|union|enum|using|template)\b)",
    re.M,
)
"""A macro before the type of what a function returns, or of a variable, or before the definition of a class."""
_BEHIND = re.compile(
    rb"(?<=\))\s*(?:(?:const|noexcept|override|final)\s+)*([A-Z_]*(?:OVERRIDE|FINAL|NOEXCEPT|NOTHROW|DEPRECATED|PURE)[A-Z_]*)"
    rb"(?=\s*(?:[;{]|=\s*0\s*;))|"
    rb"(?<=[\w)\]])\s+([A-Z_]*(?:GUARDED_BY|REQUIRES|REQUIRED|EXCLUDES|EXCLUDED|ACQUIRE|RELEASE)\s*\([^(){};]{0,120}\))(?=\s*[;={])"
)
"""A macro behind what a class declares: ``void f() FOO_OVERRIDE;``, and locks as Clang and Abseil name them."""
_QT = re.compile(
    rb"\b(?:public|protected|private)\s+((?:Q_)?(?:slots|SLOTS))(?=\s*:)|^[ \t]*((?:signals|Q_SIGNALS)\s*:)(?!:)", re.M
)
"""Qt's sections of a class."""
_LATE = re.compile(
    rb"\bnew\s+[\w:]{1,100}\s*(\*+)(?=\s*[,)\[])|\boffsetof\s*\([^()\[\]]{1,200}(\[[^()\[\]]{1,200}\])(?=\s*\))|"
    rb"(?<=[(,])\s*(typename)(?=\s+[\w:]{1,200}\{)"
)
"""``new T*`` in a list, an element in ``offsetof``, and ``typename`` of an object."""
_TITLE = re.compile(
    rb"^[ \t]*_{0,2}[A-Z][A-Z0-9_]{2,}\s*\((\s*\"(?:\\.|[^\"\\\n])*\"[^(){};\n]{0,200})\)(?=\s*\{)", re.M
)
"""``TEST_CASE("title", "[tags]") {``: with names or nothing in the brackets it reads as a function or a block."""
_OF_LAMBDA = re.compile(rb"(?<=\])\s*(?:(?:__(?:host|device|forceinline)__|[A-Z_]*(?:DEVICE|HOST)[A-Z_]*)\s*)+(?=[({])")
"""Where a lambda runs: ``[=] __device__(int i) { ... }``, or a macro for it."""
_POINTER_CAST = re.compile(rb"(?<=\*)\([\w.]+[ \t]*\*+\)(?=\w)|\*\([\w.]+[ \t]*\*+\)(?=[(&])")
"""``*(float*)p`` in C#: the grammar reads no cast behind the star."""
_STATEMENT_MACRO = re.compile(rb"^[ \t]*_{0,2}[A-Z][A-Z0-9_]{2,}[ \t]*\(", re.M)
_TYPES_GIVEN = re.compile(_STATEMENT_MACRO.pattern + rb"[^(){};\"]{1,400}\)(?=\s*;)", re.M)
_JUMP_GIVEN = re.compile(rb"(,\s*(?:return\b[^(){};,]{0,100}|break|continue|goto\s+\w{1,80})\s*)(?=\)\s*;)")
"""``CHECK(call, return false);``"""
_TYPE_GIVEN = re.compile(
    rb"(?<=[(,])\s*(?:(?:const|unsigned|signed|long|short|int|float|double|char|bool|void|size_t|u?int\d+_t)\b\s*)+\**\s*(?=[,)])|"
    rb"(?<=[(,])\s*\w{1,80}\s*\*+\s*(?=[,)])"
)
"""``MALLOC(p, int, n);``: a type among the arguments of a macro."""
_BRACKETS = re.compile(rb"[()]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*")
_MOST_IN_BRACKETS, _MOST_IN_BLOCK = 4000, 20_000
"""Bytes."""
_IN_ARGUMENTS = re.compile(
    rb"[(){};,]|(?<=\w)<(?![<=])|(?<![-=>])>(?![>=])|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/",
    re.S,
)
_PIECES = re.compile(
    rb"^[ \t]*#[ \t]*(\w+)(?:[^\\\n]|\\\r?\n|\\.)*|//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[{}]",
    re.M | re.S,
)
"""Directives, and braces outside of comments and texts."""
_NO_CODE = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\\\n]|\\\r?\n|\\.)*", re.M | re.S)
_BEFORE_BLOCK = re.compile(rb"\s*(?:\Z|(?:if|for|while|switch|do)\b)")
_END = re.compile(rb"[;{}]")
_ELSE = re.compile(rb"\s*else\b")
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
        for pattern in (_OF_CLASS, _OF_TYPE, _BEHIND, _QT, _LATE, _TITLE):
            text = pattern.sub(_blank_group, text)
        return _LONE_MACRO.sub(lambda match: match[1] + b" " * len(match[2]), text)
    return _POINTER_CAST.sub(_blank, text) if b"*)" in text and grammar == "c#" else text


def with_whole_statements(text: bytes) -> bytes:
    """C++ with one arm of each #if that cuts statements, with blocks for what macros are given to run, with names for the types that they
    are given, and with the ``;`` that they bring along."""
    whole = _open_blocks(_take_arms(text))
    return _end_statements(_TYPES_GIVEN.sub(_with_names, _JUMP_GIVEN.sub(_blank_group, whole)))


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


def _blank_group(match: re.Match[bytes]) -> bytes:
    """Without what its group holds."""
    group = match.lastindex or 0
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + _VISIBLE.sub(b" ", match[0][start:end]) + match[0][end:]


def _with_names(match: re.Match[bytes]) -> bytes:
    return _TYPE_GIVEN.sub(lambda given: re.sub(rb"\S", b"_", given[0]), match[0])


def _open_blocks(text: bytes) -> bytes:
    """``SWITCH(type, T, first; second);`` with ``{first; second}`` in place of the call: a macro that runs what it is given."""
    changed = bytearray(text)
    for match in _STATEMENT_MACRO.finditer(text):
        begin, end = _statements_given(text, match.end())
        if end:
            changed[match.start() : begin] = _VISIBLE.sub(b" ", text[match.start() : begin])
            changed[begin - 1], changed[end - 1] = ord("{"), ord("}")
    return bytes(changed)


def _statements_given(text: bytes, start: int) -> tuple[int, int]:
    """Where the statements among the arguments begin, of which the first begins at ``start``, and where the arguments end; zeros if there
    are none."""
    begin, depth, braces, angles, statements = start, 1, 0, 0, False
    for match in _IN_ARGUMENTS.finditer(text, start, start + _MOST_IN_BLOCK):
        piece = match.group()
        if piece == b"(":
            depth += 1
        elif piece == b")":
            depth -= 1
            if depth == 0:
                return (begin, match.end()) if statements and braces == 0 and begin > start else (0, 0)
        elif depth > 1:
            continue
        elif piece == b"{":
            statements |= braces == 0 and _BEFORE_BLOCK.match(text, begin, match.start()) is not None
            braces += 1
        elif piece == b"}":
            braces -= 1
        elif piece == b";":
            statements |= braces == 0
        elif piece == b"<":
            angles += 1
        elif piece == b">":
            angles = max(angles - 1, 0)
        elif piece == b"," and not statements and braces == 0 and angles == 0:
            begin = match.end()
    return 0, 0


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
    """Of an #if: the offsets of its text, how many braces it leaves open, and the fewest that are open in it. ``in_brackets``: of the first
    arm, whether the #if stands among the arguments of a call."""

    start: int
    end: int = 0
    in_brackets: bool = False
    depth: int = 0
    lowest: int = 0

    def count(self, depth: int, lowest: int) -> None:
        self.lowest = min(self.lowest, self.depth + lowest)
        self.depth += depth

    def is_part(self, text: bytes) -> bool:
        """Whether it holds a part of a statement or of a block, which the grammar does not take for an arm."""
        if self.in_brackets or self.depth != 0 or self.lowest < 0 or _ELSE.match(text, self.start):
            return True
        return self.end - self.start < _SHORT_ARM and self._is_cut(text)

    def _is_cut(self, text: bytes) -> bool:
        bare = _NO_CODE.sub(b"", text[self.start : self.end]).strip()
        return bool(bare) and bare[-1:] not in b';{}:,>"'


def _is_in_brackets(text: bytes, at: int) -> bool:
    """Whether a bracket is open at the offset, of the statement there."""
    around = text[max(at - _MOST_IN_BRACKETS, 0) : at]
    last = _NO_CODE.sub(b"", _END.split(around)[-1])
    return last.count(b"(") > last.count(b")")


def _take_arms(text: bytes) -> bytes:
    """Of each #if whose arms are parts of statements or blocks, the first arm that is not ``#if 0``, as if there were no #if."""
    changed = bytearray(text)
    groups: list[tuple[list[re.Match[bytes]], list[_Arm]]] = []
    for match in _PIECES.finditer(text):
        directive = match[1]
        if directive in (b"if", b"ifdef", b"ifndef"):
            groups.append(([match], [_Arm(match.end(), in_brackets=_is_in_brackets(text, match.start()))]))
        elif groups and directive in (b"elif", b"else", b"endif"):
            directives, arms = groups[-1]
            directives.append(match)
            arms[-1].end = match.start()
            if directive != b"endif":
                arms.append(_Arm(match.end()))
                continue
            groups.pop()
            compiled = arms[1:] if NEVER.match(directives[0].group()) else arms
            if any(arm.is_part(text) for arm in arms):
                for start, end in (*(each.span() for each in directives), *((each.start, each.end) for each in arms)):
                    if not compiled or start != compiled[0].start:
                        changed[start:end] = _VISIBLE.sub(b" ", changed[start:end])
            if groups and compiled:
                groups[-1][1][-1].count(compiled[0].depth, compiled[0].lowest)
        elif groups and match.group() in (b"{", b"}"):
            depth = 1 if match.group() == b"{" else -1
            groups[-1][1][-1].count(depth, min(depth, 0))
    return bytes(changed)
