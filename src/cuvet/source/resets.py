"""Resets of the device by a class, which the calls of a function show without following its paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuvet.catalog import Verb
from cuvet.findings import Finding
from cuvet.rules.source.reset_in_class import SourceResetInClass
from cuvet.source.calls import meaning
from cuvet.source.parsing import Source
from cuvet.source.program import Call, Function
from cuvet.source.reporting import Reporter

_TEST = re.compile(r"(?i)test|fixture|bench|example|sample|app|main")
_OF_TESTS = frozenset(
    {
        "SetUp",
        "TearDown",
        "SetUpTestCase",
        "TearDownTestCase",
        "SetUpTestSuite",
        "TearDownTestSuite",
        "setUp",
        "tearDown",
    }
)
_NAMED_SO = re.compile(r"(?i)_*(?:cu|cuda|gpu|device|context|ctx)*_*reset_*(?:cuda|gpu|device|context|ctx|all)*_*")
_MAIN = re.compile(rb"\b(?:w?main|Main|wWinMain|WinMain)\s*\(|\bTEST(?:_F|_P)?\s*\(|__name__")


def resets(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """The first reset of the device in a function of a class that is not the program itself, nor a test, and does not say so."""
    reset = next(_resets(function), None) if function.owner else None
    if reset is not None and _is_of_library(function, reporter.source):
        message = f"{function.owner} resets the device, which belongs to the whole process"
        yield reporter.plain(SourceResetInClass, reset, message)


def _resets(function: Function) -> Iterator[Call]:
    for call in (
        operation for block in function.blocks for operation in block.operations if isinstance(operation, Call)
    ):
        found = meaning(call.name)
        if found is not None and any(role.verb is Verb.RESETS for role in found.entry_point.roles):
            yield call


def _is_of_library(function: Function, source: Source) -> bool:
    """Whether the class is likely to be used by others. In C# all functions belong to classes: only what ends an object tells."""
    if function.name in _OF_TESTS or _NAMED_SO.fullmatch(function.name) or _TEST.search(str(source.path.parent)):
        return False
    if _TEST.search(function.owner) or _MAIN.search(source.text) or _derives_from_test(function.owner, source):
        return False
    return source.language in ("c++", "cuda") or function.name in ("__del__", "Dispose", "__exit__", "close")


def _derives_from_test(owner: str, source: Source) -> bool:
    bases = re.search(rf"\b(?:class|struct)\s+{re.escape(owner)}\b[^{{;]*:([^{{;]*)".encode(), source.text)
    return bases is not None and _TEST.search(bases[1].decode("utf-8", "replace")) is not None
