"""What becomes of findings at one place, and of those that follow from others."""

from __future__ import annotations

import msgspec

from cuvet.analysis.calls import RecordedCall
from cuvet.analysis.folding import Findings, Fold, cause_of
from cuvet.catalog import driver
from cuvet.findings import EarlierCall, Finding, Frame, Severity, Site
from cuvet.model import Call
from cuvet.rules import rule_called
from cuvet.rules.rule import Violation


def found(rule: str, line: int, severity: Severity = "error", process: int = 1) -> Finding:
    frame = Frame(function="f", file="/a.cpp", line=line)
    site = Site(api="cudaFree", call=line, process=process, thread=1, time_ns=line, frames=(frame,))
    return Finding(rule=rule, name=rule, severity=severity, message=rule, api="cudaFree", site=site)


def test_a_consequence_is_told_below_its_cause() -> None:
    findings = Findings()
    cause = findings.add(("a",), lambda: found("CV1", 1))
    for _ in range(3):
        findings.add(("b",), lambda: found("CV2", 2), cause)
    (finding,) = findings.all()
    assert [(each.rule, each.repeats) for each in finding.consequences] == [("CV2", 3)]
    assert findings.take_fresh() == [found("CV1", 1)]


def test_what_follows_from_a_consequence_stands_beside_it() -> None:
    findings = Findings()
    cause = findings.add(("a",), lambda: found("CV1", 1))
    second = findings.add(("b",), lambda: found("CV2", 2), cause)
    findings.add(("c",), lambda: found("CV3", 3), second)
    (finding,) = findings.all()
    assert [each.rule for each in finding.consequences] == ["CV2", "CV3"]


def test_a_consequence_that_is_worse_than_its_cause_is_a_finding() -> None:
    findings = Findings()
    cause = findings.add(("a",), lambda: found("CV1", 1, "warning"))
    findings.add(("b",), lambda: found("CV2", 2), cause)
    findings.add(("c",), lambda: found("CV3", 3, "note"), cause)
    first, second = findings.all()
    assert [each.rule for each in first.consequences] == ["CV3"]
    assert (second.rule, second.consequences) == ("CV2", ())


def test_the_same_mistake_without_a_cause_is_a_finding() -> None:
    findings = Findings()
    cause = findings.add(("a",), lambda: found("CV1", 1))
    findings.add(("b",), lambda: found("CV2", 2), cause)
    findings.add(("b",), lambda: found("CV2", 2))
    assert [(each.rule, len(each.consequences)) for each in findings.all()] == [("CV1", 1), ("CV2", 0)]


def test_processes_with_the_same_mistake_have_its_consequences_once() -> None:
    findings = Findings()
    for process in (1, 2):
        cause = findings.add(("a", process), lambda process=process: found("CV1", 1, process=process))
        findings.add(("b", process), lambda process=process: found("CV2", 2, process=process), cause)
    (finding,) = findings.all()
    assert [(each.processes, each.repeats) for each in (finding, *finding.consequences)] == [(2, 2), (2, 2)]


def test_the_other_place_tells_one_race_from_another() -> None:
    findings = Findings()
    for other in (1, 2, 2):
        race = msgspec.structs.replace(found("CV1", 9), earlier=(EarlierCall(text="", site=found("", other).site),))
        findings.add((other,), lambda race=race: race)
    assert [each.repeats for each in findings.all()] == [1, 2]


def test_the_cause_is_the_worst_finding_of_the_call_or_one_of_the_rule_that_is_meant() -> None:
    folds = tuple(
        Fold(found(rule, 1, severity)) for rule, severity in (("CV1", "warning"), ("CV2", "error"), ("CV3", "note"))
    )
    call = RecordedCall(entry_point=driver()["cuMemFree"], args=(0,), reported=folds)

    def cause(call: Call | None, *rules: str) -> Fold | None:
        return cause_of(Violation(rule=rule_called("CV409"), message="", cause=call, cause_rules=frozenset(rules)))

    assert cause(call) is folds[1]
    assert cause(call, "CV3") is folds[2]
    assert cause(call, "CV3", "CV4") is folds[2]
    assert cause(call, "CV4") is None
    assert cause(RecordedCall(entry_point=call.entry_point, args=(0,))) is None
    assert cause(None) is None
