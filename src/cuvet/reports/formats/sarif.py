"""Findings as SARIF 2.1.0 (OASIS Standard), which code hosts and editors read.

Addresses are relative to the base ``%SRCROOT%`` as far as the files lie below it. A finding in source code has its path as a code
flow, one of a running program its stacks. Section numbers are those of the standard.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from cuvet import CuvetError
from cuvet.findings import Finding, Frame, Report, Site, Tool
from cuvet.reports import Document, unexplained
from cuvet.reports.check import frame_of
from cuvet.reports.formats import json
from cuvet.reports.identity import fingerprint
from cuvet.reports.pages import page
from cuvet.reports.terminal import located, result, sentence
from cuvet.rules import rule_called
from cuvet.rules.headings import sections
from cuvet.rules.rule import Rule
from cuvet.source.tool.fingerprints import relative
from cuvet.source.tool.report import CheckFinding, CheckReport

Json = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "cuvet/v1"
UNUSED_IGNORE = "unused-ignore"
_ROOT = "%SRCROOT%"


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a check or of a run. SARIF has no ``color``."""
    found = document.content
    if isinstance(found, CheckReport):
        out.write(of_check(found))
    elif isinstance(found, Report):
        try:
            root = Path.cwd()
        except FileNotFoundError:
            raise CuvetError("SARIF names files from the current directory, which was deleted") from None
        out.write(of_run(found, root))


def of_check(report: CheckReport) -> str:
    """The log file of a check."""
    root = Path(report.root)
    rules = _rules(report.findings)
    results = [_checked(finding, rules, root) for finding in report.findings]
    for ignore in report.unused_ignores:
        results.append(
            {
                "ruleId": UNUSED_IGNORE,
                "level": "warning",
                "message": {"text": ignore.why},
                "locations": [_location(frame_of(ignore), root)],
            }
        )
    problems = [
        _notification("error", unread.why, Frame(function="", file=unread.file), root) for unread in report.unread
    ]
    for part in report.not_checked:
        problems.append(
            _notification("note", part.why, Frame(function="", file=part.file, line=part.first), root, part.last)
        )
    return _log(report.tool, rules, results, problems, root, successful=not report.unread)


def of_run(report: Report, root: Path) -> str:
    """The log file of a program's run; ``root`` is the directory that its sources' addresses are relative to."""
    rules = _rules(report.findings)
    results = [_observed(finding, report, rules, root) for finding in report.findings]
    problems: list[Json] = [{"level": "warning", "message": {"text": sentence}} for sentence in report.not_checked]
    problems += [{"level": "error", "message": {"text": cause.verdict}} for cause in report.machine]
    problems += [{"level": "note", "message": {"text": unexplained.sentence(each)}} for each in report.unexplained]
    return _log(report.tool, rules, results, problems, root, successful=True)


