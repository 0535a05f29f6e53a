"""What the branches of a function hold, looked up once: which of them leave, and which of them change what an lvalue holds."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from cuvet.catalog import Kind
from cuvet.model.touching import touches_memory
from cuvet.source.calls import meaning
from cuvet.source.methods import shared_objects
from cuvet.source.ownership import hands_over, takes_over
from cuvet.source.paths.ahead import Ahead
from cuvet.source.paths.handles import root
from cuvet.source.paths.trace import Guards
from cuvet.source.program import (
    OF_BUILD,
    Address,
    Assign,
    Block,
    Condition,
    Escape,
    Function,
    Inside,
    Invoke,
    Operation,
    Return,
    lvalue_of,
)
from cuvet.source.syntax.macros import names_in

Arm = tuple[int, int]
"""An arm of a decision: a block, and one of its edges."""
_NONE: frozenset[Arm] = frozenset()
_NO_PLACES: frozenset[str] = frozenset()


class Arms:
    """Of one function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._inside: dict[Arm, list[int]] = {}
        self._alone: dict[int, bool] = {}
        """By block, whether it alone asks for its condition."""
        self._leading: dict[Arm, list[Arm]] = {}
        """By arm, those of the conditions before its own, joined to it by && or ||, that go to the same place."""
        for arm, owner in self._owners.items():
            self._leading.setdefault(owner, []).append(arm)
        for number in range(len(function.blocks)):
            for arm in self._around(number):
                self._inside.setdefault(arm, []).append(number)

    @cached_property
    def _owners(self) -> dict[Arm, Arm]:
        blocks = self._function.blocks
        found: dict[Arm, Arm] = {}
        for number, block in enumerate(blocks):
            for arm, edge in enumerate(block.edges) if len(block.edges) > 1 else ():
                last = blocks[edge.target].guards[-1:]
                if last and last[0] != (number, arm) and number < last[0][0] and _leads(blocks, last[0], edge.target):
                    found[number, arm] = last[0]
        return found

    def owner(self, arm: Arm) -> Arm:
        """The arm itself or, if its condition is joined to others by && or ||, the one of the last of them that goes to the same place."""
        return self._owners.get(arm, arm)

    def _around(self, block: int) -> Guards:
        guards = self._function.blocks[block].guards
        return (*guards, *(each for guard in guards for each in self._leading.get(guard, ())))

    @cached_property
    def shared(self) -> frozenset[str]:
        """Variables whose object others may know."""
        return shared_objects(self._function)

    @cached_property
    def may_race(self) -> bool:
        """Whether the function makes several streams, and gives work to streams that it names."""
        found = [each for call in self._function.calls if (each := meaning(call.name)) is not None and not call.launch]
        streams = sum(role.kind is Kind.STREAM for each in found for _, role in each.made)
        return streams > 1 and any(touches_memory(each.told) for each in found)

    @cached_property
    def leaving(self) -> frozenset[Arm]:
        """Those that leave what follows the decision: by return, throw, break or goto."""
        return frozenset(arm for arm, members in self._inside.items() if not self._falls_through(members))

    @cached_property
    def ending(self) -> frozenset[Arm]:
        """Those of them that end the function."""
        blocks = self._function.blocks
        ends = {at for at, block in enumerate(blocks) if any(isinstance(each, Return) for each in block.operations)}
        return frozenset(arm for arm in self.leaving if not ends.isdisjoint(self._inside[arm]))

    def goes_to_label(self, arm: Arm) -> bool:
        """Whether the arm, or something in it, goes to a label."""
        blocks, labels = self._function.blocks, self._function.labels
        edges = [blocks[arm[0]].edges[arm[1]], *(edge for at in self._inside.get(arm, ()) for edge in blocks[at].edges)]
        return any(edge.kind == "jump" and edge.target in labels for edge in edges)

    def changing(self, lvalue: str) -> frozenset[Arm]:
        """Those that may change, end or give away what the lvalue holds, or call a function on the object that the lvalue is in."""
        objects = (lvalue[:at] for at, character in enumerate(lvalue) if character == ".")
        found = [arms for each in objects if (arms := self._by_receiver.get(each))]
        return self._by_lvalue.get(lvalue, _NONE).union(*found)

    @cached_property
    def switching(self) -> frozenset[Arm]:
        """Those that make another device or context current."""
        return frozenset(
            arm
            for number, block in enumerate(self._function.blocks)
            if any(map(_switches, block.operations))
            for arm in self._around(number)
        )

    @cached_property
    def _by_lvalue(self) -> dict[str, frozenset[Arm]]:
        return self._arms_with(lvalues)

    @cached_property
    def _by_receiver(self) -> dict[str, frozenset[Arm]]:
        return self._arms_with(lambda each: {each.receiver} if isinstance(each, Invoke) else set())

    def _arms_with(self, names: Callable[[Operation], set[str]]) -> dict[str, frozenset[Arm]]:
        """Name to the arms with an operation that has it."""
        found: dict[str, set[Arm]] = {}
        for number, block in enumerate(self._function.blocks):
            if block.guards:
                around = self._around(number)
                for name in {name for operation in block.operations for name in names(operation)}:
                    found.setdefault(name, set()).update(around)
        return {name: frozenset(arms) for name, arms in found.items() if name}

    @cached_property
    def puts(self) -> dict[str, set[str]]:
        """By lvalue, the variables through which it is put somewhere, as in ``if (out) *out = object``."""
        found: dict[str, set[str]] = {}
        for each in self._function.operations:
            if isinstance(each, Assign) and isinstance(each.value, str) and each.lvalue != root(each.lvalue):
                found.setdefault(each.value, set()).add(root(each.lvalue))
        return found

    @cached_property
    def _ends(self) -> dict[str, list[tuple[int, int]]]:
        """By lvalue, the calls that end what it holds: the block of each, and its offset."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, block in enumerate(self._function.blocks):
            for call in (each for each in block.operations if isinstance(each, Invoke)):
                known = meaning(call.name)
                for at, _ in known.ended if known is not None else ():
                    if isinstance(lvalue := call.argument(at), str):
                        found.setdefault(lvalue, []).append((number, call.start))
        return found

    @cached_property
    def _copied_values(self) -> frozenset[str]:
        """Lvalues that are copied to others."""
        operations = (each for block in self._function.blocks for each in block.operations)
        return frozenset(each.value for each in operations if isinstance(each, Assign) and isinstance(each.value, str))

    @cached_property
    def _names_of_results(self) -> dict[str, str]:
        operations = (each for block in self._function.blocks for each in block.operations)
        return {
            each.value: each.lvalue
            for each in operations
            if isinstance(each, Assign) and isinstance(each.value, str) and each.value[:1] == "%"
        }

    def named(self, result: str) -> str:
        """The variable that a call's result is assigned to, or the result."""
        return self._names_of_results.get(result, result)

    @cached_property
    def _let_go(self) -> frozenset[str]:
        operations = (each for block in self._function.blocks for each in block.operations)
        calls = (each for each in operations if isinstance(each, Invoke) and hands_over(each.name))
        return frozenset(lvalue_of(value) for call in calls for value in call.arguments)

    def lets_go(self, lvalue: str) -> bool:
        """Whether the function ends what the lvalue holds, or gives it to one that is named as if it did."""
        return lvalue in self._ends or lvalue in self._let_go

    def may_end(self, lvalue: str) -> bool:
        """Whether the function ends what the lvalue holds, or copies it to where it may be ended."""
        return lvalue in self._ends or lvalue in self._copied_values

    def ends(self, lvalue: str, within: Guards = ()) -> bool:
        """Whether the function ends what the lvalue holds, anywhere ``within`` these branches, under whatever condition."""
        blocks = self._function.blocks
        return any(blocks[block].guards[: len(within)] == within for block, _ in self._ends.get(lvalue, ()))

    def always_ends(self, lvalue: str, after: int) -> bool:
        """Whether the function ends what the lvalue holds, whatever happens, further down than the offset ``after``, and not only where it
        goes after a failure: then it means to do so on every way out."""
        ends = ((block, start) for block, start in self._ends.get(lvalue, ()) if start > after)
        return any(not self._function.blocks[block].guards and block in self._straight for block, _ in ends)

    @cached_property
    def _straight(self) -> set[int]:
        return self._function.reached_without_jumps()

    def asks_alone(self, block: int, condition: Condition) -> bool:
        """Whether no other decision than the block's asks for the same, so that the answer is of no use further on."""
        found = self._alone.get(block)
        if found is None:
            found = self._alone[block] = self._is_asked_once(block, condition)
        return found

    def _is_asked_once(self, block: int, condition: Condition) -> bool:
        if condition.text.startswith(OF_BUILD):
            names = names_in(condition.text.removeprefix(OF_BUILD))
            return all(self._names_of_build[name] == 1 for name in names)
        return self._texts[condition.text] <= (block not in self.loops)

    def uneven(self, block: int, matters: Callable[[str], bool]) -> Iterator[str]:
        """Lvalues that one arm of the block's decision changes and the other one does not, so that it has to be known of their objects
        which arm was taken."""
        for lvalue in self._lvalues_in.get((block, 0), _NO_PLACES) ^ self._lvalues_in.get((block, 1), _NO_PLACES):
            if matters(lvalue) or (lvalue[0] != "%" and root(lvalue) in self._copied):
                yield lvalue

    def matters(self, lvalue: str, block: int) -> bool:
        """Whether what the lvalue holds can matter from that block on."""
        return lvalue not in self._passing and self.ahead.names(block, lvalue)

    @cached_property
    def ahead(self) -> Ahead:
        return Ahead(self._function)

    @cached_property
    def loops(self) -> frozenset[int]:
        """Where they begin."""
        return frozenset(edge.target for block in self._function.blocks for edge in block.edges if edge.kind == "back")

    @cached_property
    def _copied(self) -> frozenset[str]:
        """Variables of which another one may hold the same."""
        values = (each.value for each in self._function.operations if isinstance(each, Assign))
        return frozenset(root(lvalue_of(value)) for value in values)

    @cached_property
    def _conditions(self) -> list[Condition]:
        """Each once."""
        found = (edge.condition for block in self._function.blocks for edge in block.edges[:1])
        return [condition for condition in found if condition is not None]

    @cached_property
    def _texts(self) -> Counter[str]:
        """What begins a loop is asked anew each time."""
        blocks = (block for at, block in enumerate(self._function.blocks) if at not in self.loops and block.edges)
        return Counter(asked.text for block in blocks if (asked := block.edges[0].condition) is not None)

    @cached_property
    def _names_of_build(self) -> Counter[str]:
        texts = (each.text.removeprefix(OF_BUILD) for each in self._conditions if each.text.startswith(OF_BUILD))
        return Counter(name for text in texts for name in names_in(text))

    @cached_property
    def _passing(self) -> frozenset[str]:
        """Results of calls that are used where they are made, and what one condition asks for and nothing else names."""
        named: Counter[str] = Counter()
        for block in self._function.blocks:
            here = {lvalue for operation in block.operations for lvalue in _named(operation)}
            condition = block.edges[0].condition if block.edges else None
            if condition is not None:
                here |= {condition.lvalue.removesuffix("?"), *condition.names, lvalue_of(condition.value)}
            named.update(here)
        asked = {condition.lvalue for condition in self._conditions}
        return frozenset(
            lvalue for lvalue, count in named.items() if count == 1 and (lvalue[:1] == "%" or lvalue in asked)
        )

    @cached_property
    def _lvalues_in(self) -> dict[Arm, set[str]]:
        found: dict[Arm, set[str]] = {}
        for lvalue, arms in [
            *self._by_lvalue.items(),
            *((f"{name}.", arms) for name, arms in self._by_receiver.items()),
        ]:
            for arm in arms:
                found.setdefault(arm, set()).add(lvalue)
        return found

    def _falls_through(self, members: list[int]) -> bool:
        blocks, inside = self._function.blocks, set(members)
        return any(
            edge.target not in inside and edge.kind != "jump" for number in members for edge in blocks[number].edges
        )


