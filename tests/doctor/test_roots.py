"""Synthetic machines, one per public case: what is planted is found, and a healthy one is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.doctor.probe import Conclusion, examine

from . import build_root

PROBLEMS = ("error", "warning")


def conclusions(name: str, root: Path) -> list[Conclusion]:
    return [conclusion for each in examine(build_root.build(name, root)) for conclusion in each.conclusions]


@pytest.mark.parametrize("name", build_root.case_names())
def test_the_planted_cause_is_found_and_no_other(name: str, tmp_path: Path) -> None:
    case, found = build_root.load(name), conclusions(name, tmp_path)
    problems = [conclusion for severity in PROBLEMS for conclusion in found if conclusion.severity == severity]
    assert [conclusion.cause for conclusion in problems] == case["expect"], "\n".join(map(repr, problems))
    assert {each.cause for each in found if each.severity == "note"} >= set(case.get("notes", ()))
    assert str(tmp_path) not in repr(found), "a path from outside the root"
    for conclusion in problems:
        assert conclusion.evidence and conclusion.fix and conclusion.looked_at


def test_three_machines_are_healthy() -> None:
    assert sum(build_root.load(name)["expect"] == [] for name in build_root.case_names()) >= 3