def _log(
    tool: Tool, rules: Sequence[type[Rule]], results: list[Json], problems: list[Json], root: Path, successful: bool
) -> str:
    driver = {
        "name": tool.name,
        "version": tool.version,
        "semanticVersion": tool.version,
        "rules": [_descriptor(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": _address(root) + "/"}},
        "invocations": [{"executionSuccessful": successful, "toolExecutionNotifications": problems}],
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.text(log) + "\n"


def _rules(findings: Iterable[Finding]) -> list[type[Rule]]:
    """The rules that the findings are of, each once."""
    found = (rule_called(name) for name in {finding.name for finding in findings})
    return sorted((rule for rule in found if rule is not None), key=lambda rule: rule.code)


def _descriptor(rule: type[Rule]) -> Json:
    """What is known about a rule (3.49)."""
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": " ".join(sections(rule)["Why it is wrong"].split())},
        "help": {"text": rule.help, "markdown": page(rule)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["cuda", rule.name]},
    }


def _result(finding: Finding, rules: Sequence[type[Rule]], text: str, known_by: str) -> Json:
    known = [number for number, rule in enumerate(rules) if rule.name == finding.name]
    return {
        "ruleId": finding.rule,
        **({"ruleIndex": known[0]} if known else {}),
        "level": finding.severity,
        "message": {"text": "\n".join((text, *finding.because))},
        "partialFingerprints": {FINGERPRINT: known_by},
    }


def _checked(finding: CheckFinding, rules: Sequence[type[Rule]], root: Path) -> Json:
    """A finding in source code. Its path is a flow in one thread (3.36, 3.37)."""
    steps = [_location(step.frame, root, step.text) for step in finding.path]
    flow = {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}
    return {
        **_result(finding, rules, sentence(finding), finding.fingerprint),
        "locations": [_location(finding.site.frames[0], root)],
        **_related(finding, root),
        **({"codeFlows": [flow]} if steps else {}),
    }


def _observed(finding: Finding, report: Report, rules: Sequence[type[Rule]], root: Path) -> Json:
    """A finding of a running program, with its stack (3.44)."""
    frames = located(finding.site)
    stack = [_stack_frame(frame, finding.site, root) for frame in finding.site.frames]
    return {
        **_result(
            finding,
            rules,
            f"{sentence(finding)}\n{result(finding, report.program)}",
            fingerprint(finding.name, finding.api, finding.site, root),
        ),
        "locations": [_location(frames[0], root)] if frames and frames[0].file and frames[0].line else [],
        **_related(finding, root),
        **({"stacks": [{"frames": stack}]} if stack else {}),
        "occurrenceCount": finding.repeats,
    }


def _stack_frame(frame: Frame, site: Site, root: Path) -> Json:
    location = _location(frame, root) if frame.file else {"logicalLocations": [_function(frame)]}
    return {"location": location, "threadId": site.thread, **({"module": frame.module} if frame.module else {})}


def _related(finding: Finding, root: Path) -> Json:
    """Earlier calls that belong to it, where the objects were created and destroyed, and what followed (3.27.22)."""
    places = [(_place(each.site), each.text) for each in finding.earlier]
    places += [
        (_place(site), f"{it.name} was {what} here")
        for it in finding.objects
        for site, what in ((it.created, "created"), (it.destroyed, "destroyed"))
        if site is not None
    ]
    places += [(_place(each.site), f"then {sentence(each)}") for each in finding.consequences]
    related = [_location(frame, root, text) for frame, text in places if frame is not None]
    return {"relatedLocations": [{"id": number, **each} for number, each in enumerate(related)]} if related else {}


def _place(site: Site) -> Frame | None:
    return next((frame for frame in located(site) if frame.file and frame.line), None)


def _location(frame: Frame, root: Path, message: str = "") -> Json:
    """A place in a file (3.28). The frame has a file."""
    region = {"startLine": frame.line, "startColumn": frame.column, "endColumn": frame.end_column}
    known = {key: value for key, value in region.items() if value is not None}
    physical = {"artifactLocation": _artifact(frame.file or "", root), **({"region": known} if known else {})}
    return {
        "physicalLocation": physical,
        **({"logicalLocations": [_function(frame)]} if frame.function else {}),
        **({"message": {"text": message}} if message else {}),
    }


def _function(frame: Frame) -> Json:
    return {"fullyQualifiedName": frame.function, "kind": "function"}


def _artifact(file: str, root: Path) -> Json:
    path = relative(file, root)
    if os.path.isabs(path):
        return {"uri": _address(Path(path))}
    return {"uri": quote(os.fsencode(path)), "uriBaseId": _ROOT}


def _address(path: Path) -> str:
    return "file://" + quote(os.fsencode(path.as_posix()))


def _notification(level: str, text: str, frame: Frame, root: Path, last: int | None = None) -> Json:
    """Something that the tool has to say of itself (3.58)."""
    location = _location(frame, root)
    if last is not None:
        location["physicalLocation"]["region"]["endLine"] = last
    return {"level": level, "message": {"text": text}, "locations": [location]}
