"""Comments and literals of each language, and code without them."""

import re

_C_COMMENTS = r"(?P<comment>//[^\\\n]*(?:\\.[^\\\n]*)*|/\*.*?(?:\*/|\Z))"
_C_CHARACTERS = r"|'(?<![0-9A-Za-z_]')(?:\\.|[^'\\\n])*'?"
_PATTERNS = {
    "c++": _C_COMMENTS
    + r'|"(?:(?<=\b[LUu]R")|(?<=\bu8R")|(?<=\bR"))(?P<end>[^()\\\s"]{0,16})\(.*?(?:\)(?P=end)"|\Z)'
    + r'|"(?:\\.|[^"\\\n])*"?'
    + _C_CHARACTERS,
    "c#": _C_COMMENTS
    + r'|@\$?"(?:[^"]|"")*"?|\$@"(?:[^"]|"")*"?|"{3}.*?(?:"{3}|\Z)|"(?:\\.|[^"\\\n])*"?'
    + _C_CHARACTERS,
    "python": r"(?P<comment>\#[^\n]*)"
    r"""|"{3}(?:\\.|[^\\])*?(?:"{3}|\Z)|'{3}(?:\\.|[^\\])*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""",
}
"""None of them looks at a character more than a few times, whatever the text is. Each way to begin is a plain character first, which is
what ``re`` finds quickly."""
LEXERS = {language: re.compile(pattern, re.S) for language, pattern in _PATTERNS.items()}
"""By language as in ``cuvet.source.SUFFIXES``: comments (group ``comment``) and literals."""
_CPP = re.compile(_PATTERNS["c++"].encode(), re.S)
_SPACES = bytes(each if each in b"\r\n" else ord(" ") for each in range(256))
"""A table: what ends a line stays."""
_BRACE = re.compile(rb"[{}]")
_SLASH = ord("/")
"""Comments begin with it, and no literal does."""


def cpp_code(text: bytes) -> bytes:
    """C, C++ or CUDA C++ with spaces for comments and for what stands in quotes. No offset and no line changes."""
    return _CPP.sub(_blank, text)


def _blank(match: re.Match[bytes]) -> bytes:
    found = match[0]
    spaces = found.translate(_SPACES)
    if found[0] == _SLASH:
        return spaces
    closed = len(found) > 1 and found[:1] == found[-1:]
    return found[:1] + spaces[1:-1] + found[-1:] if closed else found[:1] + spaces[1:]


def block_end(code: bytes, start: int) -> int:
    """Where the block ends that begins right before ``start``: at its closing brace, or at the end of the code."""
    depth = 1
    for match in _BRACE.finditer(code, start):
        depth += 1 if match[0] == b"{" else -1
        if depth == 0:
            return match.start()
    return len(code)
