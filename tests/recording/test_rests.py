"""What a process does again from a state in which it was before is not judged again, and all is as if it were."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet.recording import rests as module
from cuvet.recording.reader import Array
from cuvet.recording.repeats import Repeats
from cuvet.recording.rests import Rests

sys.path.insert(0, str(Path(__file__).parent))
from test_periods import rows_of

REST = 7


class Judge:
    """Of an automaton: each call leads from a state to another, and of some calls something is said, by the state before them. The state
    is told after each ``REST`` if it is asked for."""

    def __init__(self, seed: int, states: int, says: float) -> None:
        chosen = random.Random(seed)
        calls = range(REST + 1)
        self.next = {(state, call): chosen.randrange(states) for state in range(states) for call in calls}
        self.says = {key for key in self.next if chosen.random() < says}
        self.state = 0
        self.told: list[int] = []
        self.given: list[int] = []

    def judge(self, call: int, number: int) -> None:
        self.given.append(number)
        if (self.state, call) in self.says:
            self.told.append(number)
        self.state = self.next[self.state, call]

    def take(self, rests: Rests, pieces: Array, pause: int) -> None:
        for call, number, row in pieces[["like", "number", "row"]].tolist():
            self.judge(call, number)
            if call == REST and rests.wants_state(0, row):
                rests.rested(0, row, (bytes([self.state]), len(self.told)), pause)


def judged(judge: Judge, calls: Sequence[int], sizes: Sequence[int], pause: int = 0) -> Judge:
    rests, rows = Rests(Repeats()), rows_of(calls)
    rows["row"] = rows["number"]
    for begin, end in zip([0, *sizes], [*sizes, len(rows)], strict=True):
        for piece in rests.take(rows[begin:end]):
            judge.take(rests, piece, pause)
    for piece in rests.flush():
        judge.take(rests, piece, pause)
    assert rests.sources() == set()
    return judge


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 1)


def calls_of(chosen: random.Random, times: int) -> list[int]:
    """One of three bodies after the other, in no order, and a rest after each."""
    bodies = [[chosen.randrange(REST) for _ in range(chosen.randrange(6))] for _ in range(3)]
    return [*chain.from_iterable([*chosen.choice(bodies), REST] for _ in range(times))]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 6), st.sampled_from([0, 0.02, 0.3]), st.integers(0, 9))
def test_what_is_said_and_the_state_are_as_if_all_were_judged(seed: int, states: int, says: float, pause: int) -> None:
    chosen = random.Random(seed)
    calls = calls_of(chosen, 150)
    all_of_them = Judge(seed, states, says)
    for number, call in enumerate(calls):
        all_of_them.judge(call, number)
    sizes = sorted(chosen.sample(range(len(calls)), 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST", chosen.randrange(1, 4))
        patch.setattr(module, "MOST_HELD", chosen.choice([2, 64]))
        patch.setattr(module, "_MOST_KNOWN", chosen.choice([20, 1 << 20]))
        found = judged(Judge(seed, states, says), calls, sizes, pause)
    assert (found.told, found.state) == (all_of_them.told, all_of_them.state)
    assert set(found.told) <= set(found.given) and found.given == sorted(found.given)


@pytest.mark.usefixtures("short")
def test_what_was_done_before_from_this_state_is_left_out() -> None:
    calls = [1, 2, REST, 3, REST] * 3 + [3, REST, 1, 2, REST] * 40 + [4, 5, REST] + [1, 2, REST, 3, REST] * 40
    found = judged(Judge(1, 1, 0), calls, [8])
    assert len(calls) == 418
    assert found.given == [*range(15), *range(212, 218), 416, 417]


@pytest.mark.usefixtures("short")
def test_of_what_is_held_back_the_last_is_judged_in_the_end() -> None:
    """The calls that are named later are the newest. The way that is known goes round twice."""
    found = judged(Judge(1, 1, 0), [1, 2, 3, REST] * 50, [8, 100])
    assert found.given == [*range(12), *range(188, 200)]


@pytest.mark.usefixtures("short")
def test_a_way_that_has_not_ended_waits() -> None:
    rests, judge = Rests(Repeats()), Judge(1, 1, 0)
    rows = rows_of([1, 2, 3, REST] * 10 + [1, 2])
    rows["row"] = rows["number"]
    for part in (rows[:8], rows[8:]):
        for piece in rests.take(part):
            judge.take(rests, piece, 0)
    assert judge.given == [*range(12)]
    assert [piece["number"].tolist() for piece in rests.interrupt()] == [[*range(28, 36)], [*range(36, 42)]]
    assert [piece["number"].tolist() for piece in rests.take(rows[:4])] == [[0, 1, 2, 3]]


def test_ways_are_not_shorter_than_what_is_worth_a_look_at_the_state() -> None:
    calls = [1, REST] * 2000
    found = judged(Judge(1, 1, 0), calls, [200, 400, 800])
    assert found.given == [*range(656), *range(3380, 4000)]


def test_states_that_are_not_met_again_are_asked_for_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 1)
    rests, asked = Rests(Repeats()), []
    rows = rows_of([1, REST] * 400)
    rows["row"] = rows["number"]
    for begin in range(0, len(rows), 2):
        for piece in rests.take(rows[begin : begin + 2]):
            (_, row) = piece["row"].tolist()
            if rests.wants_state(0, row):
                asked.append(row)
                rests.rested(0, row, (row.to_bytes(4, "little"), 0), 4)
    assert np.diff(asked).tolist()[:6] == [8, 16, 32, 32, 32, 32]
