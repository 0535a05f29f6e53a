"""Tensors of PyTorch that the host uses while a copy may still be at work on them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from cuvet.findings import Finding, Step
from cuvet.rules.source.tensor_not_awaited import SourceTensorNotAwaited
from cuvet.source.quiet import OF_TENSORS, OF_TORCH, is_plain_python
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.python_text import only_value

_MENTIONS = re.compile(rb"\bnon_blocking\s*=\s*True\b")
_TO_CPU = re.compile(r"(?:device\s*=\s*)?(?:\"cpu\"|'cpu'|torch\.device\(\s*[\"']cpu[\"']\s*\))")
_TO_GPU = re.compile(
    r"(?:device\s*=\s*)?(?:[\"']cuda(?::\d+)?[\"']|torch\.device\(\s*[\"']cuda.*|(?:\w+\.)*(?:\w*_)?device|torch\.cuda\..*)",
    re.S,
)
_PINNED = re.compile(r"torch\.\w+\(.*\bpin_memory\s*=\s*True\b.*\)|.*\.pin_memory\(\)", re.S)
_OF_CPU = re.compile(r"torch\.(?:from_numpy|tensor|as_tensor)\((?!.*\bdevice\b)", re.S)
_STAYS_ON_CPU = re.compile(r"torch\.\w+\((?!.*(?:\bdevice\b|cuda)).*", re.S)
_EVENT = re.compile(r"torch\.(?:cuda\.)?Event\(.*", re.S)
_LIST = re.compile(r"\[.*\]|list\(\)", re.S)
_READS = frozenset("item tolist sum mean max min argmax argmin any all clone copy print float int bool".split())
"""Methods and functions that read what a tensor of the CPU holds, or its array."""
_WRITES = frozenset("fill_ zero_ random_ normal_ uniform_ add_ sub_ mul_ div_".split())
"""Methods that the CPU does, of a tensor of its own."""
LEAVES = frozenset({"return_statement", "raise_statement", "break_statement", "continue_statement"})
_NOT_SURE = frozenset(
    {"lambda", "list_comprehension", "generator_expression", "conditional_expression", "boolean_operator"}
)
_RUN_LATER = frozenset(
    {"function_definition", "class_definition", "decorated_definition", "lambda", "generator_expression"}
)
_WAITING = frozenset(
    {
        "await",
        "yield",
        "ERROR",
        "class_definition",
        "decorated_definition",
        "generator_expression",
        "interpolation",
        "assert_statement",
        "boolean_operator",
        "not_operator",
        "conditional_expression",
        "while_statement",
        "match_statement",
    }
)
"""What runs other code, or asks whether something is true or how it is written, which may be a tensor of the GPU."""
_COMPREHENSIONS = frozenset({"list_comprehension", "set_comprehension", "dictionary_comprehension"})
_CLAUSES = frozenset({"for_in_clause", "if_clause"})
_QUIET_BLOCK = re.compile(r"with torch\.(?:cuda\.stream|no_grad|inference_mode)\(")
"""Blocks of which the end waits for nothing."""
_ASKS_NOTHING = re.compile(r"[\w.]+ is (?:not )?None|True|False")
"""A condition that waits for nothing."""
_LITERAL = frozenset({"string", "integer", "float", "slice", "unary_operator", "none", "true", "false"})
_NAME = re.compile(r"\w+")
MOST_NODES = 400
"""That are looked at behind a copy."""
_Direction = Literal["to the CPU", "to the GPU"]


@dataclass(frozen=True, slots=True)
class Copy:
    """That the call starts; ``name`` is the variable of the host's tensor, ``made`` are the values of variables that are set once."""

    call: Node
    name: str
    direction: _Direction
    made: dict[str, str]


def copies_tensors(text: bytes) -> bool:
    """Whether a file may start such copies."""
    return b"torch" in text and _MENTIONS.search(text) is not None


