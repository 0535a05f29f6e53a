"""What pieces of C++ text say: declarators, names of functions, constants."""

import re
from collections.abc import Iterator

from cuvet.source.constants import enumerator
from cuvet.source.program import Condition, Parameter, Value
from cuvet.source.syntax.parsing import Node, enclosing, field_text, text_of

HANDLE = re.compile(
    r"\*|^(?:const\s+)?(?:cuda\w+_t|CU(?!DA)\w+|cuda\w+Object_t|cu[a-z]+(?:[A-Z]\w*)?(?:Handle|Desc\w*|Info|Params|Plan\w*|Generator)_t"
    r"|cufftHandle|ncclComm_t|nvrtcProgram|nvJitLinkHandle)\b"
)
"""Types of variables that hold objects of CUDA: pointers and handles."""
_NULL = frozenset({"NULL", "nullptr", "false", "FALSE"})
_TRUE = frozenset({"true", "TRUE"})
BEFORE_CALLS = frozenset(b"return else throw case do goto new delete co_return co_await and or not".split())
"""Words that stand before a call, and not before a declaration."""
_TYPE_BEFORE = re.compile(rb"(\w+)(?:[\s*]|(?<!&)&(?!&))+\Z")
_LONGEST_TYPE = 60
_LONGEST_COMMENT = 4000
"""Bytes; the second between a type and a name."""
_PLAIN = re.compile(
    r"^(?:const\s+)?(?:auto|cuda\w+|CU\w+|void|float|double|int|char|unsigned.*|long.*|size_t|\w+_t|[A-Z])$"
)
_SEVERAL = re.compile(r"\b(?:vector|array|deque|list|map|unordered_map)\b|\[\]")


def holds_several(kind: str) -> bool:
    """Whether a variable of the type is an array or a container."""
    return _SEVERAL.search(kind) is not None


def is_declared_at(at: int, code: bytes) -> bool:
    """Whether the name at that offset stands after a type: no call, but a declaration of the function. ``code`` has no comments."""
    start = max(at - _LONGEST_TYPE, 0)
    if not code[start:at].strip(b" \t\r\n*&"):
        start = max(at - _LONGEST_COMMENT, 0)
    word = _TYPE_BEFORE.search(code, start, at)
    if word is None or word[1] in BEFORE_CALLS:
        return False
    line = code.rfind(b"\n", 0, word.start()) + 1
    return not code[line : word.start()].lstrip().startswith(b"#")  # what a directive ends with


def declared(node: Node) -> tuple[str, str]:
    """Name and shape of a declarator: ``*`` per pointer, ``[]`` per array, ``&`` for references, ``()`` for functions."""
    shape = ""
    while True:
        kind = node.type
        if kind == "pointer_declarator":
            shape += "*"
        elif kind == "array_declarator":
            shape += "[]"
        elif kind == "reference_declarator":
            shape += "&"
        elif kind == "function_declarator":
            shape += "()"
        elif kind not in ("init_declarator", "parenthesized_declarator", "attributed_declarator"):
            return text_of(node), shape
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (child for child in node.named_children if child.type not in ("type_qualifier", "ms_based_modifier")),
                None,
            )
        if inner is None:
            return "", shape
        node = inner


def bound_names(declarator: Node) -> list[str]:
    """The names of ``auto [a, b]``; none of another declarator."""
    while declarator.type != "structured_binding_declarator":
        inner = [child for child in declarator.named_children if child.type.endswith("declarator")]
        if not inner:
            return []
        declarator = inner[0]
    return [text_of(each) for each in declarator.named_children]


def adds_nothing(missing: Node, parent: Node | None) -> bool:
    """Whether what the parser supplied changes nothing: the end of a statement, and the type of ``{}`` as a parameter's default."""
    return missing.type == ";" or (parent is not None and parent.type == "compound_literal_expression")


def declaration_around(node: Node | None) -> Node | None:
    """The declaration of variables in a function's body that the node is a part of."""
    node = enclosing(node, "declaration", "compound_statement", "function_definition")
    return node if node is not None and node.type == "declaration" else None


def is_launch(call: Node) -> bool:
    """Whether it is a call with ``<<<>>>``."""
    return any(child.type == "kernel_call_syntax" for child in call.children)


def function_declarator(node: Node) -> Node:
    while node.type != "function_declarator":
        inner = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if child.type.endswith("declarator")), None
        )
        if inner is None:
            return node
        node = inner
    return node


def parameters(declarator: Node) -> Iterator[Parameter]:
    listed = declarator.child_by_field_name("parameters")
    for child in listed.named_children if listed is not None else ():
        if child.type not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        kind, inner = field_text(child, "type"), child.child_by_field_name("declarator")
        name, shape = declared(inner) if inner is not None else ("", "")
        shape = shape.replace("[]", "*")  # an array is passed as the address of its first element
        yield Parameter(name, kind + shape, reference="&" in shape)


def qualified(declarator: Node, owner: str) -> tuple[str, str]:
    """Name and class of a function."""
    text = re.sub(r"<[^<>]*>", "", field_text(declarator, "declarator"))
    parts = [part.strip() for part in text.split("::")]
    name, owner = parts[-1], parts[-2] if len(parts) > 1 else owner
    if owner and name == owner:
        return "__init__", owner
    if name.startswith("~"):
        return "__del__", owner
    return name, owner


def constant(text: str) -> Value:
    if text in _NULL:
        return 0
    if text in _TRUE:
        return 1
    number = enumerator(text)
    return number if number is not None else text


def is_plain(kind: str) -> bool:
    """Whether a variable of the type is a value, so that ``T name(value)`` copies it."""
    return bool(_PLAIN.match(kind))


def goes_on(node: Node) -> Condition:
    return Condition("there is another element", (), node.start_byte, node.start_byte + 3)
