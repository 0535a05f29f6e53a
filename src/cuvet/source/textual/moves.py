"""Owners whose moves leave the handle where it was, or lose the one that they had."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from cuvet.findings import Finding, Step
from cuvet.rules.source.member_overwritten import SourceMemberOverwritten
from cuvet.rules.source.moved_owner import SourceMovedOwner
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp_text import HANDLE
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Source

_MOVE = re.compile(
    rb"\b(\w+)\s{0,200}\(\s{0,200}(\w+)\s{0,200}&&\s{0,200}(\w+)\s{0,200}\)\s{0,200}(?:noexcept\b\s{0,200})?:(?!:)"
)
_MOVED = re.compile(rb"&&\s{0,200}\w+\s{0,200}\)\s{0,200}(?:noexcept\b\s{0,200})?:(?!:)")
"""How that ends: a look that costs little, before the exact one."""
_DEFAULTED = re.compile(
    rb"\b(\w+)\s{0,200}\(\s{0,200}(\w+)\s{0,200}&&\s{0,200}\w{0,100}\s{0,200}\)\s{0,200}(?:noexcept\b\s{0,200})?=\s{0,200}default\b"
)
_BY_DEFAULT = re.compile(rb"&&\s{0,200}\w{0,100}\s{0,200}\)\s{0,200}(?:noexcept\b\s{0,200})?=\s{0,200}default\b")
_ASSIGNED = re.compile(
    rb"\boperator\s{0,200}=\s{0,200}\(\s{0,200}(\w+)(?:<[^<>;{}]{1,80}>)?\s{0,200}&&\s{0,200}(\w+)\s{0,200}\)\s{0,200}(?:noexcept\b\s{0,200})?\{"
)
_GIVEN = rb"\b(\w+)\s*\(\s*(?:\([\w\s*]+\)\s*)?(?:this\s*->\s*)?%s\s*[,)]"
_OTHERS_END = rb"(?:exchange|swap|release)\s*\(|\b%s\s*\.\s*\w+\s*\("
_WHOLE = rb"\bmove\s*\(\s*%s\s*\)"
"""A base is given the whole object: it may tell which of the two ends what they hold."""
_DECLARED = rb"(?<!static )([A-Za-z_][\w:]*(?:\s+const)?[\s*]+)%s\s*[;={,]"
_CALL = re.compile(rb"\b(\w+)\s{0,80}\(")
_OWN_CALL = re.compile(rb"(?<![\w.>:~])(?:this\s{0,80}->\s{0,80})?([A-Za-z_]\w*)\s{0,80}\(\s{0,80}\)\s{0,80};")
_VARIABLE = re.compile(rb"\b[A-Za-z_]\w*\b(?!\s{0,80}\()")
_PLAIN_WORDS = frozenset(b"if else return nullptr NULL this void cudaSuccess CUDA_SUCCESS".split())
_MOVES = frozenset(b"exchange move if assert".split())
"""What a move calls that ends nothing."""
_GIVES_ITSELF = re.compile(rb"(?<!return )\*\s*this\b|~|\bassert\b|\bthrow\b|\b(?!NULL\b)[A-Z][A-Z0-9_]{2,}\b")
"""A move assignment that ends or hands on what the object held, or is never asked to."""
_COPIED_BY_DEFAULT = rb"\(\s*(?:const\s+)?%s\s+(?:const\s*)?&(?!&)\s*\w*\s*\)\s*(?:noexcept\s*)?=\s*default"
_TAKEN = rb"(?<![\w.>])(?:this\s*->\s*)?(\w+)\s*=(?!=)\s*(?:(?:std\s*::\s*)?(?:exchange|move)\s*\(\s*)?%s\s*\.\s*\1\b"
"""A member is set to that of the other object."""
_MOST_CALLS, _MOST_MOVES = 8, 200
_LONGEST = 4000
"""Bytes of a move assignment."""
_CHECKS = re.compile(rb"if|static_cast|[A-Z][A-Z0-9_]+|(?i:\w*(?:check|err|assert)\w*)")


class _Owner(NamedTuple):
    """A class: what stands in it, and where the insides of its destructor and of the functions ``called`` by that are."""

    name: bytes
    declared: bytes
    insides: tuple[slice, ...]
    called: frozenset[bytes]


class _End(NamedTuple):
    """Where the destructor ends a member."""

    member: bytes
    at: int


def kept(source: Source) -> Iterator[Finding]:
    """Members that a move constructor copies, and that the destructor ends."""
    code = source.code
    for match in islice(_MOVE.finditer(code), _MOST_MOVES) if _MOVED.search(code) else ():
        name, of, other = match.groups()
        begin = _body(code, match.end())
        owner = _owner(code, name) if name == of and begin is not None else None
        if owner is None or begin is None:
            continue
        inits, body = code[match.end() : begin], code[begin : block_end(code, begin + 1)]
        if re.search(rb"\b%s\b" % other, body) or re.search(_OTHERS_END % other, inits):
            continue
        if re.search(_WHOLE % other, inits) or not _is_known(code, owner):
            continue
        copies = rb"\b(\w+)\s*[({]\s*(?:std\s*::\s*move\s*\(\s*)?%s\s*\.\s*\1\s*\)?\s*[)}]" % other
        copied = {each[1]: match.end() + each.start() for each in re.finditer(copies, inits)}
        ended = [end for member in copied if (end := _end(code, owner, member)) is not None]
        others = {*re.findall(rb"\b(\w+)\s*[({]", inits)} - {end.member for end in ended}
        if ended and others.isdisjoint(_words(code, owner)):
            yield _left(source, owner, ended[0], copied[ended[0].member])


def kept_by_default(source: Source) -> Iterator[Finding]:
    """Members that the compiler's move constructor copies, and that the destructor ends whenever they are something."""
    code = source.code
    for match in islice(_DEFAULTED.finditer(code), _MOST_MOVES) if _BY_DEFAULT.search(code) else ():
        owner = _owner(code, match[1]) if match[1] == match[2] else None
        copied = owner is None or re.search(_COPIED_BY_DEFAULT % match[1], owner.declared)
        ended = _ends_always(code, owner) if owner is not None and not copied else None
        if owner is not None and ended is not None:
            yield _left(source, owner, ended, match.start())


