"""From a parsed file to the functions of ``cuvet.source.program``: a module for each language, and what it is made of beside it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from cuvet.source.program import Function
from cuvet.source.syntax.parsing import Node, Source

if TYPE_CHECKING:  # it imports this package
    from cuvet.source.languages.cpp import Definition, Found


class Language(Protocol):
    """What a language's module has. ``HANDLE`` is found in the types of members that may hold an object of CUDA."""

    HANDLE: re.Pattern[str]

    def mentions_cuda(self, text: bytes) -> bool: ...

    def definitions(self, root: Node, text: bytes) -> Found: ...

    def lower(
        self, definition: Definition, source: Source, wrappers: frozenset[bytes], members: frozenset[bytes]
    ) -> Function | None:
        """The function with its calls of CUDA and of the functions ``wrappers``, and what it does with these ``members`` of its class;
        None if there is nothing of that, or it runs on the device."""


def language_of(path: Path) -> Language:
    """The module for a file, by the end of its name."""
    name = {".py": "python", ".cs": "csharp"}.get(path.suffix.lower(), "cpp")
    return cast(Language, import_module(f"cuvet.source.languages.{name}"))
