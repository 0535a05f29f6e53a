"""What CUDA does not allow: one rule, one file, found by ``all_rules``."""

from __future__ import annotations

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
    folder = Path(__file__).parent
    files = sorted(path for path in folder.glob("*/*.py") if not path.name.startswith("_"))
    return tuple(sorted((_rule_in(path.parent.name, path.stem) for path in files), key=lambda rule: rule.code))


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