def overwritten(source: Source) -> Iterator[Finding]:
    """Members that a move assignment sets to those of the other object, and whose own objects, which the destructor ends, nobody ends."""
    code = source.code
    for match in islice(_ASSIGNED.finditer(code), _MOST_MOVES):
        name, other = match.groups()
        body = code[match.end() : match.end() + _LONGEST]
        body = body[: block_end(body, 0)]
        owner = (
            _owner(code, name) if _MOVES.issuperset(_CALL.findall(body)) and not _GIVES_ITSELF.search(body) else None
        )
        if owner is None:
            continue
        for each in islice(re.finditer(_TAKEN % other, body), _MOST_MOVES):
            own = re.findall(rb"(?<!%s\.)\b%s\b" % (other, each[1]), body)
            ended = _end(code, owner, each[1]) if len(own) == 1 else None
            if ended is not None:
                yield _lost(source, owner, ended, match.end() + each.start())
                break


def _owner(code: bytes, name: bytes) -> _Owner | None:
    """The class of the name, if the file has one definition of it and of its destructor."""
    found = list(re.finditer(rb"\b(?:struct|class)\s+%s\b[^;{}()]{0,400}\{" % re.escape(name), code))
    destructor = list(re.finditer(rb"~\s*%s\s*\(\s*(?:void)?\s*\)[\w\s]*\{" % re.escape(name), code))
    if len(found) != 1 or len(destructor) != 1:
        return None
    inside = slice(found[0].end(), block_end(code, found[0].end()))
    first = slice(destructor[0].end(), block_end(code, destructor[0].end()))
    names = dict.fromkeys(each[1] for each in islice(_OWN_CALL.finditer(code[first]), _MOST_CALLS))
    called = {each: body for each in names if (body := _function(code, name, inside, each)) is not None}
    return _Owner(name, code[inside], (first, *called.values()), frozenset(called))


