"""Conditions of C++: which branches they are."""

import re
from abc import abstractmethod
from bisect import bisect_left

from cuvet.source.languages.cpp_text import declared
from cuvet.source.languages.cpp_values import TRANSPARENT, Expressions
from cuvet.source.languages.interest import IDENTIFIER
from cuvet.source.syntax.parsing import Node, arguments_of, text_of

_CONSTANT = re.compile(rb"\bconst(?:expr)?\s+(?:\w+::)*\w+\s+(\w+)\s*=\s*([A-Z]\w*|\d+|true|false)\s*;")
_ASSIGNS = re.compile(
    rb"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/|&^%]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)|[(,]\s*&([A-Za-z_]\w*)"
)
"""A variable gets another value, as far as the text shows."""
_TRUTH = {"true": True, "false": False, "TRUE": True, "FALSE": False}


class Conditions(Expressions):
    """Of one function."""

    assigned: dict[str, list[int]] | None = None
    """By variable: where the text assigns to it."""
    declared_constants: dict[str, str] | None = None
    """By constant of the function: the name or number that it is declared as."""

    @abstractmethod
    def declaration(self, node: Node) -> None:
        """Variables that are declared."""

    def condition(self, node: Node, yes: int, no: int) -> None:
        if node.type in ("declaration", "init_declarator"):
            if node.type == "declaration":
                self.declaration(node)
            self.test(node, yes, no, declared(node.child_by_field_name("declarator") or node)[0])
        elif node.type == "call_expression" and text_of(node.named_children[0]) in TRANSPARENT:
            given = arguments_of(node)
            self.condition(given[0] if given else node, yes, no)
        else:
            super().condition(node, yes, no)

    def compare(self, node: Node, left: Node, right: Node, same: bool, yes: int, no: int) -> None:
        one, truth = (
            (right, _TRUTH.get(text_of(left))) if text_of(left) in _TRUTH else (left, _TRUTH.get(text_of(right)))
        )
        if truth is not None:
            self.condition(one, *((yes, no) if truth == same else (no, yes)))
        elif self._is_constant(text_of(left), text_of(right)):
            self.decided(same, yes, no)
        else:
            super().compare(node, left, right, same, yes, no)

    def _is_constant(self, one: str, other: str) -> bool:
        """Whether one of the two is a constant that is declared as the other."""
        constants = self._constants()
        return constants.get(one) == other or constants.get(other) == one

    def _constants(self) -> dict[str, str]:
        if self.declared_constants is None:
            found = _CONSTANT.finditer(self.text, self.body.start_byte, self.body.end_byte)
            self.declared_constants = {match[1].decode(): match[2].decode() for match in found}
        return self.declared_constants

    def truth(self, node: Node, yes: int, no: int) -> None:
        declared_as = self._constants().get(text_of(node), "")
        if declared_as.isdigit() or declared_as in ("true", "false"):
            self.decided(int(declared_as not in ("0", "false")), yes, no)
        else:
            super().truth(node, yes, no)

    def asked(self, node: Node) -> str:
        given = arguments_of(node) if node.type == "call_expression" else ()
        return f"{text_of(given[0])}?" if given and given[0].type == "identifier" else ""

    def question(self, node: Node) -> tuple[str, tuple[str, ...]]:
        """With the number of changes of each name, so that only questions about the same values are the same."""
        text = "".join(text_of(node).split())
        names = tuple(dict.fromkeys(IDENTIFIER.findall(text[:400])))
        return f"{text[:200]} {self._changes(names, node.start_byte)}", names

    def _changes(self, names: tuple[str, ...], before: int) -> str:
        """How often the text above assigned to each of the variables: where it is the same, the variable is."""
        if self.assigned is None:
            self.assigned = {}
            for match in _ASSIGNS.finditer(self.source.code, self.body.start_byte, self.body.end_byte):
                name = (match[1] or match[2] or match[3]).decode()
                self.assigned.setdefault(name, []).append(match.start())
        return ".".join(str(bisect_left(self.assigned.get(name, ()), before)) for name in names)
