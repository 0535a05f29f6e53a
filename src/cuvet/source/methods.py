"""What methods of C# do with the members of their object, for callers that know the object's class: they call ``Pipeline.Close``.

Only what happens whenever the method is called counts; a member with which anything else is done ``changes``.
"""

from collections.abc import Callable, Iterator

from cuvet.source.calls import Meaning, meaning
from cuvet.source.program import Address, Assign, Block, Escape, Function, Invoke, Operation, Return, Value, lvalue_of
from cuvet.source.result import MemberDeed, Summary

THIS = "this"
EVERY = ""
"""Stands for all members."""


def of_class(function: Function) -> str:
    """The class of a method that has an object; ``""`` of any other function."""
    return function.owner if any(parameter.name == THIS for parameter in function.parameters) else ""


def called(name: str) -> str:
    """By which name a method is called."""
    return "Dispose" if name == "__del__" else name


def plain(name: str) -> str:
    """Of ``Pipeline.Close``, the method."""
    return name.rpartition(".")[2]


def deeds(function: Function, summary_of: Callable[[Invoke], Summary | None]) -> Iterator[MemberDeed]:
    """In the order of the text. A caller that goes on knows that the method did not throw."""
    operations = [(operation, block) for block in function.blocks for operation in block.operations]
    left = False
    for operation, block in sorted(operations, key=lambda each: each[0].start):
        for deed in _of(operation, summary_of):
            sure = not left and all(_asks(function, guard, deed.member) for guard in block.guards)
            if sure:
                yield deed
            elif deed.verb != "uses":
                yield MemberDeed(deed.member, "changes")
        left |= isinstance(operation, Return) and operation.how == "return" and bool(block.guards)


def _asks(function: Function, guard: tuple[int, int], member: str) -> bool:
    """Whether the branch only asks whether the member is there."""
    decision: Block = function.blocks[guard[0]]
    condition = decision.edges[0].condition
    return condition is not None and condition.lvalue == f"{THIS}.{member}" and condition.value == 0


def _of(operation: Operation, summary_of: Callable[[Invoke], Summary | None]) -> Iterator[MemberDeed]:
    if isinstance(operation, Assign):
        member = _member(operation.lvalue)
        if member is not None:
            yield MemberDeed(member, "clears" if operation.value == 0 else "changes")
    elif isinstance(operation, Escape):
        member = _member(operation.lvalue)
        if member is not None and operation.written:
            yield MemberDeed(member, "changes")
    elif isinstance(operation, Invoke) and not operation.launch:
        known = meaning(operation.name)
        if known is not None:
            yield from _of_cuda(operation, known)
        else:
            yield from _of_other(operation, summary_of(operation))


def _of_cuda(call: Invoke, known: Meaning) -> Iterator[MemberDeed]:
    verbs = [(known.ended, "ends"), (known.made, "makes"), (known.named, "uses")]
    said: set[int] = set()
    for roles, verb in verbs:
        for at, _ in roles:
            member = _member(call.argument(at)) if at not in said else None
            if member is not None:
                said.add(at)
                yield MemberDeed(member, verb, call.name, at, call.once)
    for at, value in enumerate(call.arguments):
        member = _member(value)
        if at not in said and member is not None and isinstance(value, Address):
            yield MemberDeed(member, "changes")


def _of_other(call: Invoke, summary: Summary | None) -> Iterator[MemberDeed]:
    """A function of the program: with ``this`` as its object, or with members as arguments. Others may know an object that is a member."""
    if _member(call.receiver) == EVERY:
        yield from summary.members if summary is not None else (MemberDeed(EVERY, "changes"),)
    for at, value in enumerate(call.arguments):
        member = _member(value)
        if member is None:
            continue
        if summary is not None and at in summary.ends and summary.ends[at].always and at not in summary.sets:
            ended = summary.ends[at]
            yield MemberDeed(member, "ends", ended.api, ended_argument(ended.api), ended.once)
        elif isinstance(value, Address) or summary is None or at in summary.ends or at in summary.keeps:
            yield MemberDeed(member, "changes")


def ended_argument(api: str) -> int:
    """Which argument of the entry point is ended."""
    known = meaning(api)
    assert known is not None
    return known.ended[0][0]


def shared_objects(function: Function) -> frozenset[str]:
    """Variables whose object others may know: it was given to a function, kept, returned, or is a parameter."""
    shared = {parameter.name for parameter in function.parameters if parameter.name != THIS}
    for operation in function.operations:
        given: list[Value] = []
        if isinstance(operation, Assign | Return):
            given = [operation.value]
        elif isinstance(operation, Escape):
            given = [operation.lvalue]
        elif not operation.launch:
            given = list(operation.arguments)
        shared.update(lvalue for value in given if (lvalue := lvalue_of(value)))
    return frozenset(shared)


def _member(value: Value) -> str | None:
    """The path from the object to what is named: ``stream``; ``EVERY`` of the object itself; None of anything else."""
    lvalue = lvalue_of(value)
    if lvalue == THIS:
        return EVERY
    return lvalue.removeprefix(f"{THIS}.") if lvalue.startswith(f"{THIS}.") else None
