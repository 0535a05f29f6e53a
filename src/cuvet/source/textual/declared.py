"""What a function declares, as its text shows it."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

from cuvet.source.syntax.parsing import Node, text_of
from cuvet.source.textual.written import Body, Declared

_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_ARITHMETIC = re.compile(r"(?:\s*(?:\b(?:0[xX][0-9a-fA-F]+|\d+)\b|\b[A-Za-z_]\w*\b|[-+*()]))+\s*")
"""What C++ and Python read alike."""
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_DEEPEST = 8
"""Constants that are told by constants."""
_LONGEST = 200
"""Characters of an expression that is looked at."""


def only_declaration(name: str, body: Body) -> Declared | None:
    """None if there are none or several: the name may stand for different things."""
    found = body.declarations(name)
    return found[0] if len(found) == 1 else None


def constant(expression: str, body: Body, depth: int = 0) -> int | None:
    """The number that an expression of numbers and constants is. A constant is defined once in the file, and set nowhere else."""
    plain = _SUFFIX.sub(r"\1", expression.strip())
    if depth > _DEEPEST or len(expression) > _LONGEST or not _ARITHMETIC.fullmatch(plain):
        return None
    try:
        parsed = ast.parse(plain, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _value(parsed.body, body, depth)


def _value(node: ast.expr, body: Body, depth: int) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        defined = _definition(node.id, body)
        return constant(defined, body, depth + 1) if defined is not None else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left, body, depth + 1), _value(node.right, body, depth + 1)
        return _OPERATIONS[type(node.op)](left, right) if left is not None and right is not None else None
    return None


def _definition(name: str, body: Body) -> str | None:
    """What a constant is defined as."""
    text = body.source.code.decode(errors="replace")
    word = re.escape(name)
    macros = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{word}[ \t]+([^\r\n]+)$", text, re.M)
    constants = re.findall(rf"\b(?:const|constexpr)\b[\w\s:]{{1,80}}?\b{word}\s*=\s*([^;,{{}}]{{1,200}});", text)
    others = re.findall(
        rf"(?:\b[\w:>*&]+\s+[*&]*{word}\s*[,)=;({{\[>]|\b{word}\s*(?:[-+*/%|&^]?=(?!=)|\+\+|--)|&\s*{word}\b)", text
    )
    if len(macros) == 1 and not constants and not others:
        return str(macros[0])
    if len(constants) == 1 and not macros and len(others) == 1:
        return str(constants[0])
    return None


def is_set_later(name: str, body: Body) -> bool:
    """Whether a variable, or a member of it, is set or its address is taken after its declaration."""
    word = re.escape(name).encode()
    found = re.findall(
        rb"(?:(?<![\w.>])"
        + word
        + rb"\s*(?:\.\s*\w+\s*)?(?:[-+*/%|&^]?=(?!=)|\+\+|--)|(?<!&)&\s*"
        + word
        + rb"\b|(?:\+\+|--)\s*"
        + word
        + rb"\b)",
        body.code,
    )
    declared = re.findall(rb"\b[\w:]+\s+" + word + rb"\s*=(?!=)", body.code)
    return len(found) > len(declared)


def told(node: Node) -> str:
    """The text of an expression without the casts and brackets around it."""
    text = re.sub(r"\s+", " ", text_of(node)).strip()
    while match := re.fullmatch(
        r"\((?:const )?(?:void|char|unsigned char|uint8_t|std::byte) ?\*+ ?\) ?(.+)|(?:reinterpret|static)_cast<[\w :*]+>\((.+)\)",
        text,
    ):
        text = (match[1] or match[2]).strip()
    return text
