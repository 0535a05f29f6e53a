"""What all lowerings share of the operations of a function: which are of interest, and what becomes known elsewhere."""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from cuvet.source.graph import Builder
from cuvet.source.languages.interest import IDENTIFIER, WORD, Interest
from cuvet.source.program import Address, Assign, Escape, Operation, Parameter, Value, lvalue_of
from cuvet.source.syntax.parsing import Node, Source, text_of, without_comments

Handlers = dict[str, Callable[..., Any]]
"""By type of a node: what reads it. It is given the lowering, the node, and what its caller has been given."""

_RESULT = re.compile(r"%(\d+)\??$")


class Operations(ABC):
    """Of one function. What touches no word of interest is skipped."""

    parameters: tuple[Parameter, ...] = ()
    expressions: ClassVar[Handlers]
    statements: ClassVar[Handlers]

    def __init__(self, source: Source, node: Node, owner: str, interest: Interest) -> None:
        self.source = source
        self.text = source.text
        self.node = node
        self.owner = owner
        self.interest = interest
        self._hot = interest.at
        self.builder = Builder()
        self.locals: dict[str, str] = {}
        self.temporaries = 0
        self._lent: dict[str, tuple[Value, ...]] = {}
        """By result of a function that is not CUDA's: what it was given."""

    @abstractmethod
    def statement(self, node: Node) -> None:
        """One statement."""

    def read(self, node: Node, *given: Any) -> Any:
        """What the expression gives, after the operations that it takes."""
        handler = self.expressions.get(node.type)
        if handler is not None:
            return handler(self, node, *given)
        if self.hot(node):
            for child in node.named_children:
                self.escape(self.one(child), child.start_byte)
        return None

    def value(self, node: Node) -> Value:
        """What the expression gives; of several values the first."""
        found: Value = self.read(node)
        return found

    def one(self, node: Node) -> Value:
        """What the expression gives; None if that is several values."""
        return self.value(node)

    def inner(self, node: Node, *given: Any) -> Any:
        """The last expression in brackets."""
        children = without_comments(node)
        return self.read(children[-1], *given) if children else None

    def cast(self, node: Node, *given: Any) -> Value:
        value = node.child_by_field_name("value")
        return self.value(value) if value is not None else None

    def out_of_sight(self, node: Node, *given: Any) -> None:
        """Code that runs elsewhere, as that of a lambda."""
        self.escape_names(node)

    # What is of interest.

    def hot(self, node: Node) -> bool:
        """Whether a word of interest stands in the node."""
        at = bisect_left(self._hot, node.start_byte)
        return at < len(self._hot) and self._hot[at] < node.end_byte

    def concerns(self, lvalue: str) -> bool:
        return lvalue[:1] == "%" or any(word.encode() in self.interest.names for word in IDENTIFIER.findall(lvalue))

    def follows(self, value: Value) -> bool:
        lvalue = lvalue_of(value)
        return bool(lvalue) and self.concerns(lvalue)

    def meant(self, word: str) -> Iterable[str]:
        """The lvalues that a word in a text that is not followed may stand for."""
        return (word,)

    # Operations.

    def emit(self, operation: Operation) -> None:
        if isinstance(operation, Assign) and isinstance(operation.value, str) and not self.concerns(operation.value):
            operation.value = None  # what happens to that lvalue is not followed
        self.builder.add(operation)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"%{self.temporaries}"

    def escape(self, value: Value, at: int) -> None:
        """Somebody of whom nothing is known has the value now, and what it was made of."""
        for each in self._lent.get(value, ()) if isinstance(value, str) else ():
            self.escape(each.lvalue if isinstance(each, Address) else each, at)
        if self.follows(value):
            self.emit(Escape(lvalue_of(value), at, written=isinstance(value, Address)))

    def escape_names(self, node: Node) -> None:
        """Each variable that the text names may be changed there, and its value be kept."""
        for word in dict.fromkeys(WORD.findall(node.text or b"")):
            if word in self.interest.names:
                for lvalue in self.meant(word.decode()):
                    self.emit(Escape(lvalue, node.start_byte, written=True))

    def looks_at_result(self, values: Sequence[Value], before: int) -> bool:
        """Whether one of the values is what a call of CUDA returned since temporary ``before``: who is given it looks at the status."""
        results = [_RESULT.match(value) for value in values if isinstance(value, str)]
        fresh = any(match is not None and int(match[1]) > before for match in results)
        return fresh and self.builder.is_cuda_result(before)


def by_type(rows: Mapping[str, Callable[..., Any]]) -> Handlers:
    """From rows that name several types each."""
    return {kind: handler for kinds, handler in rows.items() for kind in kinds.split()}


def number_of(lowering: Operations, node: Node, *given: Any) -> Value:
    return number(text_of(node))


def zero(lowering: Operations, node: Node, *given: Any) -> Value:
    """NULL, None or false."""
    return 0


def not_evaluated(lowering: Operations, node: Node, *given: Any) -> Value:
    """``sizeof(*p)``: nothing happens to what it names."""
    return None


def true(lowering: Operations, node: Node, *given: Any) -> Value:
    return 1


def spans(nodes: Sequence[Node]) -> tuple[tuple[int, int], ...]:
    return tuple((node.start_byte, node.end_byte) for node in nodes)


def number(text: str) -> int | None:
    """The number that a literal is; None if it is none."""
    digits = text.replace("'", "").rstrip("uUlLzZ")
    try:
        return int(digits, 8 if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit() else 0)
    except ValueError:
        return None
