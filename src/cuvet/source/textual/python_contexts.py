"""Contexts of PyCUDA that a function pops and detaches on one way out, and forgets on another."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.leak_on_return import SourceLeakOnReturn
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text
from cuvet.source.textual.python_text import Place, call_at, finding_at, may_be_meant, only_value, uses_in

_MADE = re.compile(rb"\.[ \t]*make_context[ \t]*\(")
_ENDS = frozenset({"pop", "detach"})


def makes_contexts(text: bytes) -> bool:
    """Whether a file may make contexts with PyCUDA, and end them."""
    return b"pycuda" in text and b".make_context" in text and b".detach" in text


def context_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first return of each function that leaves a context which the function ends on its other ways."""
    for match in _MADE.finditer(source.text):
        call = call_at(root, match.end() - 1)
        assignment = call.parent if call is not None else None
        function = enclosing(call, "function_definition", "lambda") if call is not None else None
        if call is None or assignment is None or assignment.type != "assignment" or function is None:
            continue
        name = field_text(assignment, "left")
        if function.type == "lambda" or not name.isidentifier() or only_value(name, call, root) != call:
            continue
        uses = [
            each
            for each in uses_in(function, name, root)
            if each.type == "identifier" and each.start_byte > call.end_byte
        ]
        ends = [each for each in uses if _method(each) in _ENDS]
        if not any(_method(each) == "detach" for each in uses) or any(not _method(each) for each in uses):
            continue
        left = next((each for each in _returns(function, call.end_byte) if not _is_ended(each, ends)), None)
        if left is not None and not may_be_meant(call):
            message = (
                f"context `{name}` made here is lost when the function returns in line {source.line(left.start_byte)}"
            )
            path = (Place(left, "the function returns here"), Place(ends[-1], f"elsewhere `{name}` is ended"))
            yield finding_at(SourceLeakOnReturn, call, message, source, path)


def _method(use: Node) -> str:
    """The method of the context that is called; empty if something else is done with it."""
    around = use.parent
    if around is None or around.type != "attribute" or around.parent is None or around.parent.type != "call":
        return ""
    return field_text(around, "attribute") if around.child_by_field_name("object") == use else ""


def _returns(function: Node, start: int) -> Iterator[Node]:
    """The returns of the function itself from the offset on, in order."""
    waiting = [function]
    found = []
    while waiting:
        node = waiting.pop()
        for child in node.named_children:
            if child.end_byte <= start or child.type in ("function_definition", "lambda", "class_definition"):
                continue
            if child.type == "return_statement":
                found.append(child)
            waiting.append(child)
    yield from sorted(found, key=lambda each: each.start_byte)


def _is_ended(left: Node, ends: list[Node]) -> bool:
    """Whether the context is ended before the return, or by a ``finally`` around it."""
    if any(each.start_byte < left.start_byte for each in ends):
        return True
    around = enclosing(left, "try_statement", "with_statement")
    while around is not None:
        if around.type == "with_statement":
            return True
        for clause in around.named_children:
            if clause.type == "finally_clause" and any(
                clause.start_byte <= each.start_byte < clause.end_byte for each in ends
            ):
                return True
        around = enclosing(around.parent, "try_statement", "with_statement")
    return False
