"""What a file tells of its classes: which members its functions make, end, set and test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from cuvet.source.calls import LOST_OF_SEVERAL, meaning, symbols
from cuvet.source.languages.cpp import Class, Found, name_of
from cuvet.source.languages.cpp_text import BEFORE_CALLS, function_declarator, parameters
from cuvet.source.ownership import HEAP, ends, takes_over
from cuvet.source.parsing import Source, not_parsed, text_of
from cuvet.source.program import Address, Assign, Block, Call, Condition, Escape, Function, Inside, Operation, Return
from cuvet.source.result import ClassOutline, Constructor, Effect, Outline, Summaries, Summary
from cuvet.source.sites import frame
from cuvet.source.statics import know_devices, static_objects
from cuvet.source.summaries import summary_of

_HARMLESS = re.compile(
    r"cu(?:da)?(?:DriverGetVersion|GetError\w+|GetLastError|PeekAtLastError|[GS]etDevice|GetDeviceCount)"
    r"|\w+Destroy\w*(?:Descr?|Desc\w+tor)"
)
"""What does no harm after ``main``: it only asks for something, or frees memory of the host."""
_DEVICES = re.compile(rb"cu(?:da(?:[GS]etDevice\b|GetDeviceCount)|DeviceGetCount|Ctx(?:SetCurrent|PushCurrent))")
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
_END_OF_STATEMENT = re.compile(rb"[;{}]")
_NO_COPIES = re.compile(r"\w*(?:COPY|COPIES|COPYABLE|ASSIGN|MOVE|MOVABLE)\w*\b")
"""A macro that says how a class is copied."""
_DEFAULTED = re.compile(r"=\s*default\s*;")
_MOST_ARGUMENTS = 300
"""Bytes."""
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TYPE_BEFORE = re.compile(rb"(\w+)(?:[\s*]|(?<!&)&(?!&))+\Z")
_LONGEST_TYPE = 60
"""Bytes."""
_CONST = re.compile(rb"[^{};]*\)\s*const\b")
"""The head of a function that does not change its object."""
_CHANGES_ALL = re.compile(rb"\*\s*this\s*=|memset")
_FILLS = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:[({]|=(?!=))\s*(?!(?:nullptr|NULL|0|false)?\s*[)};,])")
_NOTHING = frozenset({"", "0", "NULL", "nullptr", "{}"})
_SHOWN = re.compile(r"\s*(?:this->)?((?:\w+(?:->|\.))?\w+\(\))\s*")
"""A call that shows a member."""


def outline_of(found: Found, functions: Sequence[Function], source: Source, summaries: Summaries) -> Outline:
    effects = tuple(effect for function in functions for effect in _effects(function, source, summaries))
    in_cpp = source.language in ("c++", "cuda")
    if in_cpp:
        effects += tuple(_borrowed(found, effects, source))
    objects = tuple(static_objects(found, source)) if in_cpp else ()
    any_device = any(each.any_device for each in objects)
    return Outline(
        file=str(source.path),
        classes=tuple(_class(each, source) for each in found.classes if each.name and each.members),
        effects=effects,
        objects=objects,
        know_devices=tuple(dict.fromkeys(know_devices(found, source))) if any_device else (),
        several_devices=_DEVICES.search(source.text) is not None,
        constructors=tuple(_constructors(found, source)) if in_cpp and _ends_members(effects) else (),
        functions=tuple(name_of(definition) for definition in found.functions),
        handed=tuple(sorted(_handed(source) | _unread(found, source))),
        assigned=tuple(sorted(_assigned({effect.member for effect in effects if effect.verb == "makes"}, source))),
    )


def _ends_members(effects: Sequence[Effect]) -> bool:
    return any(effect.verb == "ends" and effect.function == "__del__" for effect in effects)


def _handed(source: Source) -> set[str]:
    """Names among the arguments of functions that sound as if they took something over, other than CUDA's."""
    words: set[bytes] = set()
    for name, at, start in source.called:
        if (name in _OWNERS or ends(name)) and name not in symbols() and not _is_declared(at, source.text):
            end = _END_OF_STATEMENT.search(source.text, start + 1, start + _MOST_ARGUMENTS)
            words.update(_WORD.findall(source.text, start, end.start() if end else start + _MOST_ARGUMENTS))
    return {word.decode() for word in words}


def _is_declared(at: int, text: bytes) -> bool:
    """Whether the name at that offset stands after a type: no call, but a declaration of the function."""
    before = _TYPE_BEFORE.search(text[max(at - _LONGEST_TYPE, 0) : at])
    return before is not None and before[1] not in BEFORE_CALLS


