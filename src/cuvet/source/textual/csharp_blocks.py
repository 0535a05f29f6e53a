"""Kernels of ManagedCuda that get blocks which no device has."""

import re
from collections.abc import Iterator
from math import prod

from cuvet.findings import Finding
from cuvet.rules.launch.impossible_configuration import LaunchImpossibleConfiguration, problem_of
from cuvet.source.languages.csharp_wrappers import LAUNCHES, USES
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, part, text_of

_SET = re.compile(rb"\bBlockDimensions\s*=(?!=)")
_CONSTANT = re.compile(rb"\bconst\s+(?:int|uint|long|short|ushort)\s+(\w+)\s*=\s*([^;,]{1,80});")
_FACTORS = re.compile(r"\w+(?:\s*\*\s*\w+)*")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,8}|\d{1,10})[uUlL]{0,2}")
_METHODS = (
    "method_declaration",
    "constructor_declaration",
    "local_function_statement",
    "accessor_declaration",
    "lambda_expression",
    "global_statement",
)
_LARGEST = 2**31
_DEEPEST = 8


def block_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each block that is set with numbers, and launched with by the same block of statements."""
    if USES.search(source.text) is None:
        return
    for match in _SET.finditer(source.text):
        node = enclosing(root.descendant_for_byte_range(match.start(), match.end()), "assignment_expression", "block")
        if node is None or node.type != "assignment_expression":
            continue
        target, value = part(node, "left"), part(node, "right")
        sizes = _sizes(value, source)
        problem = problem_of((1, 1, 1, *sizes, 0)) if sizes is not None else None
        kernel = text_of(target).rpartition(".")[0]
        if (
            problem is not None
            and _is_kernel(kernel, source)
            and not _may_be_meant(node)
            and _is_launched(node, kernel)
        ):
            method = enclosing(node, *_METHODS)
            name = field_text(method, "name") if method is not None else ""
            place = frame(source, node.start_byte, node.end_byte, name)
            yield finding(LaunchImpossibleConfiguration, problem[1], site(text_of(target), place))


def _is_kernel(kernel: str, source: Source) -> bool:
    """Whether the file declares or makes the variable or the member as a kernel of ManagedCuda."""
    name = kernel.rpartition(".")[2].encode()
    declared = rb"\bCudaKernel\s*\??\s+%s\b|\b%s\s*=\s*(?:new\s+(?:\w+\.)*CudaKernel\b|(?:\w+\.)*LoadKernel\w*\s*\()"
    return bool(re.fullmatch(rb"[A-Za-z_]\w*", name)) and re.search(declared % (name, name), source.text) is not None


def _sizes(value: Node, source: Source) -> tuple[int, int, int] | None:
    """Of ``new dim3(x, y, z)``, or of a number alone."""
    given = [value]
    if value.type == "object_creation_expression":
        arguments = value.child_by_field_name("arguments")
        if field_text(value, "type").rpartition(".")[2] != "dim3" or arguments is None:
            return None
        given = [each.named_children[-1] for each in arguments.named_children if each.type == "argument"]
    numbers = [_number(text_of(each).strip(), source) for each in given]
    found = [each for each in numbers if each is not None]
    if len(found) != len(numbers) or not 1 <= len(found) <= 3 or min(found) < 1:
        return None
    x, y, z = [*found, 1, 1][:3]
    return x, y, z


def _number(text: str, source: Source, depth: int = 0) -> int | None:
    """What numbers, constants of the file that have one definition, and their products are."""
    if match := _NUMBER.fullmatch(text):
        return int(match[1], 0) if match[1][:2] in ("0x", "0X") else int(match[1])
    if depth > _DEEPEST or len(text) > 200 or not _FACTORS.fullmatch(text):
        return None
    factors = [each.strip() for each in text.split("*")]
    if len(factors) > 1:
        known = [_number(each, source, depth + 1) for each in factors]
        numbers = [each for each in known if each is not None]
        result = prod(numbers) if len(numbers) == len(known) else _LARGEST
        return result if result < _LARGEST else None
    word = rb"\b%s\s*=(?!=)" % re.escape(text.encode())
    defined = [match[2] for match in _CONSTANT.finditer(source.text) if match[1] == text.encode()]
    if len(defined) != 1 or len(re.findall(word, source.text)) != 1:
        return None
    return _number(defined[0].decode(errors="replace").strip(), source, depth + 1)


def _may_be_meant(node: Node) -> bool:
    """Whether code around it expects a failure, or is only built sometimes."""
    around = enclosing(node, "try_statement", "lambda_expression", "preproc_if", "preproc_else", "preproc_elif")
    while around is not None:
        if around.type != "try_statement" or any(each.type == "catch_clause" for each in around.named_children):
            return True
        around = enclosing(
            around.parent, "try_statement", "lambda_expression", "preproc_if", "preproc_else", "preproc_elif"
        )
    return False


def _is_launched(node: Node, kernel: str) -> bool:
    """Whether a later statement of the same block launches the kernel, before another block is set."""
    statement = node.parent
    following = statement.next_named_sibling if statement is not None else None
    launch = rf"(?<![\w.]){re.escape(kernel)}\s*\.\s*(?:{'|'.join(LAUNCHES)})\s*\("
    while following is not None:
        text = text_of(following)
        if "BlockDimensions" in text or re.search(rf"(?<![\w.]){re.escape(kernel)}\s*=(?!=)", text):
            return False
        if re.search(launch, text):
            return True
        following = following.next_named_sibling
    return False
