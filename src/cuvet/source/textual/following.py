"""The statements that run after one of a function of C++, as far as nothing in them may wait."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from cuvet.source.languages.cpp_text import is_launch
from cuvet.source.quiet import CUDA, copies_quietly, is_check, is_plain
from cuvet.source.syntax.parsing import Node, arguments_of, field_text, text_of

_BLOCKS = frozenset({"compound_statement", "case_statement"})
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_LEAVES = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement"})
_SKIPPED = frozenset({"if_statement", "switch_statement", "try_statement", "catch_clause", "conditional_expression"})
"""Of what is in them, not all is done."""
_OF_NUMBERS = r"(?:\w+::)?(?:[iud]?(?:vec|mat)[234](?:x[234])?|Vec[234][fdiu]?|(?:Vector|Matrix)[234][fdi])"
"""Small vectors and matrices of graphics."""
_MAKES_NUMBERS = re.compile(_OF_NUMBERS)
_PLAIN_TYPE = re.compile(
    _OF_NUMBERS + r"|"
    r"(?:const\s+|struct\s+)*(?:\w+_t|(?:float|double|u?int|u?char|u?short|u?long|u?longlong|half|__half|bfloat)\d*|__\w+|dim3|cuda\w+|CU\w+|"
    r"FILE|timeval|timespec|T|[Rr]eal|auto|std::(?!future|async|thread|jthread|\w*lock|\w*guard|promise|condition|latch|barrier)\w+\b.*)",
    re.S,
)
"""A variable of such a type is made and ended without a wait."""
_NAMES_OF_TYPES = frozenset(
    {"type_identifier", "qualified_identifier", "template_type", "struct_specifier", "class_specifier"}
)
_DEEPEST = 40
"""Nodes around a work; what is deeper is not looked at."""
_LARGEST = 3000
"""Characters of a statement; of a larger one it is not known that nothing in it waits."""
_MAY_REPEAT = re.compile(rb"(?!false)\b[A-Za-z_]|[1-9]")
_ASKS_FOR_ERROR = re.compile(r"(?i)(?=.*(?:cuda|gpu|kernel|launch)).*(?:err|check|chk)")
_LITERALS = frozenset({"string_literal", "concatenated_string"})
_WELL_COPIED = re.compile(rb"==\s*(?:cudaSuccess|CUDA_SUCCESS)\b|!\s*\w+\s*\)$")


def statement_of(node: Node) -> Node:
    """The statement of a block, or of a case, that holds the node."""
    while node.parent is not None and node.parent.type not in _BLOCKS and node.parent.type != "function_definition":
        node = node.parent
    return node


def in_a_branch(node: Node, statement: Node) -> bool:
    """Whether it is not sure that the node is evaluated where the statement is."""
    inner, around = node, node.parent
    while inner.id != statement.id and around is not None:
        if around.type in _SKIPPED and around.child_by_field_name("condition") != inner:
            return True
        if field_text(around, "operator") in ("&&", "||") and around.child_by_field_name("right") == inner:
            return True
        inner, around = around, around.parent
    return False


class Following:
    """Of one function. ``pinned`` are the pointers to memory of the host that copies do not wait for. ``trusting``: what is out of sight
    and named as if it asks for the last error, does only that. What was found out about a statement is kept: many works may be followed by
    the same ones."""

    def __init__(self, code: bytes, pinned: frozenset[str], trusting: bool = False) -> None:
        self._code = code
        self._pinned = pinned
        self._trusting = trusting
        self._blocks: dict[int, tuple[list[Node], list[int]]] = {}
        self._waits: dict[int, int] = {}

    def after(self, node: Node) -> Iterator[Node]:
        """The statements that come after the one that holds the node, outwards to the end of the function, or of the case."""
        if self._waits_in(statement_of(node), node):
            return
        for _ in range(_DEEPEST):
            if node.parent is None or node.type in ("function_definition", "lambda_expression"):
                return
            if node.parent.type in _BLOCKS:
                yield from self._rest(node)
                if node.parent.type == "case_statement" or self._ends_objects(node.parent):
                    return
            elif node.parent.type.startswith("preproc"):
                return
            node = node.parent

    def next_turn(self, node: Node) -> Iterator[Node]:
        """The statements from the one that holds the node to the end of the loop around it, and those of the next turn before it; none if
        the statement is not one of the loop's own, or may not be done in each turn."""
        statement = statement_of(node)
        block = statement.parent
        loop = block.parent if block is not None and block.type == "compound_statement" else None
        if block is None or loop is None or loop.type not in _LOOPS or self._ends_objects(block):
            return
        if statement.type not in ("expression_statement", "declaration") or self._waits_in(statement, node):
            return
        if loop.type == "do_statement" and _MAY_REPEAT.search(_condition(loop)) is None:
            return
        yield from self._rest(statement)
        for part in ("update", "condition"):
            if (each := loop.child_by_field_name(part)) is not None:
                yield each
        for each in self._children(block)[0]:
            if each.start_byte >= statement.start_byte:
                return
            yield each

    def first_wait(self, statement: Node) -> int:
        """Where the first call that may wait ends; past the end of the statement if there is none."""
        found = self._waits.get(statement.id)
        if found is None:
            found = self._waits[statement.id] = self._first_wait(statement)
        return found

    def polls(self, statement: Node, name: str) -> bool:
        """Whether the statement holds a loop that may go on until what the variable points to changes."""
        if name.encode() not in (statement.text or b""):
            return False
        waiting = [statement]
        while waiting:
            node = waiting.pop()
            if node.type in _LOOPS and re.search(rb"\b" + name.encode() + rb"\b", _condition(node)):
                return True
            waiting += node.named_children
        return False

    def ends(self, statement: Node, name: str) -> bool:
        """Whether what comes behind the statement may run where the work is done, or not at all."""
        if (
            statement.type in _LEAVES
            or statement.type.startswith("preproc")
            or self.first_wait(statement) <= statement.end_byte
        ):
            return True
        if statement.type == "if_statement":
            return _WELL_COPIED.search(_condition(statement)) is not None
        return statement.type in _LOOPS and self.polls(statement, name)

    def comes_to_end(self, work: Node, block: Node, since: int) -> bool:
        """Whether all of what follows the work in the block may be done without a wait, with what ends with it: of the block itself the
        objects that are made from ``since`` on, which end before what was made there. Loops may wait for something in memory."""
        node = work
        if self._waits_in(statement_of(node), node):
            return False
        for _ in range(_DEEPEST):
            around = node.parent
            if around is None or node.type in ("function_definition", "lambda_expression"):
                return False
            if around.type in _BLOCKS:
                left = self._leaves_quietly(node)
                if left is None or (around.id != block.id and self._ends_objects(around)):
                    return False
                if around.id == block.id or left == "return_statement":
                    return not self._ends_objects(block, since)
                if left or around.type == "case_statement":
                    return False
            elif around.type.startswith("preproc") or (around.type in _LOOPS and self._header_waits(around)):
                return False
            node = around
        return False

    def _leaves_quietly(self, statement: Node) -> str | None:
        """The sort of the statement with which the rest of the block is left, empty if it is none; None if something of it may wait."""
        for each in self._rest(statement):
            if self.first_wait(each) <= each.end_byte or each.type.startswith("preproc") or _holds_loop(each):
                return None
            if each.type in _LEAVES:
                return each.type
        return ""

    def _header_waits(self, loop: Node) -> bool:
        parts = [loop.child_by_field_name(part) for part in ("condition", "update")]
        return any(each is not None and self.first_wait(each) <= each.end_byte for each in parts)

    def _children(self, block: Node) -> tuple[list[Node], list[int]]:
        """The statements of a block, and where they begin."""
        found = self._blocks.get(block.id)
        if found is None:
            children = block.named_children
            found = self._blocks[block.id] = children, [each.start_byte for each in children]
        return found

    def _rest(self, statement: Node) -> Iterator[Node]:
        if statement.parent is None:
            return
        children, starts = self._children(statement.parent)
        for at in range(bisect_left(starts, statement.end_byte), len(children)):
            yield children[at]

    def _ends_objects(self, block: Node, since: int = 0) -> bool:
        """Whether objects end with the block, the end of which may wait. ``since``: of those that are made from there on."""
        return any(
            each.type == "declaration" and each.start_byte >= since and _makes_object(each)
            for each in self._children(block)[0]
        )

    def _waits_in(self, statement: Node, work: Node) -> bool:
        """Whether the statement that makes the work goes on with a call that may wait, or is one around the work."""
        around = work.parent
        while around is not None and around.id != statement.id:
            if around.type == "call_expression" and not is_check(field_text(around, "function"), self._code):
                return True
            around = around.parent
        return self._first_wait(statement, work.end_byte) <= statement.end_byte

    def _first_wait(self, statement: Node, start: int = 0) -> int:
        if statement.end_byte - statement.start_byte > _LARGEST:
            return statement.start_byte
        waits = statement.end_byte + 1
        waiting = [statement]
        while waiting:
            node = waiting.pop()
            if node.start_byte >= waits or node.end_byte <= start or _is_for_kernel(node):
                continue
            if node.start_byte >= start and self._may_wait(node):
                waits = min(waits, node.end_byte if node.type == "call_expression" else node.start_byte)
            waiting += node.children
        return waits

    def _may_wait(self, node: Node) -> bool:
        if node.type == "call_expression":
            return not (is_launch(node) or self._is_quiet(node))
        if node.type == "declaration":
            return _makes_object(node)
        if node.type == "compound_literal_expression":
            return _PLAIN_TYPE.fullmatch(field_text(node, "type")) is None
        if node.type == "expression_statement":
            return any(each.type == "identifier" for each in node.named_children)
        return node.type in ("lambda_expression", "ERROR", "co_await_expression", "new_expression", "delete_expression")

    def _is_quiet(self, call: Node) -> bool:
        name, text = field_text(call, "function"), call.text or b""
        if CUDA.fullmatch(name):
            of_pinned = any(text_of(each) in self._pinned for each in arguments_of(call)[:3])
            return copies_quietly(name, text) or (of_pinned and b"HostToHost" not in text)
        if is_plain(name) or _MAKES_NUMBERS.fullmatch(name):
            return True
        given = arguments_of(call)
        if self._trusting and _ASKS_FOR_ERROR.match(name) and all(each.type in _LITERALS for each in given):
            return is_check(name, self._code)
        inner = field_text(given[0], "function") if given and given[0].type == "call_expression" else ""
        return CUDA.fullmatch(inner) is not None and is_check(name, self._code)


def _is_for_kernel(node: Node) -> bool:
    """Whether it is a lambda that a launch is given: the kernel runs it."""
    around = node.parent.parent if node.type == "lambda_expression" and node.parent is not None else None
    return around is not None and node.parent is not None and node.parent.type == "argument_list" and is_launch(around)


def _holds_loop(statement: Node) -> bool:
    """Whether it is, or holds, a loop that may go on until something changes in memory."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if node.type in ("while_statement", "do_statement"):
            return True
        waiting += node.named_children
    return False


def _condition(node: Node) -> bytes:
    condition = node.child_by_field_name("condition")
    return (condition.text or b"") if condition is not None else b""


def _makes_object(declaration: Node) -> bool:
    """Whether it makes objects of a class that is not known, which end with the block; no pointers or references to them."""
    kind = declaration.child_by_field_name("type")
    if kind is None or kind.type not in _NAMES_OF_TYPES or _PLAIN_TYPE.fullmatch(text_of(kind)):
        return False
    names = (
        each.child_by_field_name("declarator") if each.type == "init_declarator" else each
        for each in declaration.children_by_field_name("declarator")
    )
    return any(each is not None and each.type not in ("pointer_declarator", "reference_declarator") for each in names)
