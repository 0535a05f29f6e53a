"""Times that are asked for before the GPU has reached the second event."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Severity
from cuvet.rules.source.elapsed_not_awaited import SourceElapsedNotAwaited
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import enclosing, text_of
from cuvet.source.textual.following import statement_of
from cuvet.source.textual.written import Body, Written, block_of

ASKS = frozenset({"cudaEventElapsedTime", "cuEventElapsedTime", "cuEventElapsedTime_v2"})
RECORDS = frozenset({"cudaEventRecord", "cuEventRecord", "cudaEventRecordWithFlags", "cuEventRecordWithFlags"})
_WAITS_FOR_ONE = frozenset({"cudaEventSynchronize", "cuEventSynchronize"})
_CALLED = re.compile(rb"(>{1,3}|[A-Za-z_]\w*)\s*\((?=\s*(\w*))")
"""What is called, and the first word of what it is given, which may be called too."""
_WAITS_FOR_NOTHING = re.compile(
    rb">>>|if|sizeof|\w+_cast|dim3|(?:f|s|sn)?printf|cudaGetLastError|cudaPeekAtLastError|cudaGetErrorString|cudaStreamWaitEvent|cudaMemset\w*Async|"
    rb"cu(?:da)?Event(?:Record|RecordWithFlags|Synchronize|ElapsedTime|ElapsedTime_v2|Create|CreateWithFlags)"
)
_CHECKS = re.compile(rb"\w*(?i:check|err|assert|safe|try|call)\w*|CU\w*[A-Z]")
_WAITS = re.compile(rb"(?i)\b(\w*(?:sync|wait|join|sleep)\w*)")
_LOOPS = re.compile(rb"\b(?:while|for|do)\b")
_MOST_NAMES = 40
"""Functions behind a check; of more it is not known that none of them waits."""
_HANDLES = re.compile(rb"(?i)not_?ready|\bgoto\b|#")
"""The function knows of the answer, or jumps, or is built in several ways."""


def not_awaited(body: Body) -> Iterator[Finding]:
    """The first such call of the function."""
    asking = [call for call in body.calls if call.name in ASKS and len(call.arguments) == 3 and not _is_asked(call)]
    if not asking or _HANDLES.search(body.code):
        return
    for call in asking:
        event = _event(call, 2)
        before = [each for each in body.calls if each.end <= call.start and each.arguments]
        record = next((each for each in before[::-1] if each.name in RECORDS and _event(each, 0) == event), None)
        if record is not None and _comes_before(record, call) and not _may_wait(record, call, body):
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


def _is_asked(call: Written) -> bool:
    """Whether something else than a check decides by the status."""
    around = call.node.parent
    return call.fate not in ("dropped", "discarded") and (around is None or around.type != "argument_list")


def _comes_before(record: Written, call: Written) -> bool:
    """Whether the record is made each time before the call."""
    block = statement_of(record.node).parent
    return (
        block is not None
        and block_of(record.node) == block.id
        and call.start < block.end_byte
        and enclosing(record.node, "lambda_expression") == enclosing(call.node, "lambda_expression")
    )


def _may_wait(record: Written, call: Written, body: Body) -> bool:
    """Whether something between the two may wait for the event, or change which event is meant."""
    code = body.source.code
    called = list(_CALLED.finditer(code, record.end, call.end))
    if _LOOPS.search(code, record.end, call.start) or not all(_is_quiet(match, code) for match in called):
        return True
    if any(match[1].decode() not in _WAITS_FOR_ONE for match in _WAITS.finditer(code, record.end, call.start)):
        return True  # a macro is given the name
    first, event = _event(call, 1), _event(call, 2)
    waits = (each for each in body.calls if each.name in _WAITS_FOR_ONE and record.end <= each.start < call.start)
    if any(not each.arguments or _event(each, 0) != first or not first.isidentifier() for each in waits):
        return True
    words = b"|".join(word.encode() for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", event)))
    changed = rb"(?:\+\+|--)\s*(?:%s)\b|\b(?:%s)\s*(?:[-+*/%%^|&]?=(?!=)|\+\+|--)" % (words, words)
    return re.search(changed, code[record.end : call.start]) is not None


def _is_quiet(match: re.Match[bytes], code: bytes) -> bool:
    """Whether what is called is sure not to wait: it is of CUDA and does not, or it checks a call of CUDA."""
    if _WAITS_FOR_NOTHING.fullmatch(match[1]):
        return True
    checks = _CHECKS.fullmatch(match[1]) is not None and match[2].startswith(b"cu")
    return checks and not _waits_in_file(match[1], code)


def _waits_in_file(name: bytes, code: bytes) -> bool:
    """Whether the file defines a function or a macro of that name that waits, by itself or by another one."""
    waiting, seen = [name], {name}
    while waiting:
        for inside in _definitions(waiting.pop(), code):
            if _WAITS.search(inside):
                return True
            called = {match[1] for match in _CALLED.finditer(inside) if match[1][:1] != b">"} - seen
            waiting += called
            seen |= called
            if len(seen) > _MOST_NAMES:
                return True
    return False


def _definitions(name: bytes, code: bytes) -> Iterator[bytes]:
    macro = rb"#[ \t]*define[ \t]+%s\b(?:[^\n]*\\\n)*[^\n]*" % name
    function = rb"\b%s\s*\([^;{}]{0,400}\)[^;{}()]{0,80}\{" % name
    for match in re.finditer(macro + rb"|" + function, code):
        yield match[0] if match[0][:1] == b"#" else code[match.end() : block_end(code, match.end())]
