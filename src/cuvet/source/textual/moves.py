"""Owners whose move constructor leaves the handle where it was."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
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
_GIVEN = rb"\b(\w+)\s*\(\s*(?:\([\w\s*]+\)\s*)?(?:this\s*->\s*)?%s\s*[,)]"
_OTHERS_END = rb"(?:exchange|swap|release)\s*\(|\b%s\s*\.\s*\w+\s*\("
_DECLARED = rb"([A-Za-z_][\w:]*(?:\s+const)?[\s*]+)%s\s*[;={,]"


def kept(source: Source) -> Iterator[Finding]:
    """Members that a move constructor copies, and that the destructor ends."""
    code = source.code
    for match in _MOVE.finditer(code) if _MOVED.search(code) else ():
        name, of, other = match.groups()
        begin = _body(code, match.end())
        if name != of or begin is None:
            continue
        inits, body = code[match.end() : begin], code[begin : block_end(code, begin + 1)]
        destructor, declared = _destructor(code, name), _class(code, name)
        if (
            destructor is None
            or declared is None
            or re.search(rb"\b%s\b" % other, body)
            or re.search(_OTHERS_END % other, inits)
        ):
            continue
        copies = rb"\b(\w+)\s*[({]\s*(?:std\s*::\s*move\s*\(\s*)?%s\s*\.\s*\1\s*\)?\s*[)}]" % other
        for copied in re.finditer(copies, inits):
            inside = code[destructor : block_end(code, destructor)]
            ended = _end(inside, copied[1]) if _is_plain(copied[1], declared) else None
            others = set(re.findall(rb"\b(\w+)\s*[({]", inits)) - {copied[1]}
            if ended is not None and others.isdisjoint(re.findall(rb"\w+", inside)):
                yield _finding(source, name, copied[1], match.end() + copied.start(), destructor + ended.start())
                break


def _end(inside: bytes, member: bytes) -> re.Match[bytes] | None:
    """The call of a destructor that ends the member."""
    calls = re.finditer(_GIVEN % member, inside)
    return next((each for each in calls if (found := meaning(each[1].decode())) is not None and found.ended), None)


def _is_plain(member: bytes, declared: bytes) -> bool:
    """Whether a class declares a pointer or a handle of that name: what is no class of the program has no move of its own."""
    return any(
        HANDLE.search(each.decode(errors="replace").strip()) for each in re.findall(_DECLARED % member, declared)
    )


def _finding(source: Source, name: bytes, member: bytes, at: int, ended: int) -> Finding:
    owner, handle = name.decode(), member.decode()
    function = source.function_name(owner, owner)
    place = frame(source, at, at + len(member), function)
    end = Step(
        frame=frame(source, ended, ended + 1, source.function_name(owner, f"~{owner}")),
        text=f"~{owner} ends {handle} here",
    )
    message = (
        f"the move constructor of {owner} leaves {handle} in the object that is moved from, whose destructor ends it"
    )
    return finding(SourceMovedOwner, message, site(owner, place), path=(end,))


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


def _destructor(code: bytes, name: bytes) -> int | None:
    """Where the inside of the one destructor of the class begins."""
    found = list(re.finditer(rb"~\s*%s\s*\(\s*(?:void)?\s*\)[\w\s]*\{" % re.escape(name), code))
    return found[0].end() if len(found) == 1 else None


def _class(code: bytes, name: bytes) -> bytes | None:
    """What stands in the one class of the name."""
    found = list(re.finditer(rb"\b(?:struct|class)\s+%s\b[^;{}()]*\{" % re.escape(name), code))
    return code[found[0].end() : block_end(code, found[0].end())] if len(found) == 1 else None
