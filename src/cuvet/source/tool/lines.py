"""The lines of source files, for those who show or compare them."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from cuvet.regular import read_whole

_MOST_BYTES = 64 << 20
_held: dict[Path, bytes] = {}


def hold(texts: Mapping[Path, bytes]) -> None:
    """From now on the lines are those of ``texts``, and of all other files as they are now."""
    _held.clear()
    _held.update(texts)
    lines_of.cache_clear()


@lru_cache(maxsize=256)
def lines_of(path: Path) -> tuple[str, ...]:
    """The file's lines without their ends; none if it cannot be read."""
    try:
        text = _held[path] if path in _held else read_whole(path, _MOST_BYTES)
    except OSError:
        return ()
    return tuple(line.removesuffix("\r") for line in text.decode("utf-8", "replace").split("\n"))


def line_of(path: Path, number: int | None) -> str:
    """A line of the file, from 1; empty if there is no such line."""
    lines = lines_of(path)
    return lines[number - 1] if number is not None and 1 <= number <= len(lines) else ""
