"""The page about programs of others says what was run, and that nothing false was said."""

from __future__ import annotations

import json
from pathlib import Path

from . import others

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hardware.md"


SUITES = others.RESULTS.with_name("suites.jsonl")


def rows(file: Path = others.RESULTS) -> list[others.Row]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [others.Row(**{key: line[key] for key in others.Row.__dataclass_fields__}) for line in lines]


def test_the_page_says_what_was_run() -> None:
    assert PAGE.read_text(encoding="utf-8").endswith(others.section())


def test_many_programs_of_others_behave_as_without_cuvet_and_none_is_accused() -> None:
    judged = [row for row in rows() if row.judged]
    assert len(judged) >= 250
    assert [row.name for row in judged if row.wrong] == []
    assert {row.outcome for row in judged} <= {"alike", "flaky"}


FALSE = {"test_gpu_multi_target", "test_fast_sdpa", "test_optimizers"}
"""Modules of which something false was said when they ran first. docs/races.md says what; it is not said any more."""


def test_suites_of_others_behave_as_without_cuvet_and_none_is_accused() -> None:
    found = rows(SUITES)
    assert len(found) >= 800
    assert {row.name for row in found if row.wrong} == FALSE
    assert {row.outcome for row in found} <= {"alike", "flaky"}
