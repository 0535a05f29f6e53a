"""Functions of a file that have nothing to do with CUDA, and store what they are given: their callers' objects are known elsewhere then."""

import re
from collections import defaultdict
from collections.abc import Iterable

from cuvet.source.languages.cpp import Definition, Found, name_of
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.ownership import takes_over
from cuvet.source.program import Function
from cuvet.source.result import Summaries, Summary
from cuvet.source.syntax.parsing import Source

_LONGEST = 20_000
"""Bytes of a function; a longer one is taken to store what it is given."""
_CAST = r"(?:\(\s*(?:const\s+)?[\w:]+(?:\s*<[^<>()]*>)?\s*\**\s*\)\s*|\w+_cast\s*<[^<>()]*>\s*\(\s*)"
_STORED = (
    r"(?<![=!<>+\-*/%&|^])=\s*{cast}*{name}\b(?!\s*(?:\[|\.|->|\())"
    r"|\breturn\s+{cast}*{name}\s*[;+)]"
    r"|\{{[^{{}};()]*\b{name}\s*[,}}]"
    r"|\[[^\]\n]*(?:[=&]|\b{name}\b)[^\]\n]*\]\s*(?:\([^()]*\)\s*)?\{{"
)
"""Assigned, returned, in braces of a struct, captured."""
_GIVEN = r"(\w+)\s*\((?:[^()]|\([^()]*\))*?\b{name}\b"


def storing(functions: Iterable[Function], known: Summaries, defined: Found, source: Source) -> Summaries:
    """Of functions of the file that the ``functions`` call, and of which nothing is known: the parameters that they keep."""
    called = {call.name.rpartition("::")[2] for each in functions for call in each.calls if not call.receiver}
    found: Summaries = {}
    for name, definitions in _by_name(defined).items() if source.is_cpp and called else ():
        if name not in called or name in known:
            continue
        for definition in definitions:
            names = _parameters(definition)
            kept = {at for at, each in enumerate(names) if each and _is_stored(each, definition, source)}
            if kept:
                summary = found.setdefault(name, {}).setdefault(len(names), Summary())
                summary.keeps |= kept
                summary.references.update(range(len(names)))
    return found


def _by_name(defined: Found) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = defaultdict(list)
    for definition in defined.functions:
        owner, name = name_of(definition)
        if not owner:
            found[name].append(definition)
    return found


def _parameters(definition: Definition) -> list[str]:
    declarator = definition.node.child_by_field_name("declarator")
    return [] if declarator is None else [each.name for each in parameters(function_declarator(declarator))]


def _is_stored(name: str, definition: Definition, source: Source) -> bool:
    body = definition.node.child_by_field_name("body")
    if body is None or not re.fullmatch(r"\w+", name):
        return False
    if body.end_byte - body.start_byte > _LONGEST:
        return True
    text = source.code[body.start_byte : body.end_byte].decode("utf-8", "replace")
    if re.search(_STORED.format(name=name, cast=_CAST), text):
        return True
    return any(takes_over(match[1]) for match in re.finditer(_GIVEN.format(name=name), text))
