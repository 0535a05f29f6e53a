"""Captures of streams: what an exception leaves open, and calls that fail while one is."""

import re
from collections.abc import Iterator

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.model.capturing import is_unsafe
from cuvet.rules.capture.unsafe_call import CaptureUnsafeCall
from cuvet.rules.capture.wait import CaptureWait
from cuvet.rules.rule import Rule
from cuvet.rules.source.capture_left_open import SourceCaptureLeftOpen
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.ownership import calls_back
from cuvet.source.syntax.parsing import Node, enclosing, text_of
from cuvet.source.textual.reached import calls_in
from cuvet.source.textual.written import Body, Written, block_of

_BEGINS = frozenset({"cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture"})
_ENDS = frozenset({"cudaStreamEndCapture", "cuStreamEndCapture"})

_MAY_DIFFER = re.compile(rb"#|\bswap\b|Guard|CaptureUnsupported|CaptureInvalidated|CAPTURE_")
"""Where another build, another stream, another mode or a test of the failure may be meant."""
_FORBIDS = ("cudaStreamCaptureModeGlobal", "cudaStreamCaptureModeThreadLocal")


def left_open(body: Body) -> Iterator[Finding]:
    """Code of somebody else that is run between the begin of a capture and its end, where nobody catches what it throws."""
    for begin in body.calls:
        if begin.name not in _BEGINS:
            continue
        end = next((call for call in body.calls if call.name in _ENDS and call.start > begin.end), None)
        if end is None:
            continue
        foreign = next((call for call in calls_in(body.body, begin.end, end.start) if _is_foreign(call, body)), None)
        if foreign is not None and enclosing(foreign.parent, "try_statement") is None:
            name = text_of(foreign.child_by_field_name("function") or foreign)
            message = f"the capture is never ended if {name} throws"
            path = (
                body.step(begin.node, "the capture begins here"),
                body.step(foreign, f"{name} may throw here"),
                body.step(end.node, "the capture ends here"),
            )
            yield body.finding(SourceCaptureLeftOpen, foreign, message, api=begin.name, path=path)


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


def forbidden(body: Body) -> Iterator[Finding]:
    """Calls that fail, in one block with the begin of the capture before them and its end behind."""
    begins = [call for call in body.calls if call.name in _BEGINS and call.arguments]
    if _MAY_DIFFER.search(body.code) or len(begins) != 1 or not text_of(begins[0].arguments[0]).isidentifier():
        return
    (begin,) = begins
    end = next((call for call in body.calls if call.name in _ENDS and call.start > begin.end), None)
    block = block_of(begin.node)
    if end is None or block is None or block != block_of(end.node):
        return
    for call in body.calls:
        if call.name == "cudaThreadExchangeStreamCaptureMode":
            return
        rule = _broken(call, begin) if begin.end < call.start < end.start and block_of(call.node) == block else None
        if rule is not None:
            stream = text_of(begin.arguments[0])
            message = f"{call.name} fails while {stream} is capturing, and invalidates the capture"
            path = (body.step(begin.node, "the capture begins here"),)
            yield body.finding(rule, call.node, message, api=call.name, path=path)
            return


def _broken(call: Written, begin: Written) -> type[Rule] | None:
    """The rule that a call breaks while the stream captures: it waits for that or for all, or is potentially unsafe and on no stream."""
    found = meaning(call.name)
    if found is None or found.told.does(Verb.ON):
        return None
    if found.told.does(Verb.BLOCKS, Verb.QUERIES):
        named = [text_of(call.arguments[at]) for at, _ in found.named if at < len(call.arguments)]
        is_waited_for = found.told.does(Verb.BLOCKS, to=(Kind.CONTEXT,)) or text_of(begin.arguments[0]) in named
        return CaptureWait if is_waited_for else None
    return CaptureUnsafeCall if is_unsafe(found.told) and text_of(begin.arguments[-1]) in _FORBIDS else None
