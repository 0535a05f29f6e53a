"""Threads of objects that belong to a device: they have to make it current for themselves."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from cuvet.findings import Finding
from cuvet.rules.source.device_of_thread import SourceDeviceOfThread
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Definition
from cuvet.source.quiet import CHECKED
from cuvet.source.syntax.parsing import Source, text_of
from cuvet.source.textual.reached import all_are_known
from cuvet.source.textual.written import Body, Written, functions

_STARTS = re.compile(
    rb"\bthread\w{0,20}\s{0,9}[({=]|\b(?:threads?|workers?|pool)\w{0,20}\s{0,9}\.\s{0,9}(?:emplace|push)_back\s{0,9}\(",
    re.I,
)
_METHOD = re.compile(rb"&\s{0,9}(?:\w{1,60}\s{0,9}::\s{0,9}){1,4}([A-Za-z_]\w{0,60})\s{0,9},\s{0,9}this\b")
_LAMBDA = re.compile(
    rb"\[[^\]\[]{0,80}\bthis\b[^\]\[]{0,80}\]\s{0,9}(?:\(\s{0,9}\)\s{0,9})?\{([^{};]{0,200});?\s{0,9}\}"
)
_ONE_CALL = re.compile(rb"\s*(?:this\s*->\s*)?([A-Za-z_]\w*)\s*\([^()]*\)\s*")
_SELECTS = re.compile(rb"Device|[Cc]ontext|Ctx|[Gg]uard|device\s*\(|gpu\s*\(|\bselect|\bbind")
"""What may make a device current, also by its name."""
_MOST_STARTED = 32
"""Threads of a file that are looked at."""


def not_made_current(found: Sequence[Body], definitions: list[Definition], source: Source) -> Iterator[Finding]:
    """The first call of each function that a thread of an object runs, and that makes or enqueues something."""
    if b"thread" not in source.text or b"SetDevice" not in source.text:
        return
    by_name = {(each.owner, each.name): each for each in found}
    started = (
        (each.owner, name) for each in functions(definitions, source) if each.owner for name in _run_by_threads(each)
    )
    for owner, name in islice(started, _MOST_STARTED):
        thread = by_name.get((owner, name))
        selected = _selected(owner, found)
        if thread is None or selected is None or thread is selected[0]:
            continue
        work = _first_work(thread, found)
        if work is not None:
            where, switch = selected
            message = f"the thread that runs {thread.shown} never makes the device of the object current"
            path = (where.step(switch.node, f"{where.shown} makes it current, in its own thread"),)
            yield thread.finding(SourceDeviceOfThread, work.node, message, api=work.name, severity="note", path=path)
            return


def _run_by_threads(body: Body) -> Iterator[str]:
    """Functions of the object's class that threads run which the function starts."""
    for match in _STARTS.finditer(body.code):
        rest = body.code[match.start() : match.start() + 400].partition(b";\n")[0]
        method = _METHOD.search(rest)
        block = _LAMBDA.search(rest)
        call = _ONE_CALL.fullmatch(block[1]) if block is not None else None
        name = method[1] if method is not None else call[1] if call is not None else b""
        if name:
            yield name.decode()


def _selected(owner: str, found: Sequence[Body]) -> tuple[Body, Written] | None:
    """Where a function of the class makes the device current that a member of the object names."""
    for body in found:
        for call in body.calls if body.owner == owner else ():
            known = meaning(call.name)
            if known is None or not known.sets_device or not call.arguments:
                continue
            given = text_of(call.arguments[0]).removeprefix("this->")
            if given.isidentifier() and (not body.declarations(given) or body.name == "__init__"):
                return body, call
    return None


def _first_work(thread: Body, found: Sequence[Body]) -> Written | None:
    """The first call that makes an object or allocates, if nothing before it may make a device current."""
    if _SELECTS.search(thread.code):
        return None
    for call in thread.calls:
        known = meaning(call.name)
        if known is not None and known.made:
            before = thread.code[: call.start - thread.body.start_byte]
            return call if _is_seen(before, thread, found) else None
    return None


def _is_seen(before: bytes, thread: Body, found: Sequence[Body]) -> bool:
    """Whether all that is called there is CUDA's, a check of such a call, or one of the file that makes no device current."""
    checks = {match[1] for match in CHECKED.finditer(thread.code)}
    return all_are_known(before, checks | {each.name.encode() for each in found if not _SELECTS.search(each.code)})
