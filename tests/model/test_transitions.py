"""The tables of transitions agree with the catalog."""

from __future__ import annotations

from cuvet.catalog import driver
from cuvet.catalog.roles import Verb
from cuvet.model.statuses import BEFORE_INIT
from cuvet.model.transitions import plan, registry


def test_a_call_waits_works_ends_and_makes_in_this_order() -> None:
    order = list(Verb)
    steps = [Verb.WAITS, Verb.ON, Verb.RECORDS, Verb.ENDS_CAPTURE, Verb.DESTROYS, Verb.CREATES, Verb.SETS_CURRENT]
    assert sorted(steps, key=order.index) == steps


def test_every_entry_point_that_is_named_exists() -> None:
    named = set(registry._instead) | set(registry._then) | BEFORE_INIT
    assert {name for name in named if name not in driver()} == set()


def test_no_entry_point_changes_state_unnoticed() -> None:
    """What makes, ends or waits for something has a transition."""
    asks = {Verb.USES, Verb.READS, Verb.WRITES, Verb.LAUNCHES, Verb.LOADS, Verb.RETURNS, Verb.CALLS_BACK}
    without = [
        entry_point.name
        for entry_point in driver().entry_points
        if {role.verb for role in entry_point.roles} - asks and not any(plan(entry_point))
    ]
    assert without == []
