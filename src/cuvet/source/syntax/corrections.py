"""Text that a grammar cannot read, blanked or completed so that it can. No offset changes."""

import re
from dataclasses import dataclass
from itertools import islice

from cuvet.source.ownership import does_more
from cuvet.source.syntax.lexing import block_end, cpp_code

_QUALIFIER_MACRO = re.compile(rb"(?<=[*\s])\w*RESTRICT\w*(?=\s+(?:const\s+)?\w)")
"""Between a pointer's ``*`` and its name the grammar knows keywords only."""
_MACRO = rb"(?<!\w)(_{0,2}[A-Z][A-Z0-9_]{2,80})(?!\w)"
_LONE_MACRO = re.compile(
    rb"(?:\)[ \t]*;\s{0,200}|\}[ \t]{1,4}|\b(?:class|struct)\b[^;{}()]{0,300}\{\s{0,200}|^)"
    + _MACRO
    + rb"(?=[ \t]*(?:\r?\n|\}|/[/*]))(?!\s{0,80}\{)",
    re.M,
)
"""A macro that is a statement behind a call, a block, a declaration of a class, or a line, without brackets or ``;``: with what follows it,
it reads as a declaration."""
_BEFORE_LINE = re.compile(rb"(?:\A|[;{}]|(?:\A|\n)[ \t]*#[^\n]*)(?:\s|//[^\n]*(?:\n|\Z))*\Z")
_OF_CLASS = re.compile(
    rb"\b(?:class|struct)\s{1,80}(?:\[\[[^\]]{0,80}\]\]\s{0,80})?"
    rb"((?:_{0,2}[A-Z][A-Z0-9_]{2,80}(?:\s{0,80}\([^(){};]{0,80}\))?\s{1,80}|[a-z]\w{0,40}_(?:api|export)\s{1,80}){1,4})"
    rb"(?=(?!final\b)[A-Za-z_][\w:]{0,200}(?:\s{0,80}<[^;{}()]{0,200}>)?(?:\s{1,80}final)?\s{0,80}(?:\{|:(?!:)))"
)
"""``class FOO_API Name ... {``, where a macro says who may use the class: it reads as a function."""
_OF_TYPE = re.compile(
    rb"(?:^[ \t]{0,80}|(?:\b(?:static|inline|virtual|constexpr)|__|\"C\"|>)\s{1,80})"
    + _MACRO
    + rb"(?=\s{1,80}(?:(?:class|struct|union|enum|using|template)\b|"
    rb"(?:(?:const|static|inline|virtual|extern|__\w{1,20}__)\s{1,80}){0,4}[A-Za-z_][\w:]{0,80}(?:\s{0,80}<[^;{}()]{0,200}>)?[\s*&]{1,80}"
    rb"(?:[A-Za-z_~][\w:]{0,200}\s{0,80}\(|(?<=[\s*&])\w{1,200}\s{0,80}=(?!=))))",
    re.M,
)
"""A macro before the type of what a function returns, or of a variable, or before the definition of a class."""
_BEHIND = re.compile(
    rb"(?<=\))[ \t\n]{0,80}(?:(?:const|noexcept|override|final)\s{1,80}){0,4}"
    rb"([A-Z_]{0,40}(?:OVERRIDE|FINAL|NOEXCEPT|NOTHROW|DEPRECATED|PURE)[A-Z_]{0,40})(?=\s{0,80}(?:[;{]|=\s{0,80}0\s{0,80};))|"
    rb"(?<=[\w)\]])\s{1,80}([A-Z_]{0,40}(?:GUARDED_BY|REQUIRES|REQUIRED|EXCLUDES|EXCLUDED)\s{0,80}\([^(){};]{0,120}\))(?=\s{0,80}[;={])"
)
"""A macro behind what a class declares: ``void f() FOO_OVERRIDE;``, and locks as Clang and Abseil name them."""
_QT = re.compile(
    rb"\b(?:public|protected|private)\s+((?:Q_)?(?:slots|SLOTS))(?=\s*:)|^[ \t]*((?:signals|Q_SIGNALS)\s*:)(?!:)", re.M
)
"""Qt's sections of a class."""
_OPENED, _CLOSED = re.compile(rb"<<[ \t]{1,4}<"), re.compile(rb">>[ \t]{1,4}>")
_LAUNCH = re.compile(rb"(?<!<)<<([ \t]{0,4})<(?!<)((?:[^;{}<]|<(?!<)){0,400}?)>>([ \t]{0,4})>(?=\s{0,8}\()")
"""``kernel << <grid, block>> >(...)``, as formatters for C++ write a launch."""
_ON_EXIT = re.compile(rb"\b(?:ON_)?SCOPE_(?:EXIT|FAIL|SUCCESS)(?=[ \t]{0,4}\{)")
"""``SCOPE_EXIT { ... };``, which folly makes a lambda of that runs when the block is left."""
_IF_FAILED = re.compile(rb"IF_(?<!\wIF_)(?!NOT?_)[A-Z0-9_]{0,40}(?:FAIL|ERR)[A-Z0-9_]{0,40}(?=[ \t]*\()")
"""``IF_FAILED(call) return false;``: a call of CUDA is true if it failed."""
_JUMPS = re.compile(rb"\b([A-Z]{1,20}_)(TRY|CATCH|FINALLY|END_TRY)\([^()\n]{0,40}\)[ \t]{0,8};")
"""``PG_TRY(); ... PG_CATCH(); ... PG_END_TRY();``, which PostgreSQL's elog.h makes of ``sigsetjmp``."""
_JUMPS_AS = {b"TRY": b"try {", b"CATCH": b"}catch(E){", b"END_TRY": b"}"}
_OF_FUNCTION = re.compile(
    rb"(?<=\))\s{0,80}(?:(?:const|noexcept|override|final)\s{1,80}){0,4}(try)\s{0,80}(?::(?!:)[^{};]{1,2000})?\{"
)
"""``~Plan() try { ... } catch (...) { ... }``: a function whose body is a try."""
_FUNCTION_NAME = re.compile(
    rb"(?:~|::)\s{0,80}~?\w+|(?!(?:if|for|while|switch|catch|constexpr|defined)\Z)(?=\w*[a-z])\w+"
)
"""Not of a macro, which may be a statement of its own."""
_NAME_AT_END = re.compile(rb"((?:~|::\s{0,80}~?)?\w+)\s{0,80}\Z")
_HANDLER = re.compile(rb"\}(\s{0,80}catch\s{0,80}\([^(){};]{0,200}\)\s{0,80}\{)")
_NEW_POINTER = re.compile(rb"new(?<!\wnew)\s+[\w:]{1,100}\s*(\*+)(?=\s*[,)\[])")
"""``new T*`` in a list."""
_OFFSET_OF_ELEMENT = re.compile(rb"offsetof(?<!\woffsetof)\s*\([^()\[\]]{1,200}(\[[^()\[\]]{1,200}\])(?=\s*\))")
_TYPENAME = re.compile(rb"(?<=[(,])\s*(typename)(?=\s+[\w:]{1,200}\{)")
"""Before an object, ``f(typename T{})``."""
_TITLE = re.compile(
    rb"^[ \t]*_{0,2}[A-Z][A-Z0-9_]{2,}\s*\((\s*\"(?:\\.|[^\"\\\n])*\"[^(){};\n]{0,200})\)(?=\s*\{)", re.M
)
"""``TEST_CASE("title", "[tags]") {``: with names or nothing in the brackets it reads as a function or a block."""
_IN_TEXT = re.compile(rb"\"[ \t]{1,4}" + _MACRO + rb"(?=[ \t]{0,4}[,);])")
"""``"text" FOO``: the grammar takes a macro among texts, and not behind the last."""
_BLANKED = (
    (_IN_TEXT, (b'" ',)),
    (_OF_CLASS, (b"class", b"struct")),
    (_OF_TYPE, (b"",)),
    (
        _BEHIND,
        tuple(b"OVERRIDE FINAL NOEXCEPT NOTHROW DEPRECATED PURE GUARDED_BY REQUIRE EXCLUDE".split()),
    ),
    (_QT, (b"slots", b"SLOTS", b"signals", b"Q_SIGNALS")),
    (_NEW_POINTER, (b"new",)),
    (_OFFSET_OF_ELEMENT, (b"offsetof",)),
    (_TYPENAME, (b"typename",)),
    (_TITLE, (b'"',)),
)
"""Of these what the group has is left out. Each is searched for only in a file with one of the words."""
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
_BRACKETS = re.compile(rb"[()]|\\.|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*")
_MOST_IN_BRACKETS, _MOST_IN_BLOCK, _FAR_BACK = 4000, 20_000, 200
"""Bytes."""
_MOST_HANDLED = 200
"""Functions of a file."""
_MOST_READ = 4_000_000
"""Bytes that are read twice to find where the brackets of a file's macros close; then no more of it is corrected."""
_RUNS = re.compile(rb"SWITCH|DISPATCH|FOR_?EACH|VISIT")
"""A macro that runs what it is given, each time and at once."""
_ASKS = re.compile(rb"\s*_{0,2}(?:IF|ON|WHEN|UNLESS|FOR|WHILE|ELSE)_")
_IN_ARGUMENTS = re.compile(
    rb"[(){};,]|\\.|(?<=\w)<(?![<=])|(?<![-=>])>(?![>=])|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/",
    re.S,
)
_PIECES = re.compile(
    rb"^[ \t]*#[ \t]*(\w+)(?:[^\\\n]|\\\r?\n|\\.)*|//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n]){0,4000}\"|'(?:\\.|[^'\\\n]){0,80}'|\\.|[{}]",
    re.M | re.S,
)
"""Directives, and braces outside of comments and texts."""
_NO_CODE = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\\\n]|\\\r?\n|\\.)*", re.M | re.S)
_SEMICOLON = re.compile(rb"[ \t]{0,200};")
_BEFORE_BLOCK = re.compile(rb"\s*(?:\Z|(?:if|for|while|switch|do)\b)")
_ELSE = re.compile(rb"\s*else\b")
NEVER = re.compile(rb"\s*#\s*if\s+0\b")
_DEFINES_OR_ASKS = re.compile(rb"#[ \t]*(?:define[ \t]+(\w+)(?=\s|\Z)|if(?:n?def)?[ \t]+(\w+))")
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w+)([^\n]*)", re.M)
_NAMES = re.compile(rb"[A-Za-z_]\w*")
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
        if b"SCOPE_" in text:
            text = _ON_EXIT.sub(_as_lambda, text)
        text = _IF_FAILED.sub(_as_if, text)
        if b"_END_TRY(" in text:
            text = _with_handlers(text)
        if b"try" in text:
            text = _without_handlers_of_functions(text)
        for pattern, words in _BLANKED:
            if any(word in text for word in words):
                text = pattern.sub(_blank_group, text)
        return _LONE_MACRO.sub(_without_lone_macro, text)
    return _POINTER_CAST.sub(_blank, text) if b"*)" in text and grammar == "c#" else text


