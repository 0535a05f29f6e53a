"""What becomes of findings at one place, and of those that follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from cuvet.analysis import folding
from cuvet.analysis.calls import RecordedCall
from cuvet.analysis.folding import Findings, Fold, cause_of
from cuvet.analysis.merge import alike
from cuvet.catalog import driver
from cuvet.findings import EarlierCall, Finding, Frame, Severity, Site
from cuvet.model import Call
from cuvet.rules import rule_called
from cuvet.rules.rule import Violation


def found(rule: str, line: int, severity: Severity = "error", process: int = 1) -> Finding:
    frame = Frame(function="f", file="/a.cpp", line=line)
    site = Site(api="cudaFree", call=line, process=process, thread=1, time_ns=line, frames=(frame,))
    return Finding(rule=rule, name=rule, severity=severity, message=rule, api="cudaFree", site=site)


def called(*lines: int, api: str = "cudaFree") -> Site:
    """Each by a function of its own, the innermost first: a line below 10 is of ``f0``, one below 20 of ``f1``."""
    frames = tuple(Frame(function=f"f{line // 10}", file="/a.cpp", line=line) for line in lines)
    return Site(api=api, call=1, process=1, thread=1, time_ns=1, frames=frames)


def repeats(sites: Iterable[tuple[Site, Site]], message: str = "same") -> list[int]:
    """Of the findings at the first of each two, with the second as the earlier call."""
    findings = Findings()
    for number, (site, other) in enumerate(sites):
        new = msgspec.structs.replace(
            found("CV1", 1), site=site, message=message, earlier=(EarlierCall(text="", site=other),)
        )
        findings.add((number,), lambda new=new: new)
    return [each.repeats for each in findings.all()]


def test_each_finding_keeps_the_clocks_by_which_its_time_was_told() -> None:
    findings, early, late = Findings(), ((0, 0), (1, 2)), ((0, 0), (10, 21))
    findings.add(("a",), lambda: found("CV1", 1))
    findings.date(early)
    findings.add(("b",), lambda: found("CV2", 2))
    findings.add(("a",), lambda: found("CV1", 1))
    findings.date(late)
    findings.add(("c",), lambda: found("CV3", 3))
    assert [each.rule for each in findings.all()] == ["CV1", "CV2", "CV3"]
    assert findings.samples() == [early, late, None]


OTHER = called(50)


def test_a_helper_that_two_callers_use_is_two_places() -> None:
    assert repeats([(called(1, 11), OTHER), (called(1, 12), OTHER)]) == [1, 1]
    assert repeats([(OTHER, called(1, 11)), (OTHER, called(1, 12))]) == [1, 1]


def test_two_functions_of_cuda_on_one_line_are_two_places() -> None:
    assert repeats((OTHER, called(1, api=api)) for api in ("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync")) == [1, 1]


def test_a_loop_makes_a_mistake_once() -> None:
    assert repeats([(called(1, 11), called(1, 12))] * 1000) == [1000]


def recursion(deepest: int) -> Iterator[Site]:
    """Of ``f1``: the innermost calls CUDA in line 11, through a helper, and the others call it again in line 15. A stack has 32 frames."""
    for depth in range(deepest):
        yield called(*((1, 11) + (15,) * depth + (21,))[:32])


def test_a_recursion_makes_a_mistake_once_however_deep() -> None:
    assert repeats((site, OTHER) for site in recursion(1000)) == [1000]
    assert repeats((site, OTHER) for site in [*recursion(40)][::-1]) == [40]
    assert repeats([(called(1, 41), OTHER), *((site, OTHER) for site in recursion(40))]) == [1, 40]
    assert repeats((site, other) for site in recursion(40) for other in recursion(40)) == [1600]


def test_a_recursion_is_two_places_if_two_begin_it() -> None:
    assert repeats((called(1, 11, 15, 15, line), OTHER) for line in (21, 22)) == [1, 1]


def test_functions_that_call_each_other_make_a_mistake_a_few_times() -> None:
    assert repeats((called(1, 11, *(25, 15) * depth, 31), OTHER) for depth in range(10)) == [1, 9]


def test_callers_are_told_apart_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_OF_LINE", 3)
    sites = [(called(1, caller), OTHER) for caller in range(10, 20)]
    assert repeats(sites * 2) == [16, 2, 2]
    assert repeats([*sites, (called(2, 11), OTHER)]) == [8, 1, 1, 1]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_KNOWN", 8)
    findings = Findings()
    for number in range(1000):
        message = f"memory#{number}"
        new = msgspec.structs.replace(found("CV1", 1), site=called(1, 10 + number % 5), message=message)
        findings.add((number,), lambda new=new: new)
    assert [each.repeats for each in findings.all()] == [200] * 5
    assert max(len(findings._by_call), len(findings._by_place)) <= 16


def test_recordings_are_not_folded_if_the_other_place_differs() -> None:
    one, two = (
        msgspec.structs.replace(found("CV1", 1), earlier=(EarlierCall(text="", site=called(line)),)) for line in (1, 2)
    )
    assert alike(one) != alike(two)
    assert alike(one) == alike(msgspec.structs.replace(one, repeats=2))


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