def _leads(blocks: Sequence[Block], arm: Arm, target: int) -> bool:
    edges = blocks[arm[0]].edges
    return arm[1] < len(edges) and edges[arm[1]].target == target


def lvalues(operation: Operation) -> set[str]:
    """Lvalues that an operation may change, end or give away."""
    if isinstance(operation, Assign):
        value = lvalue_of(operation.value)
        return {operation.lvalue, value.split("[")[0] if isinstance(operation.value, Address | Inside) else value}
    if isinstance(operation, Escape):
        return {operation.lvalue}
    if isinstance(operation, Return):
        return {lvalue_of(operation.value)}
    return set() if operation.launch else _of_call(operation)


def _of_call(call: Invoke) -> set[str]:
    found = meaning(call.name)
    ended = {at for at, _ in found.ended} if found is not None else set()
    takes = found is None and takes_over(call.name)
    return {
        lvalue_of(value)
        for at, value in enumerate(call.arguments)
        if takes or at in ended or isinstance(value, Address)
    }


def _named(operation: Operation) -> Iterator[str]:
    """All lvalues that an operation names."""
    if isinstance(operation, Invoke):
        yield from (operation.result, operation.receiver, lvalue_of(operation.stream))
        yield from map(lvalue_of, operation.arguments)
    elif isinstance(operation, Assign):
        yield from (operation.lvalue, lvalue_of(operation.value))
    else:
        yield operation.lvalue if isinstance(operation, Escape) else lvalue_of(operation.value)


def _switches(operation: Operation) -> bool:
    found = meaning(operation.name) if isinstance(operation, Invoke) else None
    return found is not None and found.switches
