"""What functions do with members of classes: make, end, set, test them, give them away or show them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from cuvet.source.calls import LOST_OF_SEVERAL, Meaning, meaning
from cuvet.source.ownership import HEAP, creates, exchanges, takes_over
from cuvet.source.program import (
    Address,
    Assign,
    Block,
    Condition,
    Escape,
    Function,
    Inside,
    Invoke,
    Operation,
    Range,
    Return,
    lvalue_of,
)
from cuvet.source.result import Effect, Summaries, Summary
from cuvet.source.sites import frame
from cuvet.source.summaries import summary_of
from cuvet.source.syntax.parsing import Source

_HARMLESS = re.compile(
    r"cu(?:da)?(?:DriverGetVersion|GetError\w+|GetLastError|PeekAtLastError|[GS]etDevice|GetDeviceCount)"
    r"|\w+Destroy\w*(?:Descr?|Desc\w+tor)"
)
"""What does no harm after ``main``: it only asks for something, or frees memory of the host."""
_INDEX = re.compile(r"\[[^\]]*\]")
_TYPE = re.compile(r"([A-Za-z_]\w*)\s*(?:<.*>)?[\s*&\[\]]*$")
_CONST = re.compile(rb"[^{};]*\)\s*const\b")
"""The head of a function that does not change its object."""
_COMPARED = re.compile(r"([\w.>-]*\w)(?:[<>]=?|!=)(\w[\w.>-]*)")
"""A condition that compares two sizes."""
_LARGE_ENOUGH = re.compile(r"([\w.>-]*\w)(?:[<>]=|==)(\w[\w.>-]*)")
"""One under which nothing larger is needed."""
_NO_SIZE = re.compile(r"(?i)\d|null(?:ptr)?$|\w*(?:stat(?:us|e)|err|result|success)\w*|\w*ret(?:val|code)?$")
"""A number of steps, a pointer, or a status."""
_ENDS = re.compile(
    rb"(?i)\b\w*(?:free|release|destroy|clear|reset|delete|dealloc|clean|dispose|shrink|empty)\w*\s*[(;]|\bdelete\b"
)
_OVERWRITES = re.compile(
    rb"\bmemset\s*\(\s*(?:\(\s*void\s*\*\s*\)\s*)?this\b|\bnew\s*\(\s*(?:\(\s*void\s*\*\s*\)\s*)?this\s*\)|\*\s*this\s*=(?!=)"
)
"""A method gives its whole object new values."""
_APPENDS = frozenset({"push_back", "emplace_back", "push", "emplace", "push_front", "append"})
_SHOWN = re.compile(r"\s*(?:this->)?((?:\w+(?:->|\.))?\w+\(\))\s*")
"""A call that shows a member."""


class _Member(NamedTuple):
    """A class, its member, and members of the member down to the one that is meant."""

    owner: str
    name: str
    within: tuple[str, ...] = ()


def effects_of(function: Function, source: Source, summaries: Summaries) -> Iterator[Effect]:
    straight = function.reached_without_jumps()
    shows = not takes_over(function.name) or _CONST.match(source.text, function.start, function.end) is not None
    results = _handed_on(function)
    ranges = [each for each in function.ranges if _is_understood(each, function)]
    overwritten = bool(function.owner) and _OVERWRITES.search(source.code, function.start, function.end) is not None
    for number, block in enumerate(function.blocks):
        for operation in block.operations:
            if isinstance(operation, Escape) and any(_is_of(operation, each) for each in ranges):
                continue
            for lvalue, verb, kind, api in _deeds(operation, source, summaries, results):
                if isinstance(operation, Return) and shows:
                    verb = "shows"  # who asks for a member does not get to own it
                named = _member(function, _of_range(lvalue, operation, ranges))
                if named is not None:
                    guarded = bool(block.guards) or number not in straight
                    effect = _effect(function, named, verb, operation, source, guarded, kind, api)
                    if verb == "ends" and named.owner == function.owner and overwritten:
                        yield _effect(function, named, "clears", operation, source, guarded)
                    yield msgspec.structs.replace(
                        effect,
                        under=_conditions(function, block),
                        left_before=_left_before(function, operation) if verb in ("makes", "ends") else (),
                        value=_set_to(function, operation),
                        grows=verb == "makes"
                        and not _appends(operation)
                        and _grows(function, block, operation, source),
                    )
        yield from _tests(function, block, source)
        if function.name == "__del__":
            yield from _calls(function, block, source)


def _is_understood(each: Range, function: Function) -> bool:
    """Whether the loop gives its elements to CUDA, and to nothing else."""
    given = [
        operation
        for operation in function.operations
        if isinstance(operation, Invoke) and each.start < operation.start < each.end and _gives(operation, each.name)
    ]
    return len(given) > 0 and all(meaning(operation.name) is not None for operation in given)


def _gives(call: Invoke, name: str) -> bool:
    return any(lvalue_of(value) == name for value in call.arguments) or call.receiver == name


def _is_of(operation: Escape, each: Range) -> bool:
    """Whether the loop itself says that the elements, or their variable, are known elsewhere."""
    return (operation.lvalue, operation.start) in ((each.elements, each.start), (each.name, each.end - 1))


def _of_range(lvalue: str, operation: Operation, ranges: Sequence[Range]) -> str:
    """The lvalue, or what it is an element of in the innermost loop."""
    around = [each for each in ranges if each.name == lvalue and each.start <= operation.start < each.end]
    return around[-1].elements if around else lvalue


def _effect(
    function: Function,
    named: _Member,
    verb: str,
    at: Operation | Condition,
    source: Source,
    guarded: bool = False,
    kind: str = "",
    api: str = "",
) -> Effect:
    end = at.start + 1 if isinstance(at, Escape) else at.end
    return Effect(
        owner=named.owner,
        member=named.name,
        within=named.within,
        verb=verb,
        function=function.name,
        method=bool(function.owner) and named.owner == function.owner,
        guarded=guarded,
        kind=kind,
        api=api,
        frame=frame(source, at.start, end, source.function_name(function.owner, function.name)),
    )


def _conditions(function: Function, block: Block) -> tuple[tuple[str, bool], ...]:
    decided = ((function.blocks[at].edges, arm) for at, arm in block.guards)
    edges = (edges[arm] for edges, arm in decided if arm < len(edges))
    return tuple((edge.condition.text, edge.truth) for edge in edges if edge.condition is not None)


def _left_before(function: Function, operation: Operation) -> tuple[tuple[str, bool], ...]:
    """``if (!made_) return;`` above it."""
    blocks = function.blocks
    return tuple(
        (edge.condition.text, not edge.truth)
        for block in blocks
        for edge in block.edges
        if edge.condition is not None and _returns(blocks[edge.target], operation)
    )


def _returns(block: Block, before: Operation) -> bool:
    last = block.operations[-1] if block.operations else None
    return isinstance(last, Return) and last.start < before.start


def _grows(function: Function, block: Block, made: Operation, source: Source) -> bool:
    """Whether it happens where one size is larger than another one that outlasts the function and is set anew, and nothing that the
    function calls before sounds as if it ended things."""
    if function.name == "main":
        return False
    own = {*function.locals, *(parameter.name for parameter in function.parameters)}
    for condition, pattern in _asked_before(function, block, made):
        match = pattern.fullmatch(condition.text.partition(" ")[0])
        if match is None or any(map(_NO_SIZE.match, match.groups())):
            continue
        for size in match.groups():
            lasts = re.split(r"->|\.", size)[0] not in own
            grown = rb"(?<![\w.])(?:this\s*->\s*)?%s\s*=(?!=)" % re.escape(size.encode())
            if lasts and re.search(grown, source.code[condition.end : function.end]):
                return _ENDS.search(source.code, function.start, made.start) is None
    return False


def _asked_before(function: Function, block: Block, made: Operation) -> Iterator[tuple[Condition, re.Pattern[str]]]:
    """Conditions under which it happens, and those under which the function has returned before, each with how a size is compared there."""
    blocks = function.blocks
    for at, arm in block.guards:
        edge = blocks[at].edges[arm] if arm < len(blocks[at].edges) else None
        if edge is not None and edge.condition is not None and edge.truth:
            yield edge.condition, _COMPARED
    for edge in (edge for each in blocks for edge in each.edges):
        if edge.condition is not None and edge.truth and _returns(blocks[edge.target], made):
            yield edge.condition, _LARGE_ENOUGH


def _set_to(function: Function, operation: Operation) -> str:
    """The member of the same object that is assigned."""
    if not isinstance(operation, Assign) or not isinstance(operation.value, str) or not operation.value.isidentifier():
        return ""
    named = _member(function, operation.value)
    return named.name if named is not None else ""


def _calls(function: Function, block: Block, source: Source) -> Iterator[Effect]:
    """What a destructor calls of CUDA, other than in one of several cases."""
    conditions = (edge.condition for at, _ in block.guards for edge in function.blocks[at].edges)
    if any(each is not None and source.text[each.start : each.start + 4] == b"case" for each in conditions):
        return
    for operation in block.operations:
        found = meaning(operation.name) if isinstance(operation, Invoke) else None
        if isinstance(operation, Invoke) and found is not None and not _HARMLESS.fullmatch(operation.name):
            kind = found.ended[0][1].kind.noun if found.ended else ""
            yield _effect(
                function, _Member(function.owner, ""), "calls", operation, source, kind=kind, api=operation.name
            )


def _tests(function: Function, block: Block, source: Source) -> Iterator[Effect]:
    for condition in {edge.condition for edge in block.edges if edge.condition is not None}:
        for name in condition.names:
            named = _member(function, name)
            if named is not None and not _is_only_filled(name, condition):
                yield _effect(function, named, "tests", condition, source)


def _is_only_filled(name: str, condition: Condition) -> bool:
    """Whether the condition gives nothing but the variable's address, to a call whose status it asks for."""
    if f"&{name}" not in condition.text:
        return False
    places = [match.start() for match in re.finditer(rf"(?<![\w.>]){re.escape(name)}\b", condition.text)]
    return bool(places) and all(re.search(r"[(,]&$", condition.text[:at]) for at in places)


