"""What the lowerings of languages with exceptions and ``finally`` share: which text is of interest, and the flow of control."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvet.source.calls import meaning
from cuvet.source.graph import Builder
from cuvet.source.parsing import Source
from cuvet.source.program import (
    Address,
    Assign,
    Call,
    Condition,
    Escape,
    Function,
    Inside,
    Operation,
    Parameter,
    Return,
    Value,
)

if TYPE_CHECKING:
    from tree_sitter import Node

WORD = re.compile(rb"[A-Za-z_]\w*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_FLAG = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:true|false|True|False)\b")

DEEPEST = 100
"""How deep definitions are looked for in blocks, classes and functions."""

Act = Callable[[], None]


@dataclass
class _Region:
    """Statements with a ``finally``, or a loop. ``after`` and ``again`` are where ``break`` and ``continue`` lead."""

    ending: Act | None = None
    after: int = -1
    again: int = -1
    caught: bool = False
    """Exceptions are caught, by what is not known."""


@dataclass
class Interest:
    """Of a function's text: ``names`` are the variables that CUDA's calls take, ``at`` the offsets of all words that make a
    statement worth a look."""

    names: frozenset[bytes]
    at: list[int]


def find_interest(
    text: bytes,
    start: int,
    end: int,
    names: set[bytes],
    copies: re.Pattern[bytes],
    sites: Iterable[int],
    others: frozenset[bytes],
) -> Interest:
    """``names`` grows by what is copied to or from one of them (``copies`` finds target and source) and by flags, which branches ask.
    ``others`` are words of interest that name no variable."""
    names |= {match[1] for match in _FLAG.finditer(text, start, end)}
    pairs = [(set(WORD.findall(match[1])), set(WORD.findall(match[2]))) for match in copies.finditer(text, start, end)]
    for _ in range(3):
        before = len(names)
        for target, source in pairs:
            if not names.isdisjoint(target | source):
                names |= target | source
        names -= NOT_NAMES
        if len(names) == before:
            break
    found = {
        match.start() for match in WORD.finditer(text, start, end) if match.group() in names or match.group() in others
    }
    return Interest(frozenset(names), sorted(found | set(sites)))


NOT_NAMES = frozenset(
    b"self cls this base int str len range None null True False true false new out ref in var IntPtr ctypes".split()
)


class Lowering(ABC):
    """Of one function. Statements that touch no word of interest are skipped."""

    def __init__(self, source: Source, node: Node, owner: str, name: str, interest: Interest) -> None:
        self.source = source
        self.text = source.text
        self.node = node
        self.owner = owner
        self.name = name
        self.interest = interest
        self.builder = Builder()
        self.locals: dict[str, str] = {}
        self.parameters: tuple[Parameter, ...] = ()
        self.temporaries = 0
        self._lent: dict[str, tuple[Value, ...]] = {}
        """By result of a function that is not CUDA's: what it was given."""
        self._regions: list[_Region] = []

    @abstractmethod
    def statement(self, node: Node) -> None:
        """One statement."""

    @abstractmethod
    def value(self, node: Node) -> Value:
        """What the expression gives, after the operations that it takes."""

    @abstractmethod
    def condition(self, node: Node, yes: int, no: int) -> None:
        """Go to ``yes`` or ``no``."""

    def function(self, statements: Sequence[Node], static: bool = False) -> Function:
        """All of it. Text that could not be parsed and has a word of interest makes it ``broken``."""
        for each in statements:
            self.statement(each)
        node = self.node
        self.builder.add(Return(max(node.end_byte - 1, 0), node.end_byte, how="end"))
        self.builder.stop()
        return Function(
            name=self.name,
            owner=self.owner,
            parameters=self.parameters,
            blocks=self.builder.finish(),
            start=node.start_byte,
            end=node.end_byte,
            locals=self.locals,
            broken=node.has_error and any(each.has_error and self._unread(each) for each in statements),
            static=static,
        )

    def _unread(self, node: Node) -> bool:
        """Whether a word of interest stands in text that could not be parsed."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.is_missing or (each.is_error and self.hot(each)):
                return True
            if each.has_error:
                waiting += each.children
        return False

    # What is of interest.

    def hot(self, node: Node) -> bool:
        at = bisect_left(self.interest.at, node.start_byte)
        return at < len(self.interest.at) and self.interest.at[at] < node.end_byte

    def concerns(self, place: str) -> bool:
        return place[:1] == "%" or any(word.encode() in self.interest.names for word in _IDENTIFIER.findall(place))

    def emit(self, operation: Operation) -> None:
        if isinstance(operation, Assign) and isinstance(operation.value, str) and not self.concerns(operation.value):
            operation.value = None  # what happens to that place is not followed
        self.builder.add(operation)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"%{self.temporaries}"

    def assign(self, place: str, value: Value, node: Node, declared: bool = False) -> None:
        """The place gets a value, if one of the two is followed; what it cannot name is known elsewhere."""
        if not place:
            self.escape(value, node.start_byte)
        elif place != value and (self.concerns(place) or (isinstance(value, str) and self.concerns(value))):
            self.emit(Assign(place, value, node.start_byte, node.end_byte, declared, self.locals.get(place, "")))
            self.share(place, node.start_byte)

    def share(self, place: str, at: int) -> None:
        """What a place holds is known elsewhere if it belongs to another object: variables only refer to objects."""
        if "." in place and not place.startswith(("self.", "this.")):
            self.emit(Escape(place, at))

    def escape(self, value: Value, at: int) -> None:
        """Somebody of whom nothing is known has the value now, and what it was made of."""
        for each in self._lent.get(value, ()) if isinstance(value, str) else ():
            self.escape(each.place if isinstance(each, Address) else each, at)
        place = value if isinstance(value, str) else value.place if isinstance(value, Address | Inside) else ""
        if place and self.concerns(place):
            self.emit(Escape(place, at, written=isinstance(value, Address)))

    def escape_names(self, node: Node, places: Callable[[str], Iterable[str]]) -> None:
        """Each variable that the text names may be changed there, and its value be kept."""
        for word in dict.fromkeys(WORD.findall(node.text or b"")):
            if word in self.interest.names:
                for place in places(word.decode()):
                    self.emit(Escape(place, node.start_byte, written=True))

    def follows(self, value: Value) -> bool:
        place = value if isinstance(value, str) else value.place if isinstance(value, Address | Inside) else ""
        return bool(place) and self.concerns(place)

    # Flow of control.

    def test(self, node: Node, place: str, same: bool, value: Value, yes: int, no: int) -> None:
        """Go to ``yes`` if ``place`` is (``same``) ``value``, or to ``no``."""
        text = re.sub(r"\s+", " ", (node.text or b"").decode("utf-8", "replace"))
        names = tuple(dict.fromkeys(_IDENTIFIER.findall(text[:400])))
        self.builder.branch(Condition(text[:200], names, node.start_byte, node.end_byte, place, same, value), yes, no)

    def fork(self, test: Callable[[int, int], None], then: Act, otherwise: Act | None) -> None:
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
        builder.start(join)

    def either(self, test: Node, one: Node, other: Node) -> Value:
        """The value of one of two expressions."""
        if not self.hot(one) and not self.hot(other):
            for node in (test, one, other):
                self.escape(self.value(node), node.start_byte)
            return None
        result = self.temporary()

        def gives(node: Node) -> Act:
            return lambda: self.emit(Assign(result, self.value(node), node.start_byte, node.end_byte))

        self.fork(lambda yes, no: self.condition(test, yes, no), gives(one), gives(other))
        return result

    def perhaps(self, what: str, node: Node, act: Act) -> None:
        """Something happens, or does not."""
        condition = Condition(what, (), node.start_byte, self.source.line_end(node.start_byte))
        self.fork(lambda yes, no: self.builder.branch(condition, yes, no), act, None)

    def repeat(
        self, test: Callable[[int, int], None], body: Act, update: Act | None = None, first: bool = False
    ) -> None:
        """A loop. With ``first`` its body comes before the test."""
        builder = self.builder
        head, inside, after, again = builder.new(), builder.new(), builder.new(), builder.new()
        builder.jump(inside if first else head)
        builder.start(head)
        test(inside, after)
        builder.leave_last(after)
        self._regions.append(_Region(after=after, again=again))
        builder.enter(inside, builder.last_decision, 0)
        body()
        builder.jump(again)
        builder.start(again)
        if update is not None:
            update()
        builder.jump(head, "back")
        builder.leave()
        self._regions.pop()
        builder.start(after)

    def cases(self, subject: str, cases: Sequence[tuple[Node, str | None, Act]], breaks: bool) -> None:
        """One of several (where, label, what happens) that do not fall through; label None: whatever is left. ``breaks``: ``break``
        leaves it."""
        builder = self.builder
        after = builder.new()
        self._regions.append(_Region(after=after if breaks else -1))
        for node, label, act in cases:
            inside, following = builder.new(), builder.new()
            test = Condition(
                f"{subject} == {label}", tuple(_IDENTIFIER.findall(subject)), node.start_byte, node.start_byte + 4
            )
            builder.branch(test if label is not None else None, inside, following)
            builder.enter(inside, builder.last_decision, 0)
            act()
            builder.jump(after)
            builder.leave()
            builder.start(following if label is not None else -1)
        builder.jump(after)
        self._regions.pop()
        builder.start(after)

    def guarded(self, body: Act, handlers: Sequence[tuple[Node, Act]], escaping: Act, ending: Act | None) -> None:
        """try. A handler runs instead of the body: how much of that was done is not known, so all that it touches is unknown then
        (``escaping``). ``ending`` is what follows whatever happens."""
        self._regions.append(_Region(ending=ending))
        builder = self.builder
        after = builder.new()
        for node, handler in handlers:
            caught, following = builder.new(), builder.new()
            thrown = Condition("an exception is raised", (), node.start_byte, self.source.line_end(node.start_byte))
            builder.branch(thrown, following, caught)
            decided = builder.last_decision
            builder.enter(caught, decided, 1)
            escaping()
            handler()
            builder.jump(after)
            builder.leave()
            builder.start(following)
        self._regions.append(_Region(caught=bool(handlers)))
        body()
        self._regions.pop()
        builder.jump(after)
        builder.start(after)
        self._regions.pop()
        if ending is not None and builder.current >= 0:
            ending()

    def leave(self, node: Node, how: str, value: Value = None) -> None:
        """return or throw, by way of each ``finally`` around. Who catches it within the function is not followed."""
        if how == "throw" and any(region.caught for region in self._regions):
            self.builder.stop()
            return
        self._end(0)
        self.emit(Return(node.start_byte, node.end_byte, value=value, how=how))
        self.builder.stop()

    def _end(self, until: int) -> None:
        """The endings of all regions from the innermost to the one with that index."""
        regions = self._regions
        for at in range(len(regions) - 1, until - 1, -1):
            ending = regions[at].ending
            if ending is not None:
                self._regions = regions[:at]
                ending()
        self._regions = regions

    def jump_out(self, again: bool = False) -> None:
        """break or continue."""
        for at in range(len(self._regions) - 1, -1, -1):
            target = self._regions[at].again if again else self._regions[at].after
            if target >= 0:
                self._end(at + 1)
                self.builder.jump(target, "jump")
                break
        self.builder.stop()

    # Calls.

    def other_call(
        self, name: str, receiver: str, values: tuple[Value, ...], nodes: Sequence[Node], node: Node, before: int
    ) -> Value:
        """A function that is not CUDA's. ``before``: the newest temporary when its arguments were begun."""
        if self._looks_at_result(values, before):
            self.builder.check(before)
            return f"%{before + 1}?"
        if not ((receiver and self.concerns(receiver)) or any(self.follows(value) for value in values)):
            return None
        for value in values:
            if isinstance(value, str) and value in self._lent:
                self.escape(value, node.start_byte)
        call = Call(
            name, values, node.start_byte, node.end_byte, receiver=receiver, spans=spans(nodes), result=self.temporary()
        )
        self.emit(call)
        self._lent[call.result] = values
        return call.result

    def _looks_at_result(self, values: tuple[Value, ...], before: int) -> bool:
        fresh = any(
            isinstance(value, str) and value[0] == "%" and int(value[1:].rstrip("?")) > before for value in values
        )
        return fresh and self.builder.is_cuda_result(before)


def spans(nodes: Sequence[Node]) -> tuple[tuple[int, int], ...]:
    return tuple((node.start_byte, node.end_byte) for node in nodes)


def handles(api: str) -> tuple[int, ...]:
    """Positions of an entry point's parameters that are handles, or get one."""
    found = meaning(api)
    return tuple(at for at, _ in (*found.made, *found.ended, *found.named)) if found is not None else ()
