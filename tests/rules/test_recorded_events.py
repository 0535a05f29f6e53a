"""Events that some call has recorded which is not in the recording: the shim says so of each event that a stored call names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.catalog import Kind, driver
from cuvet.catalog.results import NOT_READY, SUCCESS
from cuvet.model import Call, SeenHandle

from .simulated import SimulatedDriver

NON_BLOCKING = 1


@pytest.fixture
def cu() -> SimulatedDriver:
    cu = SimulatedDriver(str(Path(__file__)), 1)
    cu.cuInit(0)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
    return cu


def naming(name: str, *words: int, recorded: bool, events: tuple[int, ...]) -> Call:
    """A call whose arguments at ``events`` are events."""
    seen = {at: SeenHandle(Kind.EVENT, words[at], 0, True, recorded=recorded) for at in events}
    return Call(driver()[name], words, thread=1, number=100, seen=seen)


@pytest.mark.parametrize(("recorded", "said"), [(True, []), (False, ["event-never-recorded"] * 2)])
def test_the_time_between_events(cu: SimulatedDriver, recorded: bool, said: list[str]) -> None:
    start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
    prediction = cu.model.predict(naming("cuEventElapsedTime", 0x1000, start, end, recorded=recorded, events=(1, 2)))
    assert [violation.rule.name for violation in prediction.violations] == said
    if recorded:  # whether they are done is not known
        assert set(prediction.statuses) == {SUCCESS, NOT_READY}


@pytest.mark.parametrize(("recorded", "said"), [(True, ["capture-wait-for-uncaptured"]), (False, [])])
def test_a_capture_that_waits_for_an_event(cu: SimulatedDriver, recorded: bool, said: list[str]) -> None:
    stream, event = cu.cuStreamCreate(NON_BLOCKING), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 0)
    call = naming("cuStreamWaitEvent", stream, event, 0, recorded=recorded, events=(1,))
    (*violations,) = cu.model.predict(call).violations
    assert [violation.rule.name for violation in violations] == said
    assert all("recorded by" not in line for violation in violations for line in violation.because)


def test_a_record_in_a_capture_counts_as_what_it_is(cu: SimulatedDriver) -> None:
    stream, event = cu.cuStreamCreate(NON_BLOCKING), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 0)
    cu.cuEventRecord(event, stream)
    call = naming("cuStreamWaitEvent", stream, event, 0, recorded=True, events=(1,))
    assert cu.model.predict(call).violations == ()
