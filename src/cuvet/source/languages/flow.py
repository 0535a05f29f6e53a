"""What all lowerings share of the flow of control: branches, loops, jumps out of them, and what conditions ask."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cuvet.source.languages.interest import IDENTIFIER, Interest
from cuvet.source.languages.operations import Operations
from cuvet.source.program import Address, Assign, Condition, Function, Inside, Range, Return, Value
from cuvet.source.syntax.parsing import Node, Source, field_text, text_of, without_comments

_FOR = re.compile(rb"\bfor\s*\([^;{}]{0,200};[^;{}]{0,200};[^;{}]{0,200}?\)")
_STATE = re.compile(
    rb"\b([A-Za-z_]\w*)\s*(?:=\s*-?\w+(?:\s*[+-]\s*\d+)?\s*[;\n]|\|=|\+=|\+\+)|"
    rb"\+\+\s*([A-Za-z_]\w*)|"
    rb"\b([A-Za-z_]\w*)\s*=\s*(?=[^;\n]{0,400}?(?:[!=]=|&&|!))[^;\n]{0,200}?\b(cu[a-zA-Z]\w*)\s*\(|"
    rb"\b([A-Za-z_]\w*)\s*=\s*(?:\(?\s*\w+\s*[!=]=\s*[\w.:]+\s*\)?\s*[;\n]|\"|\w+(?:(?:::|\.)\w+)+\s*[;\n])"
)
"""``x = 2;``, ``x |= A``, ``++x``, ``x = cudaMalloc(…) == 0``, ``x = e == 0;``, ``x = "text"``, ``x = R::Ok;``"""
_BRACKETS = frozenset({"parenthesized_expression", "condition_clause"})
_NEGATES = frozenset({"unary_expression", "prefix_unary_expression", "not_operator"})
_CONNECTS = {"&&": True, "and": True, "||": False, "or": False}
"""Whether both sides have to hold."""
_COMPARES = {"==": True, "is": True, "!=": False, "is not": False}
"""Whether both sides have to be the same."""

Act = Callable[[], None]
Test = Callable[[int, int], None]
"""Goes to one of two blocks."""


@dataclass
class Region:
    """Statements with a ``finally``, or a loop. ``after`` and ``again`` are where ``break`` and ``continue`` lead."""

    ending: Act | None = None
    after: int = -1
    again: int = -1
    caught: bool = False
    """Exceptions are caught, by what is not known."""


def _states(code: bytes, start: int) -> dict[str, list[int]]:
    """See ``Function.states``; ``start`` is the offset of the function's text."""
    found: dict[str, list[int]] = {}
    code = _FOR.sub(lambda match: b" " * len(match[0]), code)
    for match in _STATE.finditer(code):
        name, at = (
            match[1] or match[2] or match[3] or match[5],
            match.start(4) if match[4] else match.start(),
        )
        found.setdefault(name.decode("utf-8", "replace"), []).append(start + at)
    return found