def _as_lambda(match: re.Match[bytes]) -> bytes:
    return b"[&]".rjust(len(match[0]))


def _with_handlers(text: bytes) -> bytes:
    """With ``try`` and ``catch`` for macros that are named so. Those with a FINALLY stay: what is behind it runs in any case."""
    changed, open_ = bytearray(text), list[list[re.Match[bytes]]]()
    for match in _JUMPS.finditer(text):
        if match[2] == b"TRY":
            open_.append([match])
        elif open_ and open_[-1][0][1] == match[1]:
            open_[-1].append(match)
            group = open_.pop() if match[2] == b"END_TRY" else []
            if [each[2] for each in group] == [b"TRY", b"CATCH", b"END_TRY"]:
                for each in group:
                    changed[each.start() : each.end()] = _JUMPS_AS[each[2]].ljust(len(each[0]))
    return bytes(changed)


def _without_handlers_of_functions(text: bytes) -> bytes:
    """With the body of such a function alone."""
    if _OF_FUNCTION.search(text) is None:
        return text
    whole, code = bytearray(text), cpp_code(text)
    for match in islice(_OF_FUNCTION.finditer(code), _MOST_HANDLED):
        if not _FUNCTION_NAME.fullmatch(_called_before(code, match.start())):
            continue
        end = block_end(code, match.end())
        _blank_out(whole, *match.span(1))
        while handler := _HANDLER.match(code, end):
            end = block_end(code, handler.end())
            _blank_out(whole, handler.start(1), min(end + 1, len(code)))
    return bytes(whole)


