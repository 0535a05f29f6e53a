"""Streams that a file makes, and work that a function does on them, by what is written for them."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cuvet.catalog import Kind, Verb
from cuvet.source import kernels
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp_text import is_launch
from cuvet.source.quiet import CUDA, is_check, is_plain
from cuvet.source.syntax.parsing import Node, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.reached import calls_in
from cuvet.source.textual.streams import shape_of
from cuvet.source.textual.written import Body, Written

_CREATES = re.compile(rb"\bcudaStreamCreate(?:WithFlags|WithPriority)?\s{0,80}\(([^;{},)]{0,100})[^;{}]{0,200}")
NON_BLOCKING = b"cudaStreamNonBlocking"
_OF_LIBRARY = re.compile(r"cu(?:fft|blas|sparse|rand)[A-Z]\w{0,80}")
_LONGEST = 4000
"""Bytes between two works."""
_SET = (
    rb"\bNAME\s{0,80}=(?!=)\s{0,80}(?!\s|(?:0|NULL|nullptr)\b|\{\s{0,80}\})|"
    rb"[:,]\s{0,80}NAME\s{0,80}[({]\s{0,80}(?!\s|(?:0|NULL|nullptr)\b|[)}]|\w*[cCmMnN](?:reate|ake|ew))"
)
PATH = re.compile(r"(?:this->)?\w+(?:(?:\.|->)\w+)*(?:\.get\(\))?")
"""A variable, a member, or what a smart pointer holds, without spaces."""


class Work(NamedTuple):
    """``memory``: what it is given, and whether it is known to write that; ``stream``: what is written for the stream."""

    node: Node
    name: str
    memory: dict[str, bool]
    stream: str


def all_are_non_blocking(code: bytes) -> bool:
    """Whether every stream that the file makes is one that does not wait for the default stream."""
    return all(NON_BLOCKING in match[0] for match in _CREATES.finditer(code))


def is_made(stream: str, body: Body) -> bool:
    """Whether the stream is one that the file makes, as far as its name tells. A smart pointer was made by a function."""
    if PATH.fullmatch(stream) is None or is_parameter(stream, body):
        return False
    name, code = last_name(stream.removesuffix(".get()")), body.source.code
    made = stream.endswith(".get()") or name in _made(code)
    return made and not _may_be_another(name, code)


@lru_cache(maxsize=256)
def _may_be_another(name: str, code: bytes) -> bool:
    """Whether a variable or member of the name is set to more than NULL, or initialised with something."""
    return re.search(_SET.replace(b"NAME", name.encode()), code) is not None


@lru_cache(maxsize=1)
def _made(code: bytes) -> frozenset[str]:
    return frozenset(last_name(match[1].decode(errors="replace").strip()) for match in _CREATES.finditer(code))


def last_name(path: str) -> str:
    return re.split(r"\W+", path)[-1]


def is_parameter(name: str, body: Body) -> bool:
    declared = (enclosing(each.node, "parameter_declaration", "compound_statement") for each in body.declarations(name))
    return any(around is not None and around.type == "parameter_declaration" for around in declared)


def works_on_streams(body: Body) -> Iterator[Work]:
    """Launches, copies, sets and frees on streams that the file makes, in no order."""
    for launch in body.launches:
        shape = shape_of(launch)
        if len(shape) > 3 and is_made(stream := "".join(shape[3].decode(errors="replace").split()), body):
            name = field_text(launch, "function").partition("<")[0]
            given = [plain(each) for each in arguments_of(launch)]
            memory = {
                each: kernels.how(body.source.code, name, at, len(given)) == "writes" for at, each in enumerate(given)
            }
            yield Work(launch, name, memory, stream)
    for call in body.calls:
        stream = stream_of(call) if call.name.endswith("Async") else ""
        if is_made(stream, body):
            yield Work(call.node, call.name, _memory(call), stream)


def stream_of(call: Written) -> str:
    """What is written for the stream of the call; empty if it has none."""
    found = meaning(call.name)
    roles = found.entry_point.roles if found is not None else ()
    names = [role.parameter for role in roles if role.verb is Verb.ON and role.kind is Kind.STREAM and role.parameter]
    at = found.entry_point.index[names[0]] if found is not None and names else len(call.arguments)
    return plain(call.arguments[at]) if at < len(call.arguments) else ""


def _memory(call: Written) -> dict[str, bool]:
    found = meaning(call.name)
    roles = [*found.named, *found.ended] if found is not None else []
    return {
        plain(call.arguments[at]): role.verb is not Verb.READS
        for at, role in roles
        if role.verb in (Verb.READS, Verb.WRITES, Verb.FREES) and at < len(call.arguments)
    }


def nothing_waits_between(one: Node, other: Node, body: Body) -> bool:
    """Whether nothing is called between the two works that may wait."""
    first, last = sorted((one, other), key=lambda node: node.start_byte)
    if last.start_byte - first.end_byte > _LONGEST:
        return False
    between = calls_in(body.body, first.end_byte, last.start_byte)
    return all(_is_quiet(each, field_text(each, "function"), body) for each in between)


def _is_quiet(call: Node, name: str, body: Body) -> bool:
    known = CUDA.fullmatch(name) or is_plain(name) or _OF_LIBRARY.fullmatch(name)
    return bool(known) or is_launch(call) or is_check(name, body.source.code)


def plain(node: Node) -> str:
    """What is written there, without spaces."""
    return "".join(text_of(node).split())
