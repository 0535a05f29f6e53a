"""Times that are asked for before the GPU has reached the second event."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Severity
from cuvet.rules.source.elapsed_not_awaited import SourceElapsedNotAwaited
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.following import statement_of
from cuvet.source.textual.written import Body, Written, block_of

_ASKS = frozenset({"cudaEventElapsedTime", "cuEventElapsedTime", "cuEventElapsedTime_v2"})
_RECORDS = frozenset({"cudaEventRecord", "cuEventRecord", "cudaEventRecordWithFlags", "cuEventRecordWithFlags"})
_WAITS_FOR_ONE = frozenset({"cudaEventSynchronize", "cuEventSynchronize"})
_WAITS = re.compile(rb"(?i)\b(\w*(?:sync|wait|join|sleep)\w*)")
_CALLED = re.compile(rb"([A-Za-z_]\w*|>)\s*\(")
_WAITS_FOR_NOTHING = re.compile(
    rb"if|for|while|sizeof|return|\w+_cast|dim3|(?:f|s|sn)?printf|\w*(?i:check|err|assert|safe|try|call)\w*|CU\w*[A-Z]|"
    rb"cu(?:da)?Event(?:Record|RecordWithFlags|Synchronize|ElapsedTime|ElapsedTime_v2|Create|CreateWithFlags)"
)
_HANDLES = re.compile(rb"(?i)not_?ready|\bgoto\b|#")
"""The function knows of the answer, or jumps, or is built in several ways."""


def not_awaited(body: Body) -> Iterator[Finding]:
    """The first such call of the function."""
    asking = [call for call in body.calls if call.name in _ASKS and len(call.arguments) == 3]
    if not asking or _HANDLES.search(body.code):
        return
    for call in asking:
        event = _event(call, 2)
        before = [each for each in body.calls if each.end <= call.start and each.arguments]
        record = next((each for each in before[::-1] if each.name in _RECORDS and _event(each, 0) == event), None)
        if record is not None and _comes_before(record, call) and not _may_wait(record, call, event, body):
            message = f"the time up to event `{event}` is asked for, and nothing has waited for it"
            path = (
                body.step(record.node, f"`{event}` is recorded here"),
                body.step(call.node, "the time is asked for here, whether the GPU has reached it or not"),
            )
            earlier = [each for each in body.calls if each.end <= record.start]
            idle = bool(earlier) and "Synchronize" in earlier[-1].name
            severity: Severity = "note" if idle else "warning"
            yield body.finding(SourceElapsedNotAwaited, call.node, message, api=call.name, path=path, severity=severity)
            return


def _event(call: Written, at: int) -> str:
    return "".join(text_of(call.arguments[at]).split())


def _comes_before(record: Written, call: Written) -> bool:
    """Whether the record is made each time before the call."""
    block = statement_of(record.node).parent
    return block is not None and block_of(record.node) == block.id and call.start < block.end_byte


def _may_wait(record: Written, call: Written, event: str, body: Body) -> bool:
    """Whether something between the two may wait for the event."""
    code = body.source.code
    called = _CALLED.finditer(code, record.end, call.start)
    if any(_WAITS_FOR_NOTHING.fullmatch(match[1]) is None for match in called):
        return True
    if any(match[1].decode() not in _WAITS_FOR_ONE for match in _WAITS.finditer(code, record.end, call.start)):
        return True  # a macro is given the name
    waits = (each for each in body.calls if each.name in _WAITS_FOR_ONE and record.end <= each.start < call.start)
    return any(_event(each, 0) == event for each in waits)
