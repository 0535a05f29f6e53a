"""Tensors of PyTorch that the host uses while a copy may still be at work on them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from cuvet.findings import Finding, Step
from cuvet.rules.source.tensor_not_awaited import SourceTensorNotAwaited
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of

_MENTIONS = re.compile(rb"\bnon_blocking\s*=\s*True\b")
_TO_CPU = re.compile(r"(?:device\s*=\s*)?(?:\"cpu\"|'cpu'|torch\.device\(\s*[\"']cpu[\"']\s*\))")
_PINNED = re.compile(r"torch\.\w+\(.*\bpin_memory\s*=\s*True\b.*\)|.*\.pin_memory\(\)", re.S)
_OF_CPU = re.compile(r"torch\.(?:from_numpy|tensor|as_tensor)\((?!.*\bdevice\b)", re.S)
_READS = frozenset("item tolist sum mean max min argmax argmin any all clone print float int bool".split())
"""Methods and functions that read what a tensor of the CPU holds."""
_WRITES = frozenset("fill_ zero_ random_ normal_ uniform_ add_ sub_ mul_ div_".split())
"""Methods that the CPU does, of a tensor of its own."""
_QUIET = frozenset(
    "len range enumerate zip isinstance print append time perf_counter numpy view reshape record record_stream Event stream "
    "current_stream empty zeros ones empty_like zeros_like from_numpy tensor as_tensor size dim numel str format to copy_".split()
)
"""Functions and methods that wait for no copy; ``to`` and ``copy_`` do if they block."""
_LEAVES = frozenset({"return_statement", "raise_statement", "break_statement", "continue_statement"})
_NOT_SURE = frozenset(
    {"lambda", "list_comprehension", "generator_expression", "conditional_expression", "boolean_operator"}
)
_QUIET_BLOCK = re.compile(r"with torch\.(?:cuda\.stream|no_grad|inference_mode)\(")
"""Blocks of which the end waits for nothing."""
_NAME = re.compile(r"\w+")
_MOST_NODES = 400
"""That are looked at behind a copy."""
_Direction = Literal["to the CPU", "to the GPU"]


@dataclass(frozen=True, slots=True)
class _Copy:
    """That the call starts; ``name`` is the variable of the host's tensor."""

    call: Node
    name: str
    direction: _Direction


def copies_tensors(text: bytes) -> bool:
    """Whether a file may start such copies."""
    return b"torch" in text and _MENTIONS.search(text) is not None


