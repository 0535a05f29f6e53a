"""What a project says about ``cuvet check``: ``[check]`` in ``.cuvet.toml``, or ``[tool.cuvet.check]`` in ``pyproject.toml``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuvet import CuvetError, configuration
from cuvet.catalog import runtime
from cuvet.configuration import Table
from cuvet.findings import Severity

LISTS = ("select", "ignore", "exclude")
KEYS = {
    **configuration.OF_RULES,
    "exclude": configuration.words("third_party/"),
    "baseline": configuration.word(".cuvet-baseline.json"),
    "cuda": configuration.word("12.8"),
    "per-file-ignores": configuration.table(configuration.is_list, '"tests/" = ["CV201"]'),
}


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
    table = configuration.find(common_directory(paths), "check")
    return Configuration() if table is None else _configuration(table)


def common_directory(paths: Sequence[Path]) -> Path:
    """The innermost directory that holds all of them."""
    common = Path(os.path.commonpath([os.path.realpath(path) for path in paths]))
    return common if common.is_dir() else common.parent


def _configuration(table: Table) -> Configuration:
    values = table.values
    configuration.check(table, values, KEYS)
    return Configuration(
        directory=table.file.parent,
        baseline=configuration.inside(table, "baseline", values["baseline"]) if "baseline" in values else None,
        cuda=release(values["cuda"], f"{table}: cuda") if "cuda" in values else None,
        severity=values.get("severity", {}),
        per_file_ignores={files: tuple(rules) for files, rules in values.get("per-file-ignores", {}).items()},
        **{key: tuple(values.get(key, ())) for key in LISTS},
    )


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
