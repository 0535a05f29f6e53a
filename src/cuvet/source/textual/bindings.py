"""Rules that the calls of a Python or C# file show without a path: ignored statuses, names that CUDA does not have, forks."""

import re
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding
from cuvet.rules.source.status_dropped import SourceStatusDropped
from cuvet.rules.source.unknown_entry_point import SourceUnknownEntryPoint
from cuvet.rules.source.unknown_type import SourceUnknownType
from cuvet.source.calls import meaning, symbols
from cuvet.source.languages.cpp import Found
from cuvet.source.languages.python_names import Names, PythonDefinition
from cuvet.source.ownership import only_ends
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Function, Invoke
from cuvet.source.syntax.parsing import Source
from cuvet.source.textual import csharp_awaiting, csharp_directions
from cuvet.source.textual.binding_elapsed import never_awaited
from cuvet.source.textual.binding_sizes import in_elements, of_arrays
from cuvet.source.textual.processes import forked
from cuvet.source.textual.spellings import nearest, nearest_type
from cuvet.source.textual.statuses import returns_status

_DECLARED = re.compile(
    rb'\[(?:DllImport|LibraryImport)\s*\(\s*"(?:nv|lib)?cuda[^"]*"(?![^\]]{0,300}EntryPoint)[^\]]{0,300}\](?:\s*\[[^\]]{0,300}\]){0,9}[^;{}(]{0,300}?\b(cu\w+)\s*\('
)
"""A function of the driver or the runtime that C# declares under its own name."""


def binding_findings(found: Found, lowered: Sequence[Function], source: Source) -> Iterator[Finding]:
    for function in lowered:
        reporter = Reporter(function, source)
        yield from _dropped(function, reporter)
        yield from in_elements(function, reporter)
        yield from of_arrays(function, reporter)
        if source.language == "c#":
            yield from csharp_directions.against_kind(function, reporter)
            yield from csharp_awaiting.used_too_early(function, reporter)
    if b"ElapsedTime" in source.text:
        yield from never_awaited(lowered, source)
    definitions = [each for each in found.functions if isinstance(each, PythonDefinition)]
    if definitions:
        yield from forked(definitions, source)
    whole = Reporter(Function(name="", owner="", parameters=(), blocks=[], start=0, end=len(source.text)), source)
    for at, name in _unknown(source):
        what, rule = ("type", SourceUnknownType) if nearest_type(name) else ("function", SourceUnknownEntryPoint)
        message = f"CUDA has no such {what}; there is {nearest_type(name) or nearest(name)}"
        yield whole.plain(rule, Invoke(name, (), at, at + len(name)), message)


def _dropped(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """One finding for a function; none if it only ends things in C#, or is a destructor."""
    calls = sorted(function.calls, key=lambda call: call.start)
    if any("GetLastError" in call.name or "PeekAtLastError" in call.name for call in calls):
        return
    dropped = {call.start: call for call in calls if not call.result and not call.checked and _matters(call, function)}
    of_csharp = reporter.source.language == "c#"
    if any(not (of_csharp and _ends(call)) for call in dropped.values()):
        first = next((call for call in dropped.values() if _makes(call)), next(iter(dropped.values())))
        others = len(dropped) - 1
        counted = f"the status of {first.name}" + (f" and of {others} more call{'s' * (others > 1)}" if others else "")
        yield reporter.plain(SourceStatusDropped, first, f"{counted} is ignored")


def _matters(call: Invoke, function: Function) -> bool:
    found = meaning(call.name)
    if found is None or not returns_status(call.name) or "GetError" in call.name:
        return False
    return not (found.ended and only_ends(function.name))


def _ends(call: Invoke) -> bool:
    found = meaning(call.name)
    return found is not None and bool(found.ended)


def _makes(call: Invoke) -> bool:
    found = meaning(call.name)
    return found is not None and bool(found.made)


def _unknown(source: Source) -> Iterator[tuple[int, str]]:
    """(offset, name) of the first use of each name that is a slip of the pen away from one of CUDA's."""
    if source.language == "python":
        named = Names(source.text).attributes_of_bindings(source.text)
    else:
        named = [(match.start(1), match[1].decode()) for match in _DECLARED.finditer(source.text)]
    first: dict[str, int] = {}
    for at, name in named:
        if name not in symbols() and (nearest(name) or (source.language == "python" and nearest_type(name))):
            first.setdefault(name, at)
    for name, at in first.items():
        yield at, name
