"""A file in C or C++ as edits see it: its syntax tree, and what is looked up in it."""

from functools import cached_property
from pathlib import Path

from cuvet.findings import Frame
from cuvet.source.calls import symbols
from cuvet.source.syntax.parsing import Node, arguments_of, enclosing, parsed, readable, text_of


class Code:
    def __init__(self, path: Path, text: bytes) -> None:
        self.text = text
        self.source, tree = parsed(path, readable(path, text))
        self.root = tree.root_node

    @cached_property
    def functions(self) -> dict[str, list[Node]]:
        """The definitions of functions, by name."""
        found: dict[str, list[Node]] = {}
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.type == "function_definition":
                found.setdefault(_name_of(node), []).append(node)
            waiting += node.named_children
        return found

    def call_at(self, frame: Frame, api: str | None = None) -> Node | None:
        """The call of a function of CUDA (``api``) that the frame points into."""
        offset = self.offset(frame)
        node = self.root.descendant_for_byte_range(offset, offset) if offset is not None else None
        while node is not None:
            name = called(node)
            if name is not None and (name == api if api else name in symbols()):
                return node
            node = node.parent
        return None

    def offset(self, frame: Frame) -> int | None:
        """Of the byte that the frame points to; None if the file has no such place."""
        lines = self.source.lines
        if frame.line is None or frame.column is None or frame.line > len(lines):
            return None
        start = lines[frame.line - 1]
        line = self.text[start : self.source.line_end(start)].decode("utf-8", "replace")
        before = line[: frame.column - 1]
        return None if "\N{REPLACEMENT CHARACTER}" in before else start + len(before.encode())


def called(node: Node) -> str | None:
    """The plain name of the function that a call calls."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return text_of(function) if function is not None and function.type == "identifier" else None


def statement(call: Node) -> Node | None:
    """The statement in a block that consists of this call, or of a check around it, and of nothing else."""
    outer = call.parent
    if outer is not None and outer.type == "argument_list" and outer.parent is not None:
        outer = outer.parent
        call = outer if called(outer) and len(arguments_of(outer)) == 1 else call
    found = call.parent
    if found is None or found.type != "expression_statement" or found.parent is None:
        return None
    return found if found.parent.type == "compound_statement" else None


def function_around(node: Node) -> Node | None:
    """The innermost function or lambda around a node."""
    return enclosing(node.parent, "function_definition", "lambda_expression")


def encloses(outer: Node, inner: Node) -> bool:
    """Whether ``inner`` is a part of ``outer``, or the same."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _name_of(function: Node) -> str:
    node = function.child_by_field_name("declarator")
    while node is not None and node.type != "identifier" and node.type != "field_identifier":
        if node.type == "qualified_identifier":
            node = node.child_by_field_name("name")
        else:
            node = node.child_by_field_name("declarator") or next(
                (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
            )
    return text_of(node) if node is not None else ""
