"""Events that a function makes and measures with, and those of a class that are waited for, which nothing records."""

import re
from collections.abc import Iterator, Sequence

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.event.never_recorded import EventNeverRecorded
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Class
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Written, positions

_RECORD_NOTHING = frozenset({Verb.CREATES, Verb.DESTROYS, Verb.BLOCKS, Verb.QUERIES})
_EVENTS = re.compile(r"(?:cudaEvent_t|CUevent)\s*(?:\[\w*\])?")
_SOURCES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c"})
"""What only they declare, no other file can record."""
_ASKS = frozenset(
    {"field_expression", "subscript_expression", "parenthesized_expression", "unary_expression", "condition_clause"}
)
_MOST_MEMBERS = 64
"""Events of the classes of a file."""
_ENDS_OF_ASKING = frozenset({"if_statement", "while_statement", "binary_expression"})
_MACRO = re.compile(rb"(?<![\w.>])[A-Z][A-Z0-9_]+\s*(?:\((?![^;]*\bcu)[^;]*\)\s*)?;|#\s*include|\bT[io]c\b")
"""A macro that is a statement, of no call of CUDA: it may record what it does not name."""


def never_recorded(body: Body) -> Iterator[Finding]:
    """Between which the elapsed time is asked for."""
    made = {text_of(call.arguments[0]).lstrip("& ") for call in body.calls if _creates(call.name) and call.arguments}
    for call in body.calls if made else ():
        for event in call.arguments[1:3] if call.name == "cudaEventElapsedTime" else ():
            name = text_of(event)
            if name in made and _is_never_recorded(name, body):
                message = f"{name} was never recorded"
                yield body.finding(EventNeverRecorded, event, message, api=call.name)
                return


def _is_never_recorded(name: str, body: Body) -> bool:
    declared = only_declaration(name, body)
    if (
        declared is None
        or declared.kind != "cudaEvent_t"
        or declared.declarator not in ("declaration", "init_declarator")
    ):
        return False
    if _MACRO.search(body.code) or any(name.encode() in line for line in _defines(body)):
        return False
    return all(_is_kept_in(at, body) for at in positions(body.text, name.encode()))


def _defines(body: Body) -> list[bytes]:
    return re.findall(rb"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", body.source.text, re.M)


def _is_kept_in(at: int, body: Body) -> bool:
    """Whether the name stands in a declaration, or in a call that records nothing."""
    node = body.at(body.body.start_byte + at)
    if node is None or node.type != "identifier":
        return node is not None and node.type in ("comment", "string_content")
    around = enclosing(node, "call_expression", "declaration", "lambda_expression", "compound_statement")
    if around is None or around.type in ("lambda_expression", "compound_statement"):
        return False
    if around.type == "declaration":
        return node in around.children_by_field_name("declarator") or (
            node.parent is not None
            and node.parent.type == "init_declarator"
            and node.parent.child_by_field_name("declarator") == node
        )
    found = meaning(field_text(around, "function"))
    if found is None:
        return False
    verbs = {role.verb for role in found.told.roles if role.kind is Kind.EVENT}
    return EventNeverRecorded.applies_to(found.told) or (bool(verbs) and verbs <= _RECORD_NOTHING)


def _creates(name: str) -> bool:
    found = meaning(name)
    return found is not None and any(role.kind is Kind.EVENT for _, role in found.made)


def members_never_recorded(
    found: Sequence[Body], classes: Sequence[Class], root: Node, source: Source
) -> Iterator[Finding]:
    """The first wait for each event that a class of the file makes, and of which nothing else in the file knows."""
    if source.path.suffix.lower() not in _SOURCES or b"Event" not in source.text:
        return
    members = {name for each in classes for name, kind in each.members.items() if _EVENTS.fullmatch(kind)}
    told = [(body, call) for body in found if members for call in body.calls if _creates(call.name) or _waits(call)]
    for member in sorted(members)[:_MOST_MEMBERS]:
        calls = [each for each in told if _is_given(member, each[1])]
        made = next((each for each in calls if _creates(each[1].name)), None)
        waits = next((each for each in calls if _waits(each[1])), None)
        places = positions(source.code, member.encode()) if made is not None and waits is not None else ()
        if made is None or waits is None or not all(_is_kept_at(at, root) for at in places):
            continue
        (maker, making), (waiter, wait) = made, waits
        message = f"nothing records `{member}`, and a wait for an event that was never recorded returns at once"
        path = (maker.step(making.node, f"`{member}` is made here"),)
        yield waiter.finding(EventNeverRecorded, wait.node, message, api=wait.name, severity="note", path=path)


def _is_given(member: str, call: Written) -> bool:
    return any(re.search(rf"\b{member}\b", text_of(each)) for each in call.arguments)


def _waits(call: Written) -> bool:
    known = meaning(call.name)
    verbs = {role.verb for _, role in known.named if role.kind is Kind.EVENT} if known is not None else set()
    return not verbs.isdisjoint({Verb.BLOCKS, Verb.WAITS})


def _is_kept_at(at: int, root: Node) -> bool:
    """Whether the event stands there in its declaration, is asked for or cleared, or given to a call that records nothing."""
    node = root.descendant_for_byte_range(at, at + 1)
    if node is None or node.type not in ("identifier", "field_identifier"):
        return node is not None and node.type in ("comment", "string_content")
    inner, around = node, node.parent
    while around is not None and around.type in _ASKS:
        inner, around = around, around.parent
    if around is None or around.type in _ENDS_OF_ASKING or _declares(around):
        return around is not None
    if around.type == "assignment_expression":
        return around.child_by_field_name("left") == inner and field_text(around, "right") in (
            "0",
            "nullptr",
            "NULL",
            "{}",
        )
    call = enclosing(around, "call_expression", "compound_statement", "lambda_expression")
    known = meaning(field_text(call, "function")) if call is not None and call.type == "call_expression" else None
    verbs = {role.verb for role in known.told.roles if role.kind is Kind.EVENT} if known is not None else set()
    return bool(verbs) and verbs <= _RECORD_NOTHING | {Verb.WAITS}


def _declares(node: Node) -> bool:
    """Whether a class declares the member there, or a constructor clears it."""
    if node.type == "field_initializer":
        return (node.text or b"").rstrip(b") }").endswith((b"(", b"{", b"nullptr", b"NULL", b"0"))
    inside = enclosing(node, "field_declaration", "compound_statement", "call_expression")
    return inside is not None and inside.type == "field_declaration"
