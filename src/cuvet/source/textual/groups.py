"""Groups of NCCL calls that a way out leaves open."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.group_left_open import SourceGroupLeftOpen
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Node, enclosing
from cuvet.source.textual.written import Body, block_of

_START, _END = re.compile(rb"\bncclGroupStart\s*\("), re.compile(rb"\bncclGroupEnd\s*\(")
_LEAVES = re.compile(rb"\b(?:return|throw)\b")
_RESULT = re.compile(rb"(?:\b(\w+)\s*=\s*)?\bnccl[A-Z]\w*\s*\(|\bncclResult_t\s+(\w+)")
_CALLED = re.compile(rb"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
_ASSIGNED = rb"\b%s\s*=(?!=)\s*!?\s*(?:\w+\s*::\s*)*([A-Za-z_]\w*)\s*\("
_FAILED = re.compile(rb"\bnccl(?:Success|[A-Z]\w*\s*\()")


def left_open(body: Body) -> Iterator[Finding]:
    """The first return between the one start and the first end behind it."""
    starts = list(_START.finditer(body.code)) if b"ncclGroupStart" in body.text else []
    end = _END.search(body.code, starts[0].end()) if len(starts) == 1 and b"#" not in body.code else None
    first, last = (_call(body, match) if match is not None else None for match in (starts[0] if starts else None, end))
    if end is None or first is None or last is None or block_of(first) is None or block_of(first) != block_of(last):
        return
    results = {name for match in _RESULT.finditer(body.code) for name in match.groups() if name}
    for match in _LEAVES.finditer(body.code, starts[0].end(), end.start()):
        node = enclosing(body.at(body.body.start_byte + match.start()), "return_statement", "throw_statement")
        if node is None or node.end_byte > body.body.start_byte + end.start() or _is_of_failure(node, body, results):
            continue
        if node.parent is not None and any(
            _calls_something(each) for each in node.parent.named_children if each != node
        ):
            continue
        begin = body.at(body.body.start_byte + starts[0].start())
        steps = (body.step(begin, "the group starts here"),) if begin is not None else ()
        message = "the group of NCCL calls is never ended on this way out"
        yield body.finding(SourceGroupLeftOpen, node, message, api="ncclGroupStart", path=steps)
        return


def _call(body: Body, match: re.Match[bytes]) -> Node | None:
    return enclosing(body.at(body.body.start_byte + match.start()), "call_expression")


def _calls_something(statement: Node) -> bool:
    """Whether a statement beside the return may end the group."""
    return statement.type == "expression_statement" and b"(" in (statement.text or b"")


def _is_of_failure(node: Node, body: Body, results: set[bytes]) -> bool:
    """Whether it leaves because an NCCL call failed, or leaves no more than a lambda, or a block in which exceptions are caught."""
    around = node.parent
    while around is not None and around != body.body:
        if around.type in (
            "lambda_expression",
            "try_statement",
            "catch_clause",
            "case_statement",
            "struct_specifier",
            "class_specifier",
        ):
            return True
        condition = around.child_by_field_name("condition") if around.type == "if_statement" else None
        text = (condition.text or b"") if condition is not None else b""
        if _FAILED.search(text) or any(re.search(rb"\b%s\b" % name, text) for name in results):
            return True
        if _asks_wrapper(text, body):
            return True
        around = around.parent
    return False


def _asks_wrapper(condition: bytes, body: Body) -> bool:
    """Whether the condition asks a function of the file that calls NCCL, or one that is not there, or for what such a one returned."""
    called = set(_CALLED.findall(condition))
    for name in set(re.findall(rb"[A-Za-z_]\w*", condition)):
        called.update(re.findall(_ASSIGNED % name, body.code))
    for name in called:
        defined = re.search(rb"\b%s\s*\([^;{}]*\)[\w\s]*\{" % name, body.source.code)
        if defined is None or b"nccl" in body.source.code[defined.end() : block_end(body.source.code, defined.end())]:
            return True
    return False
