"""Comments that take findings back: ``// cuvet: ignore[stream-use-after-destroy] reason``, in Python with ``#``.

One after code is about that line; one on a line of its own about the next line of code. A statement whose brackets go
over several lines counts as one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.rules import rule_called
from cuvet.source.syntax.lexing import LEXERS

MARK = b"cuvet:"
"""A file without it holds no such comment."""

_IGNORE = re.compile(r"(?:\A(?://+|/\*+|\#+)!?|//|\#)[ \t]*cuvet:[ \t]*ignore\b(?P<names>[ \t]*\[[^\]\n]*\])?")


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """``names`` are names or codes of rules, as written; ``lines`` the first and last line, from 1, that it is about."""

    names: tuple[str, ...]
    line: int
    column: int
    end_column: int
    lines: tuple[int, int]


def ignore_comments(text: bytes, language: str) -> tuple[IgnoreComment, ...]:
    """All of a file's. ``language`` as in ``cuvet.source.SUFFIXES``."""
    if MARK not in text:
        return ()
    source = text.decode("utf-8", "replace")
    comments = [match for match in LEXERS[language].finditer(source) if match["comment"]]
    found = [(comment, match) for comment in comments for match in _IGNORE.finditer(comment[0])]
    if not found:
        return ()
    code = LEXERS[language].sub(_blank, source)
    lines = _Lines(code, joined="([{" if language == "python" else "([")
    return tuple(_comment(source, lines, comment, match) for comment, match in found)


def mistakes(comment: IgnoreComment) -> Iterator[str]:
    """What is wrong with the comment itself, wherever it stands, a sentence each."""
    if not comment.names:
        yield "the comment names no rule: write cuvet: ignore[RULE] reason"
    for name in comment.names:
        if rule_called(name) is None:
            yield f"no rule is called {name} (see cuvet rules)"


def _comment(source: str, lines: _Lines, comment: re.Match[str], match: re.Match[str]) -> IgnoreComment:
    start, end = comment.start() + match.start(), comment.start() + match.end()
    line = lines.at(start)
    column = start - lines.starts[line - 1] + 1
    named = (match["names"] or "").strip(" \t[]")
    return IgnoreComment(
        names=tuple(name.strip() for name in named.split(",") if name.strip()),
        line=line,
        column=column,
        end_column=column + end - start,
        lines=lines.covered(line),
    )


def _blank(match: re.Match[str]) -> str:
    """Spaces for a comment, underscores for a literal; its line ends stay."""
    return re.sub(r"[^\n]", " " if match["comment"] else "_", match[0])


class _Lines:
    """The lines of code without comments and literals. ``joined`` are the brackets that make one statement of several lines."""

    def __init__(self, code: str, joined: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer(r"\n", code))]
        self._first = list(_first_lines(code, joined))
        self._last = list(range(1, len(self._first) + 1))
        self._with_code = list(self._last)
        """The line itself if it holds code, else the next that does; the line if none does."""
        has_code = [bool(line.strip()) for line in code.split("\n")]
        for index in range(len(self._first) - 2, -1, -1):
            if self._first[index] == self._first[index + 1]:
                self._last[index] = self._last[index + 1]
            if not has_code[index] and has_code[self._with_code[index + 1] - 1]:
                self._with_code[index] = self._with_code[index + 1]

    def at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def covered(self, line: int) -> tuple[int, int]:
        """The first and last line of the statement that a comment on the line is about."""
        index = self._with_code[line - 1] - 1
        return self._first[index], self._last[index]


def _first_lines(code: str, joined: str) -> Iterator[int]:
    """For each line, the line on which its outermost open bracket stands: its own number if none is open."""
    first, line = 1, 1
    depths = [0]
    """Open brackets, in each open block: a block in brackets (a lambda's body) has lines of its own."""
    for match in re.finditer(r"[()\[\]{}\n]", code):
        character = match[0]
        if character == "\n":
            yield first
            line += 1
            first = first if depths[-1] else line
        elif character in joined:
            depths[-1] += 1
        elif character == "{":
            depths.append(0)
        elif character != "}" or "{" in joined:
            depths[-1] = max(0, depths[-1] - 1)
        elif len(depths) > 1:
            depths.pop()
    yield first
