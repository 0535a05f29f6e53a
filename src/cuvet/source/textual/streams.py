"""Work on the default stream in a function that has another one for it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.catalog import runtime
from cuvet.findings import Finding
from cuvet.rules.source.async_on_default_stream import SourceAsyncOnDefaultStream
from cuvet.source.languages.interest import WORD
from cuvet.source.syntax.parsing import Node, arguments_of, text_of
from cuvet.source.textual.written import Body

_STREAM = re.compile(rb"\b(?:cudaStream_t|CUstream)\s+(?:const\s+)?&?\s*(\w+)\s*(?=[,)=])")
_POINTER = re.compile(
    rb"\b(?:void|float|double|int|char|bool|unsigned|long|short|half|T|\w+_t|[a-z]+\d)\s*(?:const\s*)?\*\s*(?:__restrict__\s+|const\s+)*(\w+)\s*[,;=)]"
)
_CAN_LEAVE_OUT = ("cudaMemsetAsync", "cudaMemcpyAsync")
"""In C++ their last parameter, the stream, need not be given."""
_WAITS = re.compile(r"Synchronize|WaitEvent")
_LAUNCH = re.compile(rb"<<<(.*?)>>>", re.S)
_STREAM_OF_LAUNCH = 3
_BRANCHES = frozenset(
    {
        "if_statement",
        "else_clause",
        "case_statement",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "lambda_expression",
    }
)


class _Work(NamedTuple):
    node: Node
    name: str
    words: frozenset[bytes]
    """In what it is given."""


def left_out(body: Body) -> Iterator[Finding]:
    """The first work on the default stream that shares memory with work on the stream."""
    head = body.source.code[body.node.start_byte : body.body.start_byte]
    stream = _STREAM.search(head)
    if stream is None:
        return
    pointers = frozenset(_POINTER.findall(head + body.code))
    on_default, on_stream = _parted(body, stream[1]) if pointers else ([], [])
    for work in on_default:
        for other in on_stream:
            shared = sorted(work.words & other.words & pointers)
            if shared and not is_ordered(work.node, other.node, body):
                name = shared[0].decode()
                where = f"{other.name} in line {body.line(other.node)} on `{stream[1].decode()}`"
                message = f"{work.name} works on `{name}` without a stream, and {where}"
                path = (body.step(other.node, f"{other.name} works on `{name}` on the stream"),)
                yield body.finding(SourceAsyncOnDefaultStream, work.node, message, api=work.name, path=path)
                return


def _parted(body: Body, stream: bytes) -> tuple[list[_Work], list[_Work]]:
    """Work on the default stream, and on the stream of that name."""
    on_default: list[_Work] = []
    on_stream: list[_Work] = []
    for call in body.calls:
        given = [each.text or b"" for each in call.arguments]
        work = _Work(call.node, call.name, frozenset(each for each in given if WORD.fullmatch(each)))
        if call.name in _CAN_LEAVE_OUT and len(given) == runtime()[call.name].index["stream"]:
            on_default.append(work)
        elif call.name.endswith("Async") and stream in given:
            on_stream.append(work)
    for launch in body.launches:
        shape = shape_of(launch)
        name = text_of(launch.named_children[0]).partition("<")[0]
        given = [each.text or b"" for each in arguments_of(launch)]
        work = _Work(launch, name, frozenset(each for each in given if WORD.fullmatch(each)))
        if len(shape) > _STREAM_OF_LAUNCH and shape[_STREAM_OF_LAUNCH].strip() == stream:
            on_stream.append(work)
        elif 0 < len(shape) <= _STREAM_OF_LAUNCH:
            on_default.append(work)
    return on_default, on_stream


def shape_of(launch: Node) -> list[bytes]:
    """What stands in ``<<<>>>``; nothing if that cannot be read."""
    match = _LAUNCH.search(launch.text or b"")
    return _parts(match[1]) if match is not None else []


def _parts(shape: bytes) -> list[bytes]:
    """What stands between the commas outside brackets."""
    parts, depth = [b""], 0
    for at in range(len(shape)):
        letter = shape[at : at + 1]
        depth += (letter in b"([{") - (letter in b")]}")
        if letter == b"," and depth == 0:
            parts.append(b"")
        else:
            parts[-1] += letter
    return parts


def is_ordered(one: Node, other: Node, body: Body) -> bool:
    """Whether a call between them waits, or not both are made."""
    first, last = sorted((one, other), key=lambda node: node.start_byte)
    if any(_WAITS.search(call.name) and first.end_byte <= call.start < last.start_byte for call in body.calls):
        return True
    return _arms(one) != _arms(other)


def _arms(node: Node) -> list[int]:
    """The branches around the node, each with its arm."""
    arms: list[int] = []
    inner, around = node, node.parent
    while around is not None and around.type != "function_definition":
        if around.type in _BRANCHES and around.child_by_field_name("condition") != inner:
            arms += (around.id, inner.id)
        inner, around = around, around.parent
    return arms
