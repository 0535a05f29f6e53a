"""What every rule of source code promises, beside what ``tests/rules`` asks of all rules."""

from __future__ import annotations

import re

import pytest

from cuvet.rules import rule_called, source_rules
from cuvet.rules.rule import Rule
from cuvet.rules.sources import Source

every_rule = pytest.mark.parametrize("rule", source_rules(), ids=lambda rule: rule.name)


@every_rule
def test_it_is_found_by_name_and_code(rule: type[Rule]) -> None:
    assert rule.name == "source-" + rule.__module__.rpartition(".")[2].replace("_", "-")
    assert re.fullmatch(r"CV8[5-9]\d", rule.code)
    assert rule_called(rule.name) is rule
    assert rule_called(rule.code) is rule


@every_rule
def test_it_has_sources_of_both_sorts(rule: type[Rule]) -> None:
    assert all(isinstance(example, Source) for example in (*rule.VALID, *rule.INVALID))


@every_rule
def test_the_model_never_asks_it(rule: type[Rule]) -> None:
    assert rule.entry_points == frozenset()
