"""Host functions of streams and graphs that call CUDA."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cuvet.catalog import Verb
from cuvet.findings import Finding
from cuvet.rules.stream.call_in_host_function import StreamCallInHostFunction
from cuvet.source.calls import called_back, meaning
from cuvet.source.languages.cpp import LAMBDA, Definition
from cuvet.source.syntax.parsing import Node, Source, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.reached import Functions, Reached
from cuvet.source.textual.written import Body, Written, body_of

_MENTIONS = (b"LaunchHostFunc", b"StreamAddCallback", b"AddHostNode", b"HostNodeSetParams")
_EXPECTED = re.compile(rb"NotPermitted|NOT_PERMITTED")
"""Of a test, perhaps, that the calls are refused."""
_FUNCTION = re.compile(
    r"(?:\([\w\s:*]{1,80}\)\s*|\w+_cast<[\w\s:*]{1,80}>\s*\(\s*)?&?\s*((?:\w+\s*::\s*)*[A-Za-z_]\w*)\s*\)?"
)
_SET_IN_PARAMETERS = re.compile(rb"\b(\w+)\s*\.\s*fn\s*=\s*&?\s*((?:\w+::)*\w+)\s*;")
_PARAMETERS = re.compile(rb"\b(?:cudaHostNodeParams|CUDA_HOST_NODE_PARAMS(?:_v\d)?)\s+(\w+)\b")


class _Given(NamedTuple):
    """A host function where CUDA is given it: its name or the lambda, and the call or the text that gives it."""

    function: str | Node
    at: Node
    body: Body


def calling_cuda(
    found: Iterable[Body], functions: Functions, definitions: list[Definition], source: Source
) -> Iterator[Finding]:
    """The first call of CUDA in each host function that the file gives to a stream or a graph."""
    if not any(each in source.text for each in _MENTIONS) or _EXPECTED.search(source.text):
        return
    told: set[int] = set()
    for given in first(each for body in found for each in _given(body)):
        body = _body_of(given, functions, definitions, source)
        reached = functions.first(body, _is_forbidden) if body is not None else None
        if body is not None and reached is not None and reached.call.start not in told:
            told.add(reached.call.start)
            yield _finding(given, body, reached)


def _finding(given: _Given, body: Body, reached: Reached) -> Finding:
    name = body.shown.strip("<>")
    api = reached.call.name
    through = f" through {reached.body.shown}" if reached.through else ""
    message = f"the host function {name} calls {api}{through}, and CUDA may refuse it"
    path = (
        given.body.step(given.at, f"CUDA is given {name} as a host function here"),
        *(each.step(node, f"{each.shown} calls a function here") for each, node in reached.through),
        reached.body.step(reached.call.node, f"{api} is called here"),
    )
    return reached.body.finding(
        StreamCallInHostFunction, reached.call.node, message, api=api, path=path, severity="note"
    )


def _given(body: Body) -> Iterator[_Given]:
    for call in body.calls:
        at = called_back(call.name)
        if at is None or at >= len(call.arguments):
            continue
        argument = call.arguments[at]
        if argument.type == "unary_expression" and argument.named_children:
            argument = argument.named_children[0]  # +[](void *) {...}
        match = _FUNCTION.fullmatch(text_of(argument))
        if argument.type == LAMBDA:
            yield _Given(argument, call.node, body)
        elif match is not None and not body.declarations(match[1]):
            yield _Given(match[1], call.node, body)
    if b"HostNode" in body.text:
        yield from _given_to_nodes(body)


def _given_to_nodes(body: Body) -> Iterator[_Given]:
    """Those that are set in the parameters of graph nodes."""
    variables = set(_PARAMETERS.findall(body.code))
    for match in _SET_IN_PARAMETERS.finditer(body.code):
        node = body.at(body.body.start_byte + match.start(2))
        if match[1] in variables and node is not None and not body.declarations(match[2].decode()):
            yield _Given(match[2].decode(), node, body)


def _body_of(given: _Given, functions: Functions, definitions: list[Definition], source: Source) -> Body | None:
    if isinstance(given.function, str):
        return functions.named(given.function, given.body.owner)
    lambdas = (each for each in definitions if each.node == given.function)
    definition = next(lambdas, None)
    return body_of(definition, source) if definition is not None else None


def _is_forbidden(call: Written) -> bool:
    """Whether CUDA says of the call that a host function must not make it: not of one that only asks."""
    found = meaning(call.name)
    if found is None or found.entry_point.api not in ("runtime", "driver"):
        return False
    return bool(found.entry_point.roles) and not found.told.does(Verb.QUERIES)
