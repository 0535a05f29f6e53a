"""What other files need to know of a file: its classes, what it does with members, and its objects that last."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from cuvet.source.calls import symbols
from cuvet.source.languages.cpp import Class, Found, name_of, runs_on_device
from cuvet.source.languages.cpp_text import function_declarator, is_declared_at, parameters
from cuvet.source.languages.interest import WORD
from cuvet.source.ownership import ends_its_object, hands_over
from cuvet.source.program import Function
from cuvet.source.project.member_effects import effects_of
from cuvet.source.project.statics import know_devices, static_objects
from cuvet.source.project.throwing import attempts_of, throwing_of
from cuvet.source.result import ClassOutline, Constructor, Effect, Outline, Summaries
from cuvet.source.sites import frame
from cuvet.source.syntax.parsing import Source, not_parsed, text_of

_DEVICES = re.compile(rb"cu(?:da(?:[GS]etDevice\b|GetDeviceCount)|DeviceGetCount|Ctx(?:SetCurrent|PushCurrent))")
_SPACE = ord(" ")
_END_OF_STATEMENT = re.compile(rb"[;{}]")
_NO_COPIES = re.compile(r"\w*(?:COPY|COPIES|COPYABLE|ASSIGN|MOVE|MOVABLE)\w*\b")
"""A macro that says how a class is copied."""
_PARENT = re.compile(r"[:,]\s*(?:(?:public|protected|private|virtual)\s+)*(?:\w+::)*(\w+)")
_DEFAULTED = re.compile(r"=\s*default\s*;")
_DEFAULT_END = re.compile(rb"\b(\w+)\s*::\s*~\s*\1\s*\(\s*\)\s*(?:noexcept\s*)?=\s*default\s*;")
_MOST_ARGUMENTS = 300
"""Bytes."""
_CALL = re.compile(rb"[;{}]\s*(?:this\s*->\s*)?(?!(?:if|for|while|switch)\b)[A-Za-z_]\w*\s*\(")
"""A statement that is a call of a function, of no object or of this one."""
_OWN_CALL = re.compile(rb"(?<![\w.>:~])(?:this\s*->\s*)?(?!(?:if|for|while|switch|return)\b)([A-Za-z_]\w*)\s*\(")
_CHANGES_ALL = re.compile(rb"\*\s*this\s*=|memset")
_INNER = re.compile(rb"[\s(]*([A-Za-z_]\w*)\s*\(")
"""The first argument is a call."""
_FILLS = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:[({]|=(?!=))\s*(?!(?:nullptr|NULL|0|false)?\s*[)};,])")
_REACHES = re.compile(
    rb"\b(\w+)\s*(?:\.|->)\s*(?:c?r?begin|find|front|back|top|at|data|extract|lower_bound|upper_bound|swap|release|get)\s*\("
)
_DISPOSED = re.compile(rb"(?<!\bthis)(?<!\bbase)\s?\.\s*(\w+)\s*\??\s*\.\s*Dispose\s*\(")
"""C#: a member of another object is disposed of."""
_NOTHING = frozenset({"", "0", "NULL", "nullptr", "{}"})


def outline_of(found: Found, functions: Sequence[Function], source: Source, summaries: Summaries) -> Outline:
    effects = tuple(effect for function in functions for effect in effects_of(function, source, summaries))
    if source.is_cpp:
        effects += tuple(_borrowed(found, effects, source))
    objects = tuple(static_objects(found, source)) if source.is_cpp else ()
    any_device = any(each.any_device for each in objects)
    ends_members = any(effect.verb == "ends" and effect.function == "__del__" for effect in effects)
    return Outline(
        file=str(source.path),
        classes=tuple(_class(each, source) for each in found.classes if each.name and each.members),
        parents=_parents(found) if source.is_cpp else {},
        synonyms=found.synonyms,
        effects=effects,
        objects=objects,
        know_devices=tuple(dict.fromkeys(know_devices(found, source))) if any_device else (),
        several_devices=_DEVICES.search(source.text) is not None,
        constructors=tuple(_constructors(found, source)) if source.is_cpp and ends_members else (),
        attempts=tuple(attempts_of(found, effects, source)) if source.is_cpp else (),
        throwing=throwing_of(source) if source.is_cpp else {},
        functions=(*(name_of(definition) for definition in found.functions), *_defaulted(source)),
        own_calls=tuple(sorted(_own_calls(found, effects, source))) if source.is_cpp else (),
        handed=tuple(sorted(_handed(source) | _reached(effects, source) | _unread(found, source))),
        assigned=tuple(sorted(_assigned(found, effects, source))),
        variables=_variables(found, effects, source) if source.is_cpp else {},
    )


def _handed(source: Source) -> set[str]:
    """Names among the arguments of functions that sound as if they took something over, other than CUDA's, and of members that are disposed
    of through another object."""
    words: set[bytes] = set()
    for name, at, start in source.called:
        if (
            hands_over(name)
            and name not in symbols()
            and not _is_check(start, source)
            and source.code[at] != _SPACE
            and not is_declared_at(at, source.code)
        ):
            end = _END_OF_STATEMENT.search(source.code, start + 1, start + _MOST_ARGUMENTS)
            words.update(WORD.findall(source.code, start, end.start() if end else start + _MOST_ARGUMENTS))
    if source.language == "c#":
        words.update(_DISPOSED.findall(source.code))
    return {word.decode() for word in words}


