"""From a file's text to its findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from cuvet.findings import Finding
from cuvet.source import SUFFIXES, callees
from cuvet.source.bindings import binding_findings
from cuvet.source.calls import symbols
from cuvet.source.kept import kept
from cuvet.source.languages import Language, language_of
from cuvet.source.languages.cpp import Found, name_of
from cuvet.source.outlining import outline_of
from cuvet.source.parsing import Source, parse
from cuvet.source.paths import explore
from cuvet.source.program import Call, Function
from cuvet.source.reporting import Reporter, findings_of
from cuvet.source.resets import resets
from cuvet.source.result import FileResult, NotChecked, Options, Summaries
from cuvet.source.summaries import merged, names_that_matter, summarise
from cuvet.source.textual import textual_findings

if TYPE_CHECKING:
    from tree_sitter import Tree

    from cuvet.source.languages.cpp import Definition

MOST_WRAPPED = 3
"""How many functions deep a call is followed within a file."""
_CUDA = re.compile(rb"\bcuda[A-Z]\w*(?:_t\b|\s*\()|\bcu[A-Z]\w+\s*\(|\bcuda(?:_runtime\w*)?\.h\b")
_HIP = re.compile(rb"\bhip(?:/hip_|[A-Z]\w+)")
_HIP_FOLDER = re.compile(r"(?i)^(?!.*cuda)(?:.*[-_.])?hip$")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)


@dataclass
class Lowered:
    """What was read of a file. ``functions`` have to do with CUDA; ``companions`` belong to a class of which others have."""

    functions: list[Function]
    companions: list[Function]
    summaries: Summaries
    not_checked: list[NotChecked]
    offers: Summaries
    calls: frozenset[str]
    guessed: frozenset[str]


def check_file(path: Path, text: bytes, options: Options, linked: Summaries) -> FileResult:
    """See ``cuvet.source.check_source``."""
    language = language_of(path)
    if not language.mentions_cuda(text) or _is_for_amd(path, text):
        return FileResult(file=str(path), stats={"lines": text.count(b"\n") + 1, "bytes": len(text)})
    source, tree = _parsed(path, text)
    defined = language.definitions(tree.root_node, text)
    lowered = _lower(defined, source, language, linked)
    findings, paths = _along_paths(lowered, source)
    if source.language in ("c++", "cuda"):
        findings += textual_findings(tree.root_node, defined, source, options)
    else:
        findings += binding_findings(defined, lowered.functions, source)
    outline = outline_of(defined, lowered.functions + lowered.companions, source, lowered.summaries)
    findings += kept(outline.effects, source)
    return FileResult(
        file=str(path),
        findings=tuple(findings),
        not_checked=tuple(lowered.not_checked),
        outline=structs.replace(
            outline,
            offers=lowered.offers,
            calls=tuple(sorted(lowered.calls)),
            guessed=tuple(sorted(lowered.guessed)),
        ),
        stats={"lines": len(source.lines), "bytes": len(text), "functions": len(lowered.functions), "paths": paths},
    )


def _is_for_amd(path: Path, text: bytes) -> bool:
    """Whether the launches of a source file are HIP's, which look like CUDA's: it calls no CUDA, and names HIP or is in a folder for it."""
    if _CUDA.search(text) is not None:
        return False
    return _HIP.search(text) is not None or any(_HIP_FOLDER.search(part) for part in path.parts[:-1])


def _lower(defined: Found, source: Source, language: Language, linked: Summaries) -> Lowered:
    """Functions that make or end objects for others are found first, because their callers are read with them in mind; and these may
    do the same for others again."""
    not_checked: dict[int, NotChecked] = {}

    def read(definition: Definition, wrappers: frozenset[bytes], members: frozenset[bytes]) -> Function | None:
        try:
            return language.lower(definition, source, wrappers, members)
        except RecursionError:
            start, end = definition.node.start_byte, definition.node.end_byte
            not_checked[start] = _unread(start, end, "the function is nested too deeply", source)
            return None

    unseen = _unseen(defined, source)
    named = merged(linked, callees.by_name(unseen, source.text))
    wrappers = names_that_matter(named)
    first = [read(definition, wrappers, frozenset()) for definition in defined.functions]
    own = summarise(filter(None, first), named)
    used = callees.by_use(filter(None, first), unseen, source)
    summaries = merged(own, linked, used, named)
    members = _members_in_reach(defined, first, language)
    functions = first
    for _ in range(MOST_WRAPPED):
        wrappers = names_that_matter(summaries)
        functions = [
            (read(definition, wrappers, known) or before) if wrappers or known else before
            for definition, known, before in zip(defined.functions, members, first, strict=True)
        ]
        own = summarise(filter(None, functions), summaries)
        summaries = merged(own, linked, used, named)
        if names_that_matter(summaries) <= wrappers:
            break
    concerned, companions = _parted(functions, first, wrappers)
    for each in concerned:
        if each.broken:
            why = f"{each.name} holds text that could not be parsed"
            not_checked[each.start] = _unread(each.start, each.end, why, source)
    return Lowered(
        functions=concerned,
        companions=companions,
        summaries=summaries,
        not_checked=list(not_checked.values()),
        offers=callees.offered(own, defined, source),
        calls=unseen,
        guessed=frozenset({*named, *used} - linked.keys()),
    )


def _parted(
    functions: Sequence[Function | None], first: Sequence[Function | None], wrappers: frozenset[bytes]
) -> tuple[list[Function], list[Function]]:
    """Functions that have to do with CUDA, by themselves (``first``) or by what they call, and the others."""
    concerned: list[Function] = []
    companions: list[Function] = []
    for function, before in zip(functions, first, strict=True):
        if function is not None:
            (concerned if before is not None or _calls_one_of(wrappers, function) else companions).append(function)
    return concerned, companions


def _calls_one_of(names: frozenset[bytes], function: Function) -> bool:
    return any(
        isinstance(operation, Call) and operation.name.rpartition("::")[2].encode() in names
        for block in function.blocks
        for operation in block.operations
    )


def _unseen(defined: Found, source: Source) -> frozenset[str]:
    """Functions that the file calls and does not define."""
    if source.language not in ("c++", "cuda"):
        return frozenset()
    own = {name_of(each)[1] for each in defined.functions}
    macros = {match[1].decode() for match in _MACRO.finditer(source.text)}
    return frozenset(name for name, _, _ in source.called) - symbols() - own - macros


def _along_paths(lowered: Lowered, source: Source) -> tuple[list[Finding], int]:
    """Findings, and how many paths were taken."""
    findings: list[Finding] = []
    paths = 0
    for function in lowered.functions:
        if function.broken:
            continue
        explored, complete = explore(function, lowered.summaries)
        if not complete:
            why = f"{function.name} has more paths than are taken: {len(explored)} were"
            lowered.not_checked.append(_unread(function.start, function.end, why, source))
        paths += len(explored)
        reporter = Reporter(function, source)
        findings += findings_of(explored, reporter)
        findings += resets(function, reporter)
    return findings, paths


def _parsed(path: Path, text: bytes) -> tuple[Source, Tree]:
    kind = SUFFIXES.get(path.suffix, "c++")
    if kind in ("python", "c#"):
        source = Source(path, text, "python" if kind == "python" else "c#")
        return source, parse(source, kind)
    cuda = path.suffix in (".cu", ".cuh") or b"<<<" in text
    source = Source(path, text, "cuda" if cuda else "c++")
    return source, parse(source, "cuda" if cuda else "cpp")


def _unread(start: int, end: int, why: str, source: Source) -> NotChecked:
    return NotChecked(file=str(source.path), first=source.line(start), last=source.line(end), why=why)


def _members_in_reach(defined: Found, first: Sequence[Function | None], language: Language) -> list[frozenset[bytes]]:
    """For each function: members of its class that may hold an object of CUDA, as far as their type tells. None for functions of a
    class of which no function was among the ``first``."""
    owners = {function.owner for function in first if function is not None and function.owner}
    members = {
        each.name: frozenset(member.encode() for member, kind in each.members.items() if language.HANDLE.search(kind))
        for each in (defined.classes if owners else ())
    }
    nothing: frozenset[bytes] = frozenset()
    return [members.get(owner, nothing) if owner in owners else nothing for owner, _ in map(name_of, defined.functions)]


def check_together(files: Sequence[FileResult]) -> tuple[Finding, ...]:
    """See ``cuvet.source.check_project``."""
    from cuvet.source import classes, statics

    outlines = [file.outline for file in files if file.outline is not None]
    return (*classes.findings_of(outlines), *statics.findings_of(outlines))
