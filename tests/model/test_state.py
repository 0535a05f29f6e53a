"""A model is as it was after steps that leave nothing behind, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuvet.model import Model, state
from cuvet.model.state import state_of
from cuvet.model.touches import Touches

from .driving import drive

BYTES = 4096


class Program:
    """Two streams, of which one is blocking, two blocks of memory and an event, and a step that uses them."""

    def __init__(self) -> None:
        model = Model(complete=True)
        model.touches = Touches()
        self.cu = drive(model).setup()
        self.streams = [self.cu.cuStreamCreate(0), self.cu.cuStreamCreate(1)]
        self.blocks = [self.cu.cuMemAlloc(BYTES) for _ in range(2)]
        self.event = self.cu.cuEventCreate(0)
        self.step()

    def fill(self, block: int, stream: int = 0, **call: int) -> None:
        self.cu.cuMemsetD8Async(self.blocks[block], 0, BYTES, self.streams[stream], **call)

    def step(self, blocks: tuple[int, ...] = (0, 1), stream: int = 0) -> None:
        """Fills memory, and another stream waits for it, and the host for all."""
        for block in blocks:
            self.fill(block, stream)
        self.cu.cuEventRecord(self.event, self.streams[stream])
        self.cu.cuStreamWaitEvent(self.streams[1 - stream], self.event, 0)
        self.fill(blocks[0], 1 - stream)
        self.cu.cuMemsetD8Async(self.blocks[0], 0, BYTES, 0)
        self.cu.cuCtxSynchronize()

    def capture(self) -> None:
        self.cu.cuStreamBeginCapture(self.streams[0], 0)
        self.fill(0)
        self.cu.cuGraphDestroy(self.cu.cuStreamEndCapture(self.streams[0]))


def state_after(*steps: Callable[[Program], object]) -> tuple[bytes, bytes]:
    """Before and after them."""
    program = Program()
    before = state_of(program.cu.model)
    for step in steps:
        step(program)
    after = state_of(program.cu.model)
    assert before is not None and after is not None
    return before[0], after[0]


@pytest.mark.parametrize(
    "step",
    [
        Program.step,
        lambda program: [program.step((1, 0)) for _ in range(3)],
        lambda program: program.step((0, 1, 0, 0)),
        lambda program: program.cu.cuEventQuery(program.event),
    ],
)
def test_what_comes_to_rest_leaves_the_model_as_it_was(step: Callable[[Program], object]) -> None:
    before, after = state_after(step)
    assert before == after


@pytest.mark.parametrize(
    "step",
    [
        lambda program: program.fill(0),
        lambda program: program.step(stream=1),
        lambda program: program.cu.cuEventCreate(0),
        lambda program: program.cu.cuMemFree(program.blocks[1]),
        lambda program: program.cu.cuEventDestroy(program.cu.cuEventCreate(0)),
        lambda program: program.cu.cuMemFree(0x1, status=1),
        lambda program: program.cu.cuCtxPopCurrent(),
        lambda program: (program.fill(0, stack=7), program.cu.cuCtxSynchronize()),
        Program.capture,
    ],
)
def test_what_is_left_behind_shows(step: Callable[[Program], object]) -> None:
    before, after = state_after(step)
    assert before != after


def test_what_is_undone_is_as_it_was() -> None:
    program = Program()
    before = state_of(program.cu.model)
    program.fill(0)
    assert state_of(program.cu.model) != before
    program.cu.cuCtxSynchronize()
    assert state_of(program.cu.model) == before


def test_nothing_is_told_in_a_capture_nor_of_very_much(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    program.cu.cuStreamBeginCapture(program.streams[0], 0)
    assert state_of(program.cu.model) is None
    program = Program()
    found = state_of(program.cu.model)
    assert found is not None
    monkeypatch.setattr(state, "MOST", found[1] - 1)
    assert state_of(program.cu.model) is None


def test_nothing_is_told_of_what_is_not_known() -> None:
    program = Program()
    program.cu.model.shutdown_by = lambda: True
    assert state_of(program.cu.model) is None
