"""What a name in a C# file means: which entry point it was imported for, and which of its parameters the arguments are."""

import re
from dataclasses import dataclass
from functools import cache

from cuvet.source.calls import meaning, symbols
from cuvet.source.languages.cpp import Definition
from cuvet.source.syntax.parsing import Node

HANDLE = re.compile(r"^(?:IntPtr|UIntPtr|nint|nuint|ulong|CU(?!DA)\w+|cuda\w+_t)\b|\*")
"""Types of variables that hold objects of CUDA."""


@dataclass(kw_only=True)
class CSharpDefinition(Definition):
    """``imported`` maps the file's P/Invoke names to entry points, ``functions`` are the names of those with a body in the file,
    ``methods`` are (class, name) of those that a call on an object of the class is sure to reach, ``types`` has those of the own class's
    fields. ``wrappers`` are the classes of ``csharp_wrappers`` that the file can mean, ``fields`` the own class's without properties that
    run code; ``shares_end``: the class has a context, with which all ends that was made in it."""

    imported: dict[str, str]
    functions: frozenset[str]
    methods: frozenset[tuple[str, str]] = frozenset()
    types: dict[str, str]
    static: bool = False
    wrappers: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    shares_end: bool = False

    def entry_point(self, name: str) -> str:
        """The entry point of CUDA that a call by that name reaches; ``""`` if none."""
        if name in self.imported:
            api = self.imported[name]
            return api if api in symbols() else ""
        return name if name[:2] == "cu" and name in symbols() and name not in self.functions else ""


@cache
def positions(api: str, arguments: int) -> tuple[int, ...] | None:
    """Which parameter of the entry point each of so many arguments is: that of the signature with as many. None if there is none."""
    found = meaning(api)
    if found is None:
        return None
    own = found.entry_point
    if arguments == len(own.parameters):
        return tuple(range(arguments))
    for signature in own.signatures:
        if len(signature.parameters) == arguments:
            return tuple(own.index.get(parameter.name, -1) for parameter in signature.parameters)
    return None


def arguments(node: Node) -> list[Node]:
    listed = node.child_by_field_name("arguments")
    return [child for child in listed.named_children if child.type == "argument"] if listed is not None else []
