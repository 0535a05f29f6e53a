"""Loops in which one thread calls NCCL for one device after the other, outside a group."""

import re
from collections.abc import Iterator, Sequence

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.source.group_missing import SourceGroupMissing
from cuvet.source.calls import meaning
from cuvet.source.syntax.parsing import Node, enclosing, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.turns import LOOPS, is_for_one, loop_variable, names
from cuvet.source.textual.written import Body, Written

_GROUPED = re.compile(rb"[Gg]roup|GROUP|omp\s+parallel|\bfork\s*\(")
"""Also what an object of its own class may start, and what makes each turn run in a thread or process of its own."""
_ALL_OF_PROCESS = re.compile(rb"\bncclCommInitAll\s*\(")
_MOST_FUNCTIONS = 64
"""Functions of a file that are looked at."""
_DEEPEST = 4
"""Callers of callers that are looked for."""
_SELECTS = re.compile(rb"\b(?:cudaSetDevice|cuCtxSetCurrent|cuCtxPushCurrent)\s*\(([^;]{0,200})")


def outside_group(found: Sequence[Body]) -> Iterator[Finding]:
    """The first call of each function."""
    calling = [each for each in found if b"nccl" in each.text]
    for body in calling[:_MOST_FUNCTIONS]:
        if b"for" not in body.text or _GROUPED.search(body.code):
            continue
        for call in first(body.library_calls):
            loop = enclosing(call.node, *LOOPS)
            if loop is None or not _is_of_each_device(call, loop, body):
                continue
            callers = _callers(body, found)
            if any(_GROUPED.search(each.code) for each in callers):
                break
            message = (
                f"the loop calls {call.name} for one device after the other, and the first call may wait for the others"
            )
            path = (body.step(loop, "one thread is all of these ranks, and no group is open"),)
            yield body.finding(SourceGroupMissing, call.node, message, api=call.name, path=path)
            break


def _is_of_each_device(call: Written, loop: Node, body: Body) -> bool:
    """Whether each turn of the loop, as far as it can be told, is another rank of the same communicator."""
    known, variable = meaning(call.name), loop_variable(loop)
    if known is None or not variable or is_for_one(call.node, loop):
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
            and names(given["rank"], variable)
            and identity.isidentifier()
            and not re.search(rb"&\s*%s\b|\b%s\s*=(?!=)" % (identity.encode(), identity.encode()), code)
        )
    uses = [given.get(role.parameter, "") for _, role in known.named if role.kind is Kind.NCCL_COMMUNICATOR]
    if not any(role.verb is Verb.ON for _, role in known.named) or not any(names(each, variable) for each in uses):
        return False
    selected = any(names(match[1].decode(), variable) for match in _SELECTS.finditer(code))
    return selected or _ALL_OF_PROCESS.search(body.source.code) is not None


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
