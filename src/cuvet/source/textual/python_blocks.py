"""Kernels of CuPy and Numba that are launched with blocks which no device has."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.launch.impossible_configuration import LaunchImpossibleConfiguration, problem_of
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, may_be_meant, value_of

_RAW = re.compile(rb"\b(?:RawKernel|get_function)\s*\(")
_JIT = re.compile(rb"@[ \t]*[\w.]*\b(?:jit|rawkernel)\b")
_DECORATORS = frozenset({"numba.cuda.jit", "cupyx.jit.rawkernel"})
_LARGEST = 2**31
_DEEPEST = 8


def launches_kernels(text: bytes) -> bool:
    """Whether a file may launch kernels with these libraries."""
    if b"cupy" in text and _RAW.search(text):
        return True
    return (b"numba" in text or b"cupy" in text) and _JIT.search(text) is not None


def block_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each launch with an impossible block."""
    names = Names(source.text)
    for call, block in _launches(root, source.text, names):
        sizes = _sizes(block, root)
        problem = problem_of((1, 1, 1, *sizes, 0)) if sizes is not None else None
        if problem is not None and not may_be_meant(call):
            at = _written(block, root)
            path = (Place(at, "the block is set here"),) if at != block else ()
            yield finding_at(LaunchImpossibleConfiguration, call, problem[1], source, path)


def _launches(root: Node, text: bytes, names: Names) -> Iterator[tuple[Node, Node]]:
    """The launches of kernels that the file makes, each with its block."""
    for kernel in _raw_kernels(root, text, names):
        owner = field_text(kernel.parent, "left") if kernel.parent is not None else ""
        for call in _followed_by(rb"\(", owner, root, text):
            block = _argument(call, 1, "block")
            if block is not None and value_of(owner, call, root) == kernel:
                yield call, block
    for name in _jitted(root, text, names):
        for call in _followed_by(rb"\[", name, root, text):
            function = call.child_by_field_name("function")
            given = function.children_by_field_name("subscript") if function is not None else []
            if (
                function is not None
                and function.type == "subscript"
                and len(given) > 1
                and field_text(function, "value") == name
            ):
                yield call, given[1]


def _raw_kernels(root: Node, text: bytes, names: Names) -> Iterator[Node]:
    """The calls that make a kernel of CuPy and are assigned to something."""
    for match in _RAW.finditer(text):
        call = call_at(root, match.end() - 1)
        if (
            call is None
            or call.parent is None
            or call.parent.type != "assignment"
            or call.parent.child_by_field_name("right") != call
        ):
            continue
        owner, _, method = field_text(call, "function").rpartition(".")
        module = value_of(owner, call, root) if method == "get_function" else None
        if called(call, names) == "cupy.RawKernel" or (
            module is not None and module.type == "call" and called(module, names) == "cupy.RawModule"
        ):
            yield call


def _jitted(root: Node, text: bytes, names: Names) -> Iterator[str]:
    """The names of the functions that are kernels of Numba, or of CuPy, and nothing else."""
    for match in _JIT.finditer(text):
        node = enclosing(root.descendant_for_byte_range(match.start(), match.start() + 1), "decorated_definition")
        function = node.child_by_field_name("definition") if node is not None else None
        decorators = [each for each in node.named_children if each.type == "decorator"] if node is not None else []
        if function is None or function.type != "function_definition" or len(decorators) != 1:
            continue
        name = field_text(function, "name")
        if names.full(text_of(decorators[0])[1:].partition("(")[0].strip()) not in _DECORATORS:
            continue
        if len(re.findall(rb"\bdef[ \t]+%s\b|\b%s[ \t]*=(?!=)" % (name.encode(), name.encode()), text)) == 1:
            yield name


def _followed_by(opening: bytes, name: str, root: Node, text: bytes) -> Iterator[Node]:
    """The calls that begin with the name and this bracket."""
    pattern = re.compile(rb"(?<![\w.])%s[ \t]*%s" % (re.escape(name.encode()), opening))
    for match in pattern.finditer(text):
        call = call_at(root, match.start())
        if call is not None and call.start_byte == match.start():
            yield call


def _argument(call: Node, at: int, name: str) -> Node | None:
    given = arguments_of(call)
    if any(each.type in ("list_splat", "dictionary_splat") for each in given):
        return None
    named = next((each for each in given if each.type == "keyword_argument" and field_text(each, "name") == name), None)
    if named is not None:
        return named.child_by_field_name("value")
    return given[at] if at < len(given) and given[at].type != "keyword_argument" else None


def _written(value: Node, root: Node) -> Node:
    """Where the value is written that a variable holds."""
    if value.type == "identifier":
        return value_of(text_of(value), value, root) or value
    return value


def _sizes(block: Node, root: Node) -> tuple[int, int, int] | None:
    """What the block measures, if numbers in the file say so."""
    written = _written(block, root)
    parts = written.named_children if written.type == "tuple" else [written]
    found = [_number(each, root) for each in parts if each.type != "comment"]
    numbers = [each for each in found if each is not None]
    if len(numbers) != len(found) or not 1 <= len(found) <= 3:
        return None
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _number(value: Node, root: Node, depth: int = 0) -> int | None:
    if depth > _DEEPEST:
        return None
    if value.type == "integer":
        return int(text_of(value), 0) if re.fullmatch(r"[1-9]\d{0,9}|0|0x[\da-fA-F]{1,8}", text_of(value)) else None
    if value.type == "parenthesized_expression" and len(value.named_children) == 1:
        return _number(value.named_children[0], root, depth + 1)
    if value.type == "identifier":
        made = value_of(text_of(value), value, root)
        return _number(made, root, depth + 1) if made is not None else None
    left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
    if value.type != "binary_operator" or left is None or right is None:
        return None
    one, other = _number(left, root, depth + 1), _number(right, root, depth + 1)
    if one is None or other is None:
        return None
    return _computed(field_text(value, "operator"), one, other)


def _computed(operator: str, one: int, other: int) -> int | None:
    if operator == "*":
        result = one * other
    elif operator == "+":
        result = one + other
    elif operator == "-":
        result = one - other
    elif operator == "//" and other:
        result = one // other
    else:
        return None
    return result if 0 <= result < _LARGEST else None
