from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from cuvet import reports
from cuvet.cli import COMMANDS, parse
from cuvet.commands import explain
from cuvet.reports import choice, suppressions
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


CI = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
COMMANDS_IN_CI = re.findall(r"^(?:\s*(?:- )?(?:run|entry): |\s*- |mpirun -n 4 )?(cuvet (?:run|analyze) .*)$", CI, re.M)


def test_the_commands_of_the_page_on_ci_are_ones() -> None:
    assert len(COMMANDS_IN_CI) >= 10
    for command in COMMANDS_IN_CI:
        parse(shlex.split(command)[1:])


def test_its_configuration_and_suppressions_are_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration, suppression = re.findall(r"```toml\n(.*?)```", CI, re.S)
    (tmp_path / "pyproject.toml").write_text(configuration)
    (tmp_path / "cuvet-suppressions.toml").write_text(suppression)
    monkeypatch.chdir(tmp_path)
    args = parse(["analyze", "DIR"])
    chosen = choice.of(args)
    assert chosen.suppressions is not None
    assert (args.fail_on, len(chosen.suppressions.every), len(chosen.severities) > 1) == ("error", 2, True)
    assert chosen.selected is not None and "memory-free-unordered" not in chosen.selected


def test_the_page_on_ci_names_every_format_and_key() -> None:
    for name, commands in reports.FORMATS.items():
        assert (f"| `{name}` |" in CI) == ("run" in commands)
    for key in (*choice._keys(), *suppressions.KEYS):
        assert re.search(rf'^\s*"?({key} = |\[tool\.cuvet\.run\.{key}\])', CI, re.M), key


def test_its_action_has_the_inputs_that_it_is_given() -> None:
    (block,) = re.findall(r"uses: OWNER/cuvet@\S+\n  with:\n((?:    .*\n)+)", CI)
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in re.findall(r"^    ([a-z-]+):", block, re.M):
        assert f"\n  {name}:\n" in action
