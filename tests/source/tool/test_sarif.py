"""SARIF logs of checks and of runs keep the rules of the standard for every object that they hold."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec

from cuvet import reports
from cuvet.findings import Finding, Frame, MachineCause, ObjectReport, Program, Report, Site, Tool
from cuvet.rules import all_rules

from ...every import of_every
from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these properties and no others."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def array(items: dict[str, Any], unique: bool = False) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": unique}


TEXT = {"type": "string", "minLength": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
NUMBER = {"type": "integer", "minimum": 1}
MESSAGE = closed({"text": TEXT}, {"markdown": TEXT})
# RFC 3986, 2.1: what else than these stands in an address is written with %
ADDRESS = {"type": "string", "pattern": r"^([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+$"}
LOCATION = closed(
    {},
    {
        "id": {"type": "integer", "minimum": 0},
        "physicalLocation": closed(
            {"artifactLocation": closed({"uri": ADDRESS}, {"uriBaseId": {"const": "%SRCROOT%"}})},
            {"region": closed({"startLine": NUMBER}, {"startColumn": NUMBER, "endColumn": NUMBER, "endLine": NUMBER})},
        ),
        "logicalLocations": array(closed({"fullyQualifiedName": TEXT, "kind": {"const": "function"}}), unique=True),
        "message": MESSAGE,
    },
)
"""3.28"""
STACK = closed({"frames": array(closed({"location": LOCATION, "threadId": {"type": "integer"}}, {"module": TEXT}))})
"""3.44"""
FLOW = closed({"threadFlows": array(closed({"locations": {**array(closed({"location": LOCATION})), "minItems": 1}}))})
"""3.36: a flow has at least one thread, which has at least one location."""
RESULT = closed(
    {"ruleId": TEXT, "level": LEVEL, "message": MESSAGE, "locations": array(LOCATION)},
    {
        "ruleIndex": {"type": "integer", "minimum": 0},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "relatedLocations": array(LOCATION, unique=True),
        "codeFlows": array(FLOW),
        "stacks": array(STACK, unique=True),
        "occurrenceCount": NUMBER,
    },
)
"""3.27"""
DESCRIPTOR = closed(
    {"id": TEXT, "name": {"type": "string", "pattern": "^([A-Z][a-z0-9]*)+$"}, "shortDescription": MESSAGE},
    {
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": closed({"level": LEVEL}),
        "properties": closed({"tags": array(TEXT, unique=True)}),
    },
)
"""3.49"""
NOTIFICATION = closed({"level": LEVEL, "message": MESSAGE}, {"locations": array(LOCATION, unique=True)})
DRIVER = closed({"name": TEXT, "version": TEXT, "semanticVersion": TEXT, "rules": array(DESCRIPTOR, unique=True)})
RUN = closed(
    {
        "tool": closed({"driver": DRIVER}),
        "columnKind": {"const": "unicodeCodePoints"},
        "originalUriBaseIds": closed({"%SRCROOT%": closed({"uri": {**ADDRESS, "pattern": "^file:///(.*/)?$"}})}),
        "invocations": array(
            closed({"executionSuccessful": {"type": "boolean"}, "toolExecutionNotifications": array(NOTIFICATION)})
        ),
        "results": array(RESULT),
    }
)
LOG = closed({"$schema": {"type": "string"}, "version": {"const": "2.1.0"}, "runs": array(RUN)})


def valid(text: str) -> dict[str, Any]:
    """The only run of a log, if the log is valid."""
    log = json.loads(text)
    jsonschema.Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        if "ruleIndex" in result:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert isinstance(run, dict)
    return run


def test_a_check(project: Project, check: Check) -> None:
    project.write({".git/HEAD": "", "src/a b.cu": MISTAKE, "src/ok.cu": CORRECT})
    done = check("--format", "sarif", "src")
    run = valid(done.out)
    assert done.code == 1
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("CV201", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "src/a%20b.cu", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5, "startColumn": 33, "endColumn": 39},
    }
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{project.root.as_uri()}/"
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [3, 4, 5]
    assert all(step["location"]["message"]["text"] for step in steps)
    assert run["invocations"][0]["executionSuccessful"] is True


def test_fingerprints_stay_when_lines_move(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    (before,) = valid(check("--format", "sarif", "a.cu").out)["results"]
    project.write({"a.cu": "// one\n// two\n" + MISTAKE})
    (after,) = valid(check("--format", "sarif", "a.cu").out)["results"]
    assert before["partialFingerprints"] == after["partialFingerprints"]
    assert before["locations"] != after["locations"]


def test_nothing_found(project: Project, check: Check) -> None:
    project.write({"a.cu": CORRECT})
    assert valid(check("--format", "sarif", "a.cu").out)["results"] == []


def test_what_the_check_has_to_say_of_itself(project: Project, check: Check) -> None:
    broken = "void f() {\n  cudaFree(p);\n  if (a {\n} } }\n"
    unused = CORRECT.replace("(stream));\n}", "(stream));  // cuvet: ignore[CV201]\n}")
    project.write({"a.cu": broken, "b.cu": unused})
    run = valid(check("--select", "stream-*", "--format", "sarif", ".").out)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("unused-ignore", "warning")
    notes = [note for note in run["invocations"][0]["toolExecutionNotifications"] if note["level"] == "note"]
    assert [note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for note in notes] == ["a.cu"]


def test_files_that_are_not_below_the_root(project: Project, check: Check) -> None:
    (project.root.parent / "other").mkdir()
    outside = project.root.parent / "other/a.cu"
    outside.write_text(MISTAKE)
    project.write({".git/HEAD": "", "a.cu": CORRECT})
    (result,) = valid(check("--format", "sarif", str(outside)).out)["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "a.cu", "uriBaseId": "%SRCROOT%"}, "there, the root is the directory that was checked"


def frames(line: int) -> tuple[Frame, ...]:
    return (
        Frame(function="cuStreamDestroy", module="libfoo.so"),
        Frame(function="Pool::shrink", file=str(Path.cwd() / "pool.cpp"), line=line),
        Frame(function="main", file="/usr/src/main.cpp", line=3),
    )


def observed(line: int = 41) -> Report:
    """Of a running program."""
    site = Site(api="cudaStreamDestroy", call=7, process=1, thread=2, time_ns=5, frames=frames(line))
    stream = ObjectReport(kind="stream", handle="0x1", generation=1, name="stream#1", created=site, destroyed=site)
    finding = Finding(
        rule="CV202",
        name="stream-destroy-twice",
        severity="error",
        message="stream#1 was already destroyed",
        api="cudaStreamDestroy",
        signal=11,
        site=site,
        objects=(stream,),
        because=("stream#1 was destroyed by thread 2",),
        repeats=3,
    )
    bare = Finding(
        rule="CV202",
        name="stream-destroy-twice",
        severity="note",
        message="m",
        api="cuStreamDestroy",
        status=400,
        site=Site(api="cuStreamDestroy", call=1, process=1, thread=1, time_ns=0),
    )
    return Report(
        tool=Tool(version="1"),
        program=Program(argv=("a",), device="emulated"),
        findings=(finding, bare),
        machine=(MachineCause(cause="device-none-visible", verdict="no GPU is visible"),),
        not_checked=("something",),
    )


def written(report: Report, path: Path) -> dict[str, Any]:
    document = reports.of_run(report, verbose=False)
    reports.write(document, argparse.Namespace(format="sarif", output=path, color="never"))
    return valid(path.read_text(encoding="utf-8"))


def test_a_run(project: Project) -> None:
    run = written(observed(), project.root / "out.sarif")
    finding, bare = run["results"]
    assert finding["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "pool.cpp", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 41},
    }
    stack = finding["stacks"][0]["frames"]
    assert [frame["location"]["logicalLocations"][0]["fullyQualifiedName"] for frame in stack] == [
        "cuStreamDestroy",
        "Pool::shrink",
        "main",
    ]
    assert stack[2]["location"]["physicalLocation"]["artifactLocation"] == {"uri": "file:///usr/src/main.cpp"}
    assert "died of SIGSEGV" in finding["message"]["text"]
    assert finding["occurrenceCount"] == 3
    assert bare["locations"] == []
    levels = [note["level"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert levels == ["warning", "error"]


def test_what_follows_from_a_finding_of_a_run_is_related_to_it(project: Project) -> None:
    report = observed()
    finding = msgspec.structs.replace(report.findings[0], objects=(), consequences=(report.findings[0],))
    report = msgspec.structs.replace(report, findings=(finding,))
    (result,) = written(report, project.root / "out.sarif")["results"]
    (related,) = result["relatedLocations"]
    assert related["message"]["text"].startswith("then cudaStreamDestroy: ")
    assert related["physicalLocation"]["region"]["startLine"] == 41


def test_fingerprints_of_a_run_stay_when_lines_move(project: Project) -> None:
    one, other = (written(observed(line), project.root / "out.sarif")["results"] for line in (41, 42))
    assert [result["partialFingerprints"] for result in one] == [result["partialFingerprints"] for result in other]
    assert one[0]["partialFingerprints"] != one[1]["partialFingerprints"]


@of_every(all_rules(), lambda rule: rule.name)
def test_every_rule_can_be_described(rule: Any) -> None:
    from cuvet.reports.formats.sarif import _descriptor

    jsonschema.Draft202012Validator(DESCRIPTOR).validate(_descriptor(rule))