def _called_before(code: bytes, end: int) -> bytes:
    """The name before the brackets that close at ``end``; empty if they do not open near by."""
    depth = 0
    for at in range(end - 1, max(end - _MOST_IN_BRACKETS, -1), -1):
        depth += {41: 1, 40: -1}.get(code[at], 0)
        if depth == 0:
            found = _NAME_AT_END.search(code, max(at - 200, 0), at)
            return found[1] if found is not None else b""
    return b""


def with_constants(text: bytes) -> bytes:
    """Of ``#ifdef NAME`` and of ``#if NAME`` with the arm alone that is compiled, where the file itself defines the name before, in all
    builds, for the latter as 0 or 1, and the preprocessor asks nothing else of it."""
    if not _asks_what_it_defines(text):
        return text
    code = cpp_code(text)
    values = _values(code)
    return _with_compiled_arms(text, code, values) if values else text


def _asks_what_it_defines(text: bytes) -> bool:
    """Whether it may ask for a name below a line that defines it, which the guard of a header does not."""
    defined = set[bytes]()
    for defines, asks in _DEFINES_OR_ASKS.findall(text):
        if asks in defined:
            return True
        if defines:
            defined.add(defines)
    return False


def _values(code: bytes) -> dict[bytes, bytes]:
    """What such names are defined as."""
    depth, values, spoilt = 0, dict[bytes, bytes](), set[bytes]()
    for match in _DIRECTIVE.finditer(code):
        kind, rest = match[1], match[2].strip()
        depth += (kind[:2] == b"if") - (kind == b"endif")
        name, _, value = rest.partition(b" ")
        if kind == b"define" and not depth and _NAMES.fullmatch(name) and name not in values:
            values[name] = value.strip()
            rest = value
        if kind not in (b"else", b"endif") and not _answer(kind, rest, values):
            spoilt.update(_NAMES.findall(rest))
    return {name: value for name, value in values.items() if name not in spoilt}


