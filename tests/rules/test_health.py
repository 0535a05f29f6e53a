"""What every rule promises: a name that is its place, a complete page, evidence, and programs of both sorts."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import cuvet.knowledge
import cuvet.rules
from cuvet import CuvetError
from cuvet.catalog import driver, libraries
from cuvet.fields import TextError, fields
from cuvet.rules import all_rules, model_rules, rule_called, rule_names, rules_that_are
from cuvet.rules.evidence import evidence_of, succeeding
from cuvet.rules.examples import invalid, runnable, valid
from cuvet.rules.headings import sections
from cuvet.rules.rule import CallRule, ExitRule, FailureRule, FaultRule, Rule, SourceRule, TouchRule

from ..every import of_every
from .simulated import expected

HEADINGS = ["What it checks", "Why it is wrong", "Use instead", "Limits"]
FACTS = {
    json.loads(line)["id"]
    for file in (Path(cuvet.knowledge.__path__[0]) / "facts").glob("*.jsonl")
    for line in file.read_text().splitlines()
}

WHOLE = {"code": "CV999", "summary": "", "help": "", "evidence": "", "VALID": "", "INVALID": ""}

every_rule = of_every(all_rules(), lambda rule: rule.name)
every_model_rule = of_every(model_rules(), lambda rule: rule.name)


def test_codes_and_names_are_unique() -> None:
    for attribute in ("code", "name"):
        counted = Counter(getattr(rule, attribute) for rule in all_rules())
        assert [value for value, times in counted.items() if times > 1] == []
    assert sorted(rule_names()) == sorted(rule.name for rule in all_rules())


def test_every_rule_file_is_found() -> None:
    folder = Path(cuvet.rules.__path__[0])
    files = {path for path in folder.glob("*/*.py") if path.name != "__init__.py"}
    assert {rule.__module__ for rule in all_rules()} == {
        f"cuvet.rules.{path.parent.name}.{path.stem}" for path in files
    }


def test_rules_of_a_sort_are_found_without_asking_every_class() -> None:
    """`issubclass` of an abstract class does, for each rule: 13 ms at the end of each program (2 cores)."""
    asked = Counter[str]()
    sys.setprofile(lambda _, event, called: asked.update([called.__name__] if event == "c_call" else []))
    sorts = (CallRule, FailureRule, FaultRule, TouchRule, ExitRule)
    try:
        found = [rule for sort in sorts for rule in rules_that_are.__wrapped__(sort)]
    finally:
        sys.setprofile(None)
    assert asked["_abc_subclasscheck"] == 0
    assert sorted(rule.name for rule in found) == sorted(rule.name for rule in model_rules())


@every_rule
def test_the_name_says_where_the_file_is(rule: type[Rule]) -> None:
    _, _, noun, stem = rule.__module__.split(".")
    if stem == "life":
        assert rule.name.startswith(f"{noun}-".replace("_", "-"))
    else:
        assert rule.name == f"{noun}-{stem}".replace("_", "-")
    assert re.fullmatch(r"CV[1-9]\d\d", rule.code)
    assert rule_called(rule.name) is rule
    assert rule_called(rule.code.lower()) is rule


@every_rule
def test_the_page_has_its_four_headings(rule: type[Rule]) -> None:
    assert list(sections(rule)) == HEADINGS
    assert all(sections(rule).values())


@every_rule
def test_messages_are_one_line_in_house_style(rule: type[Rule]) -> None:
    for text in (rule.summary, rule.help):
        assert "\n" not in text
        assert not text.endswith(".")
    assert not rule.summary[0].isupper() or rule.summary.split()[0].isupper()


@every_rule
def test_errors_have_evidence(rule: type[Rule]) -> None:
    assert evidence_of(rule) or rule.severity != "error"
    assert all(each.text and each.source for each in evidence_of(rule))


@every_rule
def test_measured_evidence_names_facts(rule: type[Rule]) -> None:
    for (name, _), each in zip(fields(rule.evidence), evidence_of(rule), strict=True):
        if name.startswith("measured"):
            named = [word for word in re.split("[,;] ", each.source) if re.fullmatch(r"[a-z0-9_]+", word)]
            assert named
            assert set(named) <= FACTS


@every_rule
def test_there_are_programs_of_both_sorts(rule: type[Rule]) -> None:
    assert len(invalid(rule)) >= 1
    assert len(valid(rule)) >= 2
    names = [example.name for example in (*valid(rule), *invalid(rule))]
    assert len(set(names)) == len(names)


@every_model_rule
def test_programs_parse_and_are_marked(rule: type[Rule]) -> None:
    right, wrong = runnable(valid(rule)), runnable(invalid(rule))
    assert len(wrong) >= 1
    assert len(right) >= 2
    for example in (*right, *wrong):
        ast.parse(example.program)
    assert all(not expected(example.program) for example in right)
    for example in wrong:
        assert any((severity, name) == (rule.severity, rule.name) for _, severity, name in expected(example.program))


@every_rule
def test_what_is_accused_of_success_is_shown_to_succeed(rule: type[Rule]) -> None:
    catalogs = (driver(), *libraries().values())
    assert all(name == "*" or any(name in each for each in catalogs) for name in succeeding(rule))
    assert all(kind.startswith(("measured", "recorded")) for kind, _ in fields(rule.evidence) if "succeed" in kind)


@pytest.mark.parametrize(
    ("docstring", "message"),
    [
        ("checks: a\nbecause: b\n", "it has the fields checks, because; write checks, why, instead, limits"),
        ("checks: a\nwhy: b\n", "it has the fields checks, why; write checks, why, instead, limits"),
        ("", "it has the fields none; write checks, why, instead, limits"),
        ("checks a\n", "`checks a` is no field"),
    ],
)
def test_a_mistake_in_a_docstring_names_the_rule(docstring: str, message: str) -> None:
    with pytest.raises(TextError, match=f"^rules/noun/wrong.py, noun-wrong, docstring: {message}"):
        sections(type("Written", (Rule,), {"__module__": "cuvet.rules.noun.wrong", "__doc__": docstring}))


def written(monkeypatch: pytest.MonkeyPatch, name: str, *rules: dict[str, str]) -> Path:
    """The file of a rule whose module has classes with these attributes."""
    module = ModuleType(f"cuvet.rules.noun.{name}")
    for number, attributes in enumerate(rules):
        setattr(module, f"R{number}", type(f"R{number}", (SourceRule,), {"__module__": module.__name__, **attributes}))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Path(f"noun/{name}.py")


@pytest.mark.parametrize(
    ("name", "rules", "message"),
    [
        ("none", [], "rules/noun/none.py: it has 0 rules; a file has one"),
        ("two", [WHOLE, WHOLE], "rules/noun/two.py: it has 2 rules; a file has one"),
        (
            "silent",
            [{name: text for name, text in WHOLE.items() if name != "summary"}],
            "rules/noun/silent.py, noun-silent, class: it has no `summary`; a rule has code, summary, help, evidence, VALID, INVALID",
        ),
    ],
)
def test_a_mistake_in_the_file_of_a_rule_is_one_line(
    name: str, rules: list[dict[str, str]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CuvetError) as raised:
        cuvet.rules._imported([written(monkeypatch, name, *rules)])
    assert str(raised.value) == message


def test_a_code_that_two_rules_have_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(monkeypatch, name, WHOLE) for name in ("one", "other")]
    with pytest.raises(CuvetError, match=r"^rules/noun/one.py, noun-one, code: CV999 is the code of noun-other too"):
        cuvet.rules._imported(files)
