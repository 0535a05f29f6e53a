"""Calls that come in pairs, as a push and its pop: ways out of a function on which the second one is left out."""

import re
from dataclasses import dataclass
from itertools import islice

from cuvet.source.quiet import called_in, definitions
from cuvet.source.syntax.parsing import Node, enclosing, field_text, is_within, text_of
from cuvet.source.textual.following import in_a_branch, statement_of
from cuvet.source.textual.written import Body, Written

NESTED = frozenset({"lambda_expression", "function_definition"})
MAY_END = rb"(?i:guard|scope|sav(?:er|ing)|defer|restore|unique_ptr|cleanup|finally)"
"""What sounds as if it ended something at the end of a block."""
_MOST_BEGINS = 8
"""Of a function."""
_KEPT = re.compile(rb"\b(\w+)\s{0,80}=\s{0,80}(?:\(\w+\)\s{0,80})?\Z")
"""The variable that gets the status."""
_WAYS_OUT = frozenset({"return_statement", "throw_statement"})


@dataclass(frozen=True, slots=True)
class Pair:
    """``ends`` are the functions that end what one of ``begins`` begins, if they are given the same ``argument`` (-1: any). ``may_end`` is
    found in text that may end it in a way that is not seen."""

    begins: frozenset[str]
    ends: frozenset[str]
    may_end: re.Pattern[bytes]
    argument: int = -1


@dataclass(frozen=True, slots=True)
class WayOut:
    """``left`` leaves the function between the two. ``by_macro``: it is the call of a macro that returns if something fails."""

    begin: Written
    end: Written
    left: Node
    by_macro: bool


def way_out(body: Body, pair: Pair) -> WayOut | None:
    """The first of a function."""
    ends = [call for call in body.calls if call.name in pair.ends]
    begins = (call for call in body.calls if call.name in pair.begins)
    for begin in islice(begins, _MOST_BEGINS) if ends else ():
        end = next((each for each in ends if each.start > begin.end and _belongs(each, begin, pair)), None)
        if end is None or in_a_branch(begin.node, statement_of(begin.node)):
            continue
        for left in _ways_out(body, begin.end, end.start):
            ended = any(begin.end < each.start < left.start_byte and is_within(left, _block(each)) for each in ends)
            if not ended and not _is_of_failure(begin, left, body) and not may_end(pair, begin, left.end_byte, body):
                return WayOut(begin, end, left, left.type == "call_expression")
    return None


def may_end(pair: Pair, begin: Written, until: int, body: Body) -> bool:
    """Whether what is called, or declared, after the begin may end it in a way that is not seen."""
    start = body.body.start_byte
    if pair.may_end.search(body.code, begin.end - start, until - start):
        return True
    code = body.source.code
    between = code[begin.end : until].decode("utf-8", "replace")
    names = {name.rpartition("::")[2] for name in called_in(between) if "." not in name}
    ends = [each.encode() for each in pair.ends]
    return any(end in each for name in names for each in definitions(name.encode(), code) for end in ends)


def _belongs(end: Written, begin: Written, pair: Pair) -> bool:
    """Whether the two stand in one block, and are about the same."""
    return _block(end) == _block(begin) and _given(end, pair.argument) == _given(begin, pair.argument)


def _given(call: Written, at: int) -> str:
    return "".join(text_of(call.arguments[at]).split()) if 0 <= at < len(call.arguments) else ""


def _block(call: Written) -> Node | None:
    """The block of its statement, which may have a label."""
    return statement_of(call.node).parent


def _ways_out(body: Body, start: int, end: int) -> list[Node]:
    """What leaves the function there, in order. What is thrown in a try may be caught."""
    macros = body.source.returning_macros
    found: list[Node] = []
    waiting = [body.body]
    while waiting:
        node = waiting.pop()
        if start <= node.start_byte < end and _leaves(node, macros):
            found.append(node)
        if node.type not in NESTED and node.end_byte > start and node.start_byte < end:
            waiting += node.named_children
    return sorted(found, key=lambda node: node.start_byte)


def _leaves(node: Node, macros: frozenset[str]) -> bool:
    if node.type == "call_expression":
        return bool(macros) and text_of(node.named_children[0]) in macros
    return node.type in _WAYS_OUT and (node.type != "throw_statement" or enclosing(node, "try_statement") is None)


def _is_of_failure(begin: Written, left: Node, body: Body) -> bool:
    """Whether the function returns there because the begin failed, as far as one can tell: in its statement, or in the next one, which may
    be a macro with a block. A statement that asks for the status itself leaves the next one nothing to ask."""
    own = statement_of(begin.node)
    condition = field_text(enclosing(left, "if_statement") or left, "condition")
    kept = _KEPT.search(body.source.code[own.start_byte : begin.start])
    if kept is not None and re.search(rf"\b{kept[1].decode()}\b", condition):
        return True
    around = enclosing(begin.node.parent, "call_expression", own.type)
    if own.type == "if_statement" or (around is not None and _leaves(around, body.source.returning_macros)):
        return is_within(left, own)
    after = own.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    block = after.next_named_sibling if after is not None else None
    near = (own, after, block if block is not None and block.type == "compound_statement" else None)
    return any(is_within(left, each) for each in near)
