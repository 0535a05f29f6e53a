"""What is known about a rule or a cause, and from where: from the text in ``evidence`` to ``Evidence``.

Each is a field (``cuvet.fields``) with its source in parentheses at the end::

    measured: a second free returns CUDA_ERROR_INVALID_VALUE (free_twice, freeasync_twice)
    recorded, cuMemFreeAsync succeeds: a second cuMemFreeAsync of cuMemAlloc memory: no error
    documented: if the pointer is 0, no operation is performed (CUDA Runtime API, Memory Management, cudaFree)
    reported: a second free in the destructor of a copy (https://github.com/OWNER/REPOSITORY/issues/1)

``measured``: by the programs of these facts; ``recorded``: in recordings of random programs; ``documented``: document and section;
``reported``: in the public thread of this address. ``succeeds``, after the calls that it is about if not about all: it shows that a call
can break the rule and return success. The text is read when somebody asks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from cuvet.fields import bracketed, fields, mistakes_in
from cuvet.findings import Evidence
from cuvet.knowledge.facts import of_facts, of_recordings

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule

_ENTRY_POINT = re.compile(r"\bcu[A-Z]\w+")
KINDS = ("measured", "recorded", "documented", "reported")
_KIND = re.compile(rf"({'|'.join(KINDS)})(?:, (?:(\w+(?: and \w+)*) )?succeeds?)?")

_OF_LANGUAGES = {
    "python": re.compile(
        r"(?:CuPy|Numba(?:-CUDA)?|NumPy|PyCUDA|PyTorch) documentation|PyTorch Tutorials|cuda\.core|What's New In Python"
    ),
    "c#": re.compile(r"ManagedCuda|C# language reference"),
}
"""Documents that are about one language only."""


@cache
def evidence_of(rule: type[Rule]) -> tuple[Evidence, ...]:
    """What is known about the rule. TextError if its text cannot be read."""
    with mistakes_in(rule.where("evidence")):
        return tuple(evidence(name, value, rule.name) for name, value in fields(rule.evidence))


@cache
def evidence_in(rule: type[Rule], language: str) -> tuple[Evidence, ...]:
    """What is known about the rule, without documents that are about another language, unless there is nothing else."""
    others = [documents for of, documents in _OF_LANGUAGES.items() if of != language]
    known = evidence_of(rule)
    fit = tuple(each for each in known if not any(documents.match(each.source) for documents in others))
    return fit or known


@cache
def succeeding(rule: type[Rule]) -> frozenset[str]:
    """The entry points whose calls are shown to return success although they break the rule; ``*`` stands for all. TextError
    if its text cannot be read."""
    with mistakes_in(rule.where("evidence")):
        shown = [_kind(name) for name, _ in fields(rule.evidence) if "succeed" in name]
    return frozenset(call for kind in shown for call in (kind[2] or "*").split(" and "))


def evidence(name: str, value: str, rule: str = "") -> Evidence:
    """Of a field, of the rule of that name if it is one's. ValueError if it is no evidence, or if no fact has one of the ids."""
    kind = _kind(name)[1]
    if kind == "recorded":
        source = of_recordings(rule, {*_ENTRY_POINT.findall(value)})
        return Evidence(kind="measured", text=value, source=source, succeeds="succeed" in name)
    text, source = bracketed(value)
    if kind == "documented":
        return documented(text, source)
    if kind == "reported":
        return Evidence(kind="reported", text=text, source=source)
    facts = of_facts(*source.split(", "))
    return Evidence(kind="measured", text=text, source=facts, succeeds="succeed" in name)


def _kind(name: str) -> re.Match[str]:
    """The kind of evidence that a field is, and the calls that succeed. ValueError if it is none."""
    kind = _KIND.fullmatch(name)
    if kind is None:
        calls = "for calls that succeed: `KIND, succeeds`, `KIND, NAME succeeds`, `KIND, NAME and NAME succeed`"
        raise ValueError(f"`{name}` is none of {', '.join(KINDS)} ({calls})")
    return kind


def documented(text: str, source: str) -> Evidence:
    """Written in ``source``: document and section, for example ``CUDA Driver API, cuStreamDestroy``."""
    return Evidence(kind="documented", text=text, source=source)
