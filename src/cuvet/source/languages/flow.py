"""What all lowerings share of the flow of control: branches, loops, jumps out of them, and what conditions ask."""

from collections.abc import Callable
from dataclasses import dataclass

from cuvet.source.languages.interest import Interest
from cuvet.source.languages.operations import Operations
from cuvet.source.program import Assign, Condition, Function, Return, Value
from cuvet.source.syntax.parsing import Node, Source, text_of, without_comments

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


class Flow(Operations):
    """Of one function."""

    def __init__(self, source: Source, node: Node, owner: str, interest: Interest) -> None:
        super().__init__(source, node, owner, interest)
        self.regions: list[Region] = []

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
        )

    # Statements.

    def block(self, node: Node | None) -> None:
        for child in without_comments(node):
            self.statement(child)

    def break_(self, node: Node) -> None:
        self.jump_out()

    def continue_(self, node: Node) -> None:
        self.jump_out(again=True)

    def labeled(self, node: Node) -> None:
        label, *statements = node.named_children
        self.builder.set_label(text_of(label))
        for child in statements:
            self.statement(child)

    # Conditions.

    def asks(self, condition: Node) -> Test:
        return lambda yes, no: self.condition(condition, yes, no)

    def connected(self, left: Node, right: Node, both: bool, yes: int, no: int) -> None:
        """``left && right``, or ``left || right``."""
        middle = self.builder.new()
        self.condition(left, middle if both else yes, no if both else middle)
        self.builder.start(middle)
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
        builder.start(join)

    def one_of(self, test: Node, *arms: tuple[Node, Callable[[], Value]] | None) -> str:
        """The value (where, what) of the first arm if the condition holds, or else of the second; None: it gives nothing."""
        result = self.temporary()

        def gives(node: Node, value: Callable[[], Value]) -> Act:
            return lambda: self.emit(Assign(result, value(), node.start_byte, node.end_byte))

        one, other = (None if arm is None else gives(*arm) for arm in arms)
        self.fork(self.asks(test), one, other)
        return result

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
        test(inside, after)
        builder.leave_last(after)
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


def compared(first: Value, second: Value) -> tuple[str, Value]:
    """The lvalue in a comparison of two values, and what it is compared with; empty if there is none."""
    lvalue, other = (first, second) if isinstance(first, str) else (second, first)
    return lvalue if isinstance(lvalue, str) else "", other
