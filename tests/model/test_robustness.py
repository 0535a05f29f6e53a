"""Whatever is called with whatever, the model judges it, and stays consistent."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, Model, Outcome, SeenHandle

WORDS = st.sampled_from([0, 1, 2, 0x1000, 0x1010, 0x1020, 0x2000, 4096, (1 << 64) - 1])
ENTRY_POINTS = driver().entry_points
LIFECYCLE = [entry_point for entry_point in ENTRY_POINTS if entry_point.roles and not entry_point.hot]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Call, Outcome]:
    entry_point = draw(st.sampled_from(ENTRY_POINTS) | st.sampled_from(LIFECYCLE))
    args = tuple(draw(WORDS) for _ in entry_point.parameters)
    indexes = range(len(args))
    inputs = {i: draw(st.binary(max_size=64)) for i in indexes if args[i] and "*" in entry_point.parameters[i].type}
    seen: dict[int, SeenHandle] = {}
    for role in entry_point.roles:
        if role.parameter and draw(st.booleans()):
            i = entry_point.index[role.parameter]
            seen[i] = SeenHandle(role.kind, args[i], draw(st.integers(0, 3)), draw(st.booleans()))
    status: Any = draw(st.sampled_from([0, 0, 0, 0, None, 1, 400, 700, 900, 901]))
    written = {i: draw(WORDS) for i in indexes if entry_point.parameters[i].out} if status == 0 else {}
    call = Call(
        entry_point,
        args,
        thread=draw(st.integers(1, 2)),
        context=draw(st.sampled_from([None, None, 0, 0x1000])),
        inputs=inputs,
        seen=seen,
        pointers=(draw(WORDS),),
        per_thread=draw(st.booleans()),
    )
    return call, Outcome(status, written)


@settings(max_examples=150, derandomize=True)
@given(st.lists(calls(), max_size=40), st.booleans())
def test_any_calls_leave_a_consistent_state(program: list[tuple[Call, Outcome]], complete: bool) -> None:
    model = Model(devices=2, complete=complete)
    for call, outcome in program:
        model.predict(call)
        model.observe(call, outcome)
    for kind in Kind:
        living = list(model.objects(kind))
        assert all(found.alive for found in living)
        assert all(found.parent is None or not found.parent.alive or found in found.parent.children for found in living)
        for found in model.objects(kind, alive=False):
            assert found.alive == (found in living)
            assert all(child.alive and child.parent is found for child in found.children)
    for found in model.objects(Kind.MEMORY):
        assert isinstance(found, Allocation)
        assert model.allocation_at(found.handle) is found or found.size == 0
