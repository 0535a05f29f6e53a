"""From a file's text to its findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet.findings import Finding
from cuvet.source import SUFFIXES
from cuvet.source.bindings import binding_findings
from cuvet.source.languages import Language, language_of
from cuvet.source.languages.cpp import Found, name_of
from cuvet.source.outlining import outline_of
from cuvet.source.parsing import Source, parse
from cuvet.source.paths import explore
from cuvet.source.program import Call, Function
from cuvet.source.reporting import Reporter, findings_of
from cuvet.source.resets import resets
from cuvet.source.result import FileResult, NotChecked, Options
from cuvet.source.summaries import Summaries, summarise
from cuvet.source.textual import textual_findings

if TYPE_CHECKING:
    from tree_sitter import Tree

    from cuvet.source.languages.cpp import Definition

_CUDA = re.compile(rb"\bcuda[A-Z]\w")


@dataclass
class Lowered:
    """What was read of a file. ``functions`` have to do with CUDA; ``companions`` belong to a class of which others have."""

    functions: list[Function]
    companions: list[Function]
    summaries: Summaries
    not_checked: list[NotChecked]


def check_file(path: Path, text: bytes, options: Options) -> FileResult:
    """See ``cuvet.source.check_source``."""
    language = language_of(path)
    if not language.MENTIONS_CUDA.search(text) or _is_for_amd(text):
        return FileResult(file=str(path), stats={"lines": text.count(b"\n") + 1, "bytes": len(text)})
    source, tree = _parsed(path, text)
    defined = language.definitions(tree.root_node, text)
    lowered = _lower(defined, source, language)
    findings, paths = _along_paths(lowered, source)
    if source.language in ("c++", "cuda"):
        findings += textual_findings(tree.root_node, defined, source, options)
    else:
        findings += binding_findings(defined, lowered.functions, source)
    return FileResult(
        file=str(path),
        findings=tuple(findings),
        not_checked=tuple(lowered.not_checked),
        outline=outline_of(defined, lowered.functions + lowered.companions, source, lowered.summaries),
        stats={"lines": len(source.lines), "bytes": len(text), "functions": len(lowered.functions), "paths": paths},
    )


def _is_for_amd(text: bytes) -> bool:
    """Whether the launches of a source file are HIP's, which look like CUDA's."""
    return (
        b"hip" in text
        and _CUDA.search(text) is None
        and re.search(rb"\bhip(?:/hip_runtime|[A-Z]\w+)", text) is not None
    )


def _lower(defined: Found, source: Source, language: Language) -> Lowered:
    """Functions that make or end objects for others are found first, because their callers are read with them in mind."""
    not_checked: dict[int, NotChecked] = {}

    def read(definition: Definition, wrappers: frozenset[bytes], members: frozenset[bytes]) -> Function | None:
        try:
            return language.lower(definition, source, wrappers, members)
        except RecursionError:
            node = definition.node
            not_checked[node.start_byte] = _unread(
                node.start_byte, node.end_byte, "the function is nested too deeply", source
            )
            return None

    nothing: frozenset[bytes] = frozenset()
    first = {definition.node.id: read(definition, nothing, nothing) for definition in defined.functions}
    summaries = summarise(function for function in first.values() if function is not None)
    wrappers = frozenset(name.encode() for (name, _), summary in summaries.items() if summary.matters)
    members = _handles(defined, language)
    functions: list[Function] = []
    companions: list[Function] = []
    owners = {function.owner for function in first.values() if function is not None and function.owner}
    for definition in defined.functions:
        owner = name_of(definition)[0]
        known = members.get(owner, nothing) if owner in owners else nothing
        function = first[definition.node.id]
        if wrappers or known:
            function = read(definition, wrappers, known) or function
        if function is None:
            continue
        concerned = first[definition.node.id] is not None or any(
            isinstance(operation, Call) and operation.name.encode() in wrappers
            for block in function.blocks
            for operation in block.operations
        )
        (functions if concerned else companions).append(function)
    for function in functions:
        if function.broken:
            why = f"{function.name} holds text that could not be parsed"
            not_checked[function.start] = _unread(function.start, function.end, why, source)
    return Lowered(functions, companions, summaries, list(not_checked.values()))


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


def _handles(defined: Found, language: Language) -> dict[str, frozenset[bytes]]:
    """By class: members that may hold an object of CUDA, as far as their type tells."""
    return {
        each.name: frozenset(member.encode() for member, kind in each.members.items() if language.HANDLE.search(kind))
        for each in defined.classes
    }


def check_together(files: Sequence[FileResult]) -> tuple[Finding, ...]:
    """See ``cuvet.source.check_project``."""
    from cuvet.source import classes

    return tuple(classes.findings_of([file.outline for file in files if file.outline is not None]))
