"""Inputs of a graph of PyTorch that are set to other tensors before a replay, which reads those that it was captured with."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.graph_exec.memory_freed import GraphExecMemoryFreed
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.python_text import Place, call_at, called, finding_at

_CAPTURES = re.compile(rb"\bgraph\s*\(")
_CONTEXTS = frozenset({"torch.cuda.graph", "torch.cuda.graphs.graph"})
_REPLAY = re.compile(rb"\.replay\s*\(\s*\)")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_TENSOR = r"(?<!\w){}\s*(?::[^=\n]{{1,60}})?=\s*(?:torch\.(?!cuda\b)\w+\(|[^\n=]{{1,200}}\.(?:clone|cuda|to|contiguous|detach)\()"


def replays_graphs(text: bytes) -> bool:
    """Whether a file may capture and replay graphs of PyTorch."""
    return b"torch" in text and _REPLAY.search(text) is not None and _CAPTURES.search(text) is not None


def input_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each assignment to an input of a graph in the statements before the graph is replayed."""
    names = Names(source.text)
    told: set[int] = set()
    for match in first(_CAPTURES.finditer(source.text)):
        call = call_at(root, match.end() - 1)
        if call is None or called(call, names) not in _CONTEXTS or not arguments_of(call):
            continue
        graph, inputs = text_of(arguments_of(call)[0]), _inputs(call, source)
        function = enclosing(call, "function_definition")
        if function is None or not _DOTTED.fullmatch(graph):
            continue
        for replay in first(_replays(graph, function, root, source)):
            for assignment, name in _rebound(replay, call, graph, inputs):
                between = source.text[assignment.end_byte : replay.start_byte].decode("utf-8", "replace")
                if re.search(rf"(?i)capture|\b{field_text(function, 'name')}\(", between):
                    continue  # it may be captured anew
                if assignment.start_byte not in told:
                    told.add(assignment.start_byte)
                    yield _finding(assignment, name, call, replay, source)


def _finding(assignment: Node, name: str, capture: Node, replay: Node, source: Source) -> Finding:
    message = f"`{name}` is another tensor from here on; the graph reads the one that it was captured with"
    path = (
        Place(capture, f"the graph is captured with `{name}` here"),
        Place(replay, "the graph is replayed here, and reads the tensor from then"),
    )
    return finding_at(GraphExecMemoryFreed, assignment, message, source, path, severity="note", api=name)


def _split(name: str) -> tuple[str, str]:
    """The object and the member; of a variable, no object."""
    owner, _, member = name.rpartition(".")
    return owner, member


def _inputs(capture: Node, source: Source) -> set[tuple[str, str]]:
    """Variables, and members, that calls in the block of the capture are given, and which the file sets to tensors."""
    around = enclosing(capture, "with_statement")
    body = around.child_by_field_name("body") if around is not None else None
    if body is None or capture.start_byte >= body.start_byte:
        return set()
    given: set[str] = set()
    waiting = [body]
    while waiting:
        node = waiting.pop()
        if node.type == "call":
            given.update(text_of(each) for each in arguments_of(node) if _DOTTED.fullmatch(text_of(each)))
        waiting += node.named_children
    text, block = source.text.decode("utf-8", "replace"), text_of(body)
    return {
        _split(name)
        for name in given
        if re.search(_TENSOR.format(re.escape(_split(name)[1])), text)
        and not re.search(rf"(?<![\w.]){re.escape(name)}\s*=(?!=)", block)
    }


def _replays(graph: str, function: Node, root: Node, source: Source) -> Iterator[Node]:
    """The calls that replay the graph: the variable in the function that captures it, or the member anywhere in the file."""
    owner, member = _split(graph)
    for match in _REPLAY.finditer(source.text):
        call = call_at(root, match.end() - 1)
        if call is None:
            continue
        replayed = _split(field_text(call, "function").rpartition(".")[0])
        around = enclosing(call, "function_definition")
        if replayed[1] == member and bool(replayed[0]) == bool(owner) and (bool(owner) or around == function):
            yield call


def _rebound(replay: Node, capture: Node, graph: str, inputs: set[tuple[str, str]]) -> Iterator[tuple[Node, str]]:
    """The assignments to inputs in the statements before the replay, in its block or those around it."""
    owner = _split(field_text(replay, "function").rpartition(".")[0])[0]
    of_same = {f"{owner}.{member}" if base else member for base, member in inputs if base == _split(graph)[0]}
    node: Node | None = replay
    while node is not None and node.type != "function_definition":
        before = node.prev_named_sibling if node.parent is not None and node.parent.type == "block" else None
        while before is not None:
            if before.start_byte <= capture.start_byte < before.end_byte:
                return
            assignment = before.named_children[0] if before.type == "expression_statement" else None
            if assignment is not None and assignment.type == "assignment":
                name, value = field_text(assignment, "left"), field_text(assignment, "right")
                if (
                    name in of_same
                    and value != "None"
                    and "copy_(" not in value
                    and not re.search(rf"(?<![\w.]){re.escape(name)}\b", value)
                ):
                    yield assignment, name
            before = before.prev_named_sibling
        node = node.parent
