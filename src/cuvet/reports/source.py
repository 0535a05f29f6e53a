"""The source text around a call, and where in it the call's argument stands.

Which file that is, the recording says. What a recording that was made elsewhere may name is told by ``only_below``.
"""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from rich.cells import cell_len

from cuvet.regular import open_regular
from cuvet.sizes import counted
from cuvet.source import SUFFIXES

_LINES_BEFORE = 12
"""How far above the line in the debug information a call may begin."""
_LINES_SHOWN = 4
_MOST_SCANNED = 1 << 18
"""Characters of arguments that are looked at to find a call: those of calls in calls count for each."""
_MOST_CHARACTERS = 16 << 20

_LAUNCH_CONFIGURATION = {1: 0, 2: 1, 4: 2, 5: 3}
"""cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, stream) is kernel<<<grid, block, shared, stream>>>."""


@dataclass
class Roots:
    """Directories below which sources may be read, and the names of files that were not read because they are elsewhere."""

    directories: tuple[Path, ...]
    elsewhere: set[str] = field(default_factory=set)

    def hold(self, file: str) -> bool:
        """Whether a file is, links followed, a source file below one of the directories."""
        real = Path(os.path.realpath(file))
        if real.suffix.lower() in SUFFIXES and any(real.is_relative_to(each) for each in self.directories):
            return True
        self.elsewhere.add(file)
        return False


_roots: ContextVar[Roots | None] = ContextVar("roots", default=None)


@contextmanager
def only_below(directories: Sequence[Path]) -> Iterator[None]:
    """In the block no source is read but those below these directories."""
    token = _roots.set(Roots(tuple(Path(os.path.realpath(each)) for each in directories)))
    try:
        yield
    finally:
        _roots.reset(token)


def shown_below() -> tuple[Path, ...] | None:
    """The directories of ``only_below``; None if any source may be read."""
    roots = _roots.get()
    return roots.directories if roots is not None else None


def sources_elsewhere() -> str:
    """One line about the sources that ``only_below`` has kept from being read; empty if there are none."""
    roots = _roots.get()
    if roots is None or not roots.elsewhere:
        return ""
    files = counted(len(roots.elsewhere), "file")
    below = " or ".join(map(str, roots.directories))
    return f"sources: lines of {files} are not shown, since only source files below {below} are read (--source-root DIR for others)"


