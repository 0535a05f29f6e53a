"""Functions of a file that have nothing to do with CUDA, and store what they are given: their callers' objects are known elsewhere then."""

import re
from collections import defaultdict
from collections.abc import Iterable

from cuvet.source.languages.cpp import Definition, Found, name_of
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.languages.interest import WORD
from cuvet.source.ownership import takes_over
from cuvet.source.program import Function
from cuvet.source.result import Summaries, Summary
from cuvet.source.syntax.parsing import Source

_LONGEST = 20_000
"""Bytes of a function; a longer one is taken to store what it is given."""
_CAST = r"(?:\(\s*(?:const\s+)?[\w:]+(?:\s*<[^<>()]*>)?[\s*]*\)\s*|\w+_cast\s*<[^<>()]*>\s*\(\s*)"
_SET_OR_RETURNED = re.compile(
    rf"(?<![=!<>+\-*/%&|^])=\s*{_CAST}*(\w+)\b(?!\s*(?:\[|\.|->|\())|\breturn\s+{_CAST}*(\w+)\s*[;+)]".encode()
)
_IN_BRACES = re.compile(rb"\{([^{};()]*)[,}]")
_CAPTURED = re.compile(rb"\[([^\]\n]*)\]\s*(?:\([^()]*\)\s*)?\{")
_CALL = re.compile(rb"(\w+)\s*\((?=((?:[^()]|\([^()]*\))*))")
"""Arguments may be calls too, which are found for themselves."""


def storing(functions: Iterable[Function], known: Summaries, defined: Found, source: Source) -> Summaries:
    """Of functions of the file that the ``functions`` call, and of which nothing is known: the parameters that they keep."""
    called = {call.name.rpartition("::")[2] for each in functions for call in each.calls if not call.receiver}
    found: Summaries = {}
    for name, definitions in _by_name(defined).items() if source.is_cpp and called else ():
        if name not in called or name in known:
            continue
        for definition in definitions:
            names = _parameters(definition)
            stored = _stored(definition, source)
            kept = {at for at, each in enumerate(names) if stored is None or each in stored}
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


def _parameters(definition: Definition) -> list[bytes]:
    declarator = definition.node.child_by_field_name("declarator")
    return [] if declarator is None else [each.name.encode() for each in parameters(function_declarator(declarator))]


def _stored(definition: Definition, source: Source) -> set[bytes] | None:
    """Names of which the function may store the value; None: of all."""
    body = definition.node.child_by_field_name("body")
    if body is None:
        return set()
    if body.end_byte - body.start_byte > _LONGEST:
        return None
    text = source.code[body.start_byte : body.end_byte]
    found = {name for pair in _SET_OR_RETURNED.findall(text) for name in pair}
    for captured in _CAPTURED.findall(text):
        if b"=" in captured or b"&" in captured:
            return None
        found.update(WORD.findall(captured))
    for listed in _IN_BRACES.findall(text):
        found.update(WORD.findall(listed))
    for name, given in _CALL.findall(text):
        if takes_over(name.decode()):
            found.update(WORD.findall(given))
    return found
