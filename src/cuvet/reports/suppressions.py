"""Suppressions: tables of a TOML file, or of the configuration, that name findings of runs which are not to be reported.

::

    [[suppression]]
    rule = "CV201"
    function = "Pool::drain*"
    file = "pool.cu"
    reason = "the driver is asked on purpose"
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from cuvet import CuvetError, configuration
from cuvet.configuration import Table
from cuvet.findings import Finding, Frame, Site, Suppression
from cuvet.printable import printable, valid
from cuvet.reports.terminal import CLONE, located, sentence
from cuvet.rules.named import rules_named

MOST = 1000
"""Suppressions of one run: each is compared with every frame of the findings."""
REASON = "written by --write-suppressions: say here why this stays"
KEYS = {
    "rule": configuration.word("CV201"),
    "function": configuration.word("Pool::drain*"),
    "file": configuration.word("pool.cu"),
    "module": configuration.word("libpool.so"),
    "reason": configuration.word("the driver is asked on purpose"),
}
_REQUIRED = ("rule", "reason")
_MOST_CHARACTERS = 500
"""Of a name in a pattern that is written."""
_ADDRESS = re.compile(r"(^|\+)0x[0-9a-f]+$")
"""What stands for the name of a function that has none."""
_HEAD = """\
# Suppressions for `cuvet run --suppressions FILE` and `cuvet analyze`, or `suppressions` in [tool.cuvet.run].
# A finding is suppressed if a frame on any of its stacks has the function, file and module of a table.
"""


def read(file: Path) -> tuple[Suppression, ...]:
    """Those in a file. CuvetError if it cannot be read, or says what is not understood."""
    values = configuration.read_toml(file)
    if values is None:
        raise CuvetError(f"cannot read the suppressions {valid(file)}: no such file; --write-suppressions makes one")
    wrong = next((key for key in values if key != "suppression"), None)
    if wrong is not None:
        raise CuvetError(f"{valid(file)}: unknown key {wrong}; a file of suppressions has tables [[suppression]]")
    tables = values.get("suppression", [])
    if not isinstance(tables, list):
        raise CuvetError(f"{valid(file)}: suppression is a list of tables: write [[suppression]]")
    return tuple(_of_table(table, f"{valid(file)}: suppression {number}") for number, table in enumerate(tables, 1))


def configured(table: Table) -> tuple[Suppression, ...]:
    """Those of a configuration, whose ``suppressions`` is a list of tables and of names of files. CuvetError as of ``read``."""
    found: list[Suppression] = []
    for number, each in enumerate(table.values.get("suppressions", ()), 1):
        if isinstance(each, str):
            found += read(configuration.inside(table, "suppressions", each))
        else:
            found.append(_of_table(each, f"{table}: suppressions {number}"))
    return tuple(found)


def is_listed(value: object) -> bool:
    """Whether the value can be ``suppressions`` in a configuration."""
    return isinstance(value, list) and all(isinstance(each, str | dict) for each in value)


def _of_table(table: object, where: str) -> Suppression:
    if not isinstance(table, dict):
        raise CuvetError(f"{where} is not a table")
    configuration.check(where, table, KEYS)
    for key in _REQUIRED:
        if not table.get(key, "").strip():
            raise CuvetError(
                f'{where}: {key} is missing; write {key} = "{"CV201" if key == "rule" else "why it stays"}"'
            )
    rules_named([table["rule"]], f"{where}: rule")
    return Suppression(**table, source=where)


class Suppressions:
    """All of one run, and which of them have suppressed something."""

    def __init__(self, every: Sequence[Suppression]) -> None:
        """CuvetError if they are too many."""
        if len(every) > MOST:
            raise CuvetError(f"{len(every):,} suppressions are too many: cuvet takes {MOST:,}; use patterns")
        self.every = tuple(every)
        self._rules = [rules_named([each.rule], "rule") for each in self.every]
        self._used: set[int] = set()
        self._fitting = lru_cache(maxsize=1 << 14)(self._fitting_frame)

    def suppress(self, finding: Finding) -> bool:
        """Whether one of them names the finding. Those that do are used from then on."""
        of_rule = {index for index, names in enumerate(self._rules) if finding.name in names}
        if not of_rule:
            return False
        anywhere = {index for index in of_rule if _is_bare(self.every[index])}
        fitting = anywhere.union(*(self._fitting(frame) for frame in _frames(finding))) & of_rule
        self._used |= fitting
        return bool(fitting)

    def unused(self, selected: frozenset[str] | None) -> tuple[Suppression, ...]:
        """Those that suppressed nothing, of the rules that were asked for (None: all)."""
        return tuple(
            each
            for index, each in enumerate(self.every)
            if index not in self._used and (selected is None or self._rules[index] & selected)
        )

    def _fitting_frame(self, frame: Frame) -> frozenset[int]:
        return frozenset(index for index, each in enumerate(self.every) if _fits(each, frame))


def _is_bare(suppression: Suppression) -> bool:
    return suppression.function is suppression.file is suppression.module is None


def _frames(finding: Finding) -> Iterator[Frame]:
    """Of all stacks that the finding has."""
    for site in _sites(finding):
        yield from site.frames


def _sites(finding: Finding) -> Iterator[Site]:
    yield finding.site
    yield from (each.site for each in finding.earlier)
    for it in finding.objects:
        yield from (site for site in (it.created, it.destroyed) if site is not None)


def _fits(suppression: Suppression, frame: Frame) -> bool:
    function, file, module = suppression.function, suppression.file, suppression.module
    return (
        (function is None or any(fnmatchcase(name, function) for name in (frame.function, _plain(frame.function))))
        and (file is None or _is_path(frame.file, file))
        and (module is None or _is_path(frame.module, module))
    )


def _is_path(path: str | None, pattern: str) -> bool:
    return path is not None and (fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}"))


def _plain(function: str) -> str:
    """The function's name without what a compiler appends to those of its pieces."""
    return CLONE.sub("", function)


