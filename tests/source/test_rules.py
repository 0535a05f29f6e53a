"""What the rules that source code can show promise, beside what ``tests/rules`` asks of all rules."""

from __future__ import annotations

import re

from cuvet.rules import model_rules, rule_called, source_rules
from cuvet.rules.examples import Source, invalid, sources, valid
from cuvet.rules.rule import CallRule, ExitRule, FailureRule, FaultRule, Rule, SourceRule, TouchRule

from ..every import of_every

every_rule = of_every(source_rules(), lambda rule: rule.name)


@every_rule
def test_it_is_found_by_name_and_code(rule: type[Rule]) -> None:
    assert rule.name == "source-" + rule.__module__.rpartition(".")[2].replace("_", "-")
    assert re.fullmatch(r"CV8[4-9]\d", rule.code)
    assert rule_called(rule.name) is rule
    assert rule_called(rule.code) is rule


@every_rule
def test_it_has_sources_of_both_sorts(rule: type[Rule]) -> None:
    assert all(isinstance(example, Source) for example in (*valid(rule), *invalid(rule)))


@of_every(model_rules(), lambda rule: rule.name)
def test_a_rule_of_the_model_has_sources_in_cpp_where_source_code_shows_it(rule: type[Rule]) -> None:
    for examples in (valid(rule), invalid(rule)):
        languages = {source.language for source in sources(examples)}
        assert bool(languages & {"cuda", "c++"}) == rule.in_source
        assert bool(languages) == rule.in_source


@every_rule
def test_it_is_asked_on_no_occasion_while_a_program_runs(rule: type[Rule]) -> None:
    assert issubclass(rule, SourceRule)
    assert not issubclass(rule, CallRule | FailureRule | FaultRule | TouchRule | ExitRule)


def test_what_a_running_program_can_break_is_asked_on_one_occasion() -> None:
    sorts = (CallRule, FailureRule, FaultRule, TouchRule, ExitRule)
    for rule in model_rules():
        assert [issubclass(rule, sort) for sort in sorts].count(True) == 1
