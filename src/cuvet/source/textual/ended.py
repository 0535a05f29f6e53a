"""Memory of a function's own that ends while a host function of a stream, or a graph, is still to use it."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cuvet.catalog import Kind, Verb
from cuvet.catalog.roles import MAKES
from cuvet.findings import Finding
from cuvet.rules.source.ended_in_use import SourceEndedInUse
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Class
from cuvet.source.syntax.parsing import Node, enclosing, storage, text_of
from cuvet.source.textual.awaiting import is_captured
from cuvet.source.textual.bounds import first
from cuvet.source.textual.following import Following
from cuvet.source.textual.reached import is_in_lambda
from cuvet.source.textual.written import Body, Written

_CALLBACKS = (b"LaunchHostFunc", b"StreamAddCallback")
_GRAPHS = (b"GraphAddMemcpyNode1D", b"BeginCapture")
_CAST = r"(?:\((?:const\s+)?[\w:]+(?:\s+const)?\s*\*+\s*\)\s*|\w+_cast<[\w:\s*]{1,80}>\s*\(\s*)?"
_OWN = re.compile(_CAST + r"(?:&\s*(?P<address>\w+)(?:\[0\])?|(?P<array>\w+)|(?P<content>\w+)\.(?:data|get)\(\))\s*\)?")
_OF_STD = re.compile(r"(?:const\s+)?std::(?:vector|array|string|pair|tuple|function|unique_ptr|atomic\w*)\b.*", re.S)
_HANDED_ON = (
    r"\b(?:move|swap|exchange|forward)\s*(?:<[^;()<>]{0,80}>)?\s*\([^;()]{0,80}\bNAME\b|"
    r"\bNAME\s*\.\s*(?:release|swap)\b|\breturn\s+NAME\s*;"
)
"""The memory goes to somebody else, and lives on."""
_SIDE_OF_HOST = {"cudaMemcpyHostToDevice": "src", "cudaMemcpyDeviceToHost": "dst"}
_SET_ANEW = re.compile(rb"NodeSetParams|GraphExecUpdate")
"""The graph may be given other memory before it is launched."""


class _Local(NamedTuple):
    """A variable that ends with ``block``, declared up to offset ``end``."""

    name: str
    block: Node
    end: int


def with_function(body: Body, classes: Iterable[Class]) -> Iterator[Finding]:
    """The first in a function of each sort."""
    of_callbacks = any(each in body.text for each in _CALLBACKS)
    of_graphs = any(each in body.text for each in _GRAPHS) and _SET_ANEW.search(body.source.code) is None
    if not (of_callbacks or of_graphs):
        return
    known = {each.name: _ends_quietly(each) for each in classes}
    if of_callbacks:
        yield from _of_callbacks(body, known)
    if of_graphs:
        yield from _of_graphs(body, known)


def _of_callbacks(body: Body, known: dict[str, bool]) -> Iterator[Finding]:
    following = Following(body.source.code, frozenset())
    for call in first(each for each in body.calls if _data_of_callback(each) is not None):
        given = _data_of_callback(call)
        local = _local(given, call, body, known) if given is not None else None
        if local is None or is_captured(call, body) or _is_handed_on(local, call, body):
            continue
        if following.comes_to_end(call.node, local.block, local.end):
            message = (
                f"`{local.name}` may end before the stream has come to the host function that is given its address"
            )
            yield _finding(call, local, message, "the host function is enqueued with it here", body)


def _of_graphs(body: Body, known: dict[str, bool]) -> Iterator[Finding]:
    for call in first(each for each in body.calls if _data_of_callback(each) or _host_memory(each)):
        data = _data_of_callback(call)
        host = data or _host_memory(call)
        local = _local(host, call, body, known) if host is not None else None
        if local is None or _is_handed_on(local, call, body):
            continue
        captured = is_captured(call, body)
        if data is not None and not captured:
            continue
        graph = _argument(call, "graph")
        added = graph is not None and call.name.startswith(("cudaGraphAdd", "cuGraphAdd"))
        if (added and _lives_on(graph, body)) or ((captured or added) and _is_instantiated_for_others(call, body)):
            message = f"the graph keeps the address of `{local.name}`, which ends with the function"
            yield _finding(call, local, message, "the graph keeps the address from here on", body)
            return


def _finding(call: Written, local: _Local, message: str, what: str, body: Body) -> Finding:
    path = (body.step(call.node, what),)
    return body.finding(SourceEndedInUse, call.node, message, api=call.name, path=path)


def _data_of_callback(call: Written) -> Node | None:
    """What the host function is given that the call enqueues."""
    found = meaning(call.name)
    roles = found.entry_point.roles if found is not None else ()
    is_callback = any(role.verb is Verb.CALLS_BACK for role in roles) and any(role.verb is Verb.ON for role in roles)
    return _argument(call, "userData") if is_callback else None


def _host_memory(call: Written) -> Node | None:
    """The memory of the host that a copy reads or writes which says in which direction it goes."""
    kind = _argument(call, "kind") if "emcpy" in call.name else None
    side = _SIDE_OF_HOST.get(text_of(kind), "") if kind is not None else ""
    return _argument(call, side) if side else None


def _argument(call: Written, name: str) -> Node | None:
    found = meaning(call.name)
    at = found.entry_point.index.get(name, -1) if found is not None else -1
    return call.arguments[at] if 0 <= at < len(call.arguments) else None


def _local(given: Node, call: Written, body: Body, known: dict[str, bool]) -> _Local | None:
    """The variable of the function, around the call, that the address leads into."""
    match = _OWN.fullmatch(text_of(given))
    name = match["address"] or match["array"] or match["content"] if match is not None else ""
    declared = body.declarations(name) if name else []
    if match is None or len(declared) != 1 or is_in_lambda(call.node, body):
        return None
    (only,) = declared
    around = enclosing(only.node, "declaration", "parameter_declaration", "compound_statement")
    if around is None or around.type != "declaration" or storage(around):
        return None
    block = enclosing(around, "compound_statement")
    if block is None or not block.start_byte <= call.start < block.end_byte:
        return None
    is_array = only.declarator == "array_declarator"
    if bool(match["array"]) != is_array and not match["address"]:
        return None
    if only.declarator in ("reference_declarator", "pointer_declarator"):
        return None
    if match["content"] and not _OF_STD.fullmatch(only.kind):
        return None
    return None if _may_wait_at_end(only.kind, known) else _Local(name, block, around.end_byte)


def _may_wait_at_end(kind: str, known: dict[str, bool]) -> bool:
    """Whether the end of a variable of the type may do something, as far as the file tells."""
    name = kind.removeprefix("const ").removeprefix("struct ").rpartition("::")[2].strip()
    return kind == "auto" or not (_OF_STD.fullmatch(kind) or known.get(name, True))


def _ends_quietly(each: Class) -> bool:
    return not (each.bases or each.broken or any(name.startswith("~") for name in each.declared))


def _is_handed_on(local: _Local, call: Written, body: Body) -> bool:
    rest = body.source.code[call.end : local.block.end_byte].decode("utf-8", "replace")
    return re.search(_HANDED_ON.replace("NAME", local.name), rest) is not None


def _is_instantiated_for_others(call: Written, body: Body) -> bool:
    """Whether the graph becomes one, behind the call, that lives on when the function has ended."""
    for each in body.calls:
        found = meaning(each.name)
        if each.start < call.end or found is None:
            continue
        if any(role.kind is Kind.GRAPH_EXEC and role.verb in MAKES for role in found.entry_point.roles):
            target = each.arguments[0] if each.arguments else None
            return _lives_on(target, body)
    return False


def _lives_on(handle: Node | None, body: Body) -> bool:
    """Whether what the handle names, or its address leads to, is nothing of the function itself: a member, a variable of the file, or what
    a parameter is or points to; and the function does not destroy it."""
    written = text_of(handle).replace(" ", "") if handle is not None else ""
    path = written.removeprefix("&").removeprefix("this->")
    if not re.fullmatch(r"\w+", path):
        return False
    declared = body.declarations(path)
    of_caller = all(_is_parameter(each.node, written.startswith("&")) for each in declared)
    destroyed = any(_is_destroyed_by(each, path) for each in body.calls)
    return of_caller and not destroyed


def _is_destroyed_by(call: Written, path: str) -> bool:
    return "Destroy" in call.name and bool(call.arguments) and text_of(call.arguments[0]).removeprefix("this->") == path


def _is_parameter(name: Node, by_address: bool) -> bool:
    """Whether it is a parameter; where its address is given, one that is a reference."""
    around = enclosing(name, "parameter_declaration", "declaration")
    if around is None or around.type != "parameter_declaration":
        return False
    declarator = around.child_by_field_name("declarator")
    return not by_address or (declarator is not None and declarator.type == "reference_declarator")
