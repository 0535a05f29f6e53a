"""What CUDA does not allow: one rule, one file, found by ``all_rules``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """Every rule in ``rules/<noun>/<what_is_wrong>.py``, ordered by code."""
    return _imported(_files().values())


@cache
def model_rules() -> tuple[type[Rule], ...]:
    """Every rule about calls: those that the model asks."""
    return _imported(path for path in _files().values() if path.parent.name != "source")


@cache
def source_rules() -> tuple[type[Rule], ...]:
    """Every rule that only source code shows, in ``rules/source/<what_is_wrong>.py``."""
    return _imported(path for path in _files().values() if path.parent.name == "source")


def _imported(files: Iterable[Path]) -> tuple[type[Rule], ...]:
    return tuple(sorted((_rule_in(path.parent.name, path.stem) for path in files), key=lambda rule: rule.code))


def rule_called(word: str) -> type[Rule] | None:
    """The rule of that code or name; no other rule is imported."""
    file = _files().get(word.lower())
    if file is None and re.fullmatch(r"CV\d+", word, re.I):
        file = next(
            (file for file in _files().values() if f'code = "{word.upper()}"' in file.read_text(encoding="utf-8")), None
        )
    return _rule_in(file.parent.name, file.stem) if file else None


def rule_names() -> tuple[str, ...]:
    """The names of all rules; none is imported."""
    return tuple(_files())


@cache
def _files() -> dict[str, Path]:
    """Name of each rule to its file: ``stream-use-after-destroy`` is in ``stream/use_after_destroy.py``."""
    files = sorted(path for path in Path(__file__).parent.glob("*/*.py") if not path.name.startswith("_"))
    return {f"{path.parent.name}-{path.stem}".replace("_", "-"): path for path in files}


def _rule_in(noun: str, stem: str) -> type[Rule]:
    from cuvet.rules.rule import Rule

    module = import_module(f"cuvet.rules.{noun}.{stem}")
    (rule,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__
        and not isabstract(value)
    )
    return rule
