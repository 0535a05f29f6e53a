"""Makes text of others safe to show. Names and paths come out of recordings, binaries, source and logs that somebody else made.

A character that is not printable (``str.isprintable``: control characters of ASCII and C1, line breaks, marks that turn the direction
of text around, half a surrogate pair) is written as an escape. A byte of a file name that is not UTF-8 is ``\\xff`` everywhere.
``reports.terminal.console`` and the command line pass all text through here.
"""

import json
import os
import re
from collections.abc import Iterator

_IN_JSON = re.compile(r"[^\n\x20-\x7e]")
_MOST_NAME, _MOST_LEVELS = 120, 8
_BRACKETS = re.compile(r"\boperator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?)|->|[<>]")


def printable(text: str) -> str:
    """The text in one line, without characters that would control a terminal."""
    if text.isprintable():
        return text
    return "".join(map(_escaped, text))


def _escaped(c: str) -> str:
    if "\udc80" <= c <= "\udcff":  # a byte that is not UTF-8 (PEP 383)
        return f"\\x{ord(c) - 0xDC00:x}"
    return c if c.isprintable() else c.encode("unicode_escape").decode()


def printable_json(document: str) -> str:
    """A JSON document with its unprintable characters, which stand in strings only, as ``\\uXXXX``. Its line breaks stay."""
    return _IN_JSON.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], document)


def escaped_for_encoding(error: UnicodeError) -> tuple[str, int]:
    """For ``codecs.register_error``: what an encoding does not have as ``\\uXXXX``, which JSON reads too."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def valid(path: str | os.PathLike[str]) -> str:
    """A path with an escape for each byte that is not UTF-8, so that any report can hold it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def readable(text: str) -> str:
    """The text in characters that JSON has: bytes of names and variables that are not UTF-8 as ``\\udcff``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def in_short(name: str) -> str:
    """A name of C++ in a sentence: of one of more than 120 letters without the innermost arguments of its templates, ``scan<sum<…>>``, in
    as many levels as it takes."""
    if len(name) <= _MOST_NAME:
        return name
    parts, deepest = _in_brackets(name)
    outermost = 2 if name.startswith("<") else 1
    levels = range(min(deepest, _MOST_LEVELS), outermost - 1, -1)
    found = ("".join(_down_to(level, parts)) for level in levels)
    return next((short for short in found if len(short) <= _MOST_NAME), f"{name[:_MOST_NAME]}…")


def _in_brackets(name: str) -> tuple[list[tuple[int, str]], int]:
    """Its parts, each with the number of angle brackets around it, and the most; no parts if they are not closed."""
    parts, depth, deepest, end = list[tuple[int, str]](), 0, 0, 0
    for bracket in _BRACKETS.finditer(name):
        if bracket[0] not in "<>":
            continue
        parts.append((depth, name[end : bracket.start()]))
        depth += bracket[0] == "<"
        parts.append((depth, bracket[0]))
        depth -= bracket[0] == ">"
        deepest, end = max(deepest, depth), bracket.end()
        if depth < 0:
            return [], 0
    return ([], 0) if depth else ([*parts, (depth, name[end:])], deepest)


def _down_to(level: int, parts: list[tuple[int, str]]) -> Iterator[str]:
    for depth, text in parts:
        if depth < level:
            yield text
        elif depth == level and text == "<":
            yield "<…>"
