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
from cuvet.source.syntax.parsing import Node, enclosing, storage, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.reached import Functions, Reached, calls_in
from cuvet.source.textual.written import Body, Written, block_of, positions

_BEGINS = frozenset({"cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture"})
_ENDS = frozenset({"cudaStreamEndCapture", "cuStreamEndCapture"})

_MAY_DIFFER = re.compile(rb"#|\bswap\b|Guard|CaptureUnsupported|CaptureInvalidated|CAPTURE_")
"""Where another build, another stream, another mode or a test of the failure may be meant."""
_ASKS = re.compile(rb"#|(?i:capturing|capturestatus|capturemode|graph)")
"""Where a function may do something else while a stream is capturing, or in another build."""
_LEAVES = re.compile(rb"\b(?:return|throw|goto|break|continue)\b")
_TARGET = re.compile(r"(?:\([\w\s*]{1,80}\)\s*|\w+_cast<[\w\s*]{1,80}>\s*\(\s*)?&\s*(?:this\s*->\s*)?(\w+)\s*\)?")
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


def forbidden_within(body: Body, functions: Functions) -> Iterator[Finding]:
    """The first call that fails in a function of the file which is called in the same block between the begin of a capture and its end."""
    begins = [call for call in body.calls if call.name in _BEGINS and call.arguments]
    if len(begins) != 1 or _MAY_DIFFER.search(body.code) or text_of(begins[0].arguments[-1]) not in _FORBIDS:
        return
    (begin,) = begins
    end = next((call for call in body.calls if call.name in _ENDS and call.start > begin.end), None)
    block = block_of(begin.node)
    if end is None or block is None or block != block_of(end.node):
        return
    for node in first(calls_in(body.body, begin.end, end.start)):
        inner = functions.called_by(node, body) if block_of(node) == block else None
        reached = _reached(inner, functions) if inner is not None else None
        if inner is not None and reached is not None:
            name, api = inner.shown, reached.call.name
            message = f"{api} fails while {text_of(begin.arguments[0])} is capturing, and invalidates the capture"
            path = (
                body.step(begin.node, "the capture begins here"),
                body.step(node, f"{name} is called while it is open"),
                reached.body.step(reached.call.node, f"{api} is called here"),
            )
            yield reached.body.finding(
                CaptureUnsafeCall, reached.call.node, message, api=api, severity="note", path=path
            )
            return


def _reached(inner: Body, functions: Functions) -> Reached | None:
    """The call that fails whenever this function is first called."""
    forbidden, allocates = functions.first(inner, _is_forbidden), functions.first(inner, _allocates)
    if forbidden is not None and _is_certain(forbidden):
        return forbidden
    return allocates if allocates is not None and _is_first_made_here(allocates) else None


def _allocates(call: Written) -> bool:
    found = meaning(call.name)
    return found is not None and bool(found.made) and _is_forbidden(call)


def _is_forbidden(call: Written) -> bool:
    """Whether the call is potentially unsafe, and on no stream."""
    found = meaning(call.name)
    return found is not None and not found.told.does(Verb.ON) and is_unsafe(found.told)


def _is_certain(reached: Reached) -> bool:
    """Whether each of the functions makes its call whenever it is called."""
    bodies = [*(body for body, _ in reached.through), reached.body]
    calls = [*(node for _, node in reached.through), reached.call.node]
    return all(
        block_of(call) == body.body.id
        and _LEAVES.search(body.code[: call.start_byte - body.body.start_byte]) is None
        and _ASKS.search(body.code) is None
        for call, body in zip(calls, bodies, strict=True)
    )


def _is_first_made_here(reached: Reached) -> bool:
    """Whether nothing but this capture leads to the allocation, which has to be made when the first graph is captured, whatever branches
    it stands in: all functions on the way are called from there alone, and nobody else can call them."""
    code = reached.body.source.code
    target = _TARGET.fullmatch(text_of(reached.call.arguments[0])) if reached.call.arguments else None
    if target is None or reached.body.declarations(target[1]):
        return False
    if len(re.findall(rb"&\s{0,80}(?:this\s?->\s?)?" + target[1].encode() + rb"\b", code)) != 1:
        return False
    return all(
        _is_internal(body.node)
        and _ASKS.search(body.code) is None
        and len(list(positions(code, body.name.encode()))) == 2
        for body in [*(body for body, _ in reached.through), reached.body]
    )


def _is_internal(function: Node) -> bool:
    """Whether only the class, or only the file, can call the function."""
    around = function.parent
    if around is not None and around.type == "field_declaration_list":
        access = [
            each for each in around.children if each.type == "access_specifier" and each.end_byte <= function.start_byte
        ]
        of_class = around.parent is not None and around.parent.type == "class_specifier"
        return text_of(access[-1]).startswith("private") if access else of_class
    if b"static" in storage(function):
        return True
    inside = enclosing(function, "namespace_definition")
    return inside is not None and inside.child_by_field_name("name") is None


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
