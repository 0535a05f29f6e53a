"""Streams that a capture forks to, and that nothing of the file can join again: no event is ever recorded on them."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.capture.unjoined import CaptureUnjoined
from cuvet.source.calls import meaning
from cuvet.source.syntax.parsing import Node, Source, text_of, without_comments
from cuvet.source.textual.reached import all_are_known
from cuvet.source.textual.written import Body, Written

_STREAM_OF_LAUNCH = 3
_MOST_CAPTURES, _MOST_FORKS = 32, 16
"""Captures of a file, and forks of a function, that are looked at."""
_PRINTS = frozenset({b"printf", b"fprintf"})
_JOINS = re.compile(rb"(?i:(?:\.|->|::)\s*\w*(?:record|join|wait|sync|fork|event|end)\w*\s*\()")
"""Functions of objects that may record an event."""
_PLACE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*")


class _Fork(NamedTuple):
    """A wait with which the stream ``to`` joins what the stream ``of`` captures."""

    wait: Written
    of: str
    to: str


def unjoined(found: Sequence[Body], source: Source) -> Iterator[Finding]:
    """The first fork of each function."""
    if b"BeginCapture" not in source.text or b"WaitEvent" not in source.text:
        return
    recorded = {_last(_stream(call, Verb.ON)) for body in found for call in body.calls if _does(call, Verb.RECORDS)}
    quiet = {each.name.encode() for each in found if not any(_does(call, Verb.RECORDS) for call in each.calls)}
    captures = list(islice(_captures(found), _MOST_CAPTURES))
    for body in found if captures else ():
        for fork in islice(_forks(body), _MOST_FORKS) if b"#" not in body.code else ():
            begin = _begin(fork, body, captures) if _last(fork.to) not in recorded else None
            if begin is None:
                continue
            where, call, end = begin
            captured, rest = source.code[call.end : end], source.code[fork.wait.end : body.body.end_byte]
            if not _is_seen(captured, body.name, quiet) or not _is_seen(rest, body.name, quiet):
                continue
            work = next((each for each in _work_on(fork.to, body) if each.start_byte > fork.wait.end), None)
            if work is not None:
                message = f"`{fork.to}` joins the capture here, and no event is recorded on it with which `{fork.of}` could wait for it"
                path = (
                    where.step(call.node, "the capture begins here"),
                    body.step(work, f"`{fork.to}` gets work that the end of the capture needs to be joined"),
                )
                api = fork.wait.name
                yield body.finding(CaptureUnjoined, fork.wait.node, message, api=api, severity="note", path=path)
                break


def _forks(body: Body) -> Iterator[_Fork]:
    """Waits for an event that the function recorded on another stream before."""
    recorded: dict[str, str] = {}
    for call in sorted(body.calls, key=lambda each: each.start):
        if _does(call, Verb.RECORDS):
            recorded[_stream(call, Verb.RECORDS, Kind.EVENT)] = _stream(call, Verb.ON)
        elif _does(call, Verb.WAITS):
            of, to = recorded.get(_stream(call, Verb.WAITS, Kind.EVENT), ""), _stream(call, Verb.ON)
            if of and _PLACE.fullmatch(of) and _PLACE.fullmatch(to) and of != to:
                yield _Fork(call, of, to)


def _captures(found: Sequence[Body]) -> Iterator[tuple[Body, Written, int]]:
    """Where captures begin, and where the first end is behind that, in the same function."""
    for body in found:
        ends = [each.end for each in body.calls if _does(each, Verb.ENDS_CAPTURE)]
        for call in body.calls if ends else ():
            end = min((each for each in ends if each > call.end), default=0)
            if end and _does(call, Verb.BEGINS_CAPTURE):
                yield body, call, end


def _begin(fork: _Fork, body: Body, captures: Sequence[tuple[Body, Written, int]]) -> tuple[Body, Written, int] | None:
    """The capture in which the fork is made: it begins before it, or before a call of its function."""
    for each, call, end in captures:
        if _last(text_of(call.arguments[0])) != _last(fork.of):
            continue
        if each is body and call.end <= fork.wait.start < end:
            return each, call, end
        if each is not body and any(call.end <= at < end for at in each.words(body.name)):
            return each, call, end
    return None


def _does(call: Written, verb: Verb) -> bool:
    known = meaning(call.name)
    return known is not None and bool(call.arguments) and known.entry_point.does(verb)


def _stream(call: Written, verb: Verb, kind: Kind = Kind.STREAM) -> str:
    """The argument that is the stream of a call, or the event with another verb."""
    known = meaning(call.name)
    for at, role in known.named if known is not None else ():
        if role.verb is verb and role.kind is kind and at < len(call.arguments):
            return "".join(text_of(call.arguments[at]).split()).removeprefix("this->")
    return ""


def _last(place: str) -> str:
    return re.split(r"\W+", place)[-1]


def _work_on(stream: str, body: Body) -> Iterator[Node]:
    """Launches and other work that the function enqueues on the stream."""
    for launch in body.launches:
        syntax = next((child for child in launch.children if child.type == "kernel_call_syntax"), None)
        given = without_comments(syntax)
        if len(given) > _STREAM_OF_LAUNCH and "".join(text_of(given[_STREAM_OF_LAUNCH]).split()) == stream:
            yield launch
    for call in body.calls:
        if _stream(call, Verb.ON) == stream and not _does(call, Verb.WAITS) and not _does(call, Verb.RECORDS):
            yield call.node


def _is_seen(code: bytes, own: str, quiet: set[bytes]) -> bool:
    """Whether all that is called there is CUDA's, a check of such a call, the function itself, or one of the file that records no event."""
    return all_are_known(code, quiet | _PRINTS | {own.encode()}) and _JOINS.search(code) is None