def _reached(effects: Sequence[Effect], source: Source) -> set[str]:
    """Containers whose elements the file also reaches through iterators, or takes out."""
    return {match[1].decode() for match in _REACHES.finditer(source.code)} if effects else set()


def _is_check(start: int, source: Source) -> bool:
    """Whether what begins at the offset of a bracket holds a call of CUDA: it is given the call's status."""
    inner = _INNER.match(source.code, start)
    return inner is not None and inner[1].decode() in symbols()


def _unread(found: Found, source: Source) -> set[str]:
    """Names in statements of functions that could not be parsed."""
    words: set[bytes] = set()
    for definition in found.functions:
        end = 0
        for each, parent in not_parsed(definition.node):
            around = each if parent.type == "compound_statement" else parent
            if parent.type != "compound_literal_expression" and around.start_byte >= end:
                end = around.end_byte
                words.update(WORD.findall(source.text, around.start_byte, end))
    return {word.decode() for word in words}


def _assigned(found: Found, effects: Sequence[Effect], source: Source) -> set[str]:
    """Members that the file makes, and to which its text assigns something else than NULL, in whatever function of the host."""
    members = {effect.member for effect in effects if effect.verb == "makes"}
    if not members:
        return set()
    names = "|".join(re.escape(name) for name in sorted(members))
    pattern = rf"\b({names})\s*(?:\[[^\]]*\]\s*)*=(?!=)(?!\s*(?:0\b|NULL\b|nullptr\b|\{{\s*\}}))"
    kernels = _on_device(found, source) if source.is_cpp else []
    return {
        match[1].decode()
        for match in re.finditer(pattern.encode(), source.code)
        if not any(start <= match.start() < end for start, end in kernels)
    }


def _on_device(found: Found, source: Source) -> list[tuple[int, int]]:
    """Stretches of the text that are functions of the device."""
    return [
        (definition.node.start_byte, body.end_byte)
        for definition in found.functions
        if (body := definition.node.child_by_field_name("body")) is not None
        and runs_on_device(definition.node, body, source)
    ]


def _variables(found: Found, effects: Sequence[Effect], source: Source) -> dict[str, tuple[str, ...]]:
    """Variables of the file that functions of no class make, and the functions that name them."""
    made = {effect.member.encode() for effect in effects if effect.verb == "makes" and not effect.owner}
    declared_here = (node for node in found.variables if made)
    names = {word for node in declared_here for word in made.intersection(WORD.findall(text_of(node).encode()))}
    named_by: dict[str, list[str]] = {name.decode(): [] for name in names}
    for definition in found.functions if names else ():
        node = definition.node
        for word in names.intersection(WORD.findall(source.code, node.start_byte, node.end_byte)):
            named_by[word.decode()].append(name_of(definition)[1])
    return {name: tuple(functions) for name, functions in sorted(named_by.items())}


def _defaulted(source: Source) -> Iterator[tuple[str, str]]:
    """``Name::~Name() = default;``: a destructor that ends nothing by itself."""
    if source.is_cpp and b"default" in source.code:
        yield from ((match[1].decode(), "__del__") for match in _DEFAULT_END.finditer(source.code))


def _own_calls(found: Found, effects: Sequence[Effect], source: Source) -> set[tuple[str, str, str]]:
    """``~Name() { resize(0); }``, ``void run() { ...; clear(); }``; also of functions that end members, whatever their names are."""
    calls: set[tuple[str, str, str]] = set()
    ending = {effect.function for effect in effects if effect.verb == "ends" and effect.method}
    for definition in found.functions:
        owner, name = name_of(definition)
        ends, body = ends_its_object(name), definition.node.child_by_field_name("body")
        if not owner or body is None:
            continue
        for match in _OWN_CALL.finditer(source.code, body.start_byte, body.end_byte):
            called = match[1].decode()
            if (ends or called in ending or ends_its_object(called)) and called not in symbols():
                calls.add((owner, name, called))
    return calls


def _parents(found: Found) -> dict[str, str]:
    named = {each.name: _PARENT.findall(" ".join(each.bases)) for each in found.classes if each.name}
    return {name: parents[0] for name, parents in named.items() if len(parents) == 1 and parents[0] != name}


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
        for match in pattern.finditer(source.code, definition.node.start_byte, definition.node.end_byte):
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
    """Those that neither copy nor call another one; of no class with several definitions or destructors, of which #if takes one."""
    named = [name_of(definition) for definition in found.functions]
    destructors = Counter(owner for owner, name in named if name == "__del__")
    classes = Counter(each.name for each in found.classes)
    for definition, (owner, name) in zip(found.functions, named, strict=True):
        node = definition.node
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if name != "__init__" or declarator is None or body is None or max(destructors[owner], classes[owner]) > 1:
            continue
        words = frozenset(word.decode() for word in WORD.findall(source.code, declarator.end_byte, node.end_byte))
        listed = function_declarator(declarator).child_by_field_name("parameters")
        copies = listed is not None and re.search(rf"\b{re.escape(owner)}\b", text_of(listed))
        if (
            not copies
            and not _CHANGES_ALL.search(source.code, declarator.end_byte, node.end_byte)
            and owner not in words
        ):
            fills = _FILLS.findall(source.code, declarator.end_byte, node.end_byte)
            at = frame(source, node.start_byte, declarator.end_byte, source.function_name(owner, name))
            yield Constructor(
                owner=owner,
                words=words,
                calls=_CALL.search(source.code, body.start_byte, node.end_byte) is not None,
                fills=frozenset(each.decode() for each in fills),
                frame=at,
            )