class Flow(Operations):
    """Of one function."""

    def __init__(self, source: Source, node: Node, owner: str, interest: Interest) -> None:
        super().__init__(source, node, owner, interest)
        self.regions: list[Region] = []
        self.ranges: list[Range] = []
        self.by_lambda: set[str] = set()

    def finished(self, name: str, owner: str, end: int, broken: bool, static: bool) -> Function:
        """The function as it was read, whose body ends at that offset."""
        self.builder.add(Return(max(end - 1, 0), end, how="end"))
        self.builder.stop()
        return Function(
            name=name,
            owner=owner,
            parameters=self.parameters,
            blocks=self.builder.finish(),
            start=self.node.start_byte,
            end=self.node.end_byte,
            locals=self.locals,
            broken=broken,
            static=static,
            ranges=self.ranges,
            captured=frozenset(self.by_lambda),
            labels=self.builder.labels,
            states=_states(self.source.code[self.node.start_byte : self.node.end_byte], self.node.start_byte),
        )

    # Statements.

    def block(self, node: Node | None) -> None:
        self.run(without_comments(node))

    def run(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.statement(node)

    def break_(self, node: Node) -> None:
        self.jump_out()

    def continue_(self, node: Node) -> None:
        self.jump_out(again=True)

    def labeled(self, node: Node) -> None:
        label, *statements = node.named_children
        self.builder.set_label(text_of(label))
        self.run(statements)

    def act(self, node: Node | None) -> Act:
        """What happens in a statement."""
        return lambda: self.statement(node) if node is not None else None

    def if_(self, node: Node) -> None:
        then, otherwise = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        self.fork(self.asks(node.child_by_field_name("condition")), self.act(then), self.act(otherwise))

    def loop(self, node: Node) -> None:
        """while and for; ``do`` tests at the end."""
        initializer, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
        if initializer is not None:
            self.statement(initializer)

        def step() -> None:
            if update is not None and self.hot(update):
                self.value(update)

        body = self.act(node.child_by_field_name("body"))
        self.repeat(self.asks(node.child_by_field_name("condition")), body, step, first=node.type == "do_statement")

    # Conditions.

    def condition(self, node: Node, yes: int, no: int) -> None:
        """Go to ``yes`` or ``no``. ``&&``, ``||`` and ``!`` become branches of their own."""
        kind, parts = node.type, without_comments(node)
        symbol = " ".join(child.type for child in node.children if not child.is_named)
        if kind in _BRACKETS and parts:  # (condition), or (statement; condition)
            self.run(parts[:-1])
            self.condition(parts[-1], yes, no)
        elif kind in _NEGATES and symbol in ("!", "not"):
            self.condition(parts[-1], no, yes)
        elif kind in ("binary_expression", "boolean_operator") and symbol in _CONNECTS:
            self.connected(parts[0], parts[-1], _CONNECTS[symbol], yes, no)
        elif kind in ("binary_expression", "comparison_operator") and symbol in _COMPARES:
            self.compare(node, parts[0], parts[-1], _COMPARES[symbol], yes, no)
        else:
            self.truth(node, yes, no)

    def asks(self, condition: Node | None) -> Test:
        """None: there is no condition, which always holds."""
        if condition is None:
            return lambda yes, no: self.builder.branch(None, yes, no)
        return lambda yes, no: self.condition(condition, yes, no)

    def compare(self, node: Node, left: Node, right: Node, same: bool, yes: int, no: int) -> None:
        """Go to ``yes`` if the two are (``same``) equal, or to ``no``."""
        first, second = self.one(left), self.one(right)
        lvalue, other = (first, second) if isinstance(first, str) else (second, first)
        self.test(node, yes, no, lvalue if isinstance(lvalue, str) else "", same, other)

    def truth(self, node: Node, yes: int, no: int) -> None:
        """Go to ``yes`` if the value is something, or to ``no``."""
        value = self.one(node)
        if isinstance(value, int):
            self.decided(value, yes, no)
        else:
            self.test(node, yes, no, value if isinstance(value, str) else self.asked(node))

    def asked(self, node: Node) -> str:
        """The lvalue that a function is asked about, with a question mark: what its answer means for it is not known."""
        return ""

    def test(self, node: Node, yes: int, no: int, lvalue: str = "", same: bool | None = None, value: Value = 0) -> None:
        """Go to ``yes`` if ``lvalue`` is (``same``) ``value``, or to ``no``. None: it is not compared."""
        text, names = self.question(node)
        found = Condition(text, names, node.start_byte, node.end_byte, lvalue, bool(same), value, same is not None)
        self.builder.branch(found, yes, no)

    def question(self, node: Node) -> tuple[str, tuple[str, ...]]:
        """A condition's text and the names in it."""
        text = " ".join(text_of(node).split())
        return text[:200], tuple(dict.fromkeys(IDENTIFIER.findall(text[:400])))

    def connected(self, left: Node, right: Node, both: bool, yes: int, no: int) -> None:
        """``left && right``, or ``left || right``."""
        middle = self.builder.new()
        self.condition(left, middle if both else yes, no if both else middle)
        self.builder.go_on(middle)
        self.condition(right, yes, no)

    def decided(self, value: int, yes: int, no: int) -> None:
        """The condition is a constant."""
        self.builder.branch(None, yes if value else no, yes if value else no)

    # Branches and loops.

    def fork(self, test: Test, then: Act | None, otherwise: Act | None) -> None:
        """Two arms that come together again."""
        builder = self.builder
        yes, no, join = builder.new(), builder.new(), builder.new()
        test(yes, no)
        decided = builder.last_decision
        for arm, (block, act) in enumerate(((yes, then), (no, otherwise))):
            builder.enter(block, decided, arm)
            if act is not None:
                act()
            builder.jump(join)
            builder.leave()
        builder.reach(join)

    def one_of(self, test: Node, *arms: tuple[Node, Callable[[], Value]] | None) -> str:
        """The value (where, what) of the first arm if the condition holds, or else of the second; None: it gives nothing."""
        result = self.temporary()

        def gives(node: Node, value: Callable[[], Value]) -> Act:
            return lambda: self.emit(Assign(result, value(), node.start_byte, node.end_byte))

        one, other = (None if arm is None else gives(*arm) for arm in arms)
        self.fork(self.asks(test), one, other)
        return result

    def conditional(self, node: Node, *given: Any) -> Value:
        """``condition ? one : other``."""
        test, one, other = (node.child_by_field_name(name) for name in ("condition", "consequence", "alternative"))
        return self.either(test, one, other) if test is not None else None

    def either(self, test: Node, *arms: Node | None) -> Value:
        """The value of one of two expressions."""
        if not any(arm is not None and self.hot(arm) for arm in arms):
            self.value(test)
            for arm in arms:
                if arm is not None:
                    self.escape(self.value(arm), arm.start_byte)
            return None
        return self.one_of(test, *(None if arm is None else (arm, partial(self.value, arm)) for arm in arms))

    def binary(self, node: Node, *given: Any) -> Value:
        """Two flags, or the address that a sum or a difference is."""
        before, parts = self.temporaries, without_comments(node)
        symbol = field_text(node, "operator")
        values = [self.one(each) if symbol == "|" or self.hot(each) else None for each in (parts[0], parts[-1])]
        if symbol in _COMPARES:
            self.builder.check(before)
        if symbol == "|" and isinstance(values[0], int) and isinstance(values[1], int):
            return values[0] | values[1]
        for value in values if symbol in ("+", "-") else ():
            if isinstance(value, str) and value[0] != "%" and self.concerns(value):
                return Inside(value)
            if isinstance(value, Inside):
                return value
            if isinstance(value, Address):
                return Inside(value.lvalue.removesuffix("[0]")) if value.lvalue.endswith("[0]") else value
        return None

    def perhaps(self, what: str, node: Node, act: Act) -> None:
        """Something happens, or does not."""
        condition = Condition(what, (), node.start_byte, self.source.line_end(node.start_byte))
        self.fork(lambda yes, no: self.builder.branch(condition, yes, no), act, None)

    def repeat(self, test: Test, body: Act, update: Act | None = None, first: bool = False) -> None:
        """A loop. With ``first`` its body comes before the test."""
        builder = self.builder
        head, inside, after, again = builder.new(), builder.new(), builder.new(), builder.new()
        builder.jump(inside if first else head)
        builder.start(head)
        builder.ends_loop(after)
        test(inside, after)
        self.regions.append(Region(after=after, again=again))
        builder.enter(inside, builder.last_decision, 0)
        body()
        builder.jump(again)
        builder.start(again)
        if update is not None:
            update()
        builder.jump(head, "back")
        builder.leave()
        self.regions.pop()
        builder.start(after)

    def cases(self, cases: Iterable[tuple[Condition | None, Act]], *, breaks: bool, falls: bool = False) -> None:
        """One of several acts, of which the first condition that holds decides; None always does. ``breaks``: ``break`` leaves it.
        ``falls``: a case goes on with the next one."""
        builder, ended = self.builder, -1
        after = builder.new()
        self.regions.append(Region(after=after if breaks else -1))
        for test, act in cases:
            inside, following = builder.new(), builder.new()
            builder.branch(test, inside, following)
            if ended >= 0:
                builder.edge(ended, inside)
            builder.enter(inside, builder.last_decision, 0)
            act()
            if falls:
                ended = builder.current
            else:
                builder.jump(after)
            builder.leave()
            builder.start(following)
        if ended >= 0:
            builder.edge(ended, after)
        builder.jump(after)
        self.regions.pop()
        builder.start(after)

    # Jumps.

    def jump_out(self, again: bool = False) -> None:
        """break or continue."""
        for at in range(len(self.regions) - 1, -1, -1):
            target = self.regions[at].again if again else self.regions[at].after
            if target >= 0:
                self.end_regions(at + 1)
                self.builder.jump(target, "jump")
                break
        self.builder.stop()

    def end_regions(self, until: int) -> None:
        """The endings of all regions from the innermost to the one with that index."""
        regions = self.regions
        for at in range(len(regions) - 1, until - 1, -1):
            ending = regions[at].ending
            if ending is not None:
                self.regions = regions[:at]
                ending()
        self.regions = regions

    def jump_to_label(self, label: str) -> None:
        self.builder.jump(self.builder.label(label), "jump")
        self.builder.stop()
