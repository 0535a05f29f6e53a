"""What the lowerings of languages with exceptions and ``finally`` share."""

from collections.abc import Sequence

from cuvet.source.languages.flow import Act, Flow, Region
from cuvet.source.languages.interest import IDENTIFIER, Interest
from cuvet.source.languages.operations import spans
from cuvet.source.program import THROWN, Assign, Condition, Escape, Function, Invoke, Return, Value
from cuvet.source.syntax.parsing import Node, Source

DEEPEST = 100
"""How deep definitions are looked for in blocks, classes and functions."""


class Lowering(Flow):
    """Of one function."""

    def __init__(self, source: Source, node: Node, owner: str, name: str, interest: Interest) -> None:
        super().__init__(source, node, owner, interest)
        self.name = name

    def function(self, statements: Sequence[Node], static: bool = False) -> Function:
        """All of it. Text that could not be parsed and has a word of interest makes it ``broken``."""
        self.run(statements)
        broken = self.node.has_error and any(each.has_error and self._unread(each) for each in statements)
        return self.finished(self.name, self.owner, self.node.end_byte, broken, static)

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

    # Lvalues that change.

    def assign(self, lvalue: str, value: Value, node: Node, declared: bool = False) -> None:
        """The lvalue gets a value, if one of the two is followed; what it cannot name is known elsewhere."""
        if not lvalue:
            self.escape(value, node.start_byte)
        elif lvalue != value and (self.concerns(lvalue) or (isinstance(value, str) and self.concerns(value))):
            self.emit(Assign(lvalue, value, node.start_byte, node.end_byte, declared, self.locals.get(lvalue, "")))
            self.share(lvalue, node.start_byte)

    def share(self, lvalue: str, at: int) -> None:
        """What an lvalue holds is known elsewhere if it belongs to another object: variables only refer to objects."""
        if "." in lvalue and not lvalue.startswith(("self.", "this.")):
            self.emit(Escape(lvalue, at))

    # Statements.

    def each_of(self, left: Node, right: Node, body: Act) -> None:
        """A loop over the elements of something."""
        elements = self.value(right)
        if isinstance(elements, str) and self.concerns(elements):
            self.emit(Escape(elements, right.start_byte, written=True))
        self.repeat(lambda yes, no: self.test(left, yes, no), body)

    def throw(self, node: Node) -> None:
        for child in node.named_children:
            self.value(child)
        self.leave(node, "throw")

    # Flow of control.

    def guarded(self, block: Node, body: Act, handlers: Sequence[tuple[Node, Act]], last: Node | None) -> None:
        """try. A handler runs instead of the body: how much of that was done is not known, so all that the ``block`` names is unknown
        then. ``last`` is the block that follows whatever happens."""
        ending = self.act(last) if last is not None and self.hot(last) else None
        self.regions.append(Region(ending=ending))
        builder = self.builder
        after = builder.new()
        for node, handler in handlers:
            caught, following = builder.new(), builder.new()
            start = node.start_byte
            thrown = Condition(f"{THROWN} {start}", (), start, self.source.line_end(start))
            builder.branch(thrown, following, caught, truth=False)
            decided = builder.last_decision
            builder.enter(caught, decided, 1)
            self.escape_names(block)
            handler()
            builder.jump(after)
            builder.leave()
            builder.start(following)
        self.regions.append(Region(caught=bool(handlers)))
        body()
        self.regions.pop()
        builder.jump(after)
        builder.start(after)
        self.regions.pop()
        if ending is not None and builder.current >= 0:
            ending()

    def leave(self, node: Node, how: str, value: Value = None) -> None:
        """return or throw, by way of each ``finally`` around. Who catches it within the function is not followed."""
        if how == "throw" and any(region.caught for region in self.regions):
            self.builder.stop()
            return
        self.end_regions(0)
        self.emit(Return(node.start_byte, node.end_byte, value=value, how=how))
        self.builder.stop()

    # Values.

    def other_call(
        self, name: str, receiver: str, values: tuple[Value, ...], nodes: Sequence[Node], node: Node, before: int
    ) -> Value:
        """A function that is not CUDA's. ``before``: the newest temporary when its arguments were begun."""
        if self.looks_at_result(values, before):
            self.builder.check(before)
            return f"%{before + 1}?"
        if not ((receiver and self.concerns(receiver)) or any(self.follows(value) for value in values)):
            return None
        for value in values:
            if isinstance(value, str) and value in self._lent:
                self.escape(value, node.start_byte)
        call = Invoke(name, values, node.start_byte, node.end_byte, self.temporary(), receiver, spans(nodes))
        self.emit(call)
        self._lent[call.result] = values
        return call.result


def case(node: Node, subject: str, label: str | None) -> Condition | None:
    """Whether the subject is what the label says; None for whatever is left."""
    if label is None:
        return None
    return Condition(f"{subject} == {label}", tuple(IDENTIFIER.findall(subject)), node.start_byte, node.start_byte + 4)
