"""The words by which people name rules: a name or code, or a pattern as ``stream-*`` or ``CV2*``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from cuvet import CuvetError
from cuvet.findings import Severity
from cuvet.rules import all_rules, rule_names


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


def selected(
    configured: Sequence[str], ignored: Sequence[str], select: Sequence[str], ignore: Sequence[str], where: str = ""
) -> frozenset[str]:
    """The names of the rules that are wanted: what the command line does ``select`` and ``ignore`` stands above what is ``configured``.

    CuvetError for a word that means none; ``where`` begins it if the word is of the configuration.
    """
    every = frozenset(rule_names())
    chosen = (rules_named(configured, f"{where}select") or every) - rules_named(ignored, f"{where}ignore")
    if select:
        chosen = rules_named(select, "--select")
    return chosen - rules_named(ignore, "--ignore")


def severities(levels: Mapping[str, Severity], where: str = "") -> dict[str, Severity]:
    """By name of a rule; of several words that mean it, the last counts. CuvetError as of ``selected``."""
    return {name: severity for word, severity in levels.items() for name in rules_named([word], f"{where}severity")}
