"""What a function declares, as its text shows it."""

import ast
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache

from cuvet.source.syntax.parsing import Node, Source, enclosing, text_of
from cuvet.source.textual.written import Body, Declared

_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_DEFINED = re.compile(
    r"(?P<brace>[{}])|^[ \t]*#[ \t]*(?P<directive>if|endif|undef)\w*(?:[ \t]+(?P<undefined>\w+))?"
    r"|^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)(?P<value>[^\r\n]*)"
    r"|\b(?:const|constexpr)\b[\w\s:]{1,80}?\b(?P<name>\w+)\s*=\s*(?P<told>[^;,{}]{1,200});",
    re.M,
)
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


def declared_around(name: str, at: Node, body: Body) -> Declared | None:
    """The one declaration of a name, in a block around the node, where nothing else binds the name."""
    declared = only_declaration(name, body)
    block = enclosing(declared.node, "compound_statement", "function_definition") if declared is not None else None
    if declared is None or block is None or not block.start_byte <= at.start_byte < block.end_byte:
        return None
    return None if body.bound.intersection((name.encode(), b"extern")) else declared


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
    """What a constant is defined as, if nothing else of this name is known, and no condition of the function asks for it."""
    defined = _definitions(body.source).get(name, ())
    if len(defined) != 1:
        return None
    word = re.escape(name)
    around = body.node.parent
    start = around.start_byte if around is not None and around.type == "template_declaration" else body.node.start_byte
    head = body.source.text[start : body.body.start_byte].decode(errors="replace")
    code = body.code.decode(errors="replace")
    bound = rf"[\w>\]*&]\s+[*&]*{word}\s*[,;:=({{\[)]|\[[^\]]*\b{word}\b|\b(?:if|while|switch|assert\w*)\b[^;{{}}]*\b{word}\b"
    besides = re.sub(r"<<<.*?>>>", " ", code, flags=re.S)
    if (
        body.declarations(name)
        or "?" in besides
        or "#" in besides
        or (name in head and re.search(rf"\b{word}\b", head))
    ):
        return None
    return None if name in besides and re.search(bound, besides) else defined[0]


@lru_cache(maxsize=1)
def _definitions(source: Source) -> dict[str, list[str]]:
    """The constants and macros of a file, with what they are defined as: empty where that is in a block, a class, a namespace, or between
    directives that may leave it out."""
    found: dict[str, list[str]] = defaultdict(list)
    depth = conditions = 0
    for match in _DEFINED.finditer(source.code.decode("latin-1")):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
        elif match["directive"]:
            conditions += {"if": 1, "en": -1}.get(match["directive"][:2], 0)
            found[match["undefined"] or ""].append("")
        elif match["macro"]:
            value = match["value"].strip()
            is_plain = conditions == 0 and re.fullmatch(r"\w+|\([^()]*\)", value) is not None
            found[match["macro"]].append(value if is_plain else "")
        else:
            found[match["name"]].append(match["told"] if depth == conditions == 0 else "")
    return found


def told(node: Node) -> str:
    """The text of an expression without the casts and brackets around it."""
    text = re.sub(r"\s+", " ", text_of(node)).strip()
    while match := re.fullmatch(
        r"\((?:const )?(?:void|char|unsigned char|uint8_t|std::byte) ?\*+ ?\) ?(.+)|(?:reinterpret|static)_cast<[\w :*]+>\((.+)\)",
        text,
    ):
        text = (match[1] or match[2]).strip()
    return text
