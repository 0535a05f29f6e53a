"""What ``cuvet check`` does: finds the files, checks them, and keeps of the findings what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import msgspec

import cuvet
from cuvet import CuvetError
from cuvet.configuration import repository as repository_of
from cuvet.findings import SEVERITIES, Finding, Severity, Tool
from cuvet.printable import valid
from cuvet.rules import rule_called
from cuvet.rules.examples import invalid, sources
from cuvet.rules.named import rules_named, selected, severities
from cuvet.source import Options, check_project, findings_of_files, link
from cuvet.source.tool import baseline, changes, configuration, files, injected
from cuvet.source.tool.cache import Cache
from cuvet.source.tool.changes import Changes
from cuvet.source.tool.fingerprints import fingerprinted, place
from cuvet.source.tool.ignores import IgnoreComment, mistakes
from cuvet.source.tool.lines import hold
from cuvet.source.tool.report import CheckFinding, CheckReport, Ignore, Skipped, Unread
from cuvet.source.tool.workers import Checked, Job, Pool, check_files, check_here, check_linked, processors

MOST_ROUNDS = 5
"""An edit can let another finding be fixed that the same lines hold."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. None and empty: what the configuration says."""

    paths: tuple[Path, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Path | None = None
    write_baseline: bool = False
    injected: Path | None = None
    diff: str | None = None
    cuda: str | None = None
    processes: int | None = None
    pool: Pool | None = None
    """What checks the files instead of processes of this machine."""
    cached: bool = True
    texts: Mapping[Path, bytes] = field(default_factory=dict)
    """What is to be checked instead of what these files hold; they need not exist."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: the files, and which findings are wanted."""

    root: Path
    found: files.Found
    job: Job
    pool: Pool
    selected: frozenset[str]
    baseline: Path | None
    known: frozenset[str]
    changes: Changes | None
    shown: injected.Shown
    severities: Mapping[str, Severity]
    """By name of a rule, where the configuration says another than the rule."""
    exempt: Sequence[tuple[Callable[[str], bool], frozenset[str]]]
    """Which files the configuration takes which rules back in, by name."""


@dataclass(slots=True)
class Outcome:
    """``wanted`` are the findings of rules that were selected, without the ``ignored`` ones, which are counted: by comments, or by the
    configuration."""

    wanted: list[CheckFinding]
    unused_ignores: list[Ignore]
    checked: list[Checked]
    ignored: Counter[str]


def plan(request: Request) -> Plan:
    """CuvetError for what cannot be done, before anything is checked."""
    every = (*request.paths, *request.texts)
    project = configuration.read(every)
    start = configuration.common_directory(every)
    repository = repository_of(start)
    chosen = request.baseline or project.baseline
    if request.write_baseline and chosen is None:
        raise CuvetError("--write-baseline needs --baseline FILE, or baseline in the configuration")
    found = files.find(request.paths, project.exclude, project.directory, request.texts)
    return Plan(
        root=repository or project.directory or start,
        found=found,
        job=Job(Options(cuda=request.cuda or project.cuda), request.cached),
        pool=request.pool or partial(check_here, processes=request.processes or processors()),
        selected=selected(project.select, project.ignore, request.select, request.ignore),
        baseline=chosen,
        known=baseline.read(chosen) if chosen and not request.write_baseline else frozenset(),
        changes=changes.since(request.diff, repository) if request.diff is not None else None,
        shown=injected.read(request.injected) if request.injected is not None else {},
        severities=severities(project.severity),
        exempt=[
            (
                files.named_by(pattern, project.directory, "per-file-ignores"),
                rules_named(rules, "per-file-ignores"),
            )
            for pattern, rules in project.per_file_ignores.items()
        ],
    )


def check(todo: Plan, tell: Callable[[int], None] = lambda count: None) -> Outcome:
    """Check the files, and take out what comments ignore. ``tell`` is told how many more files are done."""
    hold({Path(file.name): file.text for file in todo.found.files if file.text is not None})
    checked = check_files(todo.found.files, todo.job, todo.pool, tell)
    if todo.job.cached:
        Cache(todo.job.options).prune()
    callees = link([each.result for each in checked if each.failure is None])
    checked = check_linked(checked, callees, todo.job, todo.pool)
    results = [each.result for each in checked if each.failure is None]
    findings = [*findings_of_files(results), *check_project(results)]
    ignores = {each.file.name: each.ignores for each in checked if each.ignores}
    kept: list[Finding] = []
    ignored: Counter[str] = Counter()
    used: set[Use] = set()
    for finding in findings:
        if finding.name in todo.selected:
            by = _ignored_by(finding, ignores)
            used.update(by)
            if by:
                ignored["ignored"] += 1
            elif _is_exempt(finding, todo):
                ignored["configured"] += 1
            else:
                kept.append(_as_severe(finding, todo))
    return Outcome(fingerprinted(kept, todo.root), list(_unused(checked, used, todo)), checked, ignored)


def _is_exempt(finding: Finding, todo: Plan) -> bool:
    file = place(finding).file or ""
    return any(finding.name in rules and is_meant(file) for is_meant, rules in todo.exempt)


def _as_severe(finding: Finding, todo: Plan) -> Finding:
    severity = todo.severities.get(finding.name, finding.severity)
    if severity != finding.severity:
        finding = msgspec.structs.replace(finding, severity=severity)
    return injected.with_shown(finding, _places(finding), todo.shown) if todo.shown else finding


Use = tuple[str, IgnoreComment, str]
"""A file, a comment in it, and the name of a rule by which it ignores something."""


def _ignored_by(finding: Finding, ignores: dict[str, tuple[IgnoreComment, ...]]) -> list[Use]:
    frame = place(finding)
    file = frame.file or ""
    return [
        (file, comment, name)
        for comment in ignores.get(file, ())
        if comment.lines[0] <= (frame.line or 0) <= comment.lines[1]
        for name in comment.names
        if name.lower() in (finding.name, finding.rule.lower())
    ]


def _unused(checked: Iterable[Checked], used: set[Use], todo: Plan) -> Iterator[Ignore]:
    """What is wrong with comments. Of rules that were not asked for, and where nothing was checked, none can be told."""
    for each in checked:
        dark = [(part.first, part.last) for part in each.result.not_checked]
        for comment in each.ignores:
            if each.failure or any(first <= comment.lines[1] and comment.lines[0] <= last for first, last in dark):
                continue
            useful = {name for name in comment.names if (each.file.name, comment, name) in used}
            for why in _wrong(comment, useful, todo.selected):
                yield Ignore(
                    file=each.file.name,
                    line=comment.line,
                    column=comment.column,
                    end_column=comment.end_column,
                    why=why,
                )


def _wrong(comment: IgnoreComment, used: set[str], selected: frozenset[str]) -> Iterator[str]:
    yield from mistakes(comment)
    for name in comment.names:
        rule = _rule(name)
        if rule and rule.name in selected and name not in used and sources(invalid(rule)):  # else it is for `cuvet run`
            yield f"nothing to ignore: no finding of {rule.name} here"


_rule = cache(rule_called)


def fix(todo: Plan, outcome: Outcome) -> tuple[Outcome, int]:
    """Fix what can be fixed of the findings that would be reported; what is found then, and how many were fixed."""
    from cuvet.source.tool import fixes  # start: only with --fix

    total = 0
    for _ in range(MOST_ROUNDS):
        every = [finding for each in outcome.checked for finding in each.result.findings]
        fixed = fixes.fix(report(todo, outcome).findings, every)
        if not fixed:
            break
        total += fixed
        todo = replace(todo, found=files.as_they_are(todo.found))
        outcome = check(todo)
    return outcome, total


def report(todo: Plan, outcome: Outcome, fixed: int = 0) -> CheckReport:
    """What is left when the baseline and the unchanged lines are taken out, errors first."""
    shown = [finding for finding in outcome.wanted if finding.fingerprint not in todo.known]
    hidden = outcome.ignored + Counter({"baseline": len(outcome.wanted) - len(shown)})
    unused = outcome.unused_ignores
    if todo.changes is not None:
        before, changed = len(shown), todo.changes
        shown = [finding for finding in shown if any(changed.touch(file, line) for file, line in _places(finding))]
        hidden["unchanged"] = before - len(shown)
        unused = [ignore for ignore in unused if changed.touch(ignore.file, ignore.line)]
    return CheckReport(
        tool=Tool(version=cuvet.__version__),
        root=valid(todo.root),
        findings=tuple(sorted(shown, key=lambda finding: SEVERITIES.index(finding.severity))),
        unused_ignores=tuple(unused),
        not_checked=tuple(part for each in outcome.checked for part in each.result.not_checked),
        unread=(
            *(Unread(file=name, why=why) for name, why in todo.found.broken),
            *(Unread(file=each.file.name, why=each.failure) for each in outcome.checked if each.failure),
        ),
        skipped=tuple(Skipped(file=name, why=why) for name, why in todo.found.skipped),
        hidden={name: count for name, count in hidden.items() if count},
        stats=_stats(outcome.checked) | ({"fixed": fixed} if fixed else {}),
    )


def _places(finding: Finding) -> Iterator[tuple[str, int]]:
    """Every line that has a part in a finding."""
    sites = [site for it in finding.objects for site in (it.created, it.destroyed) if site is not None]
    frames = [place(finding), *(step.frame for step in finding.path), *(site.frames[0] for site in sites)]
    return ((frame.file, frame.line) for frame in frames if frame.file and frame.line)


def _stats(checked: Sequence[Checked]) -> dict[str, int]:
    total: Counter[str] = Counter(files=len(checked))
    for each in checked:
        total.update(each.result.stats)
    return dict(total)
