"""What a function of the program does with what it is given: ends it, makes it, returns what it made, keeps it, or only uses it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cuvet.catalog import Kind
from cuvet.source.calls import ASKING, Meaning, meaning
from cuvet.source.methods import called, deeds, of_class, plain
from cuvet.source.ownership import only_borrows, takes_over
from cuvet.source.paths.handles import root
from cuvet.source.paths.trace import Guards
from cuvet.source.program import Address, Assign, Escape, Function, Invoke, Operation, Return, Value, lvalue_of
from cuvet.source.result import RESULT, Ending, Parts, Summaries, Summary

_WORD = re.compile(r"\w+")
_STRUCT = re.compile(r"(?:(?:const|struct)\s+)*(?:\w+::)*(?!auto\b)([A-Za-z_]\w*)\s*[*&]?")
_MOST_PARTS = 64
_PART = re.compile(r"(\w+)(\.|->)(\w+(?:\.\w+)*)")
"""A variable, or what a pointer points to, and a member of it."""
_OF_LIBRARIES = re.compile(r"^(?:std|thrust|cub|boost|absl|fmt)::")


def summarise(functions: Iterable[Function], known: Summaries) -> Summaries:
    """Where two functions have one name and as many parameters, of neither. ``known`` are functions that they call."""
    found: Summaries = {}
    twice: set[tuple[str, int]] = set()
    for function in functions:
        parameters = len(function.parameters)
        if not function.broken and (owner := of_class(function)):
            summary = _Summary(function, known).read()
            summary.members = list(deeds(function, lambda call: summary_of(call, known)))
            found[f"{owner}.{called(function.name)}"] = {parameters - 1: summary}
        if function.broken or (function.name, parameters) in twice or function.name.startswith("__"):
            continue
        summaries = found.setdefault(function.name, {})
        if parameters in summaries:
            twice.add((function.name, parameters))
            summaries[parameters] = Summary(several=True)
        else:
            summaries[parameters] = _Summary(function, known).read()
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
    if exact is None or exact.several or not _may_be_of(call, exact.owner):
        return None
    if exact.scopes is None:
        return exact
    inner = scope.rpartition("::")[2]
    named = inner == exact.scopes[0] if exact.qualified else not scope or inner in exact.scopes
    return exact if not call.receiver and named else None


def _may_be_of(call: Invoke, owner: str | None) -> bool:
    """Whether a function of the class can be meant: methods of other classes have the same names."""
    if owner is None or call.of is None:
        return True
    if not call.of.startswith("::"):
        return bool(owner) and owner in _WORD.findall(call.of)
    named = call.name.rpartition("::")[0].rpartition("::")[2]
    return not owner or named == owner or (not named and call.of != "::")


@dataclass
class _Summary:
    """What is read of a function. ``positions`` has its parameters, ``made`` by local variable or result what made the object in it, and
    whether it always does; ``mixed`` are the parameters that get objects of several kinds, and the result if it can be another one."""

    function: Function
    callees: Summaries
    found: Summary = field(default_factory=Summary)
    made: dict[str, tuple[str, bool]] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    """By parameter or variable, members that are always made."""
    spoilt: set[str] = field(default_factory=set)
    """Variables that more is done with than to make members of them."""
    mixed: set[int] = field(default_factory=set)

    def read(self) -> Summary:
        function, found = self.function, self.found
        found.owner = function.owner
        self.positions = {parameter.name: at for at, parameter in enumerate(function.parameters)}
        self.changed = {lvalue for operation in function.operations for lvalue in _changed(operation)}
        found.references.update(at for at, each in enumerate(function.parameters) if each.reference)
        found.variables.update(at for at in found.references if "*" not in function.parameters[at].type)
        results = {it.result for it in function.operations if isinstance(it, Invoke) and it.result and meaning(it.name)}
        copied = {it.lvalue for it in function.operations if isinstance(it, Assign) and it.value in results}
        self.statuses = results | copied
        self.leaves = [
            (operation.start, block.guards)
            for block in function.blocks
            for operation in block.operations
            if isinstance(operation, Return)
        ]
        found.sets.update(at for name, at in self.positions.items() if name in self.changed and at in found.references)
        for block in function.blocks:
            for operation in block.operations:
                self._operation(operation, block.guards)
        for position in (self.mixed - {RESULT}) | found.keeps:
            found.makes.pop(position, None)
            found.keeps.add(position)
        if RESULT in self.mixed:
            found.returns = ""
        self._find_parts()
        return found

    def _find_parts(self) -> None:
        """Structs of which members are made: what the function returns, always the same, and what its parameters lead to."""
        function, found = self.function, self.found
        values = {it.value for it in function.operations if isinstance(it, Return) and it.how == "return"}
        (returned,) = values if len(values) == 1 else ("",)
        for name, made in self.parts.items():
            at = RESULT if name == returned else self.positions.get(name, RESULT - 1)
            kind = function.parameters[at].type if at >= 0 else function.locals.get(name, "")
            if at >= RESULT and at not in found.keeps and name not in self.spoilt and len(made) <= _MOST_PARTS:
                found.parts[at] = Parts(struct_of(kind), made)

    def _operation(self, operation: Operation, guards: Guards) -> None:
        self.spoilt.update(self._spoils(operation))
        if isinstance(operation, Invoke) and not operation.launch and (known := meaning(operation.name)) is not None:
            self._cuda(operation, known, guards)
        elif isinstance(operation, Invoke) and (callee := summary_of(operation, self.callees)) is not None:
            self._through(operation, callee, guards)
        elif isinstance(operation, Assign) and isinstance(operation.value, str) and operation.value in self.made:
            self._handed_on(operation.lvalue, *self.made.pop(operation.value))
        else:
            self._other(operation)

    def _cuda(self, call: Invoke, known: Meaning, guards: Guards) -> None:
        for at, _ in known.ended:
            value = call.argument(at)
            position, through = self._position(value)
            if position >= 0:
                self.found.ends[position] = Ending(call.name, through, self._always(call, guards, value), call.once)
            elif (position := self.positions.get(root(lvalue_of(value)), -1)) >= 0:
                self.found.keeps.add(position)  # a part of it is ended
        for at, _ in known.made:
            self._made(call.argument(at), call.name, self._succeeds(call, guards))
        copied = call.argument(known.copies[0])
        if isinstance(copied, Address) and copied.lvalue in self.positions:
            self.found.keeps.add(self.positions[copied.lvalue])  # a struct, with what its members hold
        for at, _ in known.named:
            value = call.argument(at)
            always = value not in self.changed and not guards and call.name not in ASKING
            if isinstance(value, str) and value in self.positions and always and self._is_reached(call, value):
                self.found.uses.setdefault(self.positions[value], (call.name, at))

    def _through(self, call: Invoke, callee: Summary, guards: Guards) -> None:
        """A function is called that makes or ends objects for this one."""
        for at, value in enumerate(call.arguments):
            if at in callee.makes:
                target = Address(value) if at in callee.references and isinstance(value, str) else value
                self._made(target, callee.makes[at], at not in callee.at_times and self._succeeds(call, guards))
            elif at in callee.parts:
                for target, api in parts_of(callee, at, value):
                    self._made(Address(target), api, self._succeeds(call, guards))
            elif at in callee.ends:
                position, through = self._position(value)
                if position >= 0:
                    self.found.ends[position] = Ending(callee.ends[at].api, through, False, callee.ends[at].once)
            elif at in callee.keeps and isinstance(value, str) and value in self.positions:
                self.found.keeps.add(self.positions[value])
        if callee.returns and call.result:
            self.made[call.result] = callee.returns, RESULT not in callee.at_times and self._succeeds(call, guards)

    def _spoils(self, operation: Operation) -> Iterator[str]:
        """Variables that the operation may do more with."""
        if isinstance(operation, Return):
            return
        if isinstance(operation, Assign):
            if lvalue := lvalue_of(operation.value):
                yield root(lvalue)
            return
        if isinstance(operation, Escape):
            yield root(operation.lvalue)
            return
        known, callee = meaning(operation.name), summary_of(operation, self.callees)
        if operation.launch or (known is None and only_borrows(operation.name)):
            return
        made = {at for at, _ in known.made} if known is not None else callee.parts.keys() if callee is not None else ()
        ended = {at for at, _ in known.ended} if known is not None else ()
        for at, value in enumerate(operation.arguments):
            lvalue = lvalue_of(value)
            if (
                lvalue
                and at not in made
                and (known is None or at in ended or root(lvalue) == lvalue.removesuffix("[0]"))
            ):
                yield root(lvalue)
        if operation.receiver:
            yield root(operation.receiver)

    def _handed_on(self, lvalue: str, api: str, always: bool) -> None:
        """What was made is assigned to another variable, or to the caller's."""
        if lvalue in self.function.locals:
            self.made[lvalue] = api, always
        elif lvalue.removesuffix("[0]") in self.positions:
            self._made(Address(lvalue), api, always)

    def _position(self, value: Value) -> tuple[int, bool]:
        """(parameter, whether through it as a pointer) that a value is; -1 if it is none."""
        if not isinstance(value, str):
            return -1, False
        if value in self.positions:
            return self.positions[value], False
        return (self.positions.get(value[:-3], -1), True) if value.endswith("[0]") else (-1, False)

    def _always(self, call: Invoke, guards: Guards, value: Value) -> bool:
        """Whether the call in the block is reached whenever the value is something."""
        return self._only_ask_for(guards, value) and self._is_reached(call, value)

    def _succeeds(self, call: Invoke, guards: Guards) -> bool:
        """Whether the call in the block is reached unless a call of CUDA fails."""
        return self._only_ask_for(guards, None, failures=True) and self._is_reached(call, None)

    def _is_reached(self, call: Invoke, value: Value) -> bool:
        """Whether the function returns before the call at most where the value is nothing, or where a call of CUDA failed."""
        return all(
            start > call.start or self._only_ask_for(guards, value, failures=True) for start, guards in self.leaves
        )

    def _only_ask_for(self, guards: Guards, value: Value, failures: bool = False) -> bool:
        conditions = (self.function.blocks[block].edges[0].condition for block, _ in guards)
        return all(
            condition is not None
            and condition.value == 0
            and (condition.lvalue == value or (failures and condition.lvalue in self.statuses))
            for condition in conditions
        )

    def _made(self, value: Value, api: str, always: bool) -> None:
        lvalue = lvalue_of(value)
        if isinstance(value, Address) and (part := _PART.fullmatch(lvalue)) is not None:
            self._made_part(part, api, always)
        elif isinstance(value, Address) and lvalue in self.function.locals and lvalue not in self.positions:
            self.made[lvalue] = api, always
        elif lvalue in self.positions:
            at = self.positions[lvalue]
            if isinstance(value, str) or self.function.parameters[at].reference:
                self._makes(at, api, always)
        elif isinstance(value, Address) and lvalue.endswith("[0]") and lvalue[:-3] in self.positions:
            self._makes(self.positions[lvalue[:-3]], api, always)

    def _made_part(self, part: re.Match[str], api: str, always: bool) -> None:
        at = self.positions.get(part[1], -1)
        if (part[2] == "->") != (at in self.found.references) if at >= 0 else part[2] == ".":
            if always:
                self.parts.setdefault(part[1], {})[part[3]] = api
            else:
                self.spoilt.add(part[1])

    def _makes(self, at: int, api: str, always: bool) -> None:
        found = self.found
        before = found.returns if at == RESULT else found.makes.get(at, "")
        if before and _made_kind(before) is not _made_kind(api):
            self.mixed.add(at)
        if at == RESULT:
            found.returns = api
        else:
            found.makes[at] = api
        if not always or before:
            found.at_times.add(at)

    def _other(self, operation: Operation) -> None:
        given: list[Value] = []
        if isinstance(operation, Return):
            if isinstance(operation.value, str) and operation.value in self.made:
                self._makes(RESULT, *self.made[operation.value])
            elif operation.value != 0 and operation.how == "return":
                self.mixed.add(RESULT)
            given = [operation.value]
        elif isinstance(operation, Assign):
            if operation.lvalue not in self.positions:
                given = [operation.value]
            if operation.value != 0 and (at := self.positions.get(operation.lvalue.removesuffix("[0]"))) is not None:
                self.found.keeps.add(at)
            self.made.pop(operation.lvalue, None)
        elif isinstance(operation, Escape):
            given = [operation.lvalue]
        elif not operation.launch and (takes_over(operation.name) or operation.receiver in self.positions):
            given = [*operation.arguments, operation.receiver or None]
        elif not operation.launch:
            given = [Address(value.lvalue) for value in operation.arguments if isinstance(value, Address)]
        for variable in (root(lvalue) for value in given if (lvalue := lvalue_of(value))):
            if variable in self.positions:
                self.found.keeps.add(self.positions[variable])
            if not isinstance(operation, Return):
                self.made.pop(variable, None)


def parts_of(summary: Summary, at: int, value: Value) -> Iterator[tuple[str, str]]:
    """(lvalue, entry point) of what the function makes in the struct that it is given there, or a pointer to it."""
    if at in summary.references or isinstance(value, Address):
        of = f"{lvalue_of(value)}."
    else:
        of = f"{value}->"
    yield from ((of + member, api) for member, api in summary.parts[at].made.items())


def struct_of(kind: str) -> str:
    """The name of the struct in a type: a value, a pointer or a reference. Empty for other types."""
    match = _STRUCT.fullmatch(kind.strip())
    return match[1] if match is not None else ""


def _made_kind(api: str) -> Kind:
    known = meaning(api)
    assert known is not None
    return known.made[0][1].kind


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