def tensor_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first use of each tensor that comes too early."""
    told: set[int] = set()
    made: dict[int, dict[str, str]] = {}
    for match in _MENTIONS.finditer(source.text):
        copy = _copy_at(root, match.start(), made)
        use = _early(copy) if copy is not None else None
        if copy is not None and use is not None and use.start_byte not in told:
            told.add(use.start_byte)
            yield _finding(copy, use, source)


def _finding(copy: Copy, use: Node, source: Source) -> Finding:
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


def _copy_at(root: Node, at: int, known: dict[int, dict[str, str]]) -> Copy | None:
    """The copy that the keyword at that place belongs to, if it is known which of its ends is the host's. ``known`` keeps, by function,
    what its variables are set to."""
    call = enclosing(root.descendant_for_byte_range(at, at + 1), "call", "block")
    function = call.child_by_field_name("function") if call is not None and call.type == "call" else None
    if call is None or function is None or function.type != "attribute":
        return None
    around = enclosing(call, "function_definition") or root
    if around.start_byte not in known:
        known[around.start_byte] = _values_in(around)
    made, tensor, given = known[around.start_byte], field_text(function, "object"), arguments_of(call)
    if _STAYS_ON_CPU.fullmatch(made.get(tensor, "")) and not _PINNED.fullmatch(made[tensor]):
        return None
    to_cpu = any(_TO_CPU.fullmatch(text_of(each)) for each in given)
    if _called(call) == "to" and to_cpu:
        parent = call.parent
        left = parent.child_by_field_name("left") if parent is not None and parent.type == "assignment" else None
        if left is None or left.type != "identifier" or _PINNED.fullmatch(made.get(tensor, "")):
            return None
        return Copy(call, text_of(left), "to the CPU", made)
    if _called(call) == "copy_" and given:
        if _is_pinned(tensor, call, made, root) and _is_of_gpu(text_of(given[0]), call, made, around):
            return Copy(call, tensor, "to the CPU", made)
        tensor = text_of(given[0])
    elif _called(call) != "cuda" and not (
        _called(call) == "to" and given and _TO_GPU.fullmatch(text_of(_where(given)))
    ):
        return None
    in_function = around.type == "function_definition" and _PINNED.fullmatch(made.get(tensor, ""))
    return Copy(call, tensor, "to the GPU", made) if in_function else None


def _is_pinned(tensor: str, call: Node, made: dict[str, str], root: Node) -> bool:
    """Whether the tensor, a variable or a member of ``self``, is made once, in pinned memory."""
    value = made.get(tensor, "")
    if tensor.startswith("self."):
        only = only_value(tensor, call, root)
        value = text_of(only) if only is not None else ""
    return _PINNED.fullmatch(value) is not None


def _is_of_gpu(tensor: str, call: Node, made: dict[str, str], function: Node) -> bool:
    """Whether the tensor that is copied is surely a GPU's: its memory is used on a stream, or the copy is."""
    value = made.get(tensor, "")
    if not _NAME.fullmatch(tensor) or _OF_CPU.match(value) or _STAYS_ON_CPU.fullmatch(value):
        return False
    if re.search(rf"(?<![\w.]){tensor}\.record_stream\(", text_of(function)):
        return True
    around = enclosing(call, "with_statement", "function_definition")
    return around is not None and text_of(around).startswith("with torch.cuda.stream(")


def _where(given: list[Node]) -> Node:
    """The argument that names the device."""
    return next((each for each in given if text_of(each).startswith("device")), given[0])


def _values_in(function: Node) -> dict[str, str]:
    """What the function sets its variables to, of those that it sets once."""
    sets = Counter[str]()
    values: dict[str, str] = {}
    waiting = [function]
    while waiting:
        node = waiting.pop()
        if node.type in (
            "assignment",
            "for_statement",
            "parameters",
            "augmented_assignment",
            "as_pattern_target",
            "named_expression",
        ):
            target = _target(node)
            sets.update(_NAME.findall(target))
            if node.type == "assignment":
                values[target] = field_text(node, "right")
        if node is function or node.type not in _RUN_LATER:
            waiting += node.named_children
    return {name: value for name, value in values.items() if sets[name] == 1}


def _target(node: Node) -> str:
    """What is set there; of an element of a tensor nothing, which is the same tensor afterwards."""
    left = node.child_by_field_name("left")
    if node.type in ("parameters", "as_pattern_target"):
        return text_of(node)
    if node.type == "named_expression":
        return field_text(node, "name")
    return text_of(left) if left is not None and left.type not in ("subscript", "attribute") else ""


def _early(copy: Copy) -> Node | None:
    """The use of the tensor that comes after the copy, before the first call that may wait."""
    for node in islice(following(copy.call), MOST_NODES):
        if _uses(node, copy):
            return node
        if node.type in LEAVES or may_wait(node, copy) or sets(node, copy.name):
            return None
    return None


