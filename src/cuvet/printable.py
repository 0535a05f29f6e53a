"""Makes text of others safe to show. Names and paths come out of recordings, binaries, source and logs that somebody else made.

A character that is not printable (``str.isprintable``: control characters of ASCII and C1, line breaks, marks that turn the direction
of text around, half a surrogate pair) is written as an escape. A byte of a file name that is not UTF-8 is ``\\xff`` everywhere.
``reports.terminal.console`` and the command line pass all text through here.
"""

import json
import os
import re

_IN_JSON = re.compile(r"[^\n\x20-\x7e]")
_MOST_NAME = 120
_BRACKETS = re.compile(r"operator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?)|->|[<>]")


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
    """A name of C++ in a sentence: of one of more than 120 letters without the arguments of its templates, ``scan<…>``."""
    if len(name) <= _MOST_NAME:
        return name
    parts, depth, end = list[str](), 0, 0
    for bracket in _BRACKETS.finditer(name):
        if bracket[0] not in "<>":
            continue
        if bracket[0] == "<" and depth == 0:
            parts.append(name[end : bracket.start()])
        depth += 1 if bracket[0] == "<" else -1
        end = bracket.end()
    short = "<…>".join((*parts, name[end:])) if depth == 0 else name
    return short if len(short) <= _MOST_NAME else f"{short[:_MOST_NAME]}…"
