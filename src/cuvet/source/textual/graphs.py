"""The host waits while PyTorch or CuPy captures a stream."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.findings import Finding
from cuvet.rules.capture.wait import CaptureWait
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.python_text import GPU, Place, call_at, called, finding_at, may_be_meant, only_value

_BEGINS = re.compile(rb"\bgraph\s*\(|\.(?:begin_capture|capture_begin)\s*\(")
_CONTEXTS = frozenset({"torch.cuda.graph", "torch.cuda.graphs.graph"})
_ENDS = {"begin_capture": "end_capture", "capture_begin": "capture_end"}
_OWNERS = {"begin_capture": "cupy.cuda.Stream", "capture_begin": "torch.cuda.CUDAGraph"}
_PLAIN = frozenset({"expression_statement", "return_statement"})
_LEAVES = frozenset({"return_statement", "raise_statement", "break_statement", "continue_statement"})
_NOT_SURE = frozenset(
    """
    lambda list_comprehension set_comprehension dictionary_comprehension generator_expression conditional_expression boolean_operator
    """.split()
)
_QUIET_BLOCKS = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.autocast"})
_READS = frozenset({"item", "cpu"})
_LEAVES_GPU = frozenset({"item", "cpu", "to", "numpy", "tolist"})
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class _Capture:
    """``stream`` is the expression for the stream that captures, ``""`` if it is PyTorch's own or not known; in ``body`` stands what is
    done while it captures."""

    begin: Node
    body: list[Node]
    stream: str
    of_torch: bool


def captures_graphs(text: bytes) -> bool:
    """Whether a file may capture streams with these libraries."""
    return (b"torch" in text or b"cupy" in text) and _BEGINS.search(text) is not None


def graph_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first wait of each capture."""
    names = Names(source.text)
    for match in _BEGINS.finditer(source.text):
        call = call_at(root, match.end() - 1)
        capture = _capture(call, names, root) if call is not None and not may_be_meant(call) else None
        wait = next(_waits(capture, names, root), None) if capture is not None else None
        if capture is not None and wait is not None:
            what = "reads what the GPU computes" if field_text(wait, "function").endswith(("item", "cpu")) else "waits"
            message = f"the host {what} while a stream is capturing"
            path = (Place(capture.begin, "the capture begins here"), Place(wait, f"the host {what} here"))
            yield finding_at(CaptureWait, wait, message, source, path)


def _capture(call: Node, names: Names, root: Node) -> _Capture | None:
    if called(call, names) in _CONTEXTS:
        around = enclosing(call.parent, "with_statement", "block", "call")
        body = around.child_by_field_name("body") if around is not None and around.type == "with_statement" else None
        if body is None or call.start_byte >= body.start_byte:
            return None
        if call.parent is None or call.parent.type not in ("with_item", "as_pattern"):
            return None
        stream = next(
            (field_text(each, "value") for each in arguments_of(call) if field_text(each, "name") == "stream"), ""
        )
        return _Capture(call, body.named_children, stream, of_torch=True)
    owner, _, method = field_text(call, "function").rpartition(".")
    statement = call.parent
    if method not in _ENDS or statement is None or statement.type != "expression_statement":
        return None
    made = only_value(owner, call, root)
    if made is None or made.type != "call" or called(made, names) != _OWNERS[method]:
        return None
    done = _until(statement, f"{owner}.{_ENDS[method]}")
    of_torch = method == "capture_begin"
    return _Capture(call, done, "" if of_torch else owner, of_torch) if done is not None else None


def _until(statement: Node, end: str) -> list[Node] | None:
    """The statements after this one in its block, before the one that calls ``end``; None if no other does."""
    found: list[Node] = []
    after = statement.next_named_sibling
    while after is not None:
        if f"{end}(" in text_of(after):
            return found
        found.append(after)
        after = after.next_named_sibling
    return None


def _waits(capture: _Capture, names: Names, root: Node) -> Iterator[Node]:
    for call in _sure_calls(capture.body, names):
        if not may_be_meant(call) and _is_wait(call, capture, names, root):
            yield call


def _sure_calls(statements: list[Node], names: Names) -> Iterator[Node]:
    """The calls that are made whenever the statements are done, in order, as far as that is simple."""
    for statement in statements:
        if statement.type in _PLAIN:
            yield from _calls_in(statement)
        elif statement.type == "with_statement" and _is_quiet(statement, names):
            body = statement.child_by_field_name("body")
            yield from _sure_calls(body.named_children if body is not None else [], names)
        elif _may_leave(statement):
            return
        if statement.type in _LEAVES:
            return


def _may_leave(statement: Node) -> bool:
    """Whether what comes behind the statement may not be done."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if node.type in _LEAVES:
            return True
        waiting += node.named_children
    return False


def _calls_in(statement: Node) -> Iterator[Node]:
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if node.type in _NOT_SURE:
            continue
        if node.type == "call":
            yield node
        waiting += reversed(node.named_children)


def _is_quiet(block: Node, names: Names) -> bool:
    """Whether the ``with`` changes neither the device nor the stream."""
    items = [each for each in block.named_children if each.type == "with_clause"]
    values = [field_text(item, "value") for clause in items for item in clause.named_children]
    return bool(values) and all(names.full(value.partition("(")[0]) in _QUIET_BLOCKS for value in values)


def _is_wait(call: Node, capture: _Capture, names: Names, root: Node) -> bool:
    if arguments_of(call):
        return False
    name = field_text(call, "function")
    owner, _, method = name.rpartition(".")
    if method == "synchronize" and capture.stream and owner == capture.stream:
        return True
    if not capture.of_torch:
        return False
    if (
        names.full(name) == "torch.cuda.synchronize"
        or names.full(name.replace("()", "")) == "torch.cuda.current_stream.synchronize"
    ):
        return True
    function = call.child_by_field_name("function")
    tensor = function.child_by_field_name("object") if function is not None and method in _READS else None
    return tensor is not None and _is_on_gpu(tensor, names, root)


def _is_on_gpu(value: Node, names: Names, root: Node, depth: int = 0) -> bool:
    """Whether the expression is sure to be a tensor of a GPU."""
    if depth > _DEEPEST:
        return False
    if value.type in ("identifier", "attribute"):
        made = only_value(text_of(value), value, root)
        return made is not None and _is_on_gpu(made, names, root, depth + 1)
    if value.type == "binary_operator":
        sides = (value.child_by_field_name("left"), value.child_by_field_name("right"))
        return any(side is not None and _is_on_gpu(side, names, root, depth + 1) for side in sides)
    function = value.child_by_field_name("function") if value.type == "call" else None
    if function is None:
        return False
    given = arguments_of(value)
    if called(value, names).startswith("torch."):
        return any(field_text(each, "name") == "device" and GPU.fullmatch(field_text(each, "value")) for each in given)
    method, of = field_text(function, "attribute"), function.child_by_field_name("object")
    if method == "to" and [each.type for each in given] == ["string"]:
        return GPU.fullmatch(text_of(given[0])) is not None and of is not None
    return method not in _LEAVES_GPU and of is not None and _is_on_gpu(of, names, root, depth + 1)
