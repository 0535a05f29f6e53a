"""For each public case, ``explain`` tells the established cause, or ``doctor`` finds it on a synthetic machine."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from typing import Any

from ..every import of_every

ROOT = Path(__file__).parents[2]
PAGE = runpy.run_path(str(ROOT / "tools/generate_causes.py"))
CASES = PAGE["cases"]()


def number_and_category(case: Any) -> str:
    return f"{CASES.index(case)}-{case.row['cause_category']}"


@of_every(CASES, number_and_category)
def test_the_established_cause_is_told(case: Any) -> None:
    assert case.causes, f"no cause has the category {case.row['cause_category']}"
    assert case.told or case.machines, f"{case.text}: {case.cause} is at place {case.place}"


def test_there_are_150() -> None:
    assert len(CASES) == 150


def test_a_category_is_not_spread_over_many_causes() -> None:
    spread = Counter(len(case.causes) for case in CASES)
    assert max(spread) <= 4


def test_the_pages_are_up_to_date() -> None:
    pages = PAGE["pages"]()
    for path, text in pages.items():
        assert (ROOT / "docs" / path).read_text(encoding="utf-8") == text
    assert {path.name for path in pages} == {"causes.md", *(page.name for page in ROOT.glob("docs/causes/*.md"))}