class _Deed(NamedTuple):
    """What an operation does with an lvalue."""

    lvalue: str
    verb: str
    kind: str = ""
    api: str = ""


def _deeds(operation: Operation, source: Source, summaries: Summaries, results: dict[str, str]) -> Iterator[_Deed]:
    """What the operation does. ``results`` are the objects that functions returned: what made each."""
    if isinstance(operation, Assign):
        made = results.get(operation.value) if isinstance(operation.value, str) else None
        if made is not None:
            yield _Deed(operation.lvalue, "makes", _kind(made, made=True), made)
            return
        yield _Deed(operation.lvalue, "clears" if operation.value == 0 else "sets")
        if isinstance(operation.value, str):
            yield _Deed(operation.value, "gives")
    elif isinstance(operation, Escape):
        yield _Deed(operation.lvalue, "gives")
    elif isinstance(operation, Return):
        if isinstance(operation.value, str):
            yield _Deed(operation.value, "gives")
    elif not operation.launch:
        yield from _of_call(operation, source, summaries, results)


def _of_call(call: Invoke, source: Source, summaries: Summaries, results: dict[str, str]) -> Iterator[_Deed]:
    found = meaning(call.name)
    if call.name in HEAP and call.arguments and isinstance(call.arguments[0], str):
        yield _Deed(call.arguments[0], "ends", "heap", call.name)
    elif found is not None:
        yield from _of_cuda(call, found, source)
    elif (summary := summary_of(call, summaries)) is not None:
        if call.result and summary.returns and _owned(summary.returns):
            results[call.result] = summary.returns
        yield from _of_summary(call, summary)
    elif call.receiver and _appends(call) and (made := _made_before(call, results)):
        yield _Deed(call.receiver, "makes", _kind(made, made=True), made)
    elif not (exchanges(call.name) and _within_one(call)):
        for value in call.arguments:
            lvalue = lvalue_of(value)
            if lvalue and isinstance(value, Address) and creates(call.name):
                yield _Deed(lvalue, "asks", api=call.name)
            elif lvalue and (isinstance(value, Address) or takes_over(call.name)):
                yield _Deed(lvalue, "gives", api=call.name)