def _unread(found: Found, source: Source) -> set[str]:
    """Names in statements of functions that could not be parsed."""
    words: set[bytes] = set()
    for definition in found.functions:
        end = 0
        for each, parent in not_parsed(definition.node):
            around = each if parent.type == "compound_statement" else parent
            if parent.type != "compound_literal_expression" and around.start_byte >= end:
                end = around.end_byte
                words.update(_WORD.findall(source.text, around.start_byte, end))
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
        or _NO_COPIES.match(declarator)
    ]
    return ClassOutline(
        name=each.name,
        members=each.members,
        shared=each.shared,
        declared=tuple(names),
        undefined=tuple(
            name
            for name, text in names.items()
            if text.rstrip().endswith(";") and not re.search(r"=\s*(?:0|default|delete)\s*;", text)
        ),
        copies=any(not _DEFAULTED.search(text) for text in copying) or each.references,
        defaulted=any(_DEFAULTED.search(text) for text in copying),
        bases=bool(each.bases),
        initialised=tuple(each.initialised),
        broken=each.broken,
        frame=frame(source, each.start, each.start + 1, each.name),
    )


def _method(declarator: str, owner: str) -> str:
    name = declarator.split("(")[0].strip()
    return "__init__" if name == owner else "__del__" if name.startswith("~") else name


def _effects(function: Function, source: Source, summaries: Summaries) -> Iterator[Effect]:
    straight = _reached_without_jumps(function)
    shows = not takes_over(function.name) or _CONST.match(source.text, function.start, function.end) is not None
    results: dict[str, str] = {}
    for number, block in enumerate(function.blocks):
        for operation in block.operations:
            for place, verb, kind, api in _touched(operation, source, summaries, results):
                if isinstance(operation, Return) and shows:
                    verb = "shows"  # who asks for a member does not get to own it
                named = _member(function, place)
                if named is not None:
                    guarded = bool(block.guards) or number not in straight
                    effect = _effect(function, named, verb, operation, source, guarded, kind, api)
                    yield msgspec.structs.replace(
                        effect, under=_conditions(function, block), value=_set_to(function, operation)
                    )
        yield from _tests(function, block, source)
        if function.name == "__del__":
            yield from _calls(function, block, source)


def _effect(
    function: Function,
    named: tuple[str, str],
    verb: str,
    at: Operation | Condition,
    source: Source,
    guarded: bool = False,
    kind: str = "",
    api: str = "",
) -> Effect:
    end = at.start + 1 if isinstance(at, Escape) else at.end
    return Effect(
        owner=named[0],
        member=named[1],
        verb=verb,
        function=function.name,
        method=bool(function.owner) and named[0] == function.owner,
        guarded=guarded,
        kind=kind,
        api=api,
        frame=frame(source, at.start, end, source.function_name(function.owner, function.name)),
    )


def _conditions(function: Function, block: Block) -> tuple[tuple[str, bool], ...]:
    decided = ((function.blocks[at].edges, arm) for at, arm in block.guards)
    edges = (edges[arm] for edges, arm in decided if arm < len(edges))
    return tuple((edge.condition.text, edge.truth) for edge in edges if edge.condition is not None)


def _set_to(function: Function, operation: Operation) -> str:
    """The member of the same object that is assigned."""
    if not isinstance(operation, Assign) or not isinstance(operation.value, str) or not operation.value.isidentifier():
        return ""
    named = _member(function, operation.value)
    return named[1] if named is not None else ""


def _borrowed(found: Found, effects: Sequence[Effect], source: Source) -> Iterator[Effect]:
    """Where members that the file ends and does not make are set to a parameter; none of a member that is set to anything else."""
    made = {effect.member for effect in effects if effect.verb == "makes"}
    ended = {effect.member for effect in effects if effect.verb == "ends" and effect.method} - made
    names = "|".join(re.escape(name) for name in sorted(ended) if name.isidentifier())
    if not names:
        return
    pattern = re.compile(
        rf"\b({names})\s*(?:=(?!=)\s*([^;]{{0,2000}});|[({{]\s*([^(){{}}]{{0,2000}})[)}}]\s*[,{{])".encode()
    )
    borrowed: list[Effect] = []
    set_otherwise: set[str] = set()
    for definition in found.functions:
        owner, name = name_of(definition)
        declarator = definition.node.child_by_field_name("declarator")
        for match in pattern.finditer(source.text, definition.node.start_byte, definition.node.end_byte):
            value = (match[2] if match[2] is not None else match[3]).strip().decode("utf-8", "replace")
            if value in _NOTHING or declarator is None or not owner:
                continue
            given = {each.name: each.type for each in parameters(function_declarator(declarator))}
            member = match[1].decode()
            if value not in given or "*" in given[value] or "&&" in given[value]:
                set_otherwise.add(member)
                continue
            at = frame(source, match.start(), match.end(), source.function_name(owner, name))
            borrowed.append(
                Effect(owner=owner, member=member, verb="borrows", function=name, method=True, guarded=False, frame=at)
            )
    yield from (each for each in borrowed if each.member not in set_otherwise)


