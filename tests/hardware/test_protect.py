"""What ``protect.py`` calls not as promised."""

from __future__ import annotations

import pytest
from tests.corpus.facts import all_facts
from tests.device.test_protect import CRASHED, DIES
from tests.hardware.protect import Ended, wrong

FACTS = {fact.id: fact for fact in all_facts()}
ABORTED = Ended((0, 709), 6)


@pytest.mark.parametrize("before", [Ended((0, 709), 0), ABORTED])
@pytest.mark.parametrize("name", sorted(DIES))
def test_a_program_that_is_documented_to_die_may(name: str, before: Ended) -> None:
    assert list(wrong(FACTS[name], before, ABORTED)) == []


def test_another_may_not() -> None:
    saved = next(fact for fact in CRASHED if fact.id not in DIES)
    assert list(wrong(saved, ABORTED, ABORTED)) == ["dies"]
    assert list(wrong(FACTS["ctx_destroy_twice"], ABORTED, ABORTED)) == ["dies"]