def _answer(kind: bytes, rest: bytes, values: dict[bytes, bytes]) -> bytes:
    """``yes`` or ``no``, where the values answer what the directive asks for."""
    value = values.get(rest)
    if value is None or (kind == b"if" and value not in (b"0", b"1")):
        return b""
    return {b"ifdef": b"yes", b"ifndef": b"no", b"if": b"no" if value == b"0" else b"yes"}.get(kind, b"")


def _with_compiled_arms(text: bytes, code: bytes, values: dict[bytes, bytes]) -> bytes:
    """Without the directives that these values answer, and without what they leave out."""
    whole = bytearray(text)
    open_: list[tuple[bytes, int]] = []
    """The answers, or nothing; and where what is left out begins."""
    for match in _DIRECTIVE.finditer(code):
        kind, answer = match[1], b""
        if kind[:2] == b"if":
            answer = _answer(kind, match[2].strip(), values)
            open_.append((answer, match.end() if answer == b"no" else 0))
        elif open_ and kind in (b"elif", b"else", b"endif"):
            answer, left_out = open_.pop()
            if left_out:
                _blank_out(whole, left_out, match.start())
            if answer == b"no" and kind == b"elif":  # of which nothing is known: a group of its own
                whole[match.start(1) : match.end(1)] = b"  if"
                answer = b""
                open_.append((answer, 0))
            elif kind != b"endif":
                open_.append((answer, match.end() if answer == b"yes" else 0))
        if answer:
            _blank_out(whole, match.start(), match.end())
    return bytes(whole)


