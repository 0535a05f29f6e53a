"""Threads that a loop starts, and that all change or use one handle of a library, without a lock."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from cuvet.catalog import Kind, Verb
from cuvet.catalog.kinds import Threads
from cuvet.findings import Finding, Step
from cuvet.rules.library_handle.changed_in_use import LibraryHandleChangedInUse
from cuvet.rules.library_handle.shared_between_threads import LibraryHandleSharedBetweenThreads
from cuvet.rules.library_handles import works
from cuvet.rules.rule import Rule
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Definition
from cuvet.source.languages.cpp_text import function_declarator, parameters
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, is_within, part, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.one_for_all import returned_member
from cuvet.source.textual.turns import loop_variable, names
from cuvet.source.textual.written import LIBRARIES, Body, Written, functions

_STARTS = re.compile(r"std\s*::\s*(?:jthread|thread|async)|([A-Za-z_]\w*)\s*\.\s*(?:emplace_back|push_back)")
_THREADS = re.compile(
    rb"\bvector\s{0,9}<\s{0,9}(?:std\s{0,9}::\s{0,9})?j?thread\s{0,9}>\s{0,9}[&*]?\s{0,9}([A-Za-z_]\w*)"
)
_JOINS = re.compile(rb"(?:\.|->)\s*(?:join|get|wait)\s*\(")
_LOCKS = re.compile(rb"(?i:mutex|lock|semaphore|critical|thread_local|once)")
_METHOD = re.compile(r"&\s*(?:\w+\s*::\s*)+([A-Za-z_]\w*)")
_PLACE = re.compile(r"(?:this\s*->\s*)?([A-Za-z_]\w*)(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*")
_GETTER = re.compile(r"(?:this\s*->\s*)?([A-Za-z_]\w*)\s*(?:\.|->)\s*([A-Za-z_]\w*)\s*\(\s*\)")
_CALLED = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)\s{0,9}\(")
_MOST_STARTED = 64
"""Threads of one file that are looked at."""
_LOOPS = ("for_statement", "for_range_loop")


def used_by_threads(found: Sequence[Body], definitions: list[Definition], source: Source) -> Iterator[Finding]:
    """The first call for each function that starts threads."""
    if not (b"thread" in source.text or b"async" in source.text) or LIBRARIES.search(source.text) is None:
        return
    by_name: dict[str, list[Body]] = {}
    for each in found:
        by_name.setdefault(each.name, []).append(each)
    all_started = ((each, started) for each in functions(definitions, source) for started in _started(each))
    told: set[int] = set()
    for body, started in islice(all_started, _MOST_STARTED):
        finding = next(_of_thread(started, body, by_name), None)
        if finding is not None and body.node.id not in told:
            told.add(body.node.id)
            yield finding


def _started(body: Body) -> Iterator[Node]:
    """Calls in a loop that start a thread, for which the loop does not wait."""
    for match in re.finditer(rb"\b(?:thread|jthread|async|emplace_back|push_back)\s*\(", body.code):
        call = enclosing(body.at(body.body.start_byte + match.start()), "call_expression")
        named = _STARTS.fullmatch(field_text(call, "function")) if call is not None else None
        loop = enclosing(call, *_LOOPS, "lambda_expression") if call is not None else None
        if call is None or named is None or loop is None or loop.type not in _LOOPS:
            continue
        if named[1] is not None and named[1].encode() not in _vectors(body.source):
            continue
        rest = body.source.code[loop.start_byte : call.start_byte] + body.source.code[call.end_byte : loop.end_byte]
        if not _JOINS.search(rest):
            yield call


@lru_cache(maxsize=1)
def _vectors(source: Source) -> frozenset[bytes]:
    """Vectors of threads that the file declares."""
    return frozenset(_THREADS.findall(source.code))


def _of_thread(started: Node, body: Body, by_name: dict[str, list[Body]]) -> Iterator[Finding]:
    loop = enclosing(started, *_LOOPS)
    step = body.step(started, "each turn of the loop starts a thread")
    for given in arguments_of(started):
        method = _METHOD.fullmatch(text_of(given))
        if given.type == "lambda_expression" and loop is not None and not _LOCKS.search(given.text or b""):
            yield from _in_lambda(given, loop, body, by_name, step)
        elif method is not None and _gives_itself(started) and len(by_name.get(method[1], ())) == 1:
            yield from _in_function(by_name[method[1]][0], frozenset(), step)


def _gives_itself(started: Node) -> bool:
    """Whether the thread runs a function of the object that starts it."""
    return any(each.type == "this" for each in arguments_of(started))


def _in_lambda(thread: Node, loop: Node, body: Body, by_name: dict[str, list[Body]], step: Step) -> Iterator[Finding]:
    for call in first(body.library_calls):
        rule, handle, stream = _changing(call)
        if rule is not None and is_within(call.node, thread) and _is_outer(handle, thread, loop, body):
            own = only_declaration(_root(stream), body)
            if (
                stream == ""
                or names(stream, loop_variable(loop) or "-")
                or (own is not None and is_within(own.node, thread))
            ):
                yield _finding(rule, call, handle, body, step)
    start = body.body.start_byte
    for match in first(_CALLED.finditer(body.code, thread.start_byte - start, thread.end_byte - start)):
        callees = by_name.get(match[1].decode(), [])
        called = enclosing(body.at(start + match.start()), "call_expression") if len(callees) == 1 else None
        if called is None or field_text(called, "function").removeprefix("this->").encode() != match[1]:
            continue
        callee = callees[0]
        named = [each.name for each in parameters(function_declarator(part(callee.node, "declarator")))]
        given = zip(named, arguments_of(called), strict=False)
        shared = frozenset(each for each, value in given if _is_outer(text_of(value), thread, loop, body))
        yield from _in_function(callee, shared, step)


def _in_function(callee: Body, shared: frozenset[str], step: Step) -> Iterator[Finding]:
    """Of a function that each thread calls; ``shared`` are its parameters that are the same for all."""
    for call in first(callee.library_calls) if not _LOCKS.search(callee.code) else ():
        rule, handle, stream = _changing(call)
        root = _root(handle)
        is_member = bool(callee.owner) and not callee.declarations(root)
        if rule is None or not root or not (root in shared or is_member) or root in _of_thread_names(callee.source):
            continue
        if (stream == "" or callee.declarations(_root(stream))) and _is_one(handle, callee):
            yield _finding(rule, call, handle, callee, step)


def _finding(rule: type[Rule], call: Written, handle: str, body: Body, step: Step) -> Finding:
    message = f"`{handle}` is the same in all threads that a loop starts, and no lock is held"
    return body.finding(rule, call.node, message, api=call.name, severity="note", path=(step,))


def _changing(call: Written) -> tuple[type[Rule] | None, str, str]:
    """The handle that the call changes for all threads, or must not use in two at once, and the stream that it sets."""
    known = meaning(call.name)
    stream = next((at for at, role in known.named if role.verb is Verb.SETS_STREAM), -1) if known is not None else -1
    for at, role in known.named if known is not None else ():
        if known is None or role.verb is not Verb.USES or at >= len(call.arguments):
            continue
        handle = text_of(call.arguments[at])
        if role.kind.row.threads is Threads.UNLESS_CHANGED and 0 <= stream < len(call.arguments):
            return LibraryHandleChangedInUse, handle, text_of(call.arguments[stream])
        if (
            role.kind.row.threads is Threads.NEVER
            and role.kind is not Kind.NCCL_COMMUNICATOR
            and works(known.entry_point)
        ):
            return LibraryHandleSharedBetweenThreads, handle, ""
    return None, "", ""


def _root(place: str) -> str:
    """The variable that the expression begins with; empty if it is no member of one, nor what a function without parameters returns."""
    match = _PLACE.fullmatch(place) or _GETTER.fullmatch(place)
    return match[1] if match is not None else ""


def _is_one(place: str, body: Body) -> bool:
    """Whether a function in the expression returns a member, as the file shows it."""
    getter = _GETTER.fullmatch(place)
    return getter is None or bool(returned_member(getter[2].encode(), body))


def _is_outer(place: str, thread: Node, loop: Node, body: Body) -> bool:
    """Whether the expression is the same object in all turns: of a variable before the loop, or of a member."""
    root = _root(place)
    declared = only_declaration(root, body) if root else None
    if not root or root == loop_variable(loop) or not _is_one(place, body) or root in _of_thread_names(body.source):
        return False
    captures = field_text(thread, "captures")
    if re.search(rf"\b{root}\s*[=({{]", captures):
        return False
    if declared is None:
        return bool(body.owner) and not body.declarations(root) and "this" in captures
    return declared.node.start_byte < loop.start_byte


@lru_cache(maxsize=1)
def _of_thread_names(source: Source) -> frozenset[str]:
    """Names in declarations of the file that give each thread a variable of its own."""
    code = source.code
    if b"thread_local" not in code:
        return frozenset()
    found = re.findall(rb"\bthread_local\b([^;{}()=]{0,200})", code)
    return frozenset(word.decode() for each in found for word in re.findall(rb"[A-Za-z_]\w*", each))
