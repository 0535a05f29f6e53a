"""Errors that a function accepts, and leaves to whoever asks for the last error next."""

import re
from collections.abc import Iterator
from itertools import islice

from cuvet.findings import Finding, Severity
from cuvet.rules.source.error_left import SourceErrorLeft
from cuvet.source.calls import LAST_ERROR
from cuvet.source.syntax.parsing import Node, field_text, text_of
from cuvet.source.textual.statuses import returns_status
from cuvet.source.textual.written import Body, Written

_ALWAYS = frozenset(
    "cudaErrorPeerAccessAlreadyEnabled cudaErrorPeerAccessNotEnabled cudaErrorHostMemoryAlreadyRegistered "
    "cudaErrorHostMemoryNotRegistered cudaErrorSetOnActiveProcess cudaErrorDeviceAlreadyInUse".split()
)
"""Errors after which there is what the call was to bring about, or nothing to do."""
_AT_TIMES = frozenset(
    "cudaErrorMemoryAllocation cudaErrorInvalidValue cudaErrorInvalidDevice cudaErrorInvalidDevicePointer cudaErrorNotSupported "
    "cudaErrorInvalidResourceHandle cudaErrorUnsupportedLimit cudaErrorNotPermitted".split()
)
"""Errors after which some functions do something else instead."""
_ERROR = re.compile(rb"\bcudaError(?!_t\b)[A-Z]\w{1,60}")
_NEVER_FAILS = frozenset({"cudaPointerGetAttributes"})
"""Since CUDA 11 it succeeds for memory that is not known (CUDA Runtime API, Unified Addressing)."""
_CLEARS = re.compile(
    rb"(?i)\b\w*(?:clear|reset|consume|drain|discard|swallow|ignore)\w*err\w*|\b\w*err\w*(?:clear|reset)\w*"
)
_ASKS = re.compile(rb"\bcuda(?:GetLast|PeekAtLast)Error\s*\(")
_FAILS = re.compile(
    rb"\b(?:throw|goto|FATAL)\b|\b(?:co_)?return\b(?!\s*(?:;|true\s*;|cudaSuccess\s*;))|=\s*(?:false|err\w*|status|\w*[rR]esult)\b"
    rb"|(?i:\b(?!cudaGetError)\w*(?:check|assert|fatal|panic|abort|throw|raise|fail|exit|die|err|terminat|stop|trap|exception)\w*)\s*\("
)
_CLEARED = re.compile(
    rb"(?:[;{})]|\(\s*void\s*\)|static_cast<\s*void\s*>\s*\(|std::ignore\s*=|\bauto\s+\w+\s*=|\b(?:while|else)\s*\(?)\s*cudaGetLastError\s*\(\s*\)|"
    rb"\breturn\s+cudaGetLastError\s*\(\s*\)\s*;"
)
"""Somebody clears the error, or a helper does so for others."""
_LEAVES = re.compile(rb"\b(?:return|continue|break)\b")
_MOST_COMPARED = 50
"""Comparisons of a function that are looked at: each costs a look at all that sets its status."""
_JOINS = frozenset({"parenthesized_expression", "condition_clause", "binary_expression", "unary_expression"})


def left(body: Body) -> Iterator[Finding]:
    """The first such call of the function."""
    code = body.code
    if not _ERROR.search(code) or _CLEARED.search(code) or _CLEARS.search(code):
        return
    names = sorted({match[0].decode() for match in _ERROR.finditer(code)} & (_ALWAYS | _AT_TIMES))
    compared = ((name, *each) for name in names for each in body.identifiers(name))
    for name, node, parent in islice(compared, _MOST_COMPARED):
        call = _compared(node, parent, body)
        if call is not None and _goes_on(parent, name, call, body):
            yield _finding(call, parent, name, body)
            return


def _finding(call: Written, compared: Node, name: str, body: Body) -> Finding:
    asks = [each for each in body.calls if each.name in LAST_ERROR and each.start > compared.end_byte][:1]
    source = body.source.code
    once = (
        body.name == "main" and call.name == "cudaDeviceEnablePeerAccess"
    )  # nobody has enabled it before, as far as the file tells
    asked = _ASKS.search(source) is not None and _CLEARED.search(source) is None
    severity: Severity = "warning" if asked and not once else "note"
    later = "".join(f", and line {body.line(each.node)} gets it" for each in asks)
    message = f"{name} is accepted, and stays the last error of the thread{later}"
    path = (
        body.step(call.node, f"{call.name} may return {name} here"),
        body.step(compared, "the function goes on after this error"),
        *(body.step(each.node, "the last error is asked for here") for each in asks),
    )
    return body.finding(SourceErrorLeft, call.node, message, api=call.name, severity=severity, path=path)


def _compared(node: Node, parent: Node, body: Body) -> Written | None:
    """The call of the runtime whose status is compared with the name."""
    if parent.type != "binary_expression" or field_text(parent, "operator") not in ("==", "!="):
        return None
    left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
    other = right if left == node else left
    if other is None:
        return None
    calls = [call for call in body.calls if call.name.startswith("cuda") and call.name not in LAST_ERROR]
    within = [call for call in calls if other.start_byte <= call.start and call.end <= other.end_byte]
    if not within and other.type == "identifier":
        places = _set(text_of(other), body, before=node.start_byte)
        within = [call for call in calls if call.variable == text_of(other) and places and places[-1] < call.end]
        within = [call for call in within if call.end < node.start_byte][-1:]
    found = within[0] if len(within) == 1 and returns_status(within[0].name) else None
    return found if found is not None and found.name not in _NEVER_FAILS else None


def _set(variable: str, body: Body, before: int) -> list[int]:
    """Where the variable is declared with a value, or assigned."""
    found: list[int] = []
    for node, parent in body.identifiers(variable):
        field = {"assignment_expression": "left", "init_declarator": "declarator"}.get(parent.type)
        if field is not None and parent.child_by_field_name(field) == node and node.start_byte < before:
            found.append(node.start_byte)
    return found


def _goes_on(compared: Node, name: str, call: Written, body: Body) -> bool:
    """Whether the function does not fail where the status is this error."""
    inner, around, same = compared, compared.parent, field_text(compared, "operator") == "=="
    while around is not None and around.type in _JOINS:
        if around.type == "unary_expression":
            same = not same
        inner, around = around, around.parent
    if around is None or around.type != "if_statement" or around.child_by_field_name("condition") != inner:
        return False
    if any(around.start_byte <= each.start < around.end_byte for each in body.calls if each.name in LAST_ERROR):
        return False  # which clears it
    then, otherwise = around.child_by_field_name("consequence"), around.child_by_field_name("alternative")
    arm = then if same else otherwise
    if arm is not None and _FAILS.search(body.source.code, arm.start_byte, arm.end_byte):
        return False
    if not same and (name not in _ALWAYS or then is None):
        return False
    if name in _AT_TIMES and then is not None and _LEAVES.search(body.source.code, then.start_byte, then.end_byte):
        return False  # and may tell somebody
    leaves = same and then is not None and _LEAVES.search(body.source.code, then.start_byte, then.end_byte)
    if (
        leaves
        or call.fate != "assigned"
        or any(at > compared.end_byte for at in _set(call.variable, body, around.end_byte))
    ):
        return True
    return not _is_read_after(call.variable, around.end_byte, body)


def _is_read_after(variable: str, end: int, body: Body) -> bool:
    """Whether the status is looked at once more, before another one is put into its place."""
    for node, parent in body.identifiers(variable):
        if node.start_byte >= end:
            return not (parent.type == "assignment_expression" and parent.child_by_field_name("left") == node)
    return False