def _made_before(call: Invoke, results: dict[str, str]) -> str:
    """What made the object that is put into a container."""
    return next((results[value] for value in call.arguments if isinstance(value, str) and value in results), "")


def _handed_on(function: Function) -> dict[str, str]:
    """Local variables in which CUDA makes an object that is then put into one other place, and known nowhere else: what made each."""
    made: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for operation in function.operations:
        if isinstance(operation, Assign):
            uses[lvalue_of(operation.value)] += 1
            uses[operation.lvalue] += 2 if operation.value != 0 and not operation.declared else 0
        elif isinstance(operation, Return | Escape):
            uses[lvalue_of(operation.value) if isinstance(operation, Return) else operation.lvalue] += 2
        elif not operation.launch:
            known = meaning(operation.name)
            for at, role in known.made if known is not None else ():
                given = operation.argument(at)
                if isinstance(given, Address) and given.lvalue in function.locals and role.kind in LOST_OF_SEVERAL:
                    made[given.lvalue] = operation.name
            for value in operation.arguments if known is None else ():
                uses[lvalue_of(value)] += 1 if operation.receiver and _appends(operation) else 2
    return {name: api for name, api in made.items() if uses[name] == 1}


def _appends(operation: Operation) -> bool:
    return isinstance(operation, Invoke) and operation.name in _APPENDS


