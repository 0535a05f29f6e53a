"""When the state after repeated calls is the same, so that more of them need not be judged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.analysis import Analysis, Meta
from cuvet.analysis.steady import Steady
from cuvet.catalog import Kind
from cuvet.model import Model
from cuvet.recording.repeats import KEPT, Boundary, Skipped

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import CONTEXT, STREAM, Thread


def model_after(directory: Path, records: bytes) -> Model:
    w.write(directory, [w.chunk(records)])
    analysis = Analysis(directory)
    analysis.report(Meta(pid=1000))
    (process,) = analysis.processes()
    assert process.model is not None
    return process.model


def setup(directory: Path) -> Model:
    t = Thread()
    return model_after(directory, t.setup() + t.create())


def after(steady: Steady, model: Model, told: int = 0, first: bool = False) -> bool:
    return steady.after(Boundary(first), model, told)


def grow(model: Model, streams: int, events: int = 0) -> None:
    more = [0] * (max(Kind) + 1)
    more[Kind.STREAM], more[Kind.EVENT] = streams, events
    model.table.skip(tuple(more))


def test_the_state_is_steady_after_eight_periods(tmp_path: Path) -> None:
    model, steady = setup(tmp_path), Steady()
    assert [after(steady, model) for _ in range(10)] == [False] * 7 + [True] * 3
    assert [after(steady, model, first=at == 0) for at in range(9)] == [False] * 7 + [True] * 2


def test_more_objects_may_be_counted_but_as_many_in_each_period(tmp_path: Path) -> None:
    model, steady, found = setup(tmp_path), Steady(), []
    for streams in (2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2):
        grow(model, streams)
        found.append(after(steady, model))
    assert found == [False] * 7 + [True] + [False] * 7 + [True] * 2


def test_what_is_said_of_calls_is_not_left_out(tmp_path: Path) -> None:
    model, steady = setup(tmp_path), Steady()
    assert not any(after(steady, model, told) for told in range(20))
    assert [after(steady, model, 20) for _ in range(8)] == [False] * 7 + [True]


@pytest.mark.parametrize("what", ["capture", "lost"])
def test_in_a_capture_and_with_a_lost_context_nothing_is_left_out(tmp_path: Path, what: str) -> None:
    t = Thread()
    records = t.setup() + t.create()
    if what == "capture":
        records += t.call("cuStreamBeginCapture", STREAM, 0, objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
    else:
        records += t.call("cuCtxSynchronize", status=700, flags=w.LIFECYCLE | w.FAILED)
    model, steady = model_after(tmp_path, records), Steady()
    assert (bool(model.live_captures), bool(model.lost_contexts)) == (what == "capture", what == "lost")
    assert not any(after(steady, model) for _ in range(20))


def test_the_objects_of_what_is_left_out_are_counted(tmp_path: Path) -> None:
    model, steady = setup(tmp_path), Steady()
    for _ in range(KEPT):
        grow(model, 2, 1)
        after(steady, model)
    before = model.table.counts()
    steady.skip(Skipped(5), model)
    grown = [now - then for now, then in zip(model.table.counts(), before, strict=True)]
    assert (grown[Kind.STREAM], grown[Kind.EVENT], sum(grown)) == (10, 5, 15)
