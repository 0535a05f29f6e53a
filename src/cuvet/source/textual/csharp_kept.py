"""Delegates of C# that CUDA calls later, and that nothing keeps until then."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.source.not_kept_alive import SourceNotKeptAlive
from cuvet.source.calls import called_back
from cuvet.source.languages.csharp_names import arguments
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first

_CALL = re.compile(rb"\b((?:cuda|cu)(?:LaunchHostFunc|StreamAddCallback))(?:_v2|_ptsz)?\s*\(")
_WAIT = re.compile(r"Synchronize|\bWait|KeepAlive")
_METHODS = ("method_declaration", "constructor_declaration")
_TYPES = ("class_declaration", "struct_declaration", "record_declaration")
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_FUNCTIONS = frozenset({"lambda_expression", "anonymous_method_expression"})


def collected_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each delegate that is made for the call which gives it to CUDA, or for a variable that nothing asks for after it."""
    for match in first(_CALL.finditer(source.text)):
        call = enclosing(root.descendant_for_byte_range(match.end() - 1, match.end()), "invocation_expression", "block")
        at = called_back(match[1].decode())
        method = enclosing(call, *_METHODS)
        if call is None or call.type != "invocation_expression" or at is None or method is None:
            continue
        given = arguments(call)
        if len(given) <= at or not given[at].named_children or _waits(call):
            continue
        value = given[at].named_children[-1]
        made = _only_value(value, call, method) if value.type == "identifier" else None
        if _is_new(made or value, method):
            shown = source.function_name("", field_text(method, "name"))
            node = made or value
            message = "the delegate is not kept until CUDA calls it"
            path = (Step(frame=frame(source, node.start_byte, node.end_byte, shown), text="the delegate is made here"),)
            where = site(match[1].decode(), frame(source, call.start_byte, call.end_byte, shown))
            yield finding(SourceNotKeptAlive, message, where, path=path)


def _waits(call: Node) -> bool:
    """Whether a later statement of the block may wait for the call, or keeps the delegate."""
    statement = call
    while statement.parent is not None and statement.parent.type != "block":
        statement = statement.parent
    following = statement.next_named_sibling
    while following is not None:
        if _WAIT.search(text_of(following)):
            return True
        following = following.next_named_sibling
    return False


def _only_value(variable: Node, call: Node, method: Node) -> Node | None:
    """What the variable of the method is declared with, if the call is the only thing that it is used for."""
    name = text_of(variable)
    uses = [each for each in _within(method) if each.type == "identifier" and text_of(each) == name]
    if len(uses) != 2 or uses[1].start_byte < call.start_byte:
        return None
    declared = uses[0].parent
    if declared is None or declared.type != "variable_declarator" or len(declared.named_children) != 2:
        return None
    return declared.named_children[1]


def _is_new(value: Node, method: Node) -> bool:
    """Whether the expression makes a delegate that belongs to an object: of a method that is not static, or of a lambda that uses what
    stands around it."""
    if value.type == "cast_expression":
        value = value.named_children[-1]
    if value.type == "object_creation_expression":
        given = arguments(value)
        if len(given) != 1 or not given[0].named_children:
            return False
        value = given[0].named_children[-1]
    if value.type in _FUNCTIONS:
        return _captures(value, method)
    owner = enclosing(method, *_TYPES)
    body = owner.child_by_field_name("body") if owner is not None else None
    named = [
        each
        for each in (body.named_children if body is not None else ())
        if each.type == "method_declaration" and field_text(each, "name") == text_of(value)
    ]
    own = {text_of(each) for each in _variables(method)}
    return value.type == "identifier" and bool(named) and text_of(value) not in own and not any(map(_is_static, named))


def _captures(function: Node, method: Node) -> bool:
    body = function.child_by_field_name("body") or function
    inside = range(function.start_byte, function.end_byte)
    words = set(_WORD.findall(text_of(body)))
    own = {text_of(each) for each in _variables(method) if each.start_byte not in inside}
    return "this" in words or not words.isdisjoint(own)


def _variables(method: Node) -> Iterator[Node]:
    """The names of the parameters and variables of the method."""
    for each in _within(method):
        if each.type in ("parameter", "variable_declarator"):
            name = each.child_by_field_name("name") or (each.named_children[0] if each.named_children else None)
            if name is not None:
                yield name


def _within(method: Node) -> list[Node]:
    """All nodes of the method, in order."""
    found, waiting = [], [method]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += reversed(node.named_children)
    return found


def _is_static(method: Node) -> bool:
    return any(each.type == "modifier" and each.text == b"static" for each in method.children)
