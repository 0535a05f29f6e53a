"""What a function of the program does with what it is given: ends it, makes it, returns what it made, keeps it, or only uses it."""

import re
from collections.abc import Iterable, Iterator, Mapping

from cuvet.source.calls import ASKING, meaning
from cuvet.source.methods import called, deeds, of_class, plain
from cuvet.source.ownership import takes_over
from cuvet.source.paths.handles import root
from cuvet.source.program import Address, Assign, Escape, Function, Invoke, Operation, Return, Value, lvalue_of
from cuvet.source.result import Ending, Summaries, Summary

_OF_LIBRARIES = re.compile(r"^(?:std|thrust|cub|boost|absl|fmt)::")


def summarise(functions: Iterable[Function], known: Summaries) -> Summaries:
    """Where two functions have one name and as many parameters, of neither. ``known`` are functions that they call."""
    found: Summaries = {}
    twice: set[tuple[str, int]] = set()
    for function in functions:
        parameters = len(function.parameters)
        if not function.broken and (owner := of_class(function)):
            found[f"{owner}.{called(function.name)}"] = {parameters - 1: _of_method(function, known)}
        if function.broken or (function.name, parameters) in twice or function.name.startswith("__"):
            continue
        summaries = found.setdefault(function.name, {})
        if parameters in summaries:
            twice.add((function.name, parameters))
            summaries[parameters] = Summary(several=True)
        else:
            summaries[parameters] = _summary(function, known)
    return found


def merged(*several: Mapping[str, dict[int, Summary]]) -> Summaries:
    """All of them. What an earlier one says of a name holds."""
    found: Summaries = {}
    for summaries in several:
        for name, by_parameters in summaries.items():
            found.setdefault(name, by_parameters)
    return found


def names_that_matter(summaries: Summaries) -> frozenset[bytes]:
    """Functions whose callers have to be read with them in mind."""
    return frozenset(
        plain(name).encode() for name, found in summaries.items() if any(summary.matters for summary in found.values())
    )


def summary_of(call: Invoke, summaries: Summaries) -> Summary | None:
    """Of the function that is called. Arguments may be left out where only one function has the name; a class or a namespace that
    is named is one of this program, if that defines such a function."""
    scope, _, name = call.name.rpartition("::")
    found = summaries.get(name)
    if found is None or _OF_LIBRARIES.match(call.name):
        return None
    arguments = len(call.arguments)
    exact = found.get(arguments)
    if exact is None:
        others = [summary for parameters, summary in found.items() if parameters > arguments]
        exact = others[0] if len(others) == 1 else None
    if exact is None or exact.several:
        return None
    if exact.scopes is None:
        return exact
    return exact if not call.receiver and (not scope or scope.rpartition("::")[2] in exact.scopes) else None


def _of_method(function: Function, callees: Summaries) -> Summary:
    summary = _summary(function, callees)
    summary.members = list(deeds(function, lambda call: summary_of(call, callees)))
    return summary


def _summary(function: Function, callees: Summaries) -> Summary:
    summary = Summary()
    summary.references.update(at for at, each in enumerate(function.parameters) if each.reference)
    positions = {parameter.name: at for at, parameter in enumerate(function.parameters)}
    changed = {lvalue for operation in function.operations for lvalue in _changed(operation)}
    summary.variables.update(at for at in summary.references if "*" not in function.parameters[at].type)
    summary.sets.update(at for name, at in positions.items() if name in changed and at in summary.references)
    made: dict[str, str] = {}
    for block in function.blocks:
        for operation in block.operations:
            if (
                isinstance(operation, Invoke)
                and not operation.launch
                and (known := meaning(operation.name)) is not None
            ):
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
                for at, _ in known.named:
                    value = operation.arguments[at] if at < len(operation.arguments) else None
                    always = value not in changed and not block.guards and operation.name not in ASKING
                    if isinstance(value, str) and value in positions and always:
                        summary.uses.setdefault(positions[value], (operation.name, at))
            elif isinstance(operation, Invoke) and (callee := summary_of(operation, callees)) is not None:
                _through(operation, callee, function, positions, summary, made)
            elif isinstance(operation, Assign) and isinstance(operation.value, str) and operation.value in made:
                _handed_on(operation.lvalue, made.pop(operation.value), function, positions, summary, made)
            else:
                _other(operation, positions, summary, made)
    for position in summary.keeps:
        summary.makes.pop(position, None)
    return summary


