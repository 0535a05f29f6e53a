from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from cuvet.cli import COMMANDS
from cuvet.commands import explain
from cuvet.rules import all_rules
from cuvet.rules.evidence import evidence_of
from cuvet.rules.headings import sections
from cuvet.rules.rule import Rule

from ..every import of_every
from ..rules.test_health import HEADINGS

ROOT = Path(__file__).parents[2]


@of_every(all_rules(), lambda rule: rule.name)
def test_a_rule_is_documented(rule: type[Rule]) -> None:
    assert list(sections(rule)) == HEADINGS
    assert all(sections(rule).values())
    assert evidence_of(rule)


def test_the_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(ROOT / "tools/generate_docs.py"))["pages"]()
    for path, text in pages.items():
        assert (ROOT / "docs" / path).read_text(encoding="utf-8") == text
    assert {path.name for path in pages} == {"rules.md", *(page.name for page in ROOT.glob("docs/rules/*.md"))}


@of_every((*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))), lambda page: page.relative_to(ROOT))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"`cuvet {command}" in readme] == list(COMMANDS)


@pytest.mark.parametrize(("code", "meaning"), [(0, "it is explained"), (2, "nothing is known about it")])
def test_the_readme_s_exit_codes_of_explain_are_those_of_its_help(code: int, meaning: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {code} \|.*", readme, re.M)
    assert f"`explain`: {meaning}" in row
    assert f"{code} {meaning}" in explain.EPILOG