def text_of(findings: Iterable[Finding]) -> str:
    """A file that suppresses these findings: a table for the function and file of each, without lines and addresses."""
    tables: dict[str, str] = {}
    bare = 0
    for finding in findings:
        pattern = _pattern(finding)
        if pattern:
            about = f"{finding.severity}: {sentence(finding)} ({finding.name})"
            tables.setdefault(_written(finding.rule, pattern), f"# {printable(about)}")
        else:
            bare += 1
    parts = [_HEAD, *(f"{about}\n{table}" for table, about in tables.items())]
    if bare:
        parts.append(
            f"# Not written: {bare:,} without a function, file or module. To leave out a whole rule, use ignore.\n"
        )
    return "\n".join(parts)


def _pattern(finding: Finding) -> Mapping[str, str]:
    """What tells its innermost frame of the user's own code: the function with its file or, without one, its module."""
    for frame in located(finding.site):
        name = "" if _ADDRESS.search(frame.function) or frame.function == "?" else _plain(frame.function)
        place = frame.file or frame.module
        if name or place:
            key = "file" if frame.file else "module"
            return {
                **({"function": _literal(name)} if name else {}),
                **({key: _literal(os.path.basename(place))} if place else {}),
            }
    return {}


def _literal(name: str) -> str:
    """A pattern for this name alone. What is not printable, which TOML cannot hold in every form, is any character."""
    shown = glob.escape(name[:_MOST_CHARACTERS]) + "*" * (len(name) > _MOST_CHARACTERS)
    return "".join(c if c.isprintable() else "?" for c in shown)


def _written(rule: str, pattern: Mapping[str, str]) -> str:
    values = {"rule": rule, **pattern, "reason": REASON}
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    return "[[suppression]]\n" + "".join(lines)


def require_new(file: Path) -> None:
    """CuvetError if there is something in the place of a file that is to be written, or it cannot be."""
    if os.path.lexists(file):
        raise CuvetError(f"{valid(file)} exists: --write-suppressions overwrites nothing; name a new file")
    directory = file.absolute().parent
    if not directory.is_dir() or not os.access(directory, os.W_OK):
        raise CuvetError(f"cannot write the suppressions {valid(file)}: {valid(directory)} cannot be written to")


def write(file: Path, findings: Iterable[Finding]) -> None:
    """Make a file that suppresses these findings. CuvetError if it exists or cannot be written."""
    try:
        with open(file, "x", encoding="utf-8") as out:
            out.write(text_of(findings))
    except FileExistsError:
        require_new(file)
    except OSError as error:
        raise CuvetError(f"cannot write the suppressions {valid(file)}: {error.strerror}") from None
