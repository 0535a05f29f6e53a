"""What a file tells of its classes: which members its functions make, end, set and test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuvet.findings import Frame
from cuvet.source.calls import LOST, meaning, symbols
from cuvet.source.languages.cpp import Class, Found, name_of
from cuvet.source.ownership import HEAP, ends, takes_over
from cuvet.source.parsing import Source
from cuvet.source.program import Address, Assign, Block, Call, Escape, Function, Inside, Operation, Return
from cuvet.source.result import ClassOutline, Effect, Outline
from cuvet.source.summaries import Summaries, Summary

_OWNERS = frozenset(
    {
        "push_back",
        "emplace_back",
        "emplace",
        "insert",
        "push",
        "move",
        "swap",
        "unique_ptr",
        "shared_ptr",
        "make_shared",
        "make_unique",
    }
)
_INDEX = re.compile(r"\[[^\]]*\]")
_TYPE = re.compile(r"([A-Za-z_]\w*)\s*(?:<.*>)?[\s*&\[\]]*$")
_CALLED = re.compile(rb"\b[A-Za-z_]\w*(?=\s*(?:<[^;<>()]*>)?\s*[({])")
_END_OF_STATEMENT = re.compile(rb"[;{}]")
_MOST_ARGUMENTS = 300
"""Bytes."""
_WORD = re.compile(rb"[A-Za-z_]\w*")


def outline_of(found: Found, functions: Sequence[Function], source: Source, summaries: Summaries) -> Outline:
    effects = tuple(effect for function in functions for effect in _effects(function, source, summaries))
    return Outline(
        file=str(source.path),
        classes=tuple(_class(each, source) for each in found.classes if each.name and each.members),
        effects=effects,
        functions=tuple(name_of(definition) for definition in found.functions),
        handed=tuple(sorted(_handed(source))),
        assigned=tuple(sorted(_assigned({effect.member for effect in effects if effect.verb == "makes"}, source))),
    )


def _handed(source: Source) -> set[str]:
    """Names among the arguments of functions that sound as if they took something over, other than CUDA's."""
    words: set[bytes] = set()
    for match in _CALLED.finditer(source.text):
        name = match.group().decode()
        if (name in _OWNERS or ends(name)) and name not in symbols():
            start = match.end()
            end = _END_OF_STATEMENT.search(source.text, start + 1, start + _MOST_ARGUMENTS)
            words.update(_WORD.findall(source.text, start, end.start() if end else start + _MOST_ARGUMENTS))
    return {word.decode() for word in words}


def _assigned(members: set[str], source: Source) -> set[str]:
    """Which of the members the text assigns something else than NULL to, in whatever function."""
    if not members:
        return set()
    names = "|".join(re.escape(name) for name in sorted(members))
    pattern = rf"\b({names})\s*(?:\[[^\]]*\]\s*)*=(?!=)(?!\s*(?:0\b|NULL\b|nullptr\b|\{{\s*\}}))"
    return {match.decode() for match in re.findall(pattern.encode(), source.text)}


def _class(each: Class, source: Source) -> ClassOutline:
    names = {_method(declarator, each.name): text for declarator, text in each.declared.items()}
    copying = [
        text
        for declarator, text in each.declared.items()
        if re.search(rf"\(\s*(?:const\s+)?{re.escape(each.name)}\b[^,)]*&", declarator)
        or "operator=" in declarator.replace(" ", "")
    ]
    return ClassOutline(
        name=each.name,
        members=each.members,
        declared=tuple(names),
        undefined=tuple(
            name
            for name, text in names.items()
            if text.rstrip().endswith(";") and not re.search(r"=\s*(?:0|default|delete)\s*;", text)
        ),
        copies=bool(copying) or each.references,
        bases=bool(each.bases),
        initialised=tuple(each.initialised),
        broken=each.broken,
        frame=frame(source, each.start, each.start + 1, each.name),
    )


def _method(declarator: str, owner: str) -> str:
    name = declarator.split("(")[0].strip()
    return "__init__" if name == owner else "__del__" if name.startswith("~") else name


def frame(source: Source, start: int, end: int, function: str) -> Frame:
    end = min(end, source.line_end(start))
    return Frame(
        function=function,
        file=str(source.path),
        line=source.line(start),
        column=source.column(start),
        end_column=source.column(end),
        language=source.language,
    )


