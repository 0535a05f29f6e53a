"""Events that a function makes and measures with, and never records."""

import re
from collections.abc import Iterator

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.event.never_recorded import EventNeverRecorded
from cuvet.source.calls import meaning
from cuvet.source.syntax.parsing import enclosing, field_text, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, positions

_RECORD_NOTHING = frozenset({Verb.CREATES, Verb.DESTROYS, Verb.BLOCKS, Verb.QUERIES})
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
