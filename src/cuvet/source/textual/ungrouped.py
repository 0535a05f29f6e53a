"""Loops in which one thread calls NCCL for one device after the other, outside a group."""

import re
from collections.abc import Iterator, Sequence

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding, Severity
from cuvet.rules.source.group_missing import SourceGroupMissing
from cuvet.source.calls import meaning
from cuvet.source.syntax.parsing import Node, enclosing, field_text, text_of
from cuvet.source.textual.written import Body, Written, called

_NCCL = re.compile(rb"\bnccl[A-Z]\w{1,40}(?=\s{0,9}\()")
_GROUPED = re.compile(rb"[Gg]roup|GROUP|omp\s+parallel|\bfork\s*\(")
"""Also what an object of its own class may start, and what makes each turn run in a thread or process of its own."""
_LOOPS = ("for_statement", "for_range_loop", "while_statement", "do_statement", "lambda_expression")
_COUNTER = re.compile(r"(?:[\w:]+[\s&*]+)*([A-Za-z_]\w*)\s*(?:=|\{)[^,]*;?")
_ONCE = re.compile(r"(?:<|!=)\s*1\b|<=\s*0\b")
_ALL_OF_PROCESS = re.compile(rb"\bncclCommInitAll\s*\(")
_DEEPEST = 4
"""Callers of callers that are looked for."""
_SELECTS = re.compile(rb"\b(?:cudaSetDevice|cuCtxSetCurrent|cuCtxPushCurrent)\s*\(([^;]{0,200})")


def outside_group(found: Sequence[Body]) -> Iterator[Finding]:
    """The first call of each function."""
    for body in found:
        if b"nccl" not in body.text or b"for" not in body.text or _GROUPED.search(body.code):
            continue
        names = ((match[0].decode(), body.body.start_byte + match.start()) for match in _NCCL.finditer(body.code))
        for call in called(body, names):
            loop = enclosing(call.node, *_LOOPS)
            if loop is None or not _is_of_each_device(call, loop, body):
                continue
            callers = _callers(body, found)
            if any(_GROUPED.search(each.code) for each in callers):
                break
            message = (
                f"the loop calls {call.name} for one device after the other, and the first call may wait for the others"
            )
            path = (body.step(loop, "one thread is all of these ranks, and no group is open"),)
            severity: Severity = "warning" if len(callers) > 1 or _is_on_its_own(body) else "note"
            yield body.finding(SourceGroupMissing, call.node, message, api=call.name, severity=severity, path=path)
            break


def _is_of_each_device(call: Written, loop: Node, body: Body) -> bool:
    """Whether each turn of the loop, as far as it can be told, is another rank of the same communicator."""
    known, variable = meaning(call.name), _loop_variable(loop)
    if known is None or not variable or _ONCE.search(field_text(loop, "condition")) or _is_for_one(call.node, loop):
        return False
    given = {
        each.name: text_of(call.arguments[at])
        for at, each in enumerate(known.entry_point.parameters[: len(call.arguments)])
    }
    code = body.source.code[loop.start_byte : loop.end_byte]
    if {"rank", "commId", "nranks"} <= given.keys():
        identity = given["commId"]
        return (
            "config" not in given
            and given["nranks"] != "1"
            and _names(given["rank"], variable)
            and identity.isidentifier()
            and not re.search(rb"&\s*%s\b|\b%s\s*=(?!=)" % (identity.encode(), identity.encode()), code)
        )
    uses = [given.get(role.parameter, "") for _, role in known.named if role.kind is Kind.NCCL_COMMUNICATOR]
    if not any(role.verb is Verb.ON for _, role in known.named) or not any(_names(each, variable) for each in uses):
        return False
    selected = any(_names(match[1].decode(), variable) for match in _SELECTS.finditer(code))
    return selected or _ALL_OF_PROCESS.search(body.source.code) is not None


def _names(text: str, variable: str) -> bool:
    return re.search(rf"\b{variable}\b", text) is not None


def _loop_variable(loop: Node) -> str:
    """The counter or the element; empty if it is no such loop."""
    if loop.type == "for_range_loop":
        name = field_text(loop, "declarator").lstrip("&* ")
        return name if name.isidentifier() else ""
    match = _COUNTER.fullmatch(field_text(loop, "initializer").strip()) if loop.type == "for_statement" else None
    return match[1] if match is not None else ""


def _is_for_one(node: Node, loop: Node) -> bool:
    """Whether a condition in the loop may pick one turn, or the loop ends with its first."""
    inside = loop.child_by_field_name("body")
    statements = [each.type for each in inside.named_children if each.type != "comment"] if inside is not None else []
    if statements and statements[-1] in ("break_statement", "return_statement"):
        return True
    around = node.parent
    while around is not None and around.id != loop.id:
        condition = field_text(around, "condition") if around.type in ("if_statement", "conditional_expression") else ""
        if "==" in condition and "Success" not in condition:
            return True
        around = around.parent
    return False


def _callers(body: Body, found: Sequence[Body]) -> list[Body]:
    """The function, those of the file that call it, and those that call these."""
    names, callers = {body.name.encode()}, {body.node.id: body}
    for _ in range(_DEEPEST):
        calling = re.compile(rb"\b(?:%s)\s*\(" % b"|".join(map(re.escape, sorted(names))))
        more = [each for each in found if each.node.id not in callers and calling.search(each.code)]
        if not more:
            break
        callers.update((each.node.id, each) for each in more)
        names = {each.name.encode() for each in more}
    return list(callers.values())


def _is_on_its_own(body: Body) -> bool:
    """Whether no other file may call it within a group, or the function gathers the ranks itself."""
    code = body.source.code
    return (
        body.name == "main"
        or b"static" in code[body.node.start_byte : body.body.start_byte].split()
        or b"ncclGetUniqueId" in body.code
        or _ALL_OF_PROCESS.search(body.code) is not None
    )
