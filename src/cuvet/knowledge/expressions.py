"""Finds what the expressions of causes match in a text. To compile all of them takes longer than anything else that ``explain`` does, so an
expression is compiled only if the text has the letters that each of its matches has."""

import re
from functools import cache

_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
_GROUP = re.compile(r"\((?:[^()\\]|\\.)*\)(?:[?*+]|\{\d*,?\d*\})?")
_CLASS = re.compile(r"(?:\[(?:[^\]\\]|\\.)+\]|\\[a-zA-Z])(?:[?*+]|\{\d*,?\d*\})?")
_OPTIONAL = re.compile(r"(?:\\.|[^\\])(?:[?*]|\{\d*,?\d*\})")
_GAP = "\n"
_LEAST = 3


def found_in(expression: str, lower: str) -> str | None:
    """What it matches in the text, which is in lower case. re.error if it is none."""
    if not _SPECIAL.search(expression):
        return expression if expression.lower() in lower else None
    if not any(letters in lower for letters in _letters(expression)):
        return None
    match = re.search(expression, lower, re.I)
    return match[0] if match else None


@cache
def _letters(expression: str) -> tuple[str, ...]:
    """Each match of the expression has one of these; the empty text if it may have any."""
    plain = _CLASS.sub(_GAP, expression.replace(r"\\", _GAP))
    before = ""
    while before != plain:
        before, plain = plain, _GROUP.sub(_GAP, plain)
    if "(" in plain or "[" in plain:
        return ("",)
    plain = _OPTIONAL.sub(_GAP, plain)
    return tuple(_longest(part) for part in plain.split("|"))


def _longest(part: str) -> str:
    runs = re.split(r"[\n.^$+{}]+", re.sub(r"\\(.)", r"\1", part.replace(r"\.", _GAP)))
    longest = max(runs, key=len)
    return longest.lower() if len(longest) >= _LEAST else ""
