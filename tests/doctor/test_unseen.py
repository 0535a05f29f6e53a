"""The machines of ``unseen.json``: healthy ones are left alone, and what is found of broken ones is not lost again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.doctor.probe import error
from cuvet.knowledge.search import cause_named

from . import build_root, unseen

BROKEN = [name for name, case in build_root.UNSEEN.items() if "says" in case]
HEALTHY = [name for name, case in build_root.UNSEEN.items() if "says" not in case]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_left_alone(name: str, tmp_path: Path) -> None:
    assert unseen.problems(name, tmp_path) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_machine_is_found(name: str, tmp_path: Path) -> None:
    found = unseen.problems(name, tmp_path)
    named = [conclusion for conclusion in found if unseen.names_it(conclusion, build_root.UNSEEN[name]["says"])]
    assert named, found
    assert all(cause_named(conclusion.cause or "") and conclusion.fix for conclusion in found)
    assert str(tmp_path) not in repr(found), "a path from outside the root"


def test_a_conclusion_is_counted_only_with_all_the_words() -> None:
    found = error(verdict="one", evidence=("/a/B: two",))
    assert unseen.names_it(found, ["ONE", "/a/b"]) and not unseen.names_it(found, ["one", "three"])


def test_the_halves_are_of_one_size() -> None:
    sizes = {half: len(unseen.names(half, broken=True)) for half in unseen.HALVES}
    assert sizes == {"seen": 20, "kept": 22}
