"""What one condition of ``#if`` says about another."""

import re

_WORD = re.compile(r"\w+")
_OR = re.compile(r"\|\|")
_AND = re.compile(r"&&")
_DEFINED = re.compile(r"defined\s*\(?\s*(\w+)\s*\)?")
_AT_LEAST = re.compile(r"(\w+)\s*>=\s*(\d+)")


def implies(one: str, other: str) -> bool:
    """Whether ``other`` holds wherever ``one`` does, as far as their parts show: ``A`` and ``A || B``, ``A && B`` and ``A``, ``N >= 12``
    and ``N >= 11``. Conditions with brackets around parts of them are not read."""
    given, alternatives = _parts(_AND, one), _parts(_OR, other)
    if len(_parts(_OR, one)) > 1 or len(_parts(_AND, other)) > 1:
        return False
    return any(part == each or _is_at_least(part, each) for part in given for each in alternatives)


def names_in(condition: str) -> frozenset[str]:
    """Names and numbers in a condition of ``#if``: one that has none of them in common with another says nothing about it."""
    return frozenset(_WORD.findall(condition)) - {"defined"}


def _parts(between: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in between.split(_DEFINED.sub(r"\1", text))]


def _is_at_least(one: str, other: str) -> bool:
    first, second = _AT_LEAST.fullmatch(one), _AT_LEAST.fullmatch(other)
    return first is not None and second is not None and first[1] == second[1] and int(first[2]) >= int(second[2])
