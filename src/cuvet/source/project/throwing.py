"""Constructors that throw where a call of CUDA fails, after they have made members: the destructor does not run for these."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from cuvet.findings import Finding, Frame
from cuvet.rules.source.leak_on_failure import SourceLeakOnFailure
from cuvet.source.calls import symbols
from cuvet.source.languages.cpp import HANDLE, Found, name_of
from cuvet.source.languages.cpp_text import holds_several
from cuvet.source.project.wholes import Whole, finding_of
from cuvet.source.quiet import CHECKED
from cuvet.source.result import Attempt, Effect, Outline
from cuvet.source.sites import frame
from cuvet.source.syntax.lexing import block_end, cpp_code
from cuvet.source.syntax.parsing import Source

_FUNCTION = re.compile(
    rb"\b(\w+)\s{0,80}\(\s{0,80}(?:const\s{1,80})?(?:cudaError_t|cudaError|CUresult|cu[a-z]{1,20}Status_t|cufftResult(?:_t)?|T)\b"
    rb"[^(){};]{0,400}\)[\w\s]{0,80}\{"
)
"""A function that is given a status first."""
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)\n]{0,200})\)((?:[^\\\n]|\\\r?\n|\\.)*)", re.M)
_CALLED = re.compile(rb"\b(\w+)\s{0,80}\(")
_ENDS_PROCESS = re.compile(rb"\b(?:abort|_?exit|quick_exit|terminate|assert)\b")
_CAUGHT = re.compile(rb"\b(?:try|catch)\b|\[\s{0,80}[&=]|(?i:guard|scope|defer|finally|unique_ptr|shared_ptr)")
_THROWS = "throw"
_MOST, _LONGEST = 500, 4000
"""Checks of a file, and bytes of one."""


def throwing_of(source: Source) -> dict[str, tuple[str, ...]]:
    """Functions that are given a status, and macros: what each calls (macros: with what they are given), or ``throw`` if it throws."""
    found: dict[str, tuple[str, ...]] = {}
    if b"throw" not in source.code and b"define" not in source.code:
        return found
    for match in islice(_FUNCTION.finditer(source.code), _MOST):
        body = source.code[match.end() : match.end() + _LONGEST]
        _note(found, match[1].decode(), body[: block_end(body, 0)])
    for match in _MACRO.finditer(source.text):
        given = re.match(rb"\s*(\w+)", match[2])
        if given is not None and (b"throw" in match[3] or given[1] in match[3]):
            handed = rb"\b(\w+)\s{0,80}\([\s(]{0,80}%s\b" % given[1]
            _note(found, match[1].decode(), cpp_code(match[3]), re.compile(handed))
    return found


def _note(found: dict[str, tuple[str, ...]], name: str, body: bytes, called: re.Pattern[bytes] = _CALLED) -> None:
    """A name that has several definitions throws only if each of them does."""
    words: set[str] = set()
    if _ENDS_PROCESS.search(body) is None:
        throws = re.search(rb"\bthrow\b", body) is not None
        words = {_THROWS} if throws else {each.decode() for each in called.findall(body)} - symbols()
    found[name] = tuple(sorted(words & set(found[name]) if name in found else words))


def attempts_of(found: Found, effects: Sequence[Effect], source: Source) -> Iterator[Attempt]:
    """Constructors that make members, and give statuses of CUDA to others."""
    makers = {effect.owner for effect in effects if effect.verb == "makes" and effect.function == "__init__"}
    for definition in found.functions if makers else ():
        owner, name = name_of(definition)
        node = definition.node
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if name != "__init__" or owner not in makers or declarator is None or body is None:
            continue
        head = source.code[declarator.end_byte : body.start_byte]
        delegates = re.search(rb"[:,]\s*%s\s*[({]" % re.escape(owner.encode()), head)
        if delegates or _CAUGHT.search(source.code, declarator.end_byte, body.end_byte):
            continue
        shown = source.function_name(owner, owner)
        checks = tuple(
            (match[1].decode(), match[2].decode(), frame(source, match.start(2), match.end(2), shown))
            for match in CHECKED.finditer(source.code, body.start_byte, body.end_byte)
            if match[2].decode() in symbols()
        )
        if checks:
            last = source.line(body.end_byte - 1)
            yield Attempt(
                owner=owner, checks=checks, last=last, frame=frame(source, node.start_byte, node.end_byte, shown)
            )


def throwing(outlines: Sequence[Outline]) -> frozenset[str]:
    """Names that throw in every file that defines them: by themselves, or by what they call."""
    defined: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for outline in outlines:
        for name, words in outline.throwing.items():
            defined[name].append(words)
    itself = {name for name, all_words in defined.items() if all(_THROWS in words for words in all_words)}
    through = {name for name, all_words in defined.items() if all(not itself.isdisjoint(words) for words in all_words)}
    return frozenset(itself | through)


def lost_if_thrown(whole: Whole, attempts: Sequence[Attempt], throws: Collection[str]) -> Iterator[Finding]:
    """Members that a constructor makes before a call whose failure makes it throw, and that only the destructor ends."""
    for attempt in attempts:
        checks = [(call, at) for name, call, at in attempt.checks if name in throws]
        lost = [each for each in _made(whole, attempt) if checks and _place(each.frame) < _place(checks[-1][1])]
        if not lost:
            continue
        after = [each for each in checks if _place(each[1]) > _place(lost[0].frame)]
        names = ", ".join(dict.fromkeys(each.member for each in lost))
        call, at = after[-1]
        message = f"the constructor of {whole.name} throws if {call} fails in line {at.line}, and loses {names}"
        steps = (
            (lost[0].frame, f"{lost[0].member} is made here"),
            (at, "an exception may be thrown here, and the destructor does not run"),
        )
        yield finding_of(SourceLeakOnFailure, whole, lost[0].member, lost[0], message, lost[0], None, steps)


def _made(whole: Whole, attempt: Attempt) -> list[Effect]:
    """Members that the constructor makes and knows alone, and that the destructor ends, in their order."""
    at_end = {"__del__", *whole.own_calls["__del__"]}
    found: list[Effect] = []
    for member, kind in whole.outline.members.items():
        ended = any(each.function in at_end for each in whole.of(member, "ends"))
        known = any(each.function == "__init__" for each in whole.of(member, "gives", "sets", "ends"))
        if ended and not known and HANDLE.search(kind) and not holds_several(kind):
            found += [each for each in whole.of(member, "makes") if not each.guarded and _is_in(each, attempt)]
    return sorted(found, key=lambda each: _place(each.frame))


def _is_in(made: Effect, attempt: Attempt) -> bool:
    inside = made.frame.file == attempt.frame.file and made.function == "__init__"
    return inside and _place(attempt.frame) <= _place(made.frame) and (made.frame.line or 0) <= attempt.last


def _place(at: Frame) -> tuple[int, int]:
    return at.line or 0, at.column or 0
