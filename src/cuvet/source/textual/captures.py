"""Captures of streams that an exception leaves open."""

from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.capture_left_open import SourceCaptureLeftOpen
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.ownership import calls_back
from cuvet.source.syntax.parsing import Node, enclosing, text_of
from cuvet.source.textual.written import Body

_BEGINS = frozenset({"cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture"})
_ENDS = frozenset({"cudaStreamEndCapture", "cuStreamEndCapture"})


def left_open(body: Body) -> Iterator[Finding]:
    """Code of somebody else that is run between the begin of a capture and its end, where nobody catches what it throws."""
    for begin in body.calls:
        if begin.name not in _BEGINS:
            continue
        end = next((call for call in body.calls if call.name in _ENDS and call.start > begin.end), None)
        if end is None:
            continue
        foreign = next((call for call in _calls(body.body, begin.end, end.start) if _is_foreign(call, body)), None)
        if foreign is not None and enclosing(foreign.parent, "try_statement") is None:
            name = text_of(foreign.child_by_field_name("function") or foreign)
            message = f"the capture is never ended if {name} throws"
            path = (
                body.step(begin.node, "the capture begins here"),
                body.step(foreign, f"{name} may throw here"),
                body.step(end.node, "the capture ends here"),
            )
            yield body.finding(SourceCaptureLeftOpen, foreign, message, api=begin.name, path=path)


def _calls(node: Node, start: int, end: int) -> Iterator[Node]:
    """Calls within the range, the first first, without those in lambdas."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.end_byte <= start or each.start_byte >= end or each.type == "lambda_expression":
            continue
        if each.type == "call_expression" and each.start_byte >= start:
            yield each
        waiting += reversed(each.named_children)


def _is_foreign(call: Node, body: Body) -> bool:
    """Whether the call is of what the function was given to call."""
    function = call.child_by_field_name("function")
    if function is None:
        return False
    if function.type == "identifier":
        declarator = body.node.child_by_field_name("declarator")
        given = parameters(function_declarator(declarator)) if declarator is not None else ()
        if any(each.name == text_of(function) for each in given):
            return True
    return calls_back(text_of(function))
