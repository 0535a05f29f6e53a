"""CUDA in a child that was forked after its parent used CUDA."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding
from cuvet.rules.source.fork_after_use import SourceForkAfterUse
from cuvet.source.syntax.parsing import Node, enclosing
from cuvet.source.textual.written import Body, Written

_FORK = re.compile(rb"(?:(\w+)\s*=\s*)?\b(?:::)?fork\s*\(\s*\)")
_NOT_USED_YET = re.compile(rb"CUDA_ERROR_NOT_INITIALIZED|cudaErrorInitializationError")
_OTHER_WAYS = re.compile(rb"#|\bswitch\b")
_NOT_SURE = re.compile(rb"\b(?:return|throw|goto|abort|switch|\w*exit)\b|[?#]|&&|\|\|")
_EXITS = re.compile(rb"(?:(?:std)?\s*::\s*)?(?:_exit|_Exit|exit|quick_exit|abort)\s*\(|(?:return|throw)\b")
_HARMLESS = re.compile(r"cu(?:da)?(?:GetError\w+|(?:Get|PeekAt)LastError|DriverGetVersion|RuntimeGetVersion)")


def used_in_child(body: Body, others: Sequence[Body]) -> Iterator[Finding]:
    """The first call of CUDA in the child's branch, if the function called CUDA before it forked; or of one of ``others``, functions of the
    file, which calls CUDA whenever it is called."""
    match = _FORK.search(body.code) if b"fork" in body.text and not _OTHER_WAYS.search(body.code) else None
    if match is None:
        return
    fork = body.body.start_byte + match.start()
    asked = max((each.start() for each in _NOT_USED_YET.finditer(body.code, 0, match.start())), default=0)
    first = body.body.start_byte + asked  # whoever asks whether CUDA was used forks where it was not
    calls = [call for call in body.calls if not _HARMLESS.fullmatch(call.name)]
    before = next(
        (call for call in calls if first <= call.start and call.end < fork and not _leaves(call.node, fork)), None
    )
    child = _child(body, fork, (match[1] or b"").decode())
    if before is None or child is None or b"exec" in (child.text or b""):
        return
    inside: Written | None = next(
        (
            call
            for call in calls
            if child.start_byte <= call.start < child.end_byte
            and not _is_put_off(call.node, child)
            and not _comes_after_exit(call.node, child)
        ),
        None,
    )
    called = (inside.node, inside.name) if inside is not None else _called(body, child, others)
    if called is not None:
        line = body.line(before.node)
        message = (
            f"{called[1]} is called in a forked child, after {before.name} in line {line} was called in its parent"
        )
        node = body.at(fork)
        forked = (body.step(node, "the child is forked here"),) if node is not None else ()
        path = (body.step(before.node, "CUDA is used before the fork here"), *forked)
        yield body.finding(SourceForkAfterUse, called[0], message, api=called[1], path=path)


def _is_put_off(call: Node, child: Node) -> bool:
    """Whether it stands in a lambda of the child, which may never be called."""
    around = enclosing(call, "lambda_expression")
    return around is not None and around.start_byte >= child.start_byte


def _comes_after_exit(call: Node, child: Node) -> bool:
    """Whether a statement before it, in the child's branch, always ends the process or the function."""
    around = call
    while around.parent is not None and around != child:
        before = around.prev_named_sibling
        while before is not None and around.parent.type == "compound_statement":
            if _EXITS.match(before.text or b""):
                return True
            before = before.prev_named_sibling
        around = around.parent
    return False


def _called(body: Body, child: Node, others: Sequence[Body]) -> tuple[Node, str] | None:
    """The first call in the child's branch of a function of the file that calls CUDA, and what it calls of CUDA."""
    names = Counter(other.name for other in others)
    using = {other.name: first for other in others if names[other.name] == 1 and (first := _first_call(other))}
    for name in using:
        for node, parent in body.identifiers(name):
            in_child = child.start_byte <= node.start_byte < child.end_byte
            if in_child and parent.type == "call_expression" and not _comes_after_exit(parent, child):
                return parent, using[name]
    return None


def _first_call(body: Body) -> str:
    """What the function calls of CUDA whenever it is called; empty if that is not sure."""
    calls = [call for call in body.calls if not _HARMLESS.fullmatch(call.name)]
    leaves = _NOT_SURE.search(body.code[: calls[0].start - body.body.start_byte]) if calls else None
    around = (
        enclosing(calls[0].node, "if_statement", "for_statement", "while_statement", "lambda_expression")
        if calls
        else None
    )
    is_sure = leaves is None and (around is None or around.start_byte < body.body.start_byte)
    return calls[0].name if calls and is_sure and not body.owner else ""


def _leaves(node: Node, fork: int) -> bool:
    """Whether the call is in a block that does not enclose the fork, so that it may be another process, or no process."""
    around = node.parent
    while around is not None and around.type != "function_definition":
        if around.type in ("compound_statement", "if_statement", "lambda_expression") and around.end_byte <= fork:
            return True
        other = around.child_by_field_name("alternative") if around.type == "if_statement" else None
        if other is not None and node.start_byte < other.start_byte <= fork < other.end_byte:
            return True
        around = around.parent
    return False


def _child(body: Body, fork: int, pid: str) -> Node | None:
    """The branch that the child takes: ``if (pid == 0)``."""
    is_child = re.compile(
        rf"\(\s*(?:!\s*{pid or 'fork'}\b.*|{pid or 'fork'}\s*(?:\(\s*\))?\s*==\s*0|.*\bfork\s*\(\s*\)\s*\)?\s*==\s*0)\s*\)$".encode(),
        re.S,
    )
    waiting = [body.body]
    while waiting:
        node = waiting.pop()
        if node.end_byte < fork:
            continue
        if node.type == "if_statement" and node.end_byte > fork:
            condition = node.child_by_field_name("condition")
            if condition is not None and is_child.match(condition.text or b""):
                return node.child_by_field_name("consequence")
        waiting += node.named_children
    return None