@dataclass(frozen=True)
class Mark:
    """Columns [start, end) of a line, from 0."""

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file, the first numbered ``first``; ``mark`` is what a report underlines, if it was found."""

    first: int
    lines: tuple[str, ...]
    mark: Mark | None


def excerpt(file: str, line: int, api: str, argument: int | None = None) -> Excerpt | None:
    """The call of ``api`` at a line (from 1) of a file. None if the file cannot be read or has no such line."""
    text = _read(file)
    if text is None:
        return None
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return None
    mark = find_call(text, line, api, argument, comment="#" if file.endswith(".py") else "//")
    first, last = sorted((line, mark.line if mark else line))
    last = min(last, first + _LINES_SHOWN - 1)
    return Excerpt(first, tuple(lines[first - 1 : last]), mark if mark and mark.line <= last else None)


def _read(file: str) -> str | None:
    allowed = _roots.get()
    if "\0" in file or (allowed is not None and not allowed.hold(file)):
        return None
    return _text(file)


@lru_cache(maxsize=64)
def _text(file: str) -> str | None:
    try:
        with open(open_regular(file), encoding="utf-8", errors="replace") as opened:
            text = opened.read(_MOST_CHARACTERS + 1)
    except OSError:
        return None
    return None if len(text) > _MOST_CHARACTERS else text.expandtabs(4)


def source_text(file: str) -> str | None:
    """What stands in a file that a recording names, its tabs expanded; None if it cannot be read, or may not."""
    return _read(file)


@dataclass(frozen=True)
class Window:
    """As much of a line as fits; what is meant stands in columns [start, end) of it, from 0."""

    text: str
    start: int
    end: int


def window(line: str, start: int, end: int, room: int) -> Window:
    """The part of a line without tabs that shows its characters [start, end) in at most ``room`` columns of a terminal: the first of
    them, if they do not fit. An ellipsis stands for what is left out, a replacement character for one that is not printable."""
    first = max(0, start - 2 * room)  # a line can have millions of characters
    shown = [c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line[first : max(end, start + 2 * room)]]
    at = list(accumulate(map(cell_len, shown), initial=0))
    start, end = start - first, min(end - first, len(shown))
    if len(shown) == len(line) and at[-1] <= room:
        return Window("".join(shown), at[start], at[end])
    begin = 0 if not first and at[end] < room else min(max(bisect_left(at, at[end] - room + 2), 1), start)
    cut = begin > 0
    last = bisect_right(at, at[begin] + room - 1 - cut) - 1
    rest = first + last < len(line)
    text = "…" * cut + "".join(shown[begin:last]) + "…" * rest
    offset = cut - at[begin]
    return Window(text, at[start] + offset, min(at[end], at[last]) + offset)


def find_call(text: str, line: int, api: str, argument: int | None = None, comment: str = "//") -> Mark | None:
    """The argument (or, without one, the name) of the call of ``api`` that covers a line of the source text.

    Of several calls on the line the first counts. None if there is no such call, so that nothing is marked wrongly.
    """
    code = _blank(text, comment)
    on_line, after = _offset(code, line), _offset(code, line + 1)
    scanned = 0
    for match in _calls(api).finditer(code, _offset(code, line - _LINES_BEFORE), after):
        pieces, close = _arguments(code, match.end())
        scanned += close - match.end()
        if scanned > _MOST_SCANNED:
            return None
        if close < on_line:
            continue
        index = argument
        if match[0].endswith("<<<"):
            index = None if argument is None else _LAUNCH_CONFIGURATION.get(argument)
        if index is not None and index < len(pieces):
            return _mark(code, *pieces[index])
        return _mark(code, match.start("name"), match.end("name"))
    return None


def _calls(api: str) -> re.Pattern[str]:
    if api in ("cudaLaunchKernel", "cuLaunchKernel"):
        return re.compile(rf"\b(?P<name>{api}(?=\s*\()|[\w:]+(?=\s*<<<))\s*(?:\(|<<<)")
    return re.compile(rf"\b(?P<name>{re.escape(api)}(?:_v\d+)?(?:_ptds|_ptsz)?)\s*\(")


@lru_cache(maxsize=64)
def _blank(text: str, comment: str) -> str:
    """The text with spaces for comments, and underscores for literals and template arguments. Offsets stay."""
    pattern = re.compile(
        (r"(?P<comment>#[^\n]*)" if comment == "#" else r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))")
        + r"""|"(?:\\.|[^"\\\n])*"?|(?<!\w)'(?:\\.|[^'\\\n])*'?"""
        + r"|(?<=\w)<(?:[\w\s:,*&]|<[\w\s:,*&]*>)*>(?=\s*(?:[({]|<<<))",
        re.S,
    )
    return pattern.sub(lambda match: re.sub(r"[^\n]", " " if match["comment"] else "_", match[0]), text)


def _arguments(code: str, start: int) -> tuple[list[tuple[int, int]], int]:
    """The [start, end) of each argument after an opening bracket at ``start - 1``, and where the call ends."""
    pieces, begin, depth = [], start, 0
    for position in range(start, min(len(code), start + _MOST_SCANNED)):
        character = code[position]
        if character in "([{":
            depth += 1
        elif depth == 0 and (character in ")]}" or code.startswith(">>>", position)):
            pieces.append((begin, position))
            return pieces, position
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append((begin, position))
            begin = position + 1
    return pieces, min(len(code), start + _MOST_SCANNED)


def _mark(code: str, start: int, end: int) -> Mark | None:
    """Where a piece of the code stands without the space around it; its first line if it has several."""
    text = code[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip().split("\n")[0].rstrip()
    if not text:
        return None
    line_start = code.rfind("\n", 0, start) + 1
    return Mark(code.count("\n", 0, start) + 1, start - line_start, start - line_start + len(text))


def _offset(code: str, line: int) -> int:
    """Where a line (from 1) starts."""
    position = 0
    for _ in range(line - 1):
        position = code.find("\n", position) + 1
        if position == 0:
            return len(code)
    return position
