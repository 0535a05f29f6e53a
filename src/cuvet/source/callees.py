"""Functions whose bodies are not in sight: what they do with what they are given, as far as their names and their callers tell.

Each of these is weak by itself, so that only makers are taken at their word: an end that is guessed ends a leak, and proves nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import structs

from cuvet.catalog import Kind
from cuvet.source.calls import LOST, LOST_OF_SEVERAL, Meaning, meaning, symbols
from cuvet.source.languages.cpp import Found, name_of
from cuvet.source.program import Address, Assign, Escape, Function, Invoke, Operation, Value, lvalue_of
from cuvet.source.result import Ending, Summaries, Summary
from cuvet.source.syntax.parsing import Node, Source, storage, text_of

_ENTRY_POINT = re.compile(r"[cC]u(?:da)?[A-Z]\w+$")
_HELPER = re.compile(r"_?(?:[hH]elper|[wW]rapper|[cC]hecked|[sS]afe|[iI]mpl|[tT]racked|[dD]ebug)_?$")
_CREATES = re.compile(r"(?i)create")
_DECLARED = re.compile(rb"\b(?!(?:return|delete|goto|throw|else|case|co_return)\b)(\w+)\s+(\w+)\s*;")
_DEEPEST = 500
"""Nodes around a function."""
_INITIALISED = re.compile(rb"[=({]")


def offered(summaries: Summaries, found: Found, source: Source) -> Summaries:
    """Those that functions of other files can call: no members of classes that are defined here, and none that are for this file alone.
    A function whose definition names a namespace or a class is known to calls that name it too."""
    header = source.path.suffix.startswith(".h") or source.path.suffix in (".cuh", ".inl")
    classes = {each.name for each in found.classes}
    owners: dict[str, set[str]] = {}
    for definition in found.functions if summaries else ():
        owner, name = name_of(definition)
        owners.setdefault(name, set()).add(owner)
    offers: Summaries = {}
    for definition in found.functions if summaries else ():
        owner, name = name_of(definition)
        mattering = {count: each for count, each in summaries.get(name, {}).items() if each.matters or each.several}
        if (
            any(each.matters for each in mattering.values())
            and owner not in classes
            and (not owner or owners[name] == {owner})
            and name != "main"
            and (header or b"static" not in storage(definition.node))
            and "" not in (scopes := (owner, *_scopes(definition.node)) if owner else _scopes(definition.node))
        ):
            offers[name] = {
                count: structs.replace(each, scopes=scopes, qualified=bool(owner)) for count, each in mattering.items()
            }
    return offers


def with_scopes(summaries: Summaries, found: Found, source: Source) -> Summaries:
    """Of functions that a file of C++ defines outside of classes: calls that name another namespace are of another function."""
    around: dict[str, list[tuple[str, ...]]] = {}
    for definition in found.functions if summaries and source.is_cpp else ():
        owner, name = name_of(definition)
        if name in summaries:
            around.setdefault(name, []).append(("",) if owner else _scopes(definition.node))
    for name, scopes in around.items():
        if len(scopes) == 1 and "" not in scopes[0]:
            summaries[name] = {at: structs.replace(each, scopes=scopes[0]) for at, each in summaries[name].items()}
    return summaries


def _scopes(node: Node) -> tuple[str, ...]:
    """Names of the namespaces around, the innermost first; empty for one without a name, and for what is too deep to look at."""
    scopes: list[str] = []
    around = node.parent
    for _ in range(_DEEPEST):  # each step up is a way down from the root
        if around is None:
            return tuple(scopes)
        if around.type == "namespace_definition":
            named = around.child_by_field_name("name")
            scopes += text_of(named).split("::")[::-1] if named is not None else [""]
        around = around.parent
    return ("",)


def by_name(names: Iterable[str], text: bytes) -> Summaries:
    """Functions whose names say what they do: ``my_cudaMalloc`` and ``cudaMallocHelper`` are given what cudaMalloc is given, after a
    context of their own perhaps; ``createTexture(&texture, …)`` creates a handle."""
    found: Summaries = {}
    for name in names:
        match = _ENTRY_POINT.search(_HELPER.sub("", name))
        if match is not None and (known := meaning("c" + match.group()[1:])) is not None:
            found[name] = _like(known)
        elif _CREATES.search(name):
            created = _created(name, text)
            if created:
                found[name] = created
    return {name: summaries for name, summaries in found.items() if summaries}


def _like(known: Meaning) -> dict[int, Summary]:
    """Of a function that is named like an entry point, with as many arguments, or one more before them."""
    summaries: dict[int, Summary] = {}
    count = len(known.entry_point.parameters)
    for before in (0, 1):
        summary = Summary()
        for at, role in known.made:
            if role.kind in LOST_OF_SEVERAL:
                summary.makes[at + before] = known.entry_point.name
        for at, _ in known.ended:
            summary.ends[at + before] = Ending(known.entry_point.name, through=False, always=False)
        if summary.matters:
            summaries[count + before] = summary
    return summaries


def _created(name: str, text: bytes) -> dict[int, Summary]:
    """Of a function that is given the address of a handle that has no value yet."""
    declared = _declared(text)
    summaries: dict[int, Summary] = {}
    if declared:
        pattern = rb"\b%s\s*(?:<[^;<>(){}]*>)?\s*\(([^;(){}]*)\)" % re.escape(name.encode())
        for match in re.finditer(pattern, text):
            given = [argument.strip() for argument in match[1].split(b",")]
            for at, argument in enumerate(given):
                places = declared.get(argument[1:].strip(), []) if argument[:1] == b"&" else []
                before = bisect_left(places, (match.start(), ""))
                maker = _makers().get(places[before - 1][1]) if before else None
                if maker is not None:
                    summaries.setdefault(len(given), Summary()).makes[at] = maker
    return summaries


def _declared(text: bytes) -> dict[bytes, list[tuple[int, str]]]:
    """Of variables that are declared as handles without a value, and of no other sort anywhere: where, and the type."""
    found: dict[bytes, list[tuple[int, str]]] = {}
    for match in _DECLARED.finditer(text):
        found.setdefault(match[2], []).append((match.start(), match[1].decode()))
    return {
        name: places
        for name, places in found.items()
        if any(kind in _makers() for _, kind in places) and not re.search(rb"\*\s*%s\s*[;=]" % name, text)
    }


@cache
def _makers() -> dict[str, str]:
    """By type of a handle, the entry point that makes one."""
    found: dict[str, str] = {}
    for name, known in _making():
        if known.made[0][1].kind in LOST:
            parameter = known.entry_point.parameters[known.made[0][0]]
            if parameter.pointee and "*" not in parameter.pointee and parameter.pointee != "CUdeviceptr":
                found.setdefault(parameter.pointee, name)
    return found


@cache
def made_by_type(kind: str) -> tuple[str, str] | None:
    """What a handle of the type is (its kind's noun), and the entry point that makes one; None for other types."""
    api = _makers().get(kind)
    known = meaning(api) if api is not None else None
    return (known.made[0][1].kind.noun, api) if known is not None and api is not None else None


def by_use(functions: Iterable[Function], names: frozenset[str], source: Source) -> Summaries:
    """Which of the functions ``names`` give a variable its first value, which CUDA ends later: they made it."""
    found: Summaries = {}
    for function in functions:
        for name, arguments, at, reference, api in _first_givers(function, source):
            if name not in names:
                continue
            summary = found.setdefault(name, {}).setdefault(arguments, Summary())
            summary.makes[at] = api
            if reference:
                summary.references.add(at)
    return found


def _first_givers(function: Function, source: Source) -> Iterator[tuple[str, int, int, bool, str]]:
    """(function, its arguments, which of them, whether by reference, what makes such a thing)."""
    if function.broken:
        return
    operations = sorted(function.operations, key=lambda each: each.start)
    uses_of: dict[str, list[Operation]] = {}
    declared = {
        operation.lvalue
        for operation in operations
        if isinstance(operation, Assign) and operation.declared and _is_bare(operation, source)
    }
    for operation in operations if declared else ():
        for name in declared & _names(operation):
            uses_of.setdefault(name, []).append(operation)
    for lvalue, uses in uses_of.items():
        first, api = uses[0], _maker_of_ended(lvalue, uses)
        if isinstance(first, Invoke) and api and not (first.launch or first.receiver or meaning(first.name)):
            at = next(at for at, value in enumerate(first.arguments) if _is(value, lvalue))
            reference = not isinstance(first.arguments[at], Address)
            yield first.name.rpartition("::")[2], len(first.arguments), at, reference, api


def _is_bare(operation: Assign, source: Source) -> bool:
    """Whether a pointer or handle is declared without a value."""
    kind = operation.kind
    text = source.text[operation.start : operation.end]
    return operation.value is None and not _INITIALISED.search(text) and ("*" in kind or kind in _makers())


def _names(operation: Operation) -> set[str]:
    """Lvalues that an operation uses, or whose address it takes."""
    if isinstance(operation, Invoke):
        return {lvalue_of(value) for value in operation.arguments if isinstance(value, str | Address)}
    if isinstance(operation, Assign):
        value = {operation.value} if isinstance(operation.value, str) else set()
        return value if operation.declared else {*value, operation.lvalue}
    lvalue = operation.lvalue if isinstance(operation, Escape) else operation.value
    return {lvalue} if isinstance(lvalue, str) else set()


def _is(value: Value, lvalue: str) -> bool:
    return value == lvalue or (isinstance(value, Address) and value.lvalue == lvalue)


def _maker_of_ended(lvalue: str, uses: list[Operation]) -> str:
    """What makes the kind of thing that CUDA ends there; empty if it is not ended, or was made by CUDA itself."""
    api = ""
    for use in uses:
        known = meaning(use.name) if isinstance(use, Invoke) and not use.launch else None
        if known is None or not isinstance(use, Invoke):
            continue
        if any(_is(use.argument(at), lvalue) for at, _ in known.made):
            return ""
        for at, role in known.ended:
            if use.argument(at) == lvalue:
                api = _maker_of(known.entry_point.api, role.kind)
    return api


@cache
def _maker_of(api: str, kind: Kind) -> str:
    """The entry point of the library or API with the shortest name that makes an object of the kind."""
    return next((name for name, it in _making() if it.entry_point.api == api and it.made[0][1].kind is kind), "")


@cache
def _making() -> list[tuple[str, Meaning]]:
    """The entry points that make something, those with the shortest names first."""
    every = ((name, meaning(name)) for name in sorted(symbols(), key=lambda name: (len(name), name)))
    return [(name, known) for name, known in every if known is not None and known.made]
