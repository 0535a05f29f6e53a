"""Every program of every rule over the model: the marked lines get the marked rules, other lines get nothing."""

from __future__ import annotations

import pytest

from cuvet.rules import all_rules
from cuvet.rules.rule import Example, Rule

from .simulated import expected, simulate


def needs_a_driver(rule: type[Rule]) -> bool:
    """Rules about images, and those that no call by itself can break: a fault, a lost context, the end of the process."""
    return rule.entry_points == frozenset() or rule.name.startswith(("image-", "library-image-"))


PROGRAMS = [
    pytest.param(rule, example, id=f"{rule.name}: {kind} {example.name}")
    for rule in all_rules()
    for kind, examples in (("valid", rule.VALID), ("invalid", rule.INVALID))
    for example in examples
    if not needs_a_driver(rule)
]


@pytest.mark.parametrize(("rule", "example"), PROGRAMS)
def test_marked_lines_get_the_marked_rules(rule: type[Rule], example: Example) -> None:
    cu = simulate(example, f"{rule.name}.py")
    assert cu.findings == expected(example.program)
