"""Where a project configures a command: a table of ``.cuvet.toml`` or ``pyproject.toml``, which somebody else may have written.

A table chooses and names. It cannot start anything, and a file that it names lies in the same repository.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cuvet import CuvetError
from cuvet.findings import SEVERITIES
from cuvet.printable import valid
from cuvet.regular import read_whole

FILES: Mapping[str, tuple[str, ...]] = {".cuvet.toml": (), "pyproject.toml": ("tool", "cuvet")}
"""The files that are looked for, in this order, and the tables in each that the command's lies in."""
TABLES = ("run", "check")
"""Of the commands that are configured."""
MOST_BYTES = 1 << 20
"""Of a file with a configuration."""
_MOST_DOTS = 500
"""Of a line: the time that Python's parser takes for a key grows with the square of its parts, and a key of a megabyte takes minutes."""
_MOST_ENTRIES, _MOST_CHARACTERS = 5000, 1000
"""Of the value of a key: words and patterns, each of which is compared with all rules or files."""


@dataclass(frozen=True, slots=True)
class Table:
    """``name`` is that of the table, ``tool.cuvet.run``. Paths in it are relative to the directory of ``file``."""

    file: Path
    name: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return f"{valid(self.file)} [{self.name}]"


@dataclass(frozen=True, slots=True)
class Key:
    """What a key takes: whether a value is such a thing, and the form of one in words."""

    holds: Callable[[object], bool]
    form: str


def find(start: Path, command: str) -> Table | None:
    """The command's table of the nearest directory that has one, from ``start`` upwards to the root of the repository.

    CuvetError if a file cannot be read or is not valid TOML.
    """
    for directory in (start, *start.parents):
        for name, above in FILES.items():
            table = _table(directory / name, (*above, command))
            if table is not None:
                return table
        if _is_root(directory):
            break
    return None


def of_file(file: Path, command: str) -> Table:
    """The command's table of a file that the user names. CuvetError if it cannot be read, or has none."""
    tables = (*FILES.get(file.name, ()), command)
    if not file.exists():
        raise CuvetError(f"cannot read {valid(file)}: no such file")
    table = _table(file, tables)
    if table is None:
        raise CuvetError(f"{valid(file)} has no table [{'.'.join(tables)}]")
    return table


def _table(file: Path, tables: tuple[str, ...]) -> Table | None:
    value: object = read_toml(file, word=tables[1] if len(tables) > 1 else "")
    for table in tables[:-1]:
        value = value.get(table) if isinstance(value, dict) else None
    if isinstance(value, dict) and file.name in FILES:
        _require_tables(file, tables[:-1], value)
    value = value.get(tables[-1]) if isinstance(value, dict) else None
    if value is None:
        return None
    if not isinstance(value, dict):
        raise CuvetError(f"{valid(file)}: {'.'.join(tables)} is not a table")
    return Table(file, ".".join(tables), value)


def _require_tables(file: Path, above: tuple[str, ...], value: dict[str, Any]) -> None:
    """CuvetError for a key beside the tables of commands: nothing reads it."""
    wrong = next((key for key in value if key not in TABLES), None)
    if wrong is not None:
        known = " or ".join(f"[{'.'.join((*above, table))}]" for table in TABLES)
        raise CuvetError(f"{valid(file)}: unknown key {'.'.join((*above, wrong[:100]))}; keys stand below {known}")


def read_toml(file: Path, word: str = "") -> dict[str, Any] | None:
    """What an ordinary file of at most 1 MiB holds. None if there is no such file, or if ``word`` does not stand in it: then its mistakes
    are not ours. CuvetError if it cannot be read or is not valid TOML."""
    try:
        text = read_whole(file, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if not os.access(
            file.absolute().parent, os.X_OK
        ):  # a directory above may be one that nobody else may look into
            return None
        raise CuvetError(f"cannot read {valid(file)}: {error.strerror}") from None
    if word.encode() not in text:
        return None
    if number := next((n for n, line in enumerate(text.split(b"\n"), 1) if line.count(b".") > _MOST_DOTS), 0):
        raise CuvetError(
            f"{valid(file)}: line {number} has more than {_MOST_DOTS} dots: cuvet does not read such a file"
        )
    try:
        return _parsed(text.decode())
    except ValueError as error:  # of the encoding, of TOML, or a number that is too long for Python
        raise CuvetError(f"{valid(file)} is not valid TOML: {error}") from None
    except RecursionError:
        raise CuvetError(f"{valid(file)} is nested too deeply") from None


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # start: only where there is such a file
    else:
        import tomli as tomllib  # start: only where there is such a file
    values: dict[str, Any] = tomllib.loads(text)
    return values


def check(where: object, values: Mapping[str, object], keys: Mapping[str, Key]) -> None:
    """CuvetError, which begins with ``where``, for a key that is not known and for a value that its key does not take."""
    for key, value in values.items():
        if key not in keys:
            near = difflib.get_close_matches(key[:100], keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
            raise CuvetError(f"{where}: unknown key {key[:100]}; {hint}")
        entries = list(islice(_entries(value), _MOST_ENTRIES + 1))
        if len(entries) > _MOST_ENTRIES:
            raise CuvetError(f"{where}: {key} has more than {_MOST_ENTRIES:,} entries")
        if any(isinstance(each, str) and len(each) > _MOST_CHARACTERS for each in entries):
            raise CuvetError(f"{where}: {key} has an entry of more than {_MOST_CHARACTERS:,} characters")
        if not keys[key].holds(value):
            raise CuvetError(f"{where}: {key} is {keys[key].form}")


def _entries(value: object) -> Iterator[object]:
    """All that is not a list or table itself, and the keys of tables."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _entries(each)
    else:
        yield value


def is_word(value: object) -> bool:
    return isinstance(value, str)


def is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def words(example: str) -> Key:
    """A list of strings."""
    return Key(is_list, f'a list of strings, as ["{example}"]')


def word(example: str) -> Key:
    """A string."""
    return Key(is_word, f'a string, as "{example}"')


def table(holds: Callable[[object], bool], example: str) -> Key:
    """A table whose values are all such things."""
    return Key(
        lambda value: isinstance(value, dict) and all(map(holds, value.values())),
        f"a table, with lines as {example}",
    )


OF_RULES: Mapping[str, Key] = {
    "select": words("stream-*"),
    "ignore": words("CV201"),
    "severity": table(lambda value: value in SEVERITIES, '"memory-*" = "note" (or "error", "warning")'),
}
"""Keys that every command has which reports findings."""


def inside(table: Table, key: str, name: str) -> Path:
    """A file that the table names: whoever wrote it may not know the user. CuvetError if it is outside of the repository; the option of
    the command line that is called as the ``key`` can name any."""
    directory = table.file.parent
    path = directory / name
    root = repository(directory) or directory
    try:
        is_inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # links that lead to themselves, a byte 0
        is_inside = False
    if not is_inside:
        raise CuvetError(f"{table}: {key} {name!r} is outside of {valid(root)}; to use it, name it with --{key}")
    return path


def repository(start: Path) -> Path | None:
    """The nearest directory, from ``start`` upwards, that is the root of a git repository."""
    resolved = start.resolve()
    return next((each for each in (resolved, *resolved.parents) if _is_root(each)), None)


def _is_root(directory: Path) -> bool:
    """Of a git repository. A directory above may be one that nobody else may look into."""
    return os.path.exists(directory / ".git")
