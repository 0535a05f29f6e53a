"""What a project says about ``cuvet check``: ``[check]`` in ``.cuvet.toml``, or ``[tool.cuvet.check]`` in ``pyproject.toml``."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cuvet import CuvetError
from cuvet.catalog import runtime
from cuvet.findings import SEVERITIES, Severity
from cuvet.printable import valid
from cuvet.regular import read_whole
from cuvet.rules import all_rules
from cuvet.source.tool.files import repository

if sys.version_info >= (3, 11):
    import tomllib
else:
    try:
        import tomli as tomllib
    except ImportError as error:
        raise CuvetError("cuvet check needs tomli: pip install 'cuvet[check]'") from error

FILES = {".cuvet.toml": ("check",), "pyproject.toml": ("tool", "cuvet", "check")}
"""The files that are looked for, in this order, and the table in each."""
LISTS, WORDS = ("select", "ignore", "exclude"), ("baseline", "cuda")
TABLES = ("severity", "per-file-ignores")


@dataclass(frozen=True, slots=True)
class Configuration:
    """``directory`` is where the file lies: its paths are relative to it."""

    directory: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: Path | None = None
    cuda: str | None = None
    severity: Mapping[str, Severity] = field(default_factory=dict)
    """By name, code or pattern of rules; of several that fit, the last counts."""
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By pattern of files as in ``.gitignore``: names, codes or patterns of rules."""


def read(paths: Sequence[Path]) -> Configuration:
    """The configuration of the nearest directory, from that which holds all ``paths`` upwards, that has one.

    CuvetError if it cannot be read, or says what is not understood.
    """
    start = common_directory(paths)
    for directory in (start, *start.parents):
        for name, tables in FILES.items():
            table = _table(directory / name, tables)
            if table is not None:
                return _configuration(directory, name, table)
        if (directory / ".git").exists():
            break
    return Configuration()


def common_directory(paths: Sequence[Path]) -> Path:
    """The innermost directory that holds all of them."""
    common = Path(os.path.commonpath([os.path.realpath(path) for path in paths]))
    return common if common.is_dir() else common.parent


def _table(file: Path, tables: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        value: object = tomllib.loads(read_whole(file, _MOST_BYTES).decode())
    except FileNotFoundError:
        return None
    except RecursionError:
        raise CuvetError(f"{file} is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CuvetError(f"{file} is not valid TOML: {error}") from None
    except OSError as error:
        raise CuvetError(f"cannot read {file}: {error.strerror}") from None
    for table in tables:
        value = value.get(table) if isinstance(value, dict) else None
    if value is None:
        return None
    if not isinstance(value, dict):
        raise CuvetError(f"{file}: {'.'.join(tables)} is not a table")
    return value


def _configuration(directory: Path, name: str, table: dict[str, Any]) -> Configuration:
    known = (*LISTS, *WORDS, *TABLES)
    where = f"{directory / name} [{'.'.join(FILES[name])}]"
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise CuvetError(f"{where}: unknown key {key}; {hint}")
        if key in LISTS and not _is_list(value):
            raise CuvetError(f'{where}: {key} is a list of strings, as ["{_EXAMPLES[key]}"]')
        if key in WORDS and not isinstance(value, str):
            raise CuvetError(f'{where}: {key} is a string, as "{_EXAMPLES[key]}"')
        if key in TABLES and not (isinstance(value, dict) and all(map(_IS_VALUE[key], value.values()))):
            raise CuvetError(f"{where}: {key} is a table, with lines as {_EXAMPLES[key]}")
    return Configuration(
        directory=directory,
        baseline=_inside(directory, table["baseline"], where) if "baseline" in table else None,
        cuda=release(table["cuda"], f"{where}: cuda") if "cuda" in table else None,
        severity=table.get("severity", {}),
        per_file_ignores={files: tuple(rules) for files, rules in table.get("per-file-ignores", {}).items()},
        **{key: tuple(table.get(key, ())) for key in LISTS},
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_severity(value: object) -> bool:
    return value in SEVERITIES


_IS_VALUE = {"severity": _is_severity, "per-file-ignores": _is_list}


def _inside(directory: Path, name: str, where: str) -> Path:
    """A file that the configuration names: whoever wrote it may not know the user. CuvetError if it is outside of the repository."""
    path = directory / name
    root = repository(directory) or directory
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # links that lead to themselves, a byte 0
        inside = False
    if not inside:
        raise CuvetError(f"{where}: baseline {name!r} is outside of {valid(root)}; to use it, name it with --baseline")
    return path


_MOST_BYTES = 1 << 20
"""Of a file with a configuration."""
_EXAMPLES = {
    "select": "stream-*",
    "ignore": "CV201",
    "exclude": "third_party/",
    "baseline": ".cuvet-baseline.json",
    "cuda": "12.8",
    "severity": '"memory-*" = "note" (or "error", "warning")',
    "per-file-ignores": '"tests/" = ["CV201"]',
}


def release(word: str, what: str = "--cuda") -> str:
    """A release of CUDA, as ``12.8``. CuvetError if it is none, or newer than those that are known."""

    if not re.fullmatch(r"[0-9]{1,2}\.[0-9]", word):
        raise CuvetError(f"{what}: {word or repr(word)} is not a release of CUDA, as 12.8")
    newest = max(runtime().versions, key=_number)
    if _number(word) > _number(newest):
        raise CuvetError(f"{what}: {word} is newer than {newest}, the newest release of CUDA that this cuvet knows")
    return word


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def rules_named(words: Sequence[str], what: str) -> frozenset[str]:
    """The names of the rules that the words mean: a name or code, or a pattern as ``stream-*`` or ``CV2*``.

    CuvetError, which begins with ``what``, for a word that means none.
    """
    rules = all_rules() if words else ()
    named: set[str] = set()
    for word in words:
        meant = {rule.name for rule in rules if fnmatchcase(rule.name, word) or fnmatchcase(rule.code, word.upper())}
        if not meant:
            near = difflib.get_close_matches(word, [rule.name for rule in rules], n=1)
            hint = f"; did you mean {near[0]}?" if near else " (see cuvet rules)"
            raise CuvetError(f"{what}: no rule is called {word or repr(word)}{hint}")
        named |= meant
    return frozenset(named)
