"""Conditions of C++: which branches they are."""

import re
from abc import abstractmethod
from bisect import bisect_left

from cuvet.source.languages.cpp_text import asked, declared
from cuvet.source.languages.cpp_values import TRANSPARENT, Expressions
from cuvet.source.languages.flow import compared
from cuvet.source.languages.interest import IDENTIFIER
from cuvet.source.program import Condition, Value
from cuvet.source.syntax.parsing import Node, field_text, text_of, without_comments

_CONSTANT = re.compile(rb"\bconst(?:expr)?\s+(?:\w+::)*\w+\s+(\w+)\s*=\s*([A-Z]\w*|\d+|true|false)\s*;")
_ASSIGNS = re.compile(
    rb"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/|&^%]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)|[(,]\s*&([A-Za-z_]\w*)"
)
"""A variable gets another value, as far as the text shows."""


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
        """Go to ``yes`` or ``no``. ``&&``, ``||`` and ``!`` become branches of their own."""
        kind = node.type
        symbol = field_text(node, "operator")
        if kind in ("condition_clause", "parenthesized_expression"):
            self._in_brackets(node, yes, no)
        elif kind in ("declaration", "init_declarator"):
            if kind == "declaration":
                self.declaration(node)
            name, _ = declared(node.child_by_field_name("declarator") or node)
            self._branch(node, yes, no, lvalue=name)
        elif kind == "unary_expression" and symbol in ("!", "not"):
            self.condition(node.child_by_field_name("argument") or node.named_children[-1], no, yes)
        elif kind == "binary_expression" and symbol in ("&&", "||", "and", "or"):
            self.connected(node.named_children[0], node.named_children[-1], symbol in ("&&", "and"), yes, no)
        elif kind == "binary_expression" and symbol in ("==", "!="):
            self._comparison(node, symbol == "==", yes, no)
        elif kind == "call_expression" and text_of(node.named_children[0]) in TRANSPARENT:
            arguments = node.child_by_field_name("arguments")
            given = arguments.named_children if arguments is not None else []
            self.condition(given[0] if given else node, yes, no)
        else:
            self._truth(node, yes, no)

    def _in_brackets(self, node: Node, yes: int, no: int) -> None:
        """``(condition)``, or ``(statement; condition)``."""
        inner = without_comments(node)
        for child in inner[:-1]:
            self.statement(child)
        if inner:
            self.condition(inner[-1], yes, no)
        else:
            self.builder.branch(None, yes, no)

    def _comparison(self, node: Node, same: bool, yes: int, no: int) -> None:
        if self._is_constant(text_of(node.named_children[0]), text_of(node.named_children[-1])):
            self.decided(same, yes, no)
            return
        lvalue, other = compared(self.value(node.named_children[0]), self.value(node.named_children[-1]))
        self._branch(node, yes, no, lvalue=lvalue, same=same, value=other, compares=True)

    def _is_constant(self, one: str, other: str) -> bool:
        """Whether one of the two is a constant that is declared as the other."""
        constants = self._constants()
        return constants.get(one) == other or constants.get(other) == one

    def _constants(self) -> dict[str, str]:
        if self.declared_constants is None:
            found = _CONSTANT.finditer(self.text, self.body.start_byte, self.body.end_byte)
            self.declared_constants = {match[1].decode(): match[2].decode() for match in found}
        return self.declared_constants

    def _truth(self, node: Node, yes: int, no: int) -> None:
        value = self.value(node)
        declared_as = self._constants().get(text_of(node), "")
        if declared_as.isdigit() or declared_as in ("true", "false"):
            value = int(declared_as not in ("0", "false"))
        if isinstance(value, int):
            self.decided(value, yes, no)
        else:
            self._branch(node, yes, no, lvalue=value if isinstance(value, str) else asked(node))

    def _branch(
        self,
        node: Node,
        yes: int,
        no: int,
        *,
        lvalue: str = "",
        same: bool = False,
        value: Value = 0,
        compares: bool = False,
    ) -> None:
        text = re.sub(r"\s+", "", text_of(node))
        names = tuple(dict.fromkeys(IDENTIFIER.findall(text[:400])))
        test = Condition(
            f"{text[:200]} {self._changes(names, node.start_byte)}",
            names,
            node.start_byte,
            node.end_byte,
            lvalue=lvalue,
            same=same,
            value=value,
            compares=compares,
        )
        self.builder.branch(test, yes, no)

    def _changes(self, names: tuple[str, ...], before: int) -> str:
        """How often the text above assigned to each of the variables: where it is the same, the variable is."""
        if self.assigned is None:
            self.assigned = {}
            for match in _ASSIGNS.finditer(self.text, self.body.start_byte, self.body.end_byte):
                name = (match[1] or match[2] or match[3]).decode()
                self.assigned.setdefault(name, []).append(match.start())
        return ".".join(str(bisect_left(self.assigned.get(name, ()), before)) for name in names)
