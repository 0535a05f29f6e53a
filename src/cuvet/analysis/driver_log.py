"""The driver's own words: its error log (``CUDA_LOG_FILE``), attached to the findings that it is about.

Lines are ``[Time][TID][Source][Severity] Message`` (CUDA Programming Guide, "Error Log Management"). What a failing call has to say
comes first, then ``Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2``; many calls have only that line (``cuda_log`` in
``knowledge/facts``). TID is no thread id of the kernel: in NVIDIA's example it is 137216133754880. So the log's threads are told by the
order of their failing calls, and where that leaves a doubt nothing is attached.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from cuvet import catalog
from cuvet.findings import Finding
from cuvet.regular import read_regular

FILE = "driver.log"
"""In the directory of a recording."""
MOST_BYTES = 4 << 20
"""Of a longer log, the rest is not read."""
_LINE = re.compile(r"\[(\d\d):(\d\d):(\d\d)\.(\d{3})\]\[(\d+)\]\[(\w+)\]\[(\w)\] (.*)")
_RETURNING = re.compile(r"Returning (\d+) \(\w+\) from (\w+)")
_DAY_MS = 24 * 60 * 60 * 1000
_ROUNDING_MS = 2
"""A message is not of a call that began more than this after it."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Failure(NamedTuple):
    """A call that failed, as it was recorded. ``number`` counts the calls of the thread; ``name`` as the catalog has it."""

    process: int
    thread: int
    number: int
    name: str
    status: int
    duration_ns: int


class Message(NamedTuple):
    time_ms: int
    """Of the day."""
    text: str


class Said(NamedTuple):
    """What the log says about one failing call. ``thread``: the log's number for it."""

    thread: int
    name: str
    status: int
    time_ms: int
    messages: tuple[Message, ...]


def attach(directory: Path, findings: Sequence[Finding], failures: Iterable[Failure]) -> tuple[Finding, ...]:
    """The findings with what the directory's log, if there is one, says about their calls."""
    words = _by_call(list(failures), list(read(text_of(directory / FILE, MOST_BYTES))))
    return attached(findings, words, "driver_log")


def text_of(log: Path, most: int) -> str:
    """At most so many bytes of a log; empty if there is none."""
    try:
        return read_regular(log, most, follow=False).decode("utf-8", "replace")
    except OSError:
        return ""


def attached(
    findings: Iterable[Finding], words: Mapping[tuple[int, int, int], tuple[str, ...]], field: str
) -> tuple[Finding, ...]:
    """The findings with the words about their calls (by process, thread and number) in that field."""
    calls = ((each, (each.site.process, each.site.thread, each.site.call)) for each in findings)
    return tuple(msgspec.structs.replace(each, **{field: words.get(call, ())}) for each, call in calls)


def read(text: str) -> Iterator[Said]:
    """The failing calls of a log, in its order. A line of another form may have cut any thread's messages off: they are dropped."""
    waiting: dict[int, list[Message]] = defaultdict(list)
    by_symbol = catalog.driver().by_symbol
    for line in text.splitlines():
        parts = _LINE.fullmatch(line)
        if parts is None:
            waiting.clear()
            continue
        hours, minutes, seconds, milliseconds, thread = map(int, parts.groups()[:5])
        source, severity, message = parts.groups()[5:]
        time_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
        returning = _RETURNING.fullmatch(message)
        if (source, severity) != ("CUDA", "E"):
            continue
        if returning is None:
            waiting[thread].append(Message(time_ms, message))
            continue
        messages = tuple(waiting.pop(thread, ()))
        if returning[2] in by_symbol:
            yield Said(thread, by_symbol[returning[2]].name, int(returning[1]), time_ms, messages)


def _by_call(failures: list[Failure], said: list[Said]) -> dict[tuple[int, int, int], tuple[str, ...]]:
    """(process, thread, call number) to the messages about that call."""
    recorded = grouped(((each.process, each.thread), each) for each in failures)
    logged = grouped((each.thread, each) for each in said)
    words = {}
    for calls, answers in _same_threads(list(recorded.values()), list(logged.values())):
        answers_of = grouped(((each.name, each.status), each) for each in answers)
        for kind, alike in grouped(((each.name, each.status), each) for each in calls).items():
            if len(alike) == len(answers_of.get(kind, ())):
                for call, answer in zip(alike, answers_of[kind], strict=True):
                    words[call.process, call.thread, call.number] = _of_call(call, answer)
    return words


def _same_threads(
    recorded: list[list[Failure]], logged: list[list[Said]]
) -> Iterator[tuple[list[Failure], list[Said]]]:
    """A recorded thread and a logged one are the same if there are no others, or if they alone failed in the same calls in this order."""
    if len(recorded) == len(logged) == 1:
        yield recorded[0], logged[0]
        return
    recorded_as = grouped((tuple((each.name, each.status) for each in calls), calls) for calls in recorded)
    logged_as = grouped((tuple((each.name, each.status) for each in answers), answers) for answers in logged)
    for order, threads in recorded_as.items():
        if len(threads) == len(logged_as.get(order, ())) == 1:
            yield threads[0], logged_as[order][0]


def _of_call(call: Failure, answer: Said) -> tuple[str, ...]:
    longest_ms = call.duration_ns // 10**6 + _ROUNDING_MS
    return tuple(each.text for each in answer.messages if (answer.time_ms - each.time_ms) % _DAY_MS <= longest_ms)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in order."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups
