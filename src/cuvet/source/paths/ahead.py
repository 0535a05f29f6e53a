"""What lies ahead of each block of a function: where its ways come together again, and which variables are still named there."""

from collections.abc import Iterator
from functools import cached_property

from cuvet.source.calls import meaning
from cuvet.source.paths.handles import root
from cuvet.source.program import Address, Assign, Block, Escape, Function, Invoke, Operation, Return, lvalue_of


class Ahead:
    """Of one function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        ends = [any(isinstance(each, Return) for each in block.operations) for block in function.blocks]
        self._onward: list[list[int]] = [
            [] if end else [edge.target for edge in block.edges]
            for end, block in zip(ends, function.blocks, strict=True)
        ]

    def join(self, block: int) -> int:
        """The first block that every way from there comes to; -1 if there is none before the end of the function."""
        return self._joins[block]

    def names(self, block: int, lvalue: str) -> bool:
        """Whether what the lvalue holds where the block begins can be asked for, from there on. What others can reach always can."""
        bit = self._bits.get(root(lvalue))
        return bit is None or bool(self._named[block] & bit)

    @cached_property
    def _joins(self) -> list[int]:
        """Immediate postdominators, as in "A Simple, Fast Dominance Algorithm" (Cooper, Harvey, Kennedy)."""
        end = len(self._onward)
        onward = [targets or [end] for targets in self._onward]
        order = self._from_the_end(onward)
        place = {block: at for at, block in enumerate(order)}
        joins = {end: end}
        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                join = -1
                for target in onward[block]:
                    if target in joins:
                        join = target if join < 0 else _meet(join, target, joins, place)
                if joins.get(block) != join:
                    joins[block] = join
                    changed = True
        return [-1 if joins.get(block, end) == end else joins[block] for block in range(end)]

    @staticmethod
    def _from_the_end(onward: list[list[int]]) -> list[int]:
        """The blocks from which the end is reached, each after one that it leads to, the end first."""
        before: list[list[int]] = [[] for _ in range(len(onward) + 1)]
        for block, targets in enumerate(onward):
            for target in targets:
                before[target].append(block)
        end = len(onward)
        left, seen, waiting = [], {end}, [(end, iter(before[end]))]
        while waiting:
            block, others = waiting[-1]
            other = next((each for each in others if each not in seen), None)
            if other is None:
                left.append(block)
                waiting.pop()
            else:
                seen.add(other)
                waiting.append((other, iter(before[other])))
        return left[::-1]

    @cached_property
    def _bits(self) -> dict[str, int]:
        """One for each variable that ends with the function, and each result of a call."""
        results = dict.fromkeys(each.result for each in self._function.calls if each.result)
        return {name: 1 << at for at, name in enumerate([*self._function.locals, *results])}

    @cached_property
    def _named(self) -> list[int]:
        """By block, those that are asked for, there or further on, before they are set anew."""
        blocks = self._function.blocks
        steps = [self._of_block(block) for block in blocks]
        before: list[list[int]] = [[] for _ in blocks]
        for block, targets in enumerate(self._onward):
            for target in targets:
                before[target].append(block)
        named = [0] * len(blocks)
        waiting = dict.fromkeys(range(len(blocks)))
        while waiting:
            block, _ = waiting.popitem()
            asked, sets = steps[block]
            now = 0
            for target in self._onward[block]:
                now |= named[target]
            now = asked | (now & ~sets)
            if now != named[block]:
                named[block] = now
                waiting.update(dict.fromkeys(before[block]))
        return named

    def _of_block(self, block: Block) -> tuple[int, int]:
        """What it asks for before it sets it, and what it sets."""
        condition = block.edges[0].condition if block.edges else None
        asked, sets = 0, 0
        if condition is not None:
            asked = self._bits_of((condition.lvalue, lvalue_of(condition.value), *condition.names))
        for operation in reversed(block.operations):
            bit = self._bits.get(_set_by(operation), 0)
            sets |= bit
            asked = asked & ~bit | self._bits_of(named(operation))
        return asked, sets

    def _bits_of(self, lvalues: tuple[str, ...]) -> int:
        found = 0
        for lvalue in lvalues:
            found |= self._bits.get(root(lvalue.removesuffix("?")), 0)
        return found


def _meet(one: int, other: int, joins: dict[int, int], place: dict[int, int]) -> int:
    while one != other:
        while place[one] > place[other]:
            one = joins[one]
        while place[other] > place[one]:
            other = joins[other]
    return one


def _made(operation: Operation) -> list[int]:
    """The arguments through which a call hands out new objects."""
    known = meaning(operation.name) if isinstance(operation, Invoke) and not operation.launch else None
    return [] if known is None else [at for at, _ in known.made]


def _set_by(operation: Operation) -> str:
    """The variable that it sets as a whole, or the first of them."""
    if isinstance(operation, Assign):
        return operation.lvalue
    if isinstance(operation, Escape):
        return operation.lvalue if operation.written else ""
    targets = (operation.argument(at) for at in _made(operation)) if isinstance(operation, Invoke) else ()
    return next((target.lvalue for target in targets if isinstance(target, Address)), "")


def named(operation: Operation) -> tuple[str, ...]:
    """The lvalues that it asks for: not one that it only sets, or of which it says that others have it."""
    return tuple(_asked(operation))


def _asked(operation: Operation) -> Iterator[str]:
    if isinstance(operation, Invoke):
        made = _made(operation)
        yield operation.receiver
        yield lvalue_of(operation.stream)
        for at, value in enumerate(operation.arguments):
            if at not in made or not isinstance(value, Address) or value.lvalue != root(value.lvalue):
                yield lvalue_of(value)
    elif isinstance(operation, Assign):
        if operation.lvalue != root(operation.lvalue):
            yield operation.lvalue
        yield lvalue_of(operation.value)
    elif isinstance(operation, Return):
        yield lvalue_of(operation.value)
