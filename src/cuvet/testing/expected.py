"""Which failures a test expects: of calls that are made in a block of ``pytest.raises`` or ``assertRaises`` that ends by the exception.

The classes behind these blocks are made to note how many calls each thread had made when a block began and ended.
"""

from __future__ import annotations

import sys
import unittest.case
from collections.abc import Callable
from functools import wraps
from os import getpid
from typing import Any

import pytest

from cuvet.testing.asking import calls_of_threads

Calls = dict[int, int]
"""Of each thread that lives."""


class Expected:
    """Blocks that ended by the exception that they expect, and in which calls were made. ``watch`` notes them, ``unwatch`` ends that."""

    def __init__(self) -> None:
        self._pid = getpid()
        self._begun: dict[int, list[Calls]] = {}
        """By block. One may be entered again inside of itself."""
        self._blocks: list[tuple[Calls, Calls]] = []
        self._replaced: list[tuple[type, str, Any]] = []

    def watch(self) -> None:
        for kind in _kinds():
            self._replace(kind, "__enter__", self._entering)
            self._replace(kind, "__exit__", self._exiting)

    def unwatch(self) -> None:
        while self._replaced:
            kind, name, original = self._replaced.pop()
            setattr(kind, name, original)

    def has(self, finding: dict[str, Any]) -> bool:
        """Whether the call of a finding (as JSON) returned an error, and it, or one that failed because of it, was made in such a block."""
        failed = [each for each in (finding, *finding["consequences"]) if _failed(each)]
        return _failed(finding) and any(self._made(each["site"]) for each in failed)

    def _made(self, site: dict[str, Any]) -> bool:
        thread, call = site["thread"], site["call"]
        if site["process"] != self._pid:
            return False
        return any(begin.get(thread, 0) < call <= end.get(thread, call) for begin, end in self._blocks)

    def _replace(self, kind: type, name: str, wrap: Callable[[Any], Any]) -> None:
        original = vars(kind).get(name)
        if original is not None:
            self._replaced.append((kind, name, original))
            setattr(kind, name, wrap(original))

    def _entering(self, original: Any) -> Any:
        @wraps(original)
        def enter(block: Any) -> Any:
            self._begun.setdefault(id(block), []).append(calls_of_threads())
            return original(block)

        return enter

    def _exiting(self, original: Any) -> Any:
        @wraps(original)
        def leave(block: Any, *raised: Any) -> Any:
            __tracebackhide__ = True
            begun = self._begun.pop(id(block), [])
            result = original(block, *raised)
            if result and begun and (begin := begun.pop()) != (end := calls_of_threads()):
                self._blocks.append((begin, end))
            if begun:
                self._begun[id(block)] = begun
            return result

        return leave


def _kinds() -> list[type]:
    """Those of pytest (before 8.4 there was one) and of unittest, whose also numpy.testing uses."""
    found = [getattr(pytest, name, None) for name in ("RaisesExc", "RaisesGroup")]
    older = getattr(sys.modules.get("_pytest.python_api"), "RaisesContext", None)
    return [*filter(None, [*found, older]), vars(unittest.case)["_AssertRaisesContext"]]


def _failed(finding: dict[str, Any]) -> bool:
    """Whether CUDA returned an error, as it says that it does; cuvet did not answer in its place."""
    return bool(finding["status"]) and not (finding["undefined"] or finding["refused"] or finding["kept"])
