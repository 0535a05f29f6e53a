"""Launches in a loop over streams that another loop made on one device each, while one device stays current."""

import re
from collections.abc import Iterator

from cuvet.catalog import Kind
from cuvet.findings import Finding
from cuvet.rules.stream.other_context import StreamOtherContext
from cuvet.source.calls import meaning, symbols
from cuvet.source.syntax.parsing import Node, arguments_of, enclosing, field_text, text_of, without_comments
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Written, block_of

_ELEMENT = re.compile(r"&?\s*([A-Za-z_]\w*)\s*\[\s*([A-Za-z_]\w*)\s*\]")
_COUNTS = re.compile(r"(?:[\w:]+\s+)*([A-Za-z_]\w*)\s*=\s*0\s*;?")
_HARMLESS = re.compile(
    r"if|for|while|switch|sizeof|return|dim3|(?:std::)?(?:min|max|printf|fprintf)|static_cast|int|float|double|size_t"
)
_SWITCHES = re.compile(rb"SetDevice|CtxSet|CtxPush|CtxPop|[Gg]uard|#|\[\s*[&=\w]*\s*\]\s*[({]")


def on_other_device(body: Body) -> Iterator[Finding]:
    """The first launch of each function."""
    made = _made(body) if body.launches and b"SetDevice" in body.text else {}
    for launch in body.launches if made else ():
        match = _ELEMENT.fullmatch(_stream_of(launch))
        loop = _loop(launch, match[2]) if match is not None else None
        if match is None or loop is None or match[1] not in made:
            continue
        first, device = made[match[1]]
        outside = loop.start_byte >= first.end_byte
        if outside and _declared_here(match[1], body) and _stays(loop, body):
            stream = match[0]
            message = f"`{stream}` was made on device `{match[2]}`, and one device stays current while this loop launches on all of them"
            path = (
                body.step(device.node, "here each stream is made on a device of its own"),
                body.step(launch, "no device is made current for the launch"),
            )
            yield body.finding(StreamOtherContext, launch, message, api=field_text(launch, "function"), path=path)
            return


def _made(body: Body) -> dict[str, tuple[Node, Written]]:
    """By array: the loop that makes a stream on each device, and the call that makes the device current. Arrays of which other calls make
    elements, too, are left out."""
    found: dict[str, list[tuple[Node, Written] | None]] = {}
    for call in body.calls:
        known = meaning(call.name)
        if known is None or not any(role.kind is Kind.STREAM for _, role in known.made) or not call.arguments:
            continue
        match = _ELEMENT.fullmatch(text_of(call.arguments[0]))
        if match is None:
            continue
        loop = _loop(call.node, match[2])
        sets = [
            each
            for each in body.calls
            if loop is not None
            and each.name == "cudaSetDevice"
            and loop.start_byte <= each.start < call.start
            and [text_of(given) for given in each.arguments] == [match[2]]
            and block_of(each.node) == block_of(call.node)
        ]
        found.setdefault(match[1], []).append((loop, sets[-1]) if loop is not None and sets else None)
    return {name: one for name, (one, *others) in found.items() if one is not None and not others}


def _declared_here(name: str, body: Body) -> bool:
    """Whether the array is the function's own, and no element is set by an assignment."""
    if only_declaration(name, body) is None:
        return False
    return (
        re.search(
            rb"\b%s\s*(?:\[[^\]]*\]\s*)?=(?!=)[^;]*\bcu|\b%s\s*\[[^\]]*\]\s*=(?!=)" % (name.encode(), name.encode()),
            body.code,
        )
        is None
    )


def _stream_of(launch: Node) -> str:
    syntax = next((child for child in launch.children if child.type == "kernel_call_syntax"), None)
    given = without_comments(syntax)
    return text_of(given[3]) if len(given) > 3 else ""


def _loop(node: Node, counter: str) -> Node | None:
    """The innermost loop around the node, if it counts the variable from zero, and no other loop is around that."""
    loop = enclosing(node, "for_statement", "while_statement", "do_statement", "for_range_loop", "lambda_expression")
    if loop is None or loop.type != "for_statement":
        return None
    begins = _COUNTS.fullmatch(field_text(loop, "initializer").strip())
    outer = enclosing(
        loop.parent, "for_statement", "while_statement", "do_statement", "for_range_loop", "lambda_expression"
    )
    is_one = re.search(r"(?:<|!=)\s*1$|<=\s*0$", field_text(loop, "condition").strip()) is not None
    return loop if begins is not None and begins[1] == counter and outer is None and not is_one else None


def _stays(loop: Node, body: Body) -> bool:
    """Whether nothing in the loop may make another device current."""
    start, end = loop.start_byte, loop.end_byte
    if _SWITCHES.search(body.source.code, start, end):
        return False
    launched = {field_text(each, "function").partition("<")[0] for each in body.launches}
    wrapped = {
        field_text(around, "function")
        for call in body.calls
        if start <= call.start < end
        for around in [enclosing(call.node.parent, "call_expression")]
        if around is not None and call.node in arguments_of(around)
    }
    known = symbols() | launched | wrapped
    return all(
        name in known or _HARMLESS.fullmatch(name) is not None
        for name, at, _ in body.source.called
        if start <= at < end
    )
