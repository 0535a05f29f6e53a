"""Every program of every rule over the model: the marked lines get the marked rules, other lines get nothing."""

from __future__ import annotations

import pytest

from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, runnable, valid
from cuvet.rules.rule import CallRule, Rule

from . import measured
from .simulated import expected, simulate


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
