"""Statuses that nobody looks at, and launches that nobody asks about."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from cuvet.findings import Finding, Severity, Step
from cuvet.rules.source.launch_unchecked import SourceLaunchUnchecked
from cuvet.rules.source.status_dropped import SourceStatusDropped
from cuvet.rules.source.status_unread import SourceStatusUnread
from cuvet.source.calls import LAST_ERROR, entry_point_called, meaning
from cuvet.source.languages.interest import WORD
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Node, enclosing, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.following import statement_of
from cuvet.source.textual.written import Body, Written

_ARRANGES = re.compile(
    r"(?:cu[a-z]+|nccl)(?:Lt|Dn|Sp|Rf|Mg)?(?:Set|Get|Destroy)|"
    r"\w*(?:Destroy|Free|Finalize|Abort|Deregister|[GS]etAttribute)$"
)
"""Functions of libraries that set or tell something, or end it."""
_WAITING = re.compile(r"Synchronize|Query")
_DESTRUCTOR = re.compile(rb"~\w+\s*\(\s*(?:void)?\s*\)[^{};]*\{")
_MOST_STEPS = 50
_MAKES, _WAITS, _OTHER, _ENDS = range(4)
"""What a call does; the first matter most."""
_REFUSED = frozenset({"cudaGraphExecUpdate", "cuGraphExecUpdate"})
"""Functions that often cannot do what they are asked, which is no mistake, and then change nothing."""
_DECLARED = (
    r"\b(?:cudaError_t|cudaError|CUresult|cu[a-z]+Status_t|cufftResult(?:_t)?|ncclResult_t|nvrtcResult|auto|int|unsigned)"
    r"\s+(?:\w+\s*,\s*)*{}\s*[;,]"
)


def dropped(body: Body) -> Iterator[Finding]:
    """One finding for a function, at the first of the calls that matter most; none if it only ends things, or if a destructor only waits
    before it ends things: it has nobody to tell."""
    of_cuda = [
        call for call in body.calls if call.fate == "dropped" and _matters(call) and not _asked_later(call, body)
    ]
    calls = of_cuda + [call for call in _of_libraries(body) if call.fate == "dropped"]
    ranks = {_rank(call) for call in calls}
    if ranks - {_ENDS} and not (ranks <= {_WAITS, _ENDS} and _is_destructor_that_ends(body)):
        is_alone = of_cuda and not body.body.has_error and _others_are_checked(of_cuda, body)
        refused = [call for call in of_cuda if call.name in _REFUSED and not _outcome_is_read(call, body)]
        severity: Severity = "warning" if is_alone or refused else "note"
        first = min(refused or calls, key=lambda call: (_rank(call), call.start))
        message = f"{_counted(calls)} ignored"
        several = calls[:_MOST_STEPS] if len(calls) > 1 else ()
        path = tuple(body.step(call.node, f"the status of {call.name} is ignored here") for call in several)
        yield body.finding(SourceStatusDropped, first.node, message, api=first.name, severity=severity, path=path)


def _outcome_is_read(call: Written, body: Body) -> bool:
    """Whether what the call writes beside its status may be looked at: not a variable that is only declared and given."""
    given = [(text_of(each), re.fullmatch(r"&\s*(\w+)", text_of(each))) for each in call.arguments[2:]]
    return any(
        not _is_only_given(match[1], body) if match else text not in ("NULL", "nullptr", "0") for text, match in given
    )


def _is_only_given(name: str, body: Body) -> bool:
    declared = only_declaration(name, body)
    plain = declared is not None and declared.declarator in ("declaration", "init_declarator")
    return plain and len(body.words(name)) == 2


def _is_destructor_that_ends(body: Body) -> bool:
    return body.name == "__del__" and any(_rank(call) == _ENDS for call in body.calls)


def ended_unlike_others(bodies: Sequence[Body]) -> Iterator[Finding]:
    """Functions of a class that only end things and ignore all statuses, where its other functions look at all of theirs."""
    by_class: dict[str, list[Body]] = {}
    for body in bodies:
        if body.owner:
            by_class.setdefault(body.owner, []).append(body)
    for each in by_class.values():
        ending = [body for body in each if body.calls and all(map(_only_ends, body.calls)) and _has_caller(body)]
        calls = [call for body in each if body not in ending for call in body.calls if _matters(call)]
        if any(call.fate in ("dropped", "discarded") for call in calls):
            continue
        for body in ending if any(_rank(call) == _MAKES for call in calls) else ():
            message = f"{_counted(body.calls)} ignored, and the other functions of {body.owner} look at all of theirs"
            yield body.finding(SourceStatusDropped, body.calls[0].node, message, api=body.calls[0].name)


def _only_ends(call: Written) -> bool:
    return call.fate == "dropped" and _matters(call) and _rank(call) == _ENDS


def _has_caller(body: Body) -> bool:
    """Whether there may be somebody to tell: it is neither a destructor nor ``noexcept``, and no destructor of the file calls it."""
    code = body.source.code
    head = code[body.node.start_byte : body.body.start_byte]
    if b"~" in head or b"noexcept" in head or body.error_checks:
        return False
    ends = (code[match.end() : block_end(code, match.end())] for match in _DESTRUCTOR.finditer(code))
    return not any(re.search(rb"\b%s\s*\(" % re.escape(body.name.encode()), end) for end in ends)


def unread(body: Body) -> Iterator[Finding]:
    """One finding for a function."""
    of_cuda = [call for call in body.calls if returns_status(call.name)]
    assigned = sorted(
        (call for call in [*of_cuda, *_of_libraries(body)] if call.fate == "assigned"), key=lambda call: call.start
    )
    lost: dict[int, Written] = {}
    for variable in dict.fromkeys(call.variable for call in assigned):
        if variable.isupper() and not body.declarations(variable):
            continue  # a macro of another file, whose object may look at what is assigned
        of_variable = [call for call in assigned if call.variable == variable]
        places = [node.start_byte for node, _ in body.identifiers(variable)]
        if _is_local(variable, body) and len(places) == len(of_variable) + _declarations(variable, body):
            lost.update((call.start, call) for call in of_variable)
        else:
            lost.update((call.start, call) for call in _overwritten(of_variable, places))
    calls = [call for _, call in sorted(lost.items()) if not _asked_later(call, body)]
    if calls:
        first = min(calls, key=lambda call: (_rank(call), call.start))
        several = calls[:_MOST_STEPS] if len(calls) > 1 else ()
        path = tuple(body.step(call.node, f"`{call.variable}` is not read after this") for call in several)
        message = f"{_counted(calls)} assigned to `{first.variable}` and not read"
        yield body.finding(SourceStatusUnread, first.node, message, api=first.name, path=path)


def launches(bodies: Sequence[Body]) -> Iterator[Finding]:
    """The launches of a file after which nobody asks whether they were accepted: one finding for a function, or for the file if
    nothing in it asks."""
    launching = [body for body in bodies if body.launches]
    callers = _checking_callers({body.name for body in launching}, bodies)
    unchecked = [(body, nodes) for body in launching if (nodes := _unchecked(body, callers))]
    if len(unchecked) > 1 and not any(body.error_checks for body in bodies):
        (body, nodes), every = unchecked[0], sum(len(nodes) for _, nodes in unchecked)
        steps = tuple(each.step(node, "launched here") for each, found in unchecked for node in found)[:_MOST_STEPS]
        message = f"no function of this file asks whether its {every} launches were accepted"
        yield body.finding(SourceLaunchUnchecked, nodes[0], message, api=_kernel(nodes[0]), path=steps)
        return
    for body, nodes in unchecked:
        launch = f"the launch of {_kernel(nodes[0])} was" if len(nodes) == 1 else f"its {len(nodes)} launches were"
        message = f"nothing in {body.shown} asks whether {launch} accepted"
        yield body.finding(SourceLaunchUnchecked, nodes[0], message, api=_kernel(nodes[0]), path=_steps_of(nodes, body))


def _steps_of(launches: Sequence[Node], body: Body) -> tuple[Step, ...]:
    """All launches; of one that takes several lines, also what follows, where the check is missing."""
    first = launches[0]
    after = statement_of(first).next_named_sibling
    if len(launches) == 1 and (after is None or first.start_point.row == first.end_point.row):
        return ()
    steps = tuple(body.step(node, "launched here") for node in launches[:_MOST_STEPS])
    if len(launches) > 1 or after is None:
        return steps
    return (*steps, body.step(after, "the function goes on here, whether the launch was accepted or not"))


def _unchecked(body: Body, callers: Mapping[str, Sequence[Body]]) -> list[Node]:
    """The launches of a function after which nobody asks."""
    checks = body.error_checks
    found = [
        node
        for node in body.launches
        if (
            node.parent is None or node.parent.type != "argument_list"
        )  # a macro that it is handed to can ask afterwards
        and not any(check > node.start_byte for check in checks)
        and not _in_checked_loop(node, checks)
    ]
    checked = any(caller is not body for caller in callers.get(body.name, ()))
    return [] if found and checked else found


def _kernel(launch: Node) -> str:
    function = launch.child_by_field_name("function")
    return text_of(function or launch).split("<")[0]


def returns_status(name: str) -> bool:
    """Whether it is a function of the runtime or the driver that returns one."""
    found = entry_point_called(name)
    return found is not None and found.status and found.api in ("runtime", "driver")


def _of_libraries(body: Body) -> list[Written]:
    """Calls of libraries that make or compute something and return a status: no other call tells of it afterwards."""
    return [call for call in body.library_calls if 0 < _computes(call.name) == len(call.arguments)]


@cache
def _computes(name: str) -> int:
    """The number of parameters, if it is such a function. Those of the first cuBLAS have the names, and return nothing, but take less."""
    found = entry_point_called(name)
    if found is None or not found.status or found.api in ("runtime", "driver") or _ARRANGES.match(name):
        return 0
    return len(found.parameters)


def _matters(call: Written) -> bool:
    """Whether the status is one to look at: ``cudaGetLastError`` clears an error, and some functions name one."""
    return returns_status(call.name) and call.name not in LAST_ERROR and "GetError" not in call.name


@cache
def _rank_of(name: str) -> int:
    found = meaning(name)
    if found is not None and found.made:
        return _MAKES
    if _WAITING.search(name):
        return _WAITS
    return _ENDS if found is not None and found.ended else _OTHER


def _rank(call: Written) -> int:
    return _rank_of(call.name)


def _asked_later(call: Written, body: Body) -> bool:
    """Whether the function asks for the last error of the runtime afterwards."""
    return call.name.startswith("cuda") and any(check > call.end for check in body.error_checks)


def _others_are_checked(calls: Sequence[Written], body: Body) -> bool:
    """Whether a function that looks at most statuses leaves out that of a call that makes something, or waits with no call after it
    that would return the same error."""
    checked = [
        call for call in body.calls if call.fate == "used" and returns_status(call.name) and call.name not in LAST_ERROR
    ]
    if len(checked) < 3 * len(calls):
        return False
    last = max((call.start for call in checked), default=0)
    return any(_rank(call) == _MAKES or (_rank(call) == _WAITS and call.start > last) for call in calls)


def _counted(calls: Sequence[Written]) -> str:
    """``the statuses of cudaMalloc (3 times) and cudaMemcpy are``."""
    counts = Counter(call.name for call in sorted(calls, key=_rank))
    names = [name if count == 1 else f"{name} ({count} times)" for name, count in counts.items()]
    if len(calls) == 1:
        return f"the status of {names[0]} is"
    if len(names) > 4:
        names = [*names[:3], f"{len(calls) - sum(list(counts.values())[:3])} more calls"]
    return f"the statuses of {', '.join(names[:-1]) + ' and ' if len(names) > 1 else ''}{names[-1]} are"


def _is_local(variable: str, body: Body) -> bool:
    declared = any(
        call.variable == variable and call.node.parent is not None and call.node.parent.type == "init_declarator"
        for call in body.calls
    )
    return declared or _declarations(variable, body) > 0


def _declarations(variable: str, body: Body) -> int:
    """Declarations of the variable without a value."""
    return len(re.findall(_DECLARED.format(re.escape(variable)).encode(), body.code))


def _overwritten(calls: Sequence[Written], places: Sequence[int]) -> Iterator[Written]:
    """Calls after which the next statement of the same block that names the variable assigns to it again."""
    for call, following in pairwise(calls):
        one, other = _statement(call), _statement(following)
        if one is None or other is None or one.parent != other.parent:
            continue
        if (
            not any(call.end <= place < other.start_byte for place in places)
            and sum(other.start_byte <= place < other.end_byte for place in places) == 1
        ):
            yield call


def _statement(call: Written) -> Node | None:
    """The statement that the call is in, if it stands in a block."""
    node = enclosing(call.node, "expression_statement", "declaration")
    return node if node is not None and node.parent is not None and node.parent.type == "compound_statement" else None


def _in_checked_loop(node: Node, checks: Sequence[int]) -> bool:
    """Whether a loop around the launch asks for the last error."""
    outermost, around = None, node.parent
    while around is not None and around.type != "function_definition":
        if around.type in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            outermost = around
        around = around.parent
    return outermost is not None and any(outermost.start_byte <= check < outermost.end_byte for check in checks)


def _checking_callers(names: set[str], bodies: Sequence[Body]) -> dict[str, list[Body]]:
    """By function, those of the same file that name it and ask for the last error afterwards."""
    found: dict[str, list[Body]] = {}
    by_word = {name.encode(): name for name in names}
    for body in bodies:
        checks = body.error_checks
        for word in by_word.keys() & WORD.findall(body.text) if checks else ():
            called = next(body.identifiers(by_word[word]), None)
            if called is not None and checks[-1] > called[0].start_byte:
                found.setdefault(by_word[word], []).append(body)
    return found