def _effects(function: Function, source: Source, summaries: Summaries) -> Iterator[Effect]:
    straight = _reached_without_jumps(function)
    for number, block in enumerate(function.blocks):
        for operation in block.operations:
            if isinstance(operation, Return) and not takes_over(function.name):
                continue  # who asks for a member does not get to own it
            for place, verb, kind, api in _touched(operation, summaries):
                named = _member(function, place)
                if named is not None:
                    yield Effect(
                        owner=named[0],
                        member=named[1],
                        verb=verb,
                        function=function.name,
                        method=bool(function.owner) and named[0] == function.owner,
                        guarded=bool(block.guards) or number not in straight,
                        kind=kind,
                        api=api,
                        frame=frame(
                            source,
                            operation.start,
                            getattr(operation, "end", operation.start + 1),
                            source.function_name(function.owner, function.name),
                        ),
                    )
        yield from _tests(function, block, source)


def _reached_without_jumps(function: Function) -> set[int]:
    """Blocks that are reached without goto or break: not those that only clean up after a failure."""
    reached, waiting = {0}, [0]
    while waiting:
        for edge in function.blocks[waiting.pop()].edges:
            if edge.kind != "jump" and edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    return reached


def _tests(function: Function, block: Block, source: Source) -> Iterator[Effect]:
    for condition in {edge.condition for edge in block.edges if edge.condition is not None}:
        for name in condition.names:
            named = _member(function, name)
            if named is not None:
                yield Effect(
                    owner=named[0],
                    member=named[1],
                    verb="tests",
                    function=function.name,
                    method=bool(function.owner),
                    guarded=False,
                    frame=frame(
                        source, condition.start, condition.end, source.function_name(function.owner, function.name)
                    ),
                )


def _touched(operation: Operation, summaries: Summaries) -> Iterator[tuple[str, str, str, str]]:
    """(place, verb, kind, api) of what the operation does."""
    if isinstance(operation, Assign):
        yield operation.place, "clears" if operation.value == 0 else "sets", "", ""
        if isinstance(operation.value, str):
            yield operation.value, "gives", "", ""
    elif isinstance(operation, Escape):
        yield operation.place, "gives", "", ""
    elif isinstance(operation, Return):
        if isinstance(operation.value, str):
            yield operation.value, "gives", "", ""
    elif not operation.launch:
        yield from _of_call(operation, summaries)


def _of_call(call: Call, summaries: Summaries) -> Iterator[tuple[str, str, str, str]]:
    found = meaning(call.name)
    if call.name in HEAP and call.arguments and isinstance(call.arguments[0], str):
        yield call.arguments[0], "ends", "heap", call.name
        return
    summary = summaries.get((call.name, len(call.arguments))) if found is None else None
    if summary is not None:
        yield from _of_summary(call, summary)
        return
    if found is None:
        for value in call.arguments:
            place = value.place if isinstance(value, Address | Inside) else value
            if isinstance(place, str) and (isinstance(value, Address) or takes_over(call.name)):
                yield place, "gives", "", call.name
        return
    for at, role in found.made:
        if at < len(call.arguments) and role.kind in LOST:
            value = call.arguments[at]
            if isinstance(value, Address | Inside):
                yield value.place, "makes", role.kind.noun, call.name
    for at, role in found.ended:
        if at < len(call.arguments):
            given = call.arguments[at]
            ended = given.place if isinstance(given, Inside) else given
            if isinstance(ended, str):
                yield ended, "ends", role.kind.noun, call.name


def _of_summary(call: Call, summary: Summary) -> Iterator[tuple[str, str, str, str]]:
    for at, value in enumerate(call.arguments):
        place = value.place if isinstance(value, Address | Inside) else value
        if not isinstance(place, str):
            continue
        if at in summary.makes and _owned(summary.makes[at]):
            yield place, "makes", _kind(summary.makes[at], made=True), summary.makes[at]
        elif at in summary.ends:
            yield place, "ends", _kind(summary.ends[at].api, made=False), summary.ends[at].api
        elif at in summary.keeps or isinstance(value, Address):
            yield place, "gives", "", call.name


def _owned(api: str) -> bool:
    found = meaning(api)
    return found is not None and found.made[0][1].kind in LOST


def _kind(api: str, made: bool) -> str:
    found = meaning(api)
    assert found is not None
    return (found.made if made else found.ended)[0][1].kind.noun


def _member(function: Function, place: str) -> tuple[str, str] | None:
    """Class and member that the place names; None if it is a variable."""
    if not place or place[0] in "%&":
        return None
    path = _INDEX.sub("", place)
    parts = re.split(r"->|\.", path)
    root = parts[0]
    types = {parameter.name: parameter.type for parameter in function.parameters} | function.locals
    if root in types:
        match = _TYPE.search(types[root])
        if len(parts) < 2 or match is None:
            return None
        return match[1], parts[1]
    return function.owner, root
