"""Contexts that a function pushes and leaves on the stack of the thread: on one way out, or in each turn of a loop."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Severity
from cuvet.rules.source.context_not_popped import SourceContextNotPopped
from cuvet.source.syntax.parsing import Node, enclosing
from cuvet.source.textual.ways_out import MAY_END, NESTED, Pair, may_end, way_out
from cuvet.source.textual.written import Body, Written

STACK = Pair(
    begins=frozenset({"cuCtxPushCurrent", "cuCtxPushCurrent_v2"}),
    ends=frozenset({"cuCtxPopCurrent", "cuCtxPopCurrent_v2", "cuCtxDestroy", "cuCtxDestroy_v2"}),
    may_end=re.compile(
        MAY_END + rb"|(?i:(?:ctx|context)\w*pop|(?:pop|leave|exit|unset)\w*(?:ctx|context))|\b[Pp]op[A-Z]"
    ),
)
"""The destroy pops the context if it is the current one."""
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


def left_pushed(body: Body) -> Iterator[Finding]:
    """The first of each function."""
    found = way_out(body, STACK)
    if found is not None:
        message = f"the context pushed here stays current when the function returns in line {body.line(found.left)}"
        path = (
            body.step(found.left, "the function returns here"),
            body.step(found.end.node, "on its other way it pops the context"),
        )
        severity: Severity | None = "note" if found.by_macro else None
        yield body.finding(
            SourceContextNotPopped, found.begin.node, message, api=found.begin.name, severity=severity, path=path
        )
        return
    pushes = [call for call in body.calls if call.name in STACK.begins]
    if len(pushes) == 1 and not any(call.name in STACK.ends for call in body.calls):
        yield from _in_loop(pushes[0], body)


def _in_loop(push: Written, body: Body) -> Iterator[Finding]:
    """What each turn of a loop pushes, if nothing in the function may pop it."""
    loop = enclosing(push.node, *_LOOPS, *NESTED)
    if loop is None or loop.type not in _LOOPS or may_end(STACK, push, loop.end_byte, body):
        return
    if STACK.may_end.search(body.source.code, loop.start_byte, push.start):
        return
    end = loop.child_by_field_name("body")
    if end is not None and end.type == "compound_statement" and not _leaves(end):
        message = "each turn of the loop pushes a context, and nothing pops it"
        path = (body.step(end.children[-1], "the next turn begins with the context on the stack"),)
        severity: Severity | None = (
            "note" if b"CtxPopCurrent" in body.source.code else None
        )  # another function may pop as often
        yield body.finding(SourceContextNotPopped, push.node, message, api=push.name, severity=severity, path=path)


def _leaves(block: Node) -> bool:
    """Whether the loop is left at the end of its first turn."""
    statements = [each.type for each in block.named_children if each.type != "comment"]
    return bool(statements) and statements[-1] in ("return_statement", "break_statement")
