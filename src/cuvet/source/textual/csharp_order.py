"""Contexts of ManagedCuda that are disposed of before what was made in them."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.source.destroy_after_context import SourceDestroyAfterContext
from cuvet.source.languages.csharp_wrappers import DECLARED, DISPOSED, USES
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first

_CONTEXT = re.compile(rb"\bCudaContext\??\s+([A-Za-z_]\w*)\s*[=;,){]")
_MAKES_CURRENT = re.compile(r"\bSetCurrent\b|\bPushContext\b|\bnew\b")
_METHODS = ("method_declaration", "destructor_declaration", "local_function_statement")


def order_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first object that each method disposes of after the context, if the file has one context."""
    text = source.text
    if USES.search(text) is None or b"CudaContext" not in text:
        return
    contexts = {match[1] for match in _CONTEXT.finditer(text)}
    owned = {match[1] or match[2] for match in DECLARED.finditer(text)} - contexts
    if len(contexts) != 1 or len(re.findall(rb"\bnew\s+(?:\w+\.)*CudaContext\s*\(", text)) > 1:
        return
    for match in first(DISPOSED.finditer(text)):
        ending = _statement(root, match) if match[1] in contexts else None
        later = _disposed_after(ending, owned) if ending is not None else None
        if ending is None or later is None:
            continue
        method = enclosing(ending, *_METHODS)
        shown = source.function_name("", field_text(method, "name")) if method is not None else "Main"
        message = (
            f"an object is disposed of after its context `{match[1].decode()}` in line {source.line(ending.start_byte)}"
        )
        path = (
            Step(frame=frame(source, ending.start_byte, ending.end_byte, shown), text="the context is destroyed here"),
        )
        where = site("Dispose", frame(source, later.start_byte, later.end_byte, shown))
        yield finding(SourceDestroyAfterContext, message, where, path=path, severity="note")


def _statement(root: Node, match: re.Match[bytes]) -> Node | None:
    """The statement, if it does nothing else."""
    node = enclosing(root.descendant_for_byte_range(match.start(1), match.end(1)), "expression_statement", "block")
    return (
        node if node is not None and node.type == "expression_statement" and node.start_byte <= match.start() else None
    )


def _disposed_after(first: Node, owned: set[bytes]) -> Node | None:
    """The next statement of the block that disposes of one of the objects, before another context may become current."""
    statement = first
    if statement.parent is not None and statement.parent.type == "if_statement":
        statement = statement.parent
    following = statement.next_named_sibling
    while following is not None:
        if _MAKES_CURRENT.search(text_of(following)) or following.type in ("return_statement", "throw_statement"):
            return None
        if any(match[1] in owned for match in DISPOSED.finditer(following.text or b"")):
            return following
        following = following.next_named_sibling
    return None
