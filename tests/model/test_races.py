"""What the rules say of work that nothing orders, where accesses are looked at."""

from __future__ import annotations

import pytest

from cuvet.model import Arguments, Model
from cuvet.model.touches import Touches

from .driving import Drive


@pytest.fixture
def cu() -> Drive:
    model = Model(complete=True)
    model.touches = Touches()
    return Drive(model).setup()


def launch(cu: Drive, stream: int, *words: int) -> None:
    """A kernel without PTX, that is given these words."""
    module = cu.cuModuleLoadData(b"")
    function = cu.cuModuleGetFunction(module, b"kernel\0")
    layout = tuple((8 * number, 8) for number in range(len(words)))
    arguments = Arguments(b"".join(word.to_bytes(8, "little") for word in words), layout)
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0, arguments=arguments)


def said(cu: Drive) -> list[tuple[str, list[str]]]:
    """The rules that the newest call breaks, each with the earlier calls that it names."""
    assert cu.prediction is not None
    return [(each.rule.name, [call.name for _, call in each.earlier]) for each in cu.prediction.violations]


def test_a_free_is_told_with_the_kernel_whose_pointer_goes_into_the_memory(cu: Drive) -> None:
    a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
    memory = cu.cuMemAllocAsync(4096, a)
    launch(cu, a, memory + 2048)
    cu.cuMemFreeAsync(memory, b)
    assert said(cu) == [("memory-free-unordered", ["cuLaunchKernel"])]


def test_a_free_after_the_kernel_is_right(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAllocAsync(4096, a)
    launch(cu, a, memory + 2048)
    cu.cuEventRecord(event, a)
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemFreeAsync(memory, b)
    assert said(cu) == []


def test_a_kernel_whose_pointer_goes_into_memory_must_wait_for_its_allocation(cu: Drive) -> None:
    a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
    launch(cu, b, cu.cuMemAllocAsync(4096, a) + 2048)
    assert said(cu) == [("memory-use-unordered", ["cuMemAllocAsync"])]


def test_streams_that_race_are_not_told_of_again_for_the_allocation(cu: Drive) -> None:
    a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
    memory = cu.cuMemAllocAsync(4096, a)
    cu.cuMemsetD8Async(memory, 0, 4096, a)
    launch(cu, b, memory)
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


def test_a_race_with_a_third_stream_is_another_mistake(cu: Drive) -> None:
    a, b, c, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAllocAsync(4096, a)
    cu.cuEventRecord(event, a)
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 0, 4096, b)
    cu.cuMemsetD8Async(memory, 1, 4096, c)
    assert sorted(said(cu)) == [
        ("memory-use-unordered", ["cuMemAllocAsync"]),
        ("race-between-streams", ["cuMemsetD8Async"]),
    ]