def _function(code: bytes, owner: bytes, inside: slice, name: bytes) -> slice | None:
    """The body of a function without parameters, which stands in the class or names it; None if there are several, or none."""
    shape = rb"\b%s\s*\(\s*(?:void)?\s*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:override\s*|final\s*)?\{"
    found = [each.end() for each in re.compile(shape % re.escape(name)).finditer(code, inside.start, inside.stop)]
    outside = shape % (re.escape(owner) + rb"\s*::\s*" + re.escape(name))
    found += [each.end() for each in re.finditer(outside, code)]
    return slice(found[0], block_end(code, found[0])) if len(found) == 1 else None


def _words(code: bytes, owner: _Owner) -> set[bytes]:
    return {word for inside in owner.insides for word in re.findall(rb"\w+", code[inside])}


def _end(code: bytes, owner: _Owner, member: bytes) -> _End | None:
    """Where the destructor ends a member that is a pointer or a handle: what is no class of the program has no move of its own."""
    kinds = re.findall(_DECLARED % re.escape(member), owner.declared)
    if not any(HANDLE.search(each.decode(errors="replace").strip()) for each in kinds):
        return None
    calls = re.compile(_GIVEN % re.escape(member))
    for inside in owner.insides:
        for each in calls.finditer(code, inside.start, inside.stop):
            if (found := meaning(each[1].decode())) is not None and found.ended:
                return _End(member, each.start())
    return None


def _ends_always(code: bytes, owner: _Owner) -> _End | None:
    """The first member that the destructor ends, if it asks for nothing but the members that it ends."""
    words = {word for inside in owner.insides for word in _VARIABLE.findall(code[inside])} - _PLAIN_WORDS
    ended = [end for word in sorted(words) if (end := _end(code, owner, word)) is not None]
    all_end = ended and len(ended) == len(words) and _is_known(code, owner)
    return min(ended, key=lambda each: each.at) if all_end else None


def _is_known(code: bytes, owner: _Owner) -> bool:
    """Whether all that the destructor calls is CUDA's, a check, or a function of the class that is looked into."""
    calls = {name for inside in owner.insides for name in _CALL.findall(code[inside])} - owner.called
    return all(_CHECKS.fullmatch(name) or meaning(name.decode()) is not None for name in calls)


def _left(source: Source, owner: _Owner, end: _End, at: int) -> Finding:
    name, handle = owner.name.decode(), end.member.decode()
    message = (
        f"the move constructor of {name} leaves {handle} in the object that is moved from, whose destructor ends it"
    )
    place = frame(source, at, at + len(handle), source.function_name(name, name))
    return finding(SourceMovedOwner, message, site(name, place), path=(_step(source, name, end),))


def _lost(source: Source, owner: _Owner, end: _End, at: int) -> Finding:
    name, handle = owner.name.decode(), end.member.decode()
    message = f"the move assignment of {name} sets {handle} to that of the other object, and loses what it held"
    place = frame(source, at, at + len(handle), source.function_name(name, "operator="))
    path = (_step(source, name, end),)
    return finding(SourceMemberOverwritten, message, site("operator=", place), path=path, severity="warning")


def _step(source: Source, name: str, end: _End) -> Step:
    place = frame(source, end.at, end.at + 1, source.function_name(name, f"~{name}"))
    return Step(frame=place, text=f"~{name} ends {end.member.decode()} here")


def _body(code: bytes, start: int) -> int | None:
    """Where the body of a constructor begins, behind its initialisers."""
    depth, before = 0, b""
    for match in re.finditer(rb"[(){};]|[\w>]", code[start : start + 4000]):
        char = match[0]
        if char == b";":
            return None
        if char == b"{" and depth == 0 and before in (b")", b"}"):
            return start + match.start()
        depth += (char in b"({") - (char in b")}")
        before = char
    return None