def _within_one(call: Invoke) -> bool:
    """Whether all that the call is given are members of one object."""
    objects = {re.split(r"(?:->|\.)[^.>]*$", lvalue_of(value))[0] for value in call.arguments}
    return (
        len(objects) == 1
        and len(call.arguments) > 1
        and all(re.search(r"->|\.", lvalue_of(it)) for it in call.arguments)
    )


def _of_cuda(call: Invoke, found: Meaning, source: Source) -> Iterator[_Deed]:
    for at, role in found.made:
        value = call.argument(at)
        if role.kind in LOST_OF_SEVERAL and isinstance(value, Address | Inside):
            yield _Deed(value.lvalue, "makes", role.kind.noun, call.name)
    for at, role in found.ended_there:
        if isinstance(value := call.argument(at), Address):
            yield _Deed(value.lvalue, "ends", role.kind.noun, call.name)
    for at, role in found.ended:
        if at < len(call.arguments):
            given = call.arguments[at]
            ended = given.lvalue if isinstance(given, Inside) else given if isinstance(given, str) else None
            if (ended is None or ended[0] == "%") and at < len(call.spans):
                shown = _SHOWN.fullmatch(source.slice(*call.spans[at]))
                ended = shown[1] if shown else None
            if ended is not None:
                yield _Deed(ended, "ends", role.kind.noun, call.name)


def _of_summary(call: Invoke, summary: Summary) -> Iterator[_Deed]:
    for deed in summary.members:
        if deed.verb == "ends" and deed.member:
            yield _Deed(f"{call.receiver}.{deed.member}", "ends", _kind(deed.api, made=False), deed.api)
    for at, value in enumerate(call.arguments):
        lvalue = lvalue_of(value)
        if not lvalue:
            continue
        if at in summary.makes and _owned(summary.makes[at]):
            yield _Deed(lvalue, "makes", _kind(summary.makes[at], made=True), summary.makes[at])
        if at in summary.ends:
            yield _Deed(lvalue, "ends", _kind(summary.ends[at].api, made=False), summary.ends[at].api)
            if isinstance(value, Address) or at in summary.references:  # it can set the variable to NULL
                yield _Deed(lvalue, "clears")
        if at not in summary.makes and at not in summary.ends and (at in summary.keeps or isinstance(value, Address)):
            yield _Deed(lvalue, "gives", api=call.name)


def _owned(api: str) -> bool:
    found = meaning(api)
    return found is not None and found.made[0][1].kind in LOST_OF_SEVERAL


def _kind(api: str, made: bool) -> str:
    found = meaning(api)
    assert found is not None
    return (found.made if made else found.ended)[0][1].kind.noun


def _member(function: Function, lvalue: str) -> _Member | None:
    """What the lvalue names; None if it is a variable."""
    if not lvalue or lvalue[0] in "%&":
        return None
    root, *rest = re.split(r"->|\.", _INDEX.sub("", lvalue))
    kind = function.locals.get(root)
    if kind is None:
        kind = next((each.type for each in function.parameters if each.name == root), None)
    if kind is None:
        return _Member(function.owner, root, tuple(rest))
    match = _TYPE.search(kind)
    return _Member(match[1], rest[0], tuple(rest[1:])) if rest and match is not None else None