def _blank_out(text: bytearray, start: int, end: int) -> None:
    text[start:end] = _VISIBLE.sub(b" ", text[start:end])


def with_closed_brackets(text: bytes) -> bytes:
    """With no space between the brackets of launches."""
    return _LAUNCH.sub(_close, text) if _OPENED.search(text) or _CLOSED.search(text) else text


def _close(match: re.Match[bytes]) -> bytes:
    return b"<<<" + match[1] + match[2] + b">>>" + match[3]


def _as_if(match: re.Match[bytes]) -> bytes:
    return b"if".ljust(len(match[0]))


def _without_lone_macro(match: re.Match[bytes]) -> bytes:
    begins_line = match.start() == match.start(1)
    before = match.string[max(match.start() - _FAR_BACK, 0) : match.start()]
    if does_more(match[1].decode()) or (begins_line and not _BEFORE_LINE.search(before)):
        return match[0]
    return _blank_group(match)


def with_whole_statements(text: bytes) -> bytes:
    """C++ with one arm of each #if that cuts statements, with blocks for what macros are given to run, with names for the types that they
    are given, and with the ``;`` that they bring along."""
    whole = _open_blocks(_take_arms(_end_statements(text)))
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
    changed, read = bytearray(text), 0
    for match in _STATEMENT_MACRO.finditer(text) if _RUNS.search(text) else ():
        if read > _MOST_READ or not _RUNS.search(match.group()):
            continue
        begin, end, stopped = _statements_given(text, match.end())
        read += stopped - match.start()
        closing = _SEMICOLON.match(text, end)
        if not end or (closing is None and text[begin : end - 1].rstrip()[-1:] not in b";}"):
            continue
        changed[match.start() : begin] = _VISIBLE.sub(b" ", text[match.start() : begin])
        changed[begin - 1], changed[end - 1] = ord("{"), ord(";" if closing else "}")
        if closing:
            changed[closing.end() - 1] = ord("}")
    return bytes(changed)


def _statements_given(text: bytes, start: int) -> tuple[int, int, int]:
    """Where the statements among the arguments begin, of which the first begins at ``start``, and where the arguments end; zeros if there
    are none. And how far was looked."""
    begin, depth, braces, angles, statements, at = start, 1, 0, 0, False, start
    for match in _IN_ARGUMENTS.finditer(text, start, start + _MOST_IN_BLOCK):
        piece, at = match.group(), match.end()
        if piece == b"(":
            depth += 1
        elif piece == b")":
            depth -= 1
            if depth == 0:
                return (begin, at, at) if statements and braces == 0 and begin > start else (0, 0, at)
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
    return 0, 0, at


def _end_statements(text: bytes) -> bytes:
    """Statements that are a macro's call, ``CHECK(call)``, end with ``;`` although the macro brings its own."""
    changed, read = bytearray(text), 0
    for match in _STATEMENT_MACRO.finditer(text):
        if read > _MOST_READ or _ASKS.match(match.group()):
            continue
        depth, end, bracket = 1, -1, match
        for bracket in _BRACKETS.finditer(text, match.end(), match.end() + _MOST_IN_BRACKETS):
            depth += {b"(": 1, b")": -1}.get(bracket.group(), 0)
            if depth == 0:
                end = bracket.end()
                break
        read += bracket.end() - match.end()
        after = text[end : end + 200].lstrip() if end >= 0 else b""
        if after and text[end : end + 1].isspace() and (after[:1].isalpha() or after[:1] in b"_}/#"):
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
    start = max(at - _MOST_IN_BRACKETS, 0)
    last = text[max(start, *(text.rfind(end, start, at) for end in (b";", b"{", b"}"))) : at]
    if b"(" not in last:
        return False
    last = _NO_CODE.sub(b"", last)
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
