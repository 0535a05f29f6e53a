"""Loops of C++ that do the same for each element, or for each number."""

import re

from cuvet.source.syntax.parsing import Node, field_text

LOOPS = ("for_statement", "for_range_loop", "while_statement", "do_statement", "lambda_expression")
"""What is asked for around a node; a lambda may run elsewhere."""
_COUNTER = re.compile(r"(?:[\w:]+[\s&*]+)*([A-Za-z_]\w*)\s*(?:=|\{)[^,]*;?")
_ONCE = re.compile(r"(?:<|!=)\s*1$|<=\s*0$")


def loop_variable(loop: Node) -> str:
    """The counter or the element; empty if it is no such loop."""
    if loop.type == "for_range_loop":
        name = field_text(loop, "declarator").lstrip("&* ")
        return name if name.isidentifier() else ""
    match = _COUNTER.fullmatch(field_text(loop, "initializer").strip()) if loop.type == "for_statement" else None
    return match[1] if match is not None else ""


def is_for_one(node: Node, loop: Node) -> bool:
    """Whether a condition in the loop may pick one turn for the node, or the loop has no other."""
    if _ONCE.search(field_text(loop, "condition")):
        return True
    inside = loop.child_by_field_name("body")
    statements = [each.type for each in inside.named_children if each.type != "comment"] if inside is not None else []
    if statements and statements[-1] in ("break_statement", "return_statement"):
        return True
    around = node.parent
    while around is not None and around.id != loop.id:
        condition = field_text(around, "condition") if around.type in ("if_statement", "conditional_expression") else ""
        if "==" in condition and "Success" not in condition:
            return True
        around = around.parent
    return False


def names(text: str, variable: str) -> bool:
    """Whether the variable stands in an expression."""
    return re.search(rf"\b{variable}\b", text) is not None
