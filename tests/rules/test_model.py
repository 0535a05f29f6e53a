"""Every program of every rule over the model: the marked lines get the marked rules, other lines get nothing."""

from __future__ import annotations

import pytest

from cuvet.model import Call
from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, runnable, valid
from cuvet.rules.rule import CallRule, Rule

from . import measured
from .simulated import SimulatedDriver, expected, run, simulate


def needs_a_driver(rule: type[Rule], example: Example) -> bool:
    """Of rules about images, and of those that no call by itself can break: a fault, a lost context, the end of the process. A simulated
    thread does not know what it shares with others, and a simulated stream runs no host functions."""
    afterwards = not issubclass(rule, CallRule) or rule.name == "library-handle-not-made"
    in_order = "in_threads" in example.program and example in valid(rule)
    hosted = rule.name == "stream-call-in-host-function"
    return afterwards or in_order or hosted or rule.name.startswith(("image-", "library-image-"))


PROGRAMS = [
    pytest.param(rule, kind, example, id=f"{rule.name}: {kind} {example.name}")
    for rule in model_rules()
    for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule)))
    for example in runnable(examples)
    if not needs_a_driver(rule, example)
]


@pytest.mark.parametrize(("rule", "kind", "example"), PROGRAMS)
def test_marked_lines_get_the_marked_rules(rule: type[Rule], kind: str, example: Example) -> None:
    cu = simulate(example, f"{rule.name}.py", measured.read().get(measured.key(rule.name, kind, example)))
    assert cu.surprises == []
    assert cu.findings == expected(example.program)


def test_what_was_measured_are_programs_of_rules() -> None:
    """A program that was changed is to be measured again (``tests/hardware/calls.py``); its row ends with it."""
    programs = {
        measured.key(rule.name, kind, example)
        for rule in model_rules()
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule)))
        for example in runnable(examples)
    }
    assert measured.read().keys() - programs == set()


class Asking(SimulatedDriver):
    """Notes the rules that are only for failed calls and speak of others."""

    def __init__(self, example: Example) -> None:
        super().__init__("program.py", example.devices)
        self.of_all_calls: set[str] = set()
        self.fired: set[str] = set()

    def _make(self, call: Call) -> dict[int, int]:
        for violation in self.model.violations(call):
            rule = violation.rule
            if issubclass(rule, CallRule) and rule.only_for_failed:
                self.fired.add(rule.name)
                self.of_all_calls |= set() if violation.only_if_failed else {rule.name}
        return super()._make(call)


def test_rules_for_failed_calls_say_nothing_of_others() -> None:
    rules = [rule for rule in model_rules() if issubclass(rule, CallRule) and rule.only_for_failed]
    asked = [
        run(Asking(example), example)
        for rule in rules
        for example in runnable(invalid(rule))
        if not needs_a_driver(rule, example)
    ]
    assert set().union(*(each.of_all_calls for each in asked)) == set()
    assert set().union(*(each.fired for each in asked)) == {rule.name for rule in rules}


class AskingAll(SimulatedDriver):
    """Notes the rules that fire where the occasion on which they are asked (``CallRule.only_when``) is not there, and where it is."""

    def __init__(self, example: Example) -> None:
        super().__init__("program.py", example.devices)
        self.missed: set[str] = set()
        self.fired: set[str] = set()

    def _make(self, call: Call) -> dict[int, int]:
        for rule in _WITH_OCCASION:
            if rule.applies_to(call.entry_point) and (rule.libraries or call.entry_point.api == "driver"):
                there = rule.only_when is None or rule.only_when(call, self.model)
                found = next(iter(rule.check(call, self.model)), None)
                if found is not None:
                    (self.fired if there else self.missed).add(rule.name)
        return super()._make(call)


_WITH_OCCASION = [rule for rule in model_rules() if issubclass(rule, CallRule) and rule.only_when is not None]


def test_rules_fire_only_on_their_occasions() -> None:
    asked = [
        run(AskingAll(example), example)
        for rule in model_rules()
        for example in runnable([*valid(rule), *invalid(rule)])
        if not needs_a_driver(rule, example)
    ]
    assert set().union(*(each.missed for each in asked)) == set()
    assert {rule.name for rule in _WITH_OCCASION} - set().union(*(each.fired for each in asked)) == {
        "stream-call-in-host-function"
    }


class Waiting(SimulatedDriver):
    """Notes the rules that are only about objects that have ended, and where nothing had."""

    def __init__(self, example: Example) -> None:
        super().__init__("program.py", example.devices)
        self.too_early: set[str] = set()
        self.fired: set[str] = set()

    def _make(self, call: Call) -> dict[int, int]:
        for violation in self.model.violations(call):
            rule = violation.rule
            if issubclass(rule, CallRule) and rule.only_after_end:
                self.fired.add(rule.name)
                if not self.model.has_ended or all(each.destroyed_by is None for each in violation.objects):
                    self.too_early.add(rule.name)
        return super()._make(call)


def test_rules_about_ended_objects_say_nothing_before_one_has_ended() -> None:
    rules = [rule for rule in model_rules() if issubclass(rule, CallRule) and rule.only_after_end and rule.in_source]
    asked = [
        run(Waiting(example), example)
        for rule in rules
        for example in runnable(invalid(rule))
        if not needs_a_driver(rule, example)
    ]
    assert set().union(*(each.too_early for each in asked)) == set()
    assert {rule.name for rule in rules} - set().union(*(each.fired for each in asked)) == set()
