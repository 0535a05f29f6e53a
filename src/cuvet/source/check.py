"""From a file's text to its findings."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from cuvet.findings import Finding
from cuvet.source.languages import language_of
from cuvet.source.paths.reporting import Reporter, findings_of
from cuvet.source.paths.walk import explore
from cuvet.source.project import classes, local_objects, statics
from cuvet.source.project.kept import kept
from cuvet.source.project.outlining import outline_of
from cuvet.source.reading import Lowered, read, unread
from cuvet.source.result import FileResult, NearNames, Options, Summaries
from cuvet.source.syntax.hip import is_for_amd
from cuvet.source.syntax.parsing import Node, Source, parsed, readable
from cuvet.source.textual import csharp_blocks, csharp_handles, csharp_kept, csharp_order, names, near_names
from cuvet.source.textual.arrays import array_findings, copies_arrays
from cuvet.source.textual.bindings import binding_findings
from cuvet.source.textual.graph_inputs import input_findings, replays_graphs
from cuvet.source.textual.graphs import captures_graphs, graph_findings
from cuvet.source.textual.pushed import pushed_findings, pushes_contexts
from cuvet.source.textual.python_blocks import block_findings, launches_kernels
from cuvet.source.textual.python_callbacks import callback_findings, calls_back
from cuvet.source.textual.python_contexts import context_findings, makes_contexts
from cuvet.source.textual.python_core import closed_findings, closes_streams
from cuvet.source.textual.python_devices import device_findings, streams_of_devices
from cuvet.source.textual.python_directions import copies_from_numpy, direction_findings
from cuvet.source.textual.python_kept import keeps_addresses, kept_findings
from cuvet.source.textual.ranks import rank_findings, sets_devices_by_rank
from cuvet.source.textual.resets import resets
from cuvet.source.textual.result_sizes import asks_for_results, result_findings
from cuvet.source.textual.rules import textual_findings
from cuvet.source.textual.tensors import copies_tensors, tensor_findings
from cuvet.source.textual.timing import times_events, timing_findings
from cuvet.source.textual.torch_processes import fork_findings, forks_with_torch
from cuvet.source.textual.torch_streams import stream_findings, uses_streams

_LIBRARIES = (
    (copies_tensors, tensor_findings),
    (uses_streams, stream_findings),
    (copies_arrays, array_findings),
    (times_events, timing_findings),
    (captures_graphs, graph_findings),
    (launches_kernels, block_findings),
    (forks_with_torch, fork_findings),
    (copies_from_numpy, direction_findings),
    (streams_of_devices, device_findings),
    (closes_streams, closed_findings),
    (makes_contexts, context_findings),
    (keeps_addresses, kept_findings),
    (calls_back, callback_findings),
    (replays_graphs, input_findings),
    (sets_devices_by_rank, rank_findings),
)
"""Whether a Python file has to do with it, and what is found then."""


def check_file(path: Path, text: bytes, options: Options, linked: Summaries) -> FileResult:
    """See ``cuvet.source.check_source``."""
    language, text = language_of(path), readable(path, text)
    if not language.mentions_cuda(text) or is_for_amd(path, text):
        return FileResult(file=str(path), stats={"lines": text.count(b"\n") + 1, "bytes": len(text)})
    source, tree = parsed(path, text)
    defined = language.definitions(tree.root_node, text)
    lowered = read(defined, source, language, linked)
    findings, held, given, walked = _along_paths(lowered, source)
    if source.is_cpp:
        told = {(each.rule, each.site.call) for each in findings}
        textual = textual_findings(tree.root_node, defined, source, options)
        findings += [each for each in textual if (each.rule, each.site.call) not in told]
    else:
        findings += binding_findings(defined, lowered.functions, source)
        if pushes_contexts(source.text):
            findings += pushed_findings(tree.root_node, source)
        if source.language == "python":
            findings += _of_libraries(tree.root_node, source)
        else:
            findings += csharp_blocks.block_findings(tree.root_node, source)
            findings += csharp_kept.collected_findings(tree.root_node, source)
            findings += csharp_handles.wrong_releases(tree.root_node, source)
            findings += csharp_order.order_findings(tree.root_node, source)
    if asks_for_results(text):
        findings += result_findings(tree.root_node, source)
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
            declares=tuple(sorted(names.declared(source))) if source.is_cpp else (),
            near=near_names.near_names(tree.root_node, source, options) if source.is_cpp else NearNames(),
            held=held,
            given=given,
        ),
        stats={"lines": len(source.lines), "bytes": len(text), "functions": len(lowered.functions)} | walked,
    )


def _of_libraries(root: Node, source: Source) -> Iterator[Finding]:
    """What a Python file shows of libraries over CUDA."""
    for mentions, findings in _LIBRARIES:
        if mentions(source.text):
            yield from findings(root, source)


def _along_paths(
    lowered: Lowered, source: Source
) -> tuple[list[Finding], dict[str, str], dict[str, tuple[str, ...]], dict[str, int]]:
    """Findings, what ``Outline.held`` and ``Outline.given`` are of them, and how many ``paths`` of how many ``steps`` were taken."""
    findings: list[Finding] = []
    held: dict[str, str] = {}
    given: dict[str, tuple[str, ...]] = {}
    walked = {"paths": 0, "steps": 0}
    fixtures = local_objects.resetting_fixtures(lowered.functions)
    for function in lowered.functions:
        if function.broken:
            continue
        explored, complete = explore(function, lowered.summaries)
        if not complete:
            why = f"function {function.name}: too many paths, {len(explored)} were taken"
            lowered.not_checked.append(unread(function.start, function.end, why, source))
        walked["paths"] += len(explored)
        walked["steps"] += sum(path.steps for path in explored)
        reporter = Reporter(function, source)
        found = local_objects.outlasting(findings_of(explored, reporter), function, fixtures, source)
        held.update(local_objects.held(found, function, reporter.name))
        given.update(local_objects.given(found, function, reporter.name))
        findings += [*found, *resets(function, reporter)]
    return findings, held, given, walked


def check_together(files: Sequence[FileResult]) -> tuple[Finding, ...]:
    """See ``cuvet.source.check_project``."""

    outlines = [file.outline for file in files if file.outline is not None]
    return (*classes.findings_of(outlines), *statics.findings_of(outlines), *near_names.findings_of(outlines))


def of_files(files: Sequence[FileResult]) -> Iterator[Finding]:
    """See ``cuvet.source.findings_of_files``."""
    outlines = [file.outline for file in files if file.outline is not None]
    own = {name for outline in outlines for name in outline.declares}
    ending, taking = local_objects.ending_classes(outlines), local_objects.taking_methods(outlines)
    for file in files:
        for finding in file.findings:
            of_own = finding.name in names.OF_CUDAS_OWN and finding.api in own
            if not of_own and not local_objects.may_be_ended(finding, file.outline, ending, taking):
                yield finding