def _constructors(found: Found, source: Source) -> Iterator[Constructor]:
    """Those that neither copy nor call another one."""
    for definition in found.functions:
        owner, name = name_of(definition)
        node = definition.node
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if name != "__init__" or declarator is None or body is None:
            continue
        words = frozenset(word.decode() for word in _WORD.findall(source.text, declarator.end_byte, node.end_byte))
        listed = function_declarator(declarator).child_by_field_name("parameters")
        copies = listed is not None and re.search(rf"\b{re.escape(owner)}\b", text_of(listed))
        if (
            not copies
            and not _CHANGES_ALL.search(source.text, declarator.end_byte, node.end_byte)
            and owner not in words
        ):
            fills = _FILLS.findall(source.text, declarator.end_byte, node.end_byte)
            at = frame(source, node.start_byte, declarator.end_byte, source.function_name(owner, name))
            yield Constructor(owner=owner, words=words, fills=frozenset(each.decode() for each in fills), frame=at)


def _reached_without_jumps(function: Function) -> set[int]:
    """Blocks that are reached without goto or break: not those that only clean up after a failure."""
    reached, waiting = {0}, [0]
    while waiting:
        for edge in function.blocks[waiting.pop()].edges:
            if edge.kind != "jump" and edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    return reached


def _calls(function: Function, block: Block, source: Source) -> Iterator[Effect]:
    """What a destructor calls of CUDA, other than in one of several cases."""
    conditions = (edge.condition for at, _ in block.guards for edge in function.blocks[at].edges)
    if any(each is not None and source.text[each.start : each.end] == b"case" for each in conditions):
        return
    for operation in block.operations:
        found = meaning(operation.name) if isinstance(operation, Call) else None
        if isinstance(operation, Call) and found is not None and not _HARMLESS.fullmatch(operation.name):
            kind = found.ended[0][1].kind.noun if found.ended else ""
            yield _effect(function, (function.owner, ""), "calls", operation, source, kind=kind, api=operation.name)


def _tests(function: Function, block: Block, source: Source) -> Iterator[Effect]:
    for condition in {edge.condition for edge in block.edges if edge.condition is not None}:
        for name in condition.names:
            named = _member(function, name)
            if named is not None:
                yield _effect(function, named, "tests", condition, source)


def _touched(
    operation: Operation, source: Source, summaries: Summaries, results: dict[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    """(place, verb, kind, api) of what the operation does. ``results`` are the objects that functions returned: what made each."""
    if isinstance(operation, Assign):
        made = results.get(operation.value) if isinstance(operation.value, str) else None
        if made is not None:
            yield operation.place, "makes", _kind(made, made=True), made
            return
        yield operation.place, "clears" if operation.value == 0 else "sets", "", ""
        if isinstance(operation.value, str):
            yield operation.value, "gives", "", ""
    elif isinstance(operation, Escape):
        yield operation.place, "gives", "", ""
    elif isinstance(operation, Return):
        if isinstance(operation.value, str):
            yield operation.value, "gives", "", ""
    elif not operation.launch:
        yield from _of_call(operation, source, summaries, results)


def _of_call(
    call: Call, source: Source, summaries: Summaries, results: dict[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    found = meaning(call.name)
    if call.name in HEAP and call.arguments and isinstance(call.arguments[0], str):
        yield call.arguments[0], "ends", "heap", call.name
        return
    summary = summary_of(call, summaries) if found is None else None
    if summary is not None:
        if call.result and summary.returns and _owned(summary.returns):
            results[call.result] = summary.returns
        yield from _of_summary(call, summary)
        return
    if found is None:
        for value in call.arguments:
            place = value.place if isinstance(value, Address | Inside) else value
            if isinstance(place, str) and (isinstance(value, Address) or takes_over(call.name)):
                yield place, "gives", "", call.name
        return
    for at, role in found.made:
        if at < len(call.arguments) and role.kind in LOST_OF_SEVERAL:
            value = call.arguments[at]
            if isinstance(value, Address | Inside):
                yield value.place, "makes", role.kind.noun, call.name
    for at, role in found.ended:
        if at < len(call.arguments):
            given = call.arguments[at]
            ended = given.place if isinstance(given, Inside) else given if isinstance(given, str) else None
            if (ended is None or ended[0] == "%") and at < len(call.spans):
                shown = _SHOWN.fullmatch(source.slice(*call.spans[at]))
                ended = shown[1] if shown else None
            if ended is not None:
                yield ended, "ends", role.kind.noun, call.name


def _of_summary(call: Call, summary: Summary) -> Iterator[tuple[str, str, str, str]]:
    for at, value in enumerate(call.arguments):
        place = value.place if isinstance(value, Address | Inside) else value
        if not isinstance(place, str):
            continue
        if at in summary.makes and _owned(summary.makes[at]):
            yield place, "makes", _kind(summary.makes[at], made=True), summary.makes[at]
        if at in summary.ends:
            yield place, "ends", _kind(summary.ends[at].api, made=False), summary.ends[at].api
        if at not in summary.makes and at not in summary.ends and (at in summary.keeps or isinstance(value, Address)):
            yield place, "gives", "", call.name


def _owned(api: str) -> bool:
    found = meaning(api)
    return found is not None and found.made[0][1].kind in LOST_OF_SEVERAL


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