def _changed(operation: Operation) -> Iterator[str]:
    """Variables that hold, or may hold, something else after the operation."""
    if isinstance(operation, Assign):
        yield operation.lvalue
    elif isinstance(operation, Escape):
        yield operation.lvalue if operation.written else ""
    elif isinstance(operation, Invoke) and not operation.launch:
        known = meaning(operation.name)
        made = {at for at, _ in known.made} if known is not None else set()
        for at, value in enumerate(operation.arguments):
            if isinstance(value, Address) or (isinstance(value, str) and (known is None or at in made)):
                yield lvalue_of(value)


def _through(
    call: Invoke,
    callee: Summary,
    function: Function,
    positions: dict[str, int],
    summary: Summary,
    made: dict[str, str],
) -> None:
    """A function is called that makes or ends objects for this one."""
    for at, value in enumerate(call.arguments):
        if at in callee.makes:
            target = Address(value) if at in callee.references and isinstance(value, str) else value
            _made(target, callee.makes[at], function, positions, summary, made)
        elif at in callee.ends:
            position, through = _position(value, positions)
            if position >= 0:
                summary.ends[position] = Ending(callee.ends[at].api, through, always=False)
        elif at in callee.keeps and isinstance(value, str) and value in positions:
            summary.keeps.add(positions[value])
    if callee.returns and call.result:
        made[call.result] = callee.returns


def _handed_on(
    lvalue: str, api: str, function: Function, positions: dict[str, int], summary: Summary, made: dict[str, str]
) -> None:
    """What was made is assigned to another variable, or to the caller's."""
    if lvalue in function.locals:
        made[lvalue] = api
    elif lvalue.removesuffix("[0]") in positions:
        _made(Address(lvalue), api, function, positions, summary, made)


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
        if condition is None or condition.lvalue != value:
            return False
    return True


def _made(
    value: Value, api: str, function: Function, positions: dict[str, int], summary: Summary, made: dict[str, str]
) -> None:
    if isinstance(value, Address):
        lvalue = value.lvalue
        if lvalue.endswith("[0]") and lvalue[:-3] in positions:
            summary.makes[positions[lvalue[:-3]]] = api
        elif lvalue in positions:
            if function.parameters[positions[lvalue]].reference:
                summary.makes[positions[lvalue]] = api
        elif lvalue in function.locals:
            made[lvalue] = api
    elif isinstance(value, str) and value in positions:
        summary.makes[positions[value]] = api


def _other(operation: Operation, positions: dict[str, int], summary: Summary, made: dict[str, str]) -> None:
    given: list[Value] = []
    if isinstance(operation, Return):
        if isinstance(operation.value, str) and operation.value in made:
            summary.returns = made[operation.value]
        given = [operation.value]
    elif isinstance(operation, Assign):
        if operation.lvalue not in positions:
            given = [operation.value]
        if operation.value != 0 and (at := positions.get(operation.lvalue.removesuffix("[0]"))) is not None:
            summary.keeps.add(at)
        if operation.lvalue in made:
            del made[operation.lvalue]
    elif isinstance(operation, Escape):
        given = [operation.lvalue]
    elif not operation.launch and (takes_over(operation.name) or operation.receiver in positions):
        given = [*operation.arguments, operation.receiver or None]
    elif not operation.launch:
        given = [Address(value.lvalue) for value in operation.arguments if isinstance(value, Address)]
    for variable in (root(lvalue) for value in given if (lvalue := lvalue_of(value))):
        if variable in positions:
            summary.keeps.add(positions[variable])
        if not isinstance(operation, Return):
            made.pop(variable, None)
