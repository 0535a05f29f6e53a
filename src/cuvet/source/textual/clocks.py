"""Times that a clock of the host measures, and that end before the work that they are about."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.findings import Finding
from cuvet.rules.source.clock_not_awaited import SourceClockNotAwaited
from cuvet.source.quiet import definitions
from cuvet.source.syntax.parsing import Node, enclosing, field_text, text_of
from cuvet.source.textual.awaiting import is_captured
from cuvet.source.textual.bounds import MOST
from cuvet.source.textual.following import Following, statement_of
from cuvet.source.textual.written import Body, Written

_OF_HOST = (
    rb"(?:std::)?clock\(\)|(?:\w+::)*\w*[cC]lock\w*::now\(\)|omp_get_wtime\(\)|MPI_Wtime\(\)|(?:cpu|get|wall)?_?[sS]econds?\(\)"
    rb"|(?:get_?|read_?)?(?:cpu|wall|current|real)?_?(?:[tT]ime|[wW][tT]ime|[cC]lock)(?:_?(?:ms|us|s|sec|Ms|Us|Sec))?\((?:NULL|nullptr|0)?\)"
)
_READ = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:\(\s*\w+\s*\)\s*)?(%s)\s*;" % _OF_HOST)
_FILLED = re.compile(
    rb"\b(gettimeofday)\s*\(\s*&\s*(\w+)\s*,|\b(clock_gettime)\s*\(\s*\w+\s*,\s*&\s*(\w+)\s*\)|\b(QueryPerformanceCounter)\s*\(\s*&\s*(\w+)\s*\)"
)
_INLINE = re.compile(rb"(%s)\s*-\s*(\w+)\b" % _OF_HOST)
_LESS = re.compile(rb"\)\s*-\s*\w")
"""What such a difference has in any case."""
_CLOCK = re.compile(rb"(?i)clock|time|seconds?\(|PerformanceCounter")
_INTENDED = re.compile(
    rb"(?i)launch|enqueue|submit|dispatch|overhead|async|issue|schedul|queue|overlap|host|cpu|stall|block|return|immediate|latency"
)
"""Names and texts that say that the time of starting the work is meant, or something else than the work."""
_ASKED_OTHERWISE = re.compile(rb"(?i)sleep|\b(?:EXPECT|ASSERT|REQUIRE|CHECK_[LG][TE])\w*\s*\(")
_MEASURES = re.compile(rb"LAUNCH_BLOCKING|EventElapsedTime")
"""The file has other times, or launches that wait."""
_NAMED = re.compile(rb"\"[^\"\n]*\"")
_WAITS = re.compile(rb"(?i)sync|wait|finish|flush|join|thrust|device_vector|\[|\bwhile\b|\bdo\b|\bfor\b")
"""What may wait between the work and the reading, also by its name, or goes on with other work of the host."""
_OF_CLOCK_WAITS = re.compile(rb"(?i)sync|wait|cu(?:da)?[A-Z]")
_WORK = re.compile(r"cu(?:da)?Memset\w*Async|cu(?:da)?LaunchKernel\w*|cu(?:da)?GraphLaunch")
"""A copy from or to memory of the host may wait."""
_MINUS = rb"-(?![->=]|\s*\d)"
_LOOKED_AT = 2000
"""Bytes behind the second reading in which the difference may be taken."""


class Reading(NamedTuple):
    """Of the clock of that name: into which variable, empty if the difference to ``since`` is taken at once."""

    start: int
    end: int
    clock: bytes
    variable: bytes
    since: bytes = b""


def not_awaited(body: Body) -> Iterator[Finding]:
    """The first of the function."""
    work = sorted(_work(body), key=lambda node: node.start_byte) if _CLOCK.search(body.text) else []
    readings = sorted(_readings(body))[:MOST] if work and not _MEASURES.search(body.source.text) else []
    for at, second in enumerate(readings[1:], 1):
        first = next((each for each in readings[at - 1 :: -1] if _is_difference(each, second, body)), None)
        last = next((each for each in reversed(work) if each.end_byte <= second.start), None)
        if first is None or last is None or last.start_byte < first.end or not _is_in_order(first, last, second, body):
            continue
        read = body.at(second.start)
        if read is None or _may_wait(last, second, body) or _is_intended(first, second, readings, body):
            continue
        message = "the clock is read while the GPU may still be at work, so the time is that of starting the work"
        path = (body.step(last, "nothing waits for this before the clock is read"),)
        yield body.finding(SourceClockNotAwaited, read, message, api=_name(last), path=path)
        return


def _readings(body: Body) -> Iterator[Reading]:
    start = body.body.start_byte
    for match in _READ.finditer(body.code):
        yield Reading(start + match.start(), start + match.end(), match[2], match[1])
    for match in _FILLED.finditer(body.code):
        clock, variable = (each for each in match.groups() if each)
        yield Reading(start + match.start(), start + match.end(), clock, variable)
    for match in _INLINE.finditer(body.code) if _LESS.search(body.code) else ():
        yield Reading(start + match.start(), start + match.end(), match[1], b"", match[2])


def _work(body: Body) -> Iterator[Node]:
    """What is started on the GPU and not waited for."""
    yield from body.launches
    for call in body.calls:
        if _WORK.fullmatch(call.name):
            yield call.node


def _is_difference(first: Reading, second: Reading, body: Body) -> bool:
    """Whether the time between the two is taken."""
    if second.since:
        return second.since == first.variable
    if not first.variable or first.variable == second.variable:
        return False
    rest = body.code[second.end - body.body.start_byte :][:_LOOKED_AT]
    rest = re.split(rb"\b%s\s*=(?!=)" % second.variable, rest, maxsplit=1)[0]
    pattern = rb"\b%s\b[^;-]{0,60}%s[^;]{0,60}?\b%s\b" % (second.variable, _MINUS, first.variable)
    return re.search(pattern, rest) is not None  # before its variable is given another value


def _is_in_order(first: Reading, last: Node, second: Reading, body: Body) -> bool:
    """Whether the clock is read twice in one block, and the work is sure to be started in between."""
    one, two = _place(first, body), _place(second, body)
    if one is None or two is None or one.parent != two.parent or one.parent is None:
        return False
    if "if_statement" in (one.type, two.type) and field_text(one, "condition") != field_text(two, "condition"):
        return False
    inside = last.start_byte < one.parent.end_byte
    return inside and enclosing(last, "lambda_expression") == enclosing(one, "lambda_expression")


def _place(reading: Reading, body: Body) -> Node | None:
    """The statement that reads the clock; the ``if`` around it, if it begins what that does."""
    node = body.at(reading.start)
    statement = statement_of(node) if node is not None else None
    block = statement.parent if statement is not None else None
    around = block.parent if block is not None else None
    is_branch = around is not None and around.type == "if_statement"
    return (
        around if is_branch and around is not None and around.child_by_field_name("alternative") is None else statement
    )


def _may_wait(last: Node, second: Reading, body: Body) -> bool:
    """Whether anything between the two, or the clock itself, may wait for the work."""
    code = body.source.code
    clock = re.split(rb"\W+", second.clock.rstrip(b"()"))[0 if b"::" in second.clock else -1]
    if any(_OF_CLOCK_WAITS.search(each) for each in definitions(clock, code)) or _WAITS.search(
        code, last.end_byte, second.start
    ):
        return True
    if b"::now" in second.clock and re.search(
        rb"\b(?:class|struct)\s+%s\b" % re.split(rb"\s*::\s*", second.clock)[-2], code
    ):
        return True
    if is_captured(Written("", last, (), "dropped"), body):
        return True
    following = Following(code, frozenset())
    for statement in following.after(last):
        waits = following.first_wait(statement)
        if statement.start_byte <= second.start < statement.end_byte:
            return waits < second.start
        if waits <= statement.end_byte or statement.type.startswith("preproc"):
            return True
    return True


def _is_intended(first: Reading, second: Reading, readings: list[Reading], body: Body) -> bool:
    """Whether it is known that this is not the time of the work: it is named so, or the function measures that too."""
    start, end = first.start - body.body.start_byte, second.end - body.body.start_byte
    behind = body.code[end : end + _LOOKED_AT // 4]
    told = b" ".join(match[0] for match in _NAMED.finditer(body.text[start : end + _LOOKED_AT]))
    names = (told, body.name.encode(), first.variable, second.variable, _taker(second, body))
    if any(_INTENDED.search(each) for each in names) or _ASKED_OTHERWISE.search(behind):
        return True
    later = (each for each in readings if each.start > second.start)
    together = rb"\(\s*%s\s*,\s*%s\s*\)"
    return any(
        _is_difference(first, each, body)
        or _is_difference(second, each, body)
        or re.search(together % (first.variable, each.variable or b"$"), body.code) is not None
        for each in later
    )


def _taker(second: Reading, body: Body) -> bytes:
    """What is given the difference: ``stats.blocked += end - start;``."""
    rest = body.code[second.end - body.body.start_byte :][:_LOOKED_AT]
    match = re.search(rb"([\w.>-]+)\s*[-+]?=[^;=]*\b%s\b[^;]*%s" % (second.variable or second.since, _MINUS), rest)
    return match[1] if match is not None else b""


def _name(work: Node) -> str:
    return field_text(work, "function").partition("<")[0].strip() or text_of(work)[:40]
