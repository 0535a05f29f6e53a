"""Times that a file of C# or Python asks for, and that nothing in the file waits for."""

import re
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding, Step
from cuvet.rules.source.elapsed_not_awaited import SourceElapsedNotAwaited
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Function, Invoke
from cuvet.source.sites import finding
from cuvet.source.syntax.lexing import LEXERS
from cuvet.source.syntax.parsing import Source
from cuvet.source.textual.elapsed import ASKS, RECORDS

_DECLARATION = re.compile(r"\bextern\b[^;{}]{0,600};|\.(?:argtypes|restype)\b[^\n]{0,300}")
_MAY_WAIT = re.compile(
    r"(?i:sync|wait|join|sleep|query|poll|not_?ready)|\bcu(?:da)?(?:Memcpy\w*(?<!Async)|\w*Free\w*(?<!Async))\s*\("
)
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


def never_awaited(functions: Sequence[Function], source: Source) -> Iterator[Finding]:
    """The first time that the file asks for, if it records events itself and nothing in it waits, or asks whether an event is reached."""
    asked = _first(functions, ASKS)
    recorded = _first(functions, RECORDS)
    if asked is None or recorded is None or _MAY_WAIT.search(_code(source)):
        return
    function, call = asked
    if _is_of_caller(call, function, source):
        return
    reporter, of_record = Reporter(function, source), Reporter(recorded[0], source)
    path = (Step(frame=of_record.frame(recorded[1].start, recorded[1].end), text="an event is recorded here"),)
    message = "the time is asked for, and nothing in the file waits for an event, or asks whether it is reached"
    where = reporter.site(call, call.start, call.end)
    yield finding(SourceElapsedNotAwaited, message, where, path=path, severity="note")


def _first(functions: Sequence[Function], names: frozenset[str]) -> tuple[Function, Invoke] | None:
    return next(((each, call) for each in functions for call in each.calls if call.name in names), None)


def _is_of_caller(call: Invoke, function: Function, source: Source) -> bool:
    """Whether an event comes from a parameter: then the caller may have waited for it."""
    words = {word for span in call.spans for word in _WORD.findall(source.slice(*span))}
    return any(each.name in words for each in function.parameters if each.name not in ("self", "this"))


def _code(source: Source) -> str:
    """The text without comments, literals, and declarations of functions of other libraries."""
    text = LEXERS[source.language].sub(" ", source.text.decode("utf-8", "replace"))
    return _DECLARATION.sub(" ", text)
