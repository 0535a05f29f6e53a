"""Buffers for what a compiler of CUDA made, of the size of another of its results."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.memory.access_past_end import MemoryAccessPastEnd
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first

_GETS = re.compile(rb"\b((?:nvrtc|nvJitLink|nvvm|nvPTXCompiler)Get\w{1,40})(?<!Size)[ \t]*\(")
_ASKS = re.compile(rb"\b((?:nvrtc|nvJitLink|nvvm|nvPTXCompiler)Get\w{1,40})Size[ \t]*\(")
_CALLS = ("call", "call_expression", "invocation_expression")
_FUNCTIONS = ("function_definition", "method_declaration", "constructor_declaration", "local_function_statement")
_NAME = re.compile(r"[A-Za-z_]\w*")


def asks_for_results(text: bytes) -> bool:
    """Whether a file may ask for what a compiler of CUDA made, and for its size."""
    return _ASKS.search(text) is not None


def result_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each result that is written to a buffer of the size of another result, if the function asks for no size of its own."""
    for match in first(_GETS.finditer(source.code)):
        call = _call_at(root, match)
        function = enclosing(call, *_FUNCTIONS)
        given = arguments_of(call) if call is not None else []
        if call is None or function is None or len(given) != 2:
            continue
        start, end = function.start_byte, function.end_byte
        asked = [each for each in _ASKS.finditer(source.code, start, end) if _call_at(root, each) is not None]
        buffer = _first_name(text_of(given[1]))
        before = [each for each in asked if each.end() < call.start_byte]
        if not buffer or not before or any(each[1] == match[1] for each in asked):
            continue
        query = _call_at(root, before[-1])
        size = _size(query) if query is not None else ""
        if query is None or not size:
            continue
        between = source.code[query.end_byte : call.start_byte].decode("utf-8", "replace")
        if re.search(rf"(?<![\w.]){buffer}\b[^;\n]{{0,200}}\b{size}\b", between):
            yield _finding(call, query, function, source)


def _finding(call: Node, query: Node, function: Node, source: Source) -> Finding:
    shown = source.function_name("", field_text(function, "name"))
    got, asked = (field_text(each, "function").rpartition(".")[2] for each in (call, query))
    message = f"{got} writes to a buffer whose size is that of another result, from {asked}"
    path = (Step(frame=frame(source, query.start_byte, query.end_byte, shown), text="the size is asked for here"),)
    where = site(got, frame(source, call.start_byte, call.end_byte, shown))
    return finding(MemoryAccessPastEnd, message, where, path=path, severity="note")


def _call_at(root: Node, match: re.Match[bytes]) -> Node | None:
    """The call of the function that the match names; None if the text there is something else."""
    node = enclosing(root.descendant_for_byte_range(match.start(1), match.end(1)), *_CALLS)
    named = node is not None and node.start_byte <= match.start() < _arguments_start(node)
    return node if named else None


def _arguments_start(call: Node) -> int:
    listed = call.child_by_field_name("arguments")
    return listed.start_byte if listed is not None else call.start_byte


def _size(query: Node) -> str:
    """The variable that gets the size: the second argument, or what the result of the call is assigned to."""
    given = arguments_of(query)
    if len(given) == 2:
        names = _NAME.findall(text_of(given[1]))
        return names[-1] if names else ""
    statement = enclosing(query, "assignment")
    left = statement.child_by_field_name("left") if statement is not None and len(given) == 1 else None
    names = _NAME.findall(text_of(left)) if left is not None else []
    return names[-1] if names else ""


def _first_name(text: str) -> str:
    found = _NAME.search(re.sub(r"\([^()]*\*\)", "", text))
    return found[0] if found is not None else ""
