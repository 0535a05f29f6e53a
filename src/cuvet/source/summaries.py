"""What a function of the same file does with what it is given: ends it, makes it, returns what it made, keeps it, or only uses it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cuvet.source.calls import meaning
from cuvet.source.ownership import takes_over
from cuvet.source.program import Address, Assign, Call, Escape, Function, Inside, Operation, Return, Value

Summaries = dict[tuple[str, int], "Summary"]
"""By name and number of parameters."""


@dataclass
class Ending:
    """``api`` ends what the parameter names; with ``through`` what it points to. ``always``: whatever happens in the function."""

    api: str
    through: bool
    always: bool


@dataclass
class Summary:
    """``ends``, ``makes`` and ``keeps`` by the parameter's position. ``makes`` and ``returns`` name the entry point that made it."""

    ends: dict[int, Ending] = field(default_factory=dict)
    makes: dict[int, str] = field(default_factory=dict)
    keeps: set[int] = field(default_factory=set)
    references: set[int] = field(default_factory=set)
    """Parameters that are the caller's own variables."""
    returns: str = ""

    @property
    def matters(self) -> bool:
        """Whether a caller's objects are made or ended by it."""
        return bool(self.ends or self.makes or self.returns)


def summarise(functions: Iterable[Function]) -> Summaries:
    """Where two functions have one name and as many parameters, of neither."""
    found: Summaries = {}
    twice: set[tuple[str, int]] = set()
    for function in functions:
        key = (function.name, len(function.parameters))
        if function.broken or key in twice or function.name.startswith("__"):
            continue
        if key in found:
            twice.add(key)
            del found[key]
        else:
            found[key] = _summary(function)
    return found


def _summary(function: Function) -> Summary:
    summary = Summary()
    summary.references.update(at for at, each in enumerate(function.parameters) if each.reference)
    positions = {parameter.name: at for at, parameter in enumerate(function.parameters)}
    made: dict[str, str] = {}
    for block in function.blocks:
        for operation in block.operations:
            if isinstance(operation, Call) and not operation.launch and (known := meaning(operation.name)) is not None:
                for at, _ in known.ended:
                    value = operation.arguments[at] if at < len(operation.arguments) else None
                    position, through = _position(value, positions)
                    if position >= 0:
                        summary.ends[position] = Ending(
                            operation.name, through, always=_always(function, block.guards, value)
                        )
                for at, _ in known.made:
                    value = operation.arguments[at] if at < len(operation.arguments) else None
                    _made(value, operation.name, function, positions, summary, made)
            else:
                _other(operation, positions, summary, made)
    return summary


def _position(value: Value, positions: dict[str, int]) -> tuple[int, bool]:
    """(parameter, whether through it as a pointer) that a value is; -1 if it is none."""
    if not isinstance(value, str):
        return -1, False
    if value in positions:
        return positions[value], False
    if value.endswith("[0]") and value[:-3] in positions:
        return positions[value[:-3]], True
    return -1, False


def _always(function: Function, guards: tuple[tuple[int, int], ...], value: Value) -> bool:
    """Whether the block is reached whenever the value is something."""
    for block, _ in guards:
        condition = function.blocks[block].edges[0].condition
        if condition is None or condition.place != value:
            return False
    return True


def _made(
    value: Value, api: str, function: Function, positions: dict[str, int], summary: Summary, made: dict[str, str]
) -> None:
    if isinstance(value, Address):
        place = value.place
        if place.endswith("[0]") and place[:-3] in positions:
            summary.makes[positions[place[:-3]]] = api
        elif place in positions:
            if function.parameters[positions[place]].reference:
                summary.makes[positions[place]] = api
        elif place in function.locals:
            made[place] = api
    elif isinstance(value, str) and value in positions:
        summary.makes[positions[value]] = api


def _other(operation: Operation, positions: dict[str, int], summary: Summary, made: dict[str, str]) -> None:
    given: list[Value] = []
    if isinstance(operation, Return):
        if isinstance(operation.value, str) and operation.value in made:
            summary.returns = made[operation.value]
        given = [operation.value]
    elif isinstance(operation, Assign):
        if operation.place not in positions:
            given = [operation.value]
        elif operation.value != 0:
            summary.keeps.add(positions[operation.place])
        if operation.place in made:
            del made[operation.place]
    elif isinstance(operation, Escape):
        given = [operation.place]
    elif not operation.launch and (takes_over(operation.name) or operation.receiver in positions):
        given = [*operation.arguments, operation.receiver or None]
    elif not operation.launch:
        given = [Address(value.place) for value in operation.arguments if isinstance(value, Address)]
    for value in given:
        place = value.place if isinstance(value, Address | Inside) else value
        if isinstance(place, str):
            root = place.split(".")[0].split("->")[0].split("[")[0]
            if root in positions:
                summary.keeps.add(positions[root])
            made.pop(root, None) if not isinstance(operation, Return) else None
