"""The figures of docs/explain.md are those that are measured, and what is shipped of the cases is what was learned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuvet.knowledge.expressions import found_in
from cuvet.knowledge.search import all_causes

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


HELD_OUT = ("later", "check", "everyday", "everyday_more")


@pytest.mark.parametrize("part", [*HELD_OUT, "latest"])
def test_the_figures_are_those_of_the_page(part: str) -> None:
    import measure_explain

    page = (ROOT / "docs/explain.md").read_text(encoding="utf-8").splitlines()
    (line,) = measure_explain.figures(part)
    assert line in page


def test_the_cases_are_up_to_date() -> None:
    import fit_explain

    assert fit_explain.FILE.read_text(encoding="utf-8") == fit_explain.written()


def test_nothing_was_learned_from_what_measures() -> None:
    import measure_explain
    from cuvet.knowledge.cases import known_cases

    held_out = {row["url"] for part in HELD_OUT for row in measure_explain.rows(part)}
    assert not held_out & {case.url for case in known_cases().cases}


def test_what_is_skipped_would_not_match() -> None:
    import measure_explain

    expressions = {
        word for cause in all_causes() for word in (*cause.signs.says, *cause.signs.words, *cause.signs.against)
    }
    texts = [
        measure_explain.question(row).lower() for part in ("learn", "public") for row in measure_explain.rows(part)
    ]
    wrong = [
        (expression, text)
        for expression in expressions
        for text in texts
        if (match := re.search(expression, text, re.I)) and (found_in(expression, text) or "").lower() != match[0]
    ]
    assert wrong == []
