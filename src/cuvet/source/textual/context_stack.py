"""Contexts that a function pushes and leaves on the stack of the thread: on one way out, or in each turn of a loop."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.context_not_popped import SourceContextNotPopped
from cuvet.source.syntax.parsing import Node, enclosing
from cuvet.source.textual.following import statement_of
from cuvet.source.textual.written import Body, Written

PUSHES = frozenset({"cuCtxPushCurrent", "cuCtxPushCurrent_v2"})
POPS = frozenset({"cuCtxPopCurrent", "cuCtxPopCurrent_v2"})
ENDS = frozenset({"cuCtxDestroy", "cuCtxDestroy_v2"})
"""They pop the context if it is the current one."""
MAY_POP = re.compile(
    rb"(?i:guard|scope|defer|restore|unique_ptr|cleanup|finally)|(?i:(?:ctx|context)\w*pop|(?:pop|leave|exit|unset)\w*(?:ctx|context))|\b[Pp]op[A-Z]"
)
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_NESTED = frozenset({"lambda_expression", "function_definition"})


def left_pushed(body: Body) -> Iterator[Finding]:
    """The first of each function."""
    pushes = [call for call in body.calls if call.name in PUSHES]
    pops = [call for call in body.calls if call.name in POPS | ENDS]
    for push in pushes:
        pop = next((each for each in pops if each.start > push.end and _block(each) == _block(push)), None)
        left = _return_between(push, pop, pops, body) if pop is not None else None
        if left is not None and pop is not None:
            message = f"the context pushed here stays current when the function returns in line {body.line(left)}"
            path = (
                body.step(left, "the function returns here"),
                body.step(pop.node, "on its other way it pops the context"),
            )
            yield body.finding(SourceContextNotPopped, push.node, message, api=push.name, path=path)
            return
    if len(pushes) == 1 and not pops:
        yield from _in_loop(pushes[0], body)


def _in_loop(push: Written, body: Body) -> Iterator[Finding]:
    """What each turn of a loop pushes, if nothing in the function may pop it."""
    loop = enclosing(push.node, *_LOOPS, *_NESTED)
    if loop is None or loop.type not in _LOOPS or _may_pop(loop.end_byte, push, body):
        return
    end = loop.child_by_field_name("body")
    if end is not None and end.type == "compound_statement" and not _leaves(end):
        message = "each turn of the loop pushes a context, and nothing pops it"
        path = (body.step(end.children[-1], "the next turn begins with the context on the stack"),)
        yield body.finding(SourceContextNotPopped, push.node, message, api=push.name, path=path)


def _leaves(block: Node) -> bool:
    """Whether the loop is left at the end of its first turn."""
    statements = [each.type for each in block.named_children if each.type != "comment"]
    return bool(statements) and statements[-1] in ("return_statement", "break_statement")


def _return_between(push: Written, pop: Written, pops: list[Written], body: Body) -> Node | None:
    """The first return between them that leaves the context on the stack."""
    for left in _returns(body, push.end, pop.start):
        popped = any(push.end < each.start < left.start_byte and _is_around(_block(each), left) for each in pops)
        if not popped and not _is_of_failure(push, left) and not _may_pop(left.end_byte, push, body):
            return left
    return None


def _returns(body: Body, start: int, end: int) -> list[Node]:
    found: list[Node] = []
    waiting = [body.body]
    while waiting:
        node = waiting.pop()
        if node.type == "return_statement" and start <= node.start_byte < end:
            found.append(node)
        if node.type not in _NESTED and node.end_byte > start and node.start_byte < end:
            waiting += node.named_children
    return sorted(found, key=lambda node: node.start_byte)


def _block(call: Written) -> Node | None:
    return statement_of(call.node).parent


def _is_around(block: Node | None, node: Node) -> bool:
    return block is not None and block.start_byte <= node.start_byte < block.end_byte


def _is_of_failure(push: Written, left: Node) -> bool:
    """Whether the function returns there because the push failed, as far as one can tell: in its statement, or in the next one, which may
    be a macro with a block."""
    own = statement_of(push.node)
    after = own.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    block = after.next_named_sibling if after is not None else None
    near = (own, after, block if block is not None and block.type == "compound_statement" else None)
    return any(_is_around(each, left) for each in near)


def _may_pop(end: int, push: Written, body: Body) -> bool:
    """Whether what is called, or declared, between the push and there may pop the context in a way that is not seen."""
    start = body.body.start_byte
    return MAY_POP.search(body.code, push.end - start, end - start) is not None