def following(call: Node) -> Iterator[Node]:
    """What comes after the copy, innermost first: to the end of its block and of those around it, or the next turn of a loop; no further
    where other code may run."""
    node, is_sure = call, True
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
            if is_sure:
                yield from _again(block, node)
            return
        if block.parent.type not in ("if_statement", "else_clause", "elif_clause", "with_statement"):
            return
        if block.parent.type == "with_statement":
            yield block.parent
        else:
            is_sure = False
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
    """The node and all in it, in the order in which it is done: what is inside first, of a block its header. Functions and classes that
    are defined there do not run."""
    waiting: list[tuple[Node, bool]] = [(node, False)]
    while waiting:
        each, is_done = waiting.pop()
        if is_done or each.type in _RUN_LATER:
            yield each
            continue
        before, after = _parts(each)
        waiting += [(child, False) for child in reversed(after)]
        waiting.append((each, True))
        waiting += [(child, False) for child in reversed(before)]


def _parts(node: Node) -> tuple[list[Node], list[Node]]:
    """What is in the node: what is done before it, and the block that is done after its header."""
    inside = node.named_children
    if node.type in _COMPREHENSIONS:
        clauses = [each for each in inside if each.type in _CLAUSES]
        return clauses + [each for each in inside if each.type not in _CLAUSES], []
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    if body is None or body.type != "block":
        return inside, []
    return [each for each in inside if each.start_byte < body.start_byte], [
        each for each in inside if each.start_byte >= body.start_byte
    ]


def _called(call: Node) -> str:
    """The last part of the name of what is called."""
    return field_text(call, "function").rpartition(".")[2]


def _uses(node: Node, copy: Copy) -> bool:
    if copy.direction == "to the CPU":
        return node.type == "call" and _called(node) in _READS and _is_of(node, copy)
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


def _is_of(call: Node, copy: Copy) -> bool:
    """Whether a function that reads is given the tensor, behind nothing of the GPU, or is a method of the tensor, of an element or of its
    array."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "attribute":
        return (
            re.fullmatch(rf"{re.escape(copy.name)}(?:\[[^\[\]]*\])*(?:\.numpy\(\))?", field_text(function, "object"))
            is not None
        )
    given = arguments_of(call)
    at = next((at for at, each in enumerate(given) if text_of(each) == copy.name), None)
    return at is not None and all(_is_plain(each, copy) for each in given[:at])


def _is_plain(value: Node, copy: Copy) -> bool:
    """Whether it is a literal or a length."""
    written = text_of(value)
    return value.type in _LITERAL or copy.made.get(written, written).startswith("len(")


def may_wait(node: Node, copy: Copy) -> bool:
    """Whether it may run code that waits, or reads what may be a value of the GPU."""
    if node.type == "with_statement":
        return _QUIET_BLOCK.match(text_of(node)) is None
    if node.type in ("for_statement", "for_in_clause"):
        return not field_text(node, "right").startswith(("range(", f"{copy.name}."))
    if node.type in ("if_statement", "elif_clause"):
        return _ASKS_NOTHING.fullmatch(field_text(node, "condition")) is None
    if node.type == "subscript":
        return field_text(node, "value") != copy.name and any(
            each.type not in _LITERAL for each in node.children_by_field_name("subscript")
        )
    if node.type == "attribute":  # alone it stands there for what it does
        return node.parent is not None and node.parent.type == "expression_statement"
    return node.type in _WAITING or (node.type == "call" and not _is_quiet(node, copy))


def _is_quiet(call: Node, copy: Copy) -> bool:
    name, given = field_text(call, "function"), arguments_of(call)
    of, _, last = name.rpartition(".")
    if is_plain_python(name) or name in OF_TORCH or last in OF_TENSORS:
        return True
    if name in ("torch.tensor", "torch.as_tensor"):
        return _OF_CPU.match(text_of(call)) is not None and bool(given) and given[0].type in _LITERAL | {"list"}
    if last == "print":
        return all(_is_plain(each, copy) for each in given)
    if last in ("record", "append"):
        return (_EVENT if last == "record" else _LIST).fullmatch(copy.made.get(of, "")) is not None
    if last in ("numpy", "copy_") and of == copy.name:
        return last == "numpy" or _MENTIONS.search(call.text or b"") is not None
    return (
        last == "to" and bool(_MENTIONS.search(call.text or b"")) and any(map(_TO_CPU.fullmatch, map(text_of, given)))
    )


def sets(node: Node, name: str) -> bool:
    """Whether the variable may be another one afterwards."""
    if node.type in ("function_definition", "class_definition"):
        return field_text(node, "name") == name
    if node.type == "delete_statement":
        return name in _NAME.findall(text_of(node))
    is_target = node.type in (
        "assignment",
        "augmented_assignment",
        "for_statement",
        "for_in_clause",
        "as_pattern_target",
        "named_expression",
    )
    return is_target and name in _NAME.findall(_target(node))