def tensor_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first use of each tensor that comes too early."""
    told: set[int] = set()
    pinned: dict[int, frozenset[str]] = {}
    for match in _MENTIONS.finditer(source.text):
        copy = _copy_at(root, match.start(), pinned)
        use = _early(copy) if copy is not None else None
        if copy is not None and use is not None and use.start_byte not in told:
            told.add(use.start_byte)
            yield _finding(copy, use, source)


def _finding(copy: _Copy, use: Node, source: Source) -> Finding:
    around = enclosing(copy.call, "function_definition", "module")
    function = field_text(around, "name") if around is not None and around.type == "function_definition" else "<module>"
    shown = source.function_name("", function)
    did = "reads" if copy.direction == "to the CPU" else "writes"
    start, here = (frame(source, each.start_byte, each.end_byte, shown) for each in (copy.call, use))
    message = (
        f"the host {did} `{copy.name}` while the copy {copy.direction} in line {start.line} may still be at work on it"
    )
    path = (
        Step(frame=start, text="the copy starts here"),
        Step(frame=here, text=f"the host {did} `{copy.name}` here"),
    )
    return finding(SourceTensorNotAwaited, message, site(_called(copy.call), here), path=path)


def _copy_at(root: Node, at: int, pinned: dict[int, frozenset[str]]) -> _Copy | None:
    """The copy that the keyword at that place belongs to, if it is known which of its ends is the host's. ``pinned`` keeps, by function,
    the variables that hold pinned tensors."""
    call = enclosing(root.descendant_for_byte_range(at, at + 1), "call", "block")
    function = call.child_by_field_name("function") if call is not None and call.type == "call" else None
    if call is None or function is None or function.type != "attribute":
        return None
    given, tensor = arguments_of(call), field_text(function, "object")
    to_cpu = any(_TO_CPU.fullmatch(text_of(each)) for each in given)
    if _called(call) == "to" and to_cpu:
        left = (
            call.parent.child_by_field_name("left")
            if call.parent is not None and call.parent.type == "assignment"
            else None
        )
        return _Copy(call, text_of(left), "to the CPU") if left is not None and left.type == "identifier" else None
    if _called(call) == "copy_" and given:
        tensor = text_of(given[0])
    elif _called(call) not in ("to", "cuda"):
        return None
    around = enclosing(call, "function_definition") if tensor.isidentifier() else None
    if around is None:
        return None
    if around.start_byte not in pinned:
        pinned[around.start_byte] = _pinned_in(around)
    return _Copy(call, tensor, "to the GPU") if tensor in pinned[around.start_byte] else None


def _pinned_in(function: Node) -> frozenset[str]:
    """The variables that the function sets once, to a tensor in pinned memory."""
    if b"pin_memory" not in (function.text or b""):
        return frozenset()
    sets = Counter[str]()
    pinned: set[str] = set()
    for node in _within(function):
        if node.type in ("assignment", "for_statement", "parameters", "augmented_assignment"):
            target = _target(node)
            sets.update(_NAME.findall(target))
            if node.type == "assignment" and _PINNED.fullmatch(field_text(node, "right")):
                pinned.add(target)
    return frozenset(name for name in pinned if sets[name] == 1)


def _target(node: Node) -> str:
    """What is set there; of an element of a tensor nothing, which is the same tensor afterwards."""
    left = node.child_by_field_name("left")
    if node.type == "parameters":
        return text_of(node)
    return text_of(left) if left is not None and left.type not in ("subscript", "attribute") else ""


def _early(copy: _Copy) -> Node | None:
    """The use of the tensor that comes after the copy, before the first call that may wait."""
    for node in islice(_following(copy.call), _MOST_NODES):
        if _uses(node, copy):
            return node
        if node.type in _LEAVES or _may_wait(node) or _sets(node, copy.name):
            return None
    return None


def _following(call: Node) -> Iterator[Node]:
    """What comes after the copy, innermost first: to the end of its block and of those around it, or the next turn of a loop; no further
    where other code may run."""
    node = call
    while node.parent is not None and node.parent.type not in ("block", "module"):
        node = node.parent
        if node.type in _NOT_SURE:
            return
        if node.type == "call":
            yield node
    while node.parent is not None:
        yield from _after(node)
        block = node.parent
        if block.type != "block" or block.parent is None:
            return
        if block.parent.type == "for_statement":
            yield from _again(block, node)
            return
        if block.parent.type not in ("if_statement", "else_clause", "elif_clause", "with_statement"):
            return
        if block.parent.type == "with_statement":
            yield block.parent
        node = block.parent if block.parent.type in ("if_statement", "with_statement") else block.parent.parent or block


def _again(block: Node, until: Node) -> Iterator[Node]:
    """The next turn of a loop over ``range``, up to the statement."""
    assert block.parent is not None
    if field_text(block.parent, "right").startswith("range("):
        for each in block.named_children:
            if each == until:
                return
            yield from _within(each)


def _after(statement: Node) -> Iterator[Node]:
    """All that stands in the statements after this one, in the order in which it is done."""
    after = statement.next_named_sibling
    while after is not None:
        yield from _within(after)
        after = after.next_named_sibling


def _within(node: Node) -> Iterator[Node]:
    """The node and all in it, what is inside first. Functions and classes that are defined there do not run."""
    waiting: list[tuple[Node, bool]] = [(node, False)]
    while waiting:
        each, is_done = waiting.pop()
        if is_done:
            yield each
            continue
        waiting.append((each, True))
        if each is node or each.type not in ("function_definition", "class_definition", "lambda"):
            waiting += [(child, False) for child in reversed(each.named_children)]


def _called(call: Node) -> str:
    """The last part of the name of what is called."""
    return field_text(call, "function").rpartition(".")[2]


def _uses(node: Node, copy: _Copy) -> bool:
    if copy.direction == "to the CPU":
        return node.type == "call" and _called(node) in _READS and _is_of(node, copy.name)
    if node.type in ("assignment", "augmented_assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        of_host = right is not None and (right.type in ("integer", "float") or _OF_CPU.match(text_of(right)))
        return (
            left is not None and left.type == "subscript" and field_text(left, "value") == copy.name and bool(of_host)
        )
    if node.type != "call" or field_text(node, "function").rpartition(".")[0] != copy.name:
        return False
    given = arguments_of(node)
    return _called(node) in _WRITES or (
        _called(node) == "copy_" and bool(given) and bool(_OF_CPU.match(text_of(given[0])))
    )


def _is_of(call: Node, name: str) -> bool:
    """Whether a function that reads is given the tensor, or is a method of the tensor, of an element or of its array."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "attribute":
        return re.fullmatch(rf"{name}(?:\[[^\[\]]*\])*(?:\.numpy\(\))?", field_text(function, "object")) is not None
    return any(text_of(each) == name for each in arguments_of(call))


def _may_wait(node: Node) -> bool:
    if node.type == "with_statement":
        return _QUIET_BLOCK.match(text_of(node)) is None
    if node.type in ("await", "yield", "ERROR"):
        return True
    if node.type == "for_statement":
        return not field_text(node, "right").startswith("range(")
    if node.type != "call":
        return False
    blocks = _called(node) in ("to", "copy_") and not _MENTIONS.search(node.text or b"")
    return blocks or _called(node) not in _QUIET


def _sets(node: Node, name: str) -> bool:
    return node.type == "assignment" and field_text(node, "left") == name
