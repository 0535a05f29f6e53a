"""The rules: what CUDA does not allow. ``all_rules`` finds them; each noun has a folder.

A rule is a file ``<noun>/<what_is_wrong>.py``, or one of the mistakes in the life of a kind of object: ``<noun>/life.py`` (``lives``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from inspect import isabstract
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from cuvet.fields import TextError

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule

R = TypeVar("R", bound="Rule")

_LIFE = "life"
_WRITTEN = ("code", "summary", "help", "evidence", "VALID", "INVALID")
"""What the class of a rule has."""


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """Every rule, ordered by code."""
    return _imported(_files())


@cache
def model_rules() -> tuple[type[Rule], ...]:
    """Every rule that a running program can break: those for which there is a model."""
    return _imported(path for path in _files() if path.parent.name != "source")


@cache
def source_rules() -> tuple[type[Rule], ...]:
    """Every rule that only source code shows, in ``rules/source/<what_is_wrong>.py``."""
    return _imported(path for path in _files() if path.parent.name == "source")


@cache
def rules_that_are(sort: type[R]) -> tuple[type[R], ...]:
    """The rules that are asked on one occasion (``CallRule`` and so on), ordered by code. ``source_rules`` has those of source code."""
    return tuple(rule for rule in model_rules() if _is(rule, sort))


def _is(value: type, sort: type[R]) -> TypeGuard[type[R]]:
    """Whether it derives from the class. Of an abstract class, `issubclass` asks every class that was ever derived from it."""
    return sort in value.__mro__


def _imported(files: Iterable[Path]) -> tuple[type[Rule], ...]:
    rules = sorted((rule for path in files for rule in _rules_in(path)), key=lambda rule: rule.code)
    for rule, other in pairwise(rules):
        if rule.code == other.code:
            raise TextError(f"{rule.where('code')}: {rule.code} is the code of {other.name} too; take a free number")
    return tuple(rules)


def rule_called(word: str) -> type[Rule] | None:
    """The rule of that code or name; few others are imported."""
    if re.fullmatch(r"CV\d+", word, re.I):
        files = [path for path in _files() if f'"{word.upper()}"' in path.read_text(encoding="utf-8")]
    else:
        own = [path for path in _files() if _name(path) == word.lower()]
        files = own or [path for path in _files() if path.stem == _LIFE and word.lower().startswith(_noun(path))]
    return next(
        (rule for path in files for rule in _rules_in(path) if word.upper() in (rule.code, rule.name.upper())), None
    )


@cache
def rule_names() -> tuple[str, ...]:
    """The names of all rules; those in files of their own are not imported."""
    own = [_name(path) for path in _files() if path.stem != _LIFE]
    return tuple(sorted([*own, *(rule.name for path in _files() if path.stem == _LIFE for rule in _rules_in(path))]))


@cache
def _files() -> tuple[Path, ...]:
    return tuple(sorted(path for path in Path(__file__).parent.glob("*/*.py") if not path.name.startswith("_")))


def _noun(path: Path) -> str:
    return f"{path.parent.name}-".replace("_", "-")


def _name(path: Path) -> str:
    """The name of the rule in the file: ``stream-use-unordered`` is in ``stream/use_unordered.py``."""
    return _noun(path) + path.stem.replace("_", "-")


@cache
def _rules_in(path: Path) -> tuple[type[Rule], ...]:
    from cuvet.rules.lives import rules_of  # start: not for names
    from cuvet.rules.rule import Rule  # start: not for names

    module = import_module(f"cuvet.rules.{path.parent.name}.{path.stem}")
    if path.stem == _LIFE:
        return rules_of(module.LIFE, module.TEXTS)
    rules = tuple(
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and _is(value, Rule)
        and value.__module__ == module.__name__
        and not isabstract(value)
    )
    if len(rules) != 1:
        raise TextError(f"rules/{path.parent.name}/{path.name}: it has {len(rules)} rules; a file has one")
    if missing := [name for name in _WRITTEN if not hasattr(rules[0], name)]:
        raise TextError(f"{rules[0].where('class')}: it has no `{missing[0]}`; a rule has {', '.join(_WRITTEN)}")
    return rules
