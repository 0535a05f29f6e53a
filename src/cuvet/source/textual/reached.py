"""What the functions of a file of C++ reach by calling one another, as far as their names are sure to tell."""

import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property
from typing import NamedTuple

from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import LAMBDA, Definition, name_of, runs_on_device
from cuvet.source.quiet import CHECKED
from cuvet.source.syntax.parsing import Node, Source, enclosing, text_of
from cuvet.source.textual.bounds import MOST
from cuvet.source.textual.written import Body, Written, body_of

CALLED = re.compile(rb"(?<![\w.>:~])(?:this\s{0,9}->\s{0,9})?([A-Za-z_]\w{0,100})\s{0,9}\(")
"""What is called of this object, or of none."""
_NO_CALLS = frozenset(
    b"if for while switch return sizeof catch throw decltype static_cast reinterpret_cast dim3".split()
)
MOST_CALLS = 3
"""How many functions deep a call is followed."""
_MOST_FUNCTIONS = 64
"""That are looked at from one call."""


class Reached(NamedTuple):
    """A call, the function that makes it, and the calls through which that is reached, the outermost first."""

    call: Written
    body: Body
    through: tuple[tuple[Body, Node], ...]


class Functions:
    """Those that a file defines, by name. Nothing is told of a name that several have."""

    def __init__(self, definitions: Iterable[Definition], source: Source) -> None:
        self._definitions = tuple(definitions)
        self._source = source
        self._bodies: dict[str, Body | None] = {}

    def named(self, name: str, owner: str = "") -> Body | None:
        """The function that ``A::name`` or ``name`` is, where that is called in a function of class ``owner``."""
        of, _, last = name.replace(" ", "").rpartition("::")
        found = self._by_name.get(last, [])
        if len(found) != 1:
            return None
        (definition,) = found
        own = name_of(definition)[0]
        if own and own not in (owner, of.rpartition("::")[2]):
            return None
        if last not in self._bodies:
            node, body = definition.node, definition.node.child_by_field_name("body")
            is_host = body is not None and not runs_on_device(node, body, self._source)
            self._bodies[last] = body_of(definition, self._source) if is_host else None
        return self._bodies[last]

    def first(self, body: Body, counts: Callable[[Written], bool]) -> Reached | None:
        """The first call that counts which the function makes, itself or by functions of the file that it calls."""
        waiting: list[tuple[Body, tuple[tuple[Body, Node], ...]]] = [(body, ())]
        seen = {body.node.id}
        for at in range(_MOST_FUNCTIONS):
            if at >= len(waiting):
                break
            each, through = waiting[at]
            call = next((call for call in each.calls if counts(call) and not is_in_lambda(call.node, each)), None)
            if call is not None:
                return Reached(call, each, through)
            for node in calls_in(each.body) if len(through) < MOST_CALLS else ():
                inner = self.called_by(node, each)
                if inner is not None and inner.node.id not in seen:
                    seen.add(inner.node.id)
                    waiting.append((inner, (*through, (each, node))))
        return None

    def called_by(self, call: Node, body: Body) -> Body | None:
        """The function of the file that the call in this body is sure to be of: not of another object's."""
        function = call.child_by_field_name("function")
        if function is not None and function.type == "field_expression":
            of = function.child_by_field_name("argument")
            function = function.child_by_field_name("field") if of is not None and of.type == "this" else None
        if function is None or function.type not in ("identifier", "qualified_identifier", "field_identifier"):
            return None
        name = text_of(function)
        return None if body.declarations(name) else self.named(name, body.owner)

    @cached_property
    def _by_name(self) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for definition in self._definitions:
            if definition.node.type != LAMBDA:
                found.setdefault(name_of(definition)[1], []).append(definition)
        return found


def called_here(code: bytes) -> set[bytes]:
    """The names in the code, without those of the language."""
    return set(CALLED.findall(code)) - _NO_CALLS


def all_are_known(code: bytes, known: Set[bytes]) -> bool:
    """Whether all that is called there is CUDA's, a check of such a call, or one of the ``known`` functions."""
    called = called_here(code)
    if len(called) > MOST:
        return False
    checks = {match[1] for match in CHECKED.finditer(code)}
    return all(meaning(name.decode()) is not None for name in called - checks - known)


def calls_in(node: Node, start: int = 0, end: int | None = None) -> Iterator[Node]:
    """Calls within the range, the first first, without those in lambdas."""
    last = node.end_byte if end is None else end
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.end_byte <= start or each.start_byte >= last or each.type == LAMBDA:
            continue
        if each.type == "call_expression" and each.start_byte >= start:
            yield each
        waiting += reversed(each.named_children)


def is_in_lambda(node: Node, body: Body) -> bool:
    """Whether the node stands in a lambda within the body, which may be run elsewhere."""
    around = enclosing(node.parent, LAMBDA)
    return around is not None and around.start_byte > body.body.start_byte
