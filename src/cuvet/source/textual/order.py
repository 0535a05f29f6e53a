"""Work on two streams of the program that touches the same memory, where the events between the two do not order it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.findings import Finding
from cuvet.rules.memory.free_unordered import MemoryFreeUnordered
from cuvet.rules.race.between_streams import RaceBetweenStreams
from cuvet.rules.rule import Rule
from cuvet.source.quiet import copies_quietly
from cuvet.source.textual.made_streams import Work, last_name, nothing_waits_between, plain, works_on_streams
from cuvet.source.textual.written import Body, Written, block_of

_RECORD = re.compile(r"cu(?:da)?EventRecord(?:WithFlags)?")
_WAIT = re.compile(r"cu(?:da)?StreamWaitEvent")
_MOST_WORKS = 64
"""Of a function; of one that has more, the first are looked at."""


class _Between(NamedTuple):
    """How two works stand to each other: ``stale`` is the record, before the first, of an event that the second one's stream waits for."""

    stale: Written | None
    wait: Written | None


def unordered(body: Body) -> Iterator[Finding]:
    """The first work that follows another one, of the same block, on another stream, which it does not wait for."""
    if b"StreamCreate" not in body.source.text or b"BeginCapture" in body.text:
        return
    works = sorted(works_on_streams(body), key=lambda work: work.node.start_byte)[:_MOST_WORKS]
    if len({_named(work) for work in works}) < 2:
        return
    blocks = [block_of(work.node) for work in works]
    for at, later in enumerate(works):
        for before in range(at - 1, -1, -1):
            earlier = works[before]
            if blocks[before] is None or blocks[before] != blocks[at] or _named(earlier) == _named(later):
                continue
            found = _finding(earlier, later, body)
            if found is not None:
                yield found
                return


def _finding(earlier: Work, later: Work, body: Body) -> Finding | None:
    shared = _conflict(earlier, later)
    if not shared or not nothing_waits_between(earlier.node, later.node, body) or _is_set(shared, earlier, later, body):
        return None
    between = _between(earlier, later, body)
    frees = later.name.endswith("FreeAsync")
    if between is None or (between.stale is None and not frees):
        return None
    rule: type[Rule] = MemoryFreeUnordered if frees else RaceBetweenStreams
    line = body.line(earlier.node)
    message = (
        f"{later.name} on `{later.stream}` does not wait for {earlier.name} in line {line} on `{earlier.stream}`, "
        f"which works on `{shared}` too"
    )
    path = [body.step(earlier.node, f"{earlier.name} works on `{shared}` on `{earlier.stream}`")]
    if between.stale is not None and between.wait is not None:
        path.insert(0, body.step(between.stale.node, f"the event is recorded here, before {earlier.name}"))
        path.append(body.step(between.wait.node, f"`{later.stream}` waits for the event as it was recorded before"))
    return body.finding(rule, later.node, message, api=later.name, severity="note", path=tuple(path))


def _named(work: Work) -> str:
    """The last name of the stream: only streams of different ones are sure to be two."""
    return last_name(work.stream.removesuffix(".get()"))


def _conflict(earlier: Work, later: Work) -> str:
    """What both work on and one of them writes; empty if there is nothing, or the first one may have been waited for."""
    text = (earlier.node.text or b"") if earlier.name.startswith("cu") else b""
    to_host = b"DeviceToHost" in text or b"cudaMemcpyDefault" in text or earlier.name.startswith("cuMemcpyDtoH")
    if to_host or earlier.name.endswith("FreeAsync"):
        return ""
    both = (each for each, writes in earlier.memory.items() if each in later.memory and (writes or later.memory[each]))
    return next(both, "")


def _is_set(path: str, earlier: Work, later: Work, body: Body) -> bool:
    """Whether it may be something else at the second work than at the first."""
    between = body.source.code[earlier.node.end_byte : later.node.start_byte].decode(errors="replace")
    names = "|".join(map(re.escape, dict.fromkeys(re.findall(r"\w+", path))))
    return (
        re.search(rf"\b(?:{names})\b(?:\s*\[[^\]]*\])?\s*(?:[-+]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*(?:{names})\b", between)
        is not None
    )


def _between(earlier: Work, later: Work, body: Body) -> _Between | None:
    """None if the one may be ordered behind the other, by an event or by a copy that waits."""
    start, end = earlier.node.end_byte, later.node.start_byte
    calls = [call for call in body.calls if start <= call.start < end]
    for call in calls:
        if not copies_quietly(call.name, call.node.text or b""):
            return None
    waits = [call for call in calls if _WAIT.fullmatch(call.name) and _argument(call, 0) == later.stream]
    if not waits:
        return _Between(None, None)
    for wait in waits:
        records = [
            call for call in body.calls if _RECORD.fullmatch(call.name) and _argument(call, 0) == _argument(wait, 1)
        ]
        if len(records) != 1 or _argument(records[0], 1) != earlier.stream:
            return None
        if records[0].end > earlier.node.start_byte or block_of(records[0].node) != block_of(earlier.node):
            return None
    return _Between(records[0], waits[-1])


def _argument(call: Written, at: int) -> str:
    return plain(call.arguments[at]) if at < len(call.arguments) else ""
