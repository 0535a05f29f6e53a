"""Races between streams that a path shows, where all that can order the two works is known."""

import re

from cuvet.model import Object
from cuvet.rules.race.between_streams import RaceBetweenStreams
from cuvet.rules.rule import Violation
from cuvet.source.calls import meaning, symbols
from cuvet.source.paths.trace import SourceCall
from cuvet.source.paths.walk import Path
from cuvet.source.syntax.parsing import Source

_CALLED = re.compile(r"(?<!dim3 )\b([A-Za-z_][\w.:]*)\s*(?:<[^;<>()]*>)?\s*\(")
_WITH_CUDA = re.compile(r"\b\w+\s*\(\s*(?:\w+\s*=\s*)?(?:\w+\.)?cu[a-zA-Z]\w*\s*\(")
"""What is given the status of a call of CUDA."""
_ALONE = re.compile(r"(?m)^\s*[A-Z][A-Z0-9_]{3,}\s*;")
"""A macro that is a statement."""
_MAY_WAIT = re.compile(
    r"(?m)[{}#]|\bawait\b|\bco_await\b|\bwith\b|&&|\|\||>>|<<|^\s*(?!CU)[A-Z]\w*(?:::\w+)*\s+\w+\s*[;({=]|\b[A-Z][A-Z0-9_]{3,}\b(?!\s*\()"
)
"""What may wait without a call that can be seen: the end of a block, a constructor, an operator, a macro."""
_WRAPS = re.compile(r"(?i)sync|wait|time")
_LAUNCH = re.compile(r"<<<[^;]*?>>>")
_LONGEST = 2000
"""Characters between two works."""
_QUIET = re.compile(
    r"if|for|while|switch|sizeof|return|defined|\w+_cast|int|float|double|char|size_t|f?printf|print|puts|memset|memcpy|"
    r"std::(?:memset|memcpy|min|max)|min|max|abs|fabs|sqrt|sin|cos|rand|srand|range|len|ctypes\.\w+"
)
"""Functions that wait for nothing, and what only looks like a call."""


def is_race(violation: Violation) -> bool:
    return violation.rule is RaceBetweenStreams


def is_certain(violation: Violation, call: SourceCall, path: Path, source: Source) -> bool:
    """Whether what stands between the two works is either told to the model or known to order nothing, no branch leads past something,
    and both are sure to touch the same bytes."""
    first, memory = violation.earlier[0][1], violation.objects[0]
    if not isinstance(first, SourceCall) or first.again or call.again or path.effects.failing:
        return False
    free = (taken for taken in path.between(first.step, call.step) if taken.free)
    if any((taken.block, 1 - taken.arm) not in path.arms.leaving for taken in free):
        return False
    launches = first.written.launch or call.written.launch
    if launches and not all(each.written.launch or _is_whole(each, memory, source) for each in (first, call)):
        return False
    begin = source.code.rfind(b"\n", 0, first.written.start) + 1
    around = source.code[begin : first.written.start] + source.code[first.written.end : call.written.end]
    if len(around) > _LONGEST:
        return False
    return _is_quiet(
        around.decode("utf-8", "replace"), source.code[begin : first.written.start].decode("utf-8", "replace")
    )


def _is_quiet(text: str, before: str) -> bool:
    """Whether the text calls nothing but CUDA, what is given the status of such a call, and what waits for nothing. ``before``: its part
    before the first work."""
    text = text.removeprefix(before)
    if _WRAPS.search(before) or _MAY_WAIT.search(_LAUNCH.sub("", text)):
        return False
    checks = {match.start() for match in _WITH_CUDA.finditer(text)}
    called = (match for match in _CALLED.finditer(text) if match.start() not in checks)
    names = (match[1].rpartition(".")[2] for match in called if not _QUIET.fullmatch(match[1]))
    return not _ALONE.search(text) and all(name in symbols() for name in names)


def _is_whole(call: SourceCall, memory: Object, source: Source) -> bool:
    """Whether the size that the call is given is written as that of the memory: then a kernel touches some of these bytes, wherever in the
    memory it begins."""
    made = memory.created_by
    sizes = {_size(each, source) for each in (made, call) if isinstance(each, SourceCall)}
    return isinstance(made, SourceCall) and len(sizes) == 1 and b"" not in sizes


def _size(call: SourceCall, source: Source) -> bytes:
    """What is written as the size of the memory, without spaces; empty if that is not known."""
    found, spans = meaning(call.written.name), call.written.spans
    places = {found.entry_point.index[role.size] for role in found.entry_point.roles if role.size} if found else set()
    at = places.pop() if len(places) == 1 else len(spans)
    return b"".join(source.text[slice(*spans[at])].split()) if at < len(spans) else b""
