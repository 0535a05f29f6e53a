"""What the rules say of work that nothing orders, where accesses are looked at."""

from __future__ import annotations

from collections.abc import Callable

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


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


STREAM, ANY = (order.to_bytes(24, "little") for order in (1, 3))
"""CUmemcpyAttributes with a CUmemcpySrcAccessOrder."""


def test_each_copy_of_a_batch_is_looked_at(cu: Drive) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory + 64, 0, 64, a)
    cu.cuMemcpyBatchAsync(words(memory, memory + 128), words(other, other), words(64, 64), 2, STREAM, words(0), 1, b)
    assert said(cu) == []
    cu.cuMemcpyBatchAsync(words(memory, memory + 127), words(other, other), words(64, 64), 2, STREAM, words(0), 1, b)
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


@pytest.mark.parametrize(("attributes", "rules"), [(STREAM, ["race-between-streams"]), (ANY, [])])
def test_a_source_that_is_read_out_of_order_is_not_judged(cu: Drive, attributes: bytes, rules: list[str]) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    cu.cuMemcpyWithAttributesAsync(other, memory, 64, attributes, b)
    assert [rule for rule, _ in said(cu)] == rules
    cu.cuMemcpyBatchAsync(words(other), words(memory), words(64), 1, attributes, words(0), 1, b)
    assert [rule for rule, _ in said(cu)] == rules


def test_a_batch_with_several_attributes_is_judged_by_what_it_writes(cu: Drive) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    cu.cuMemcpyBatchAsync(words(other), words(memory), words(64), 1, STREAM, words(0), 2, b)
    assert said(cu) == []
    cu.cuMemcpyBatchAsync(words(memory), words(other), words(64), 1, STREAM, words(0), 2, b)
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


def captured(cu: Drive, stream: int, memory: int) -> int:
    """An executable graph whose node sets 64 bytes of ``memory``."""
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    return int(cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0))


def test_a_launched_graph_touches_what_was_captured(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    executable = captured(cu, a, memory)
    cu.cuMemsetD8Async(memory + 64, 1, 64, a)
    cu.cuGraphLaunch(executable, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory + 63, 1, 64, a)
    assert said(cu) == [("race-between-streams", ["cuGraphLaunch", "cuMemsetD8Async"])]


def test_launches_of_one_executable_graph_come_after_each_other(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAllocAsync(4096, 0)
    cu.cuCtxSynchronize()
    executable = captured(cu, a, memory)
    cu.cuMemsetD8Async(memory, 1, 4096, a)
    cu.cuGraphLaunch(executable, a)
    cu.cuGraphLaunch(executable, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == []


def test_launches_of_two_graphs_race(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    first, second = captured(cu, a, memory), captured(cu, a, memory)
    cu.cuGraphLaunch(first, a)
    cu.cuGraphLaunch(second, b)
    assert said(cu) == [("race-between-streams", ["cuGraphLaunch", "cuMemsetD8Async", "cuMemsetD8Async"])]


@pytest.mark.parametrize(
    "change",
    [
        lambda cu, executable: cu.cuGraphExecMemsetNodeSetParams(executable, 1, 0, 0),
        lambda cu, executable: cu.cuGraphNodeSetEnabled(executable, 1, 0),
        lambda cu, executable: cu.cuGraphExecUpdate(executable, cu.cuGraphCreate(0)),
    ],
    ids=["parameters", "switched off", "updated"],
)
def test_of_a_graph_that_was_changed_nothing_is_known(cu: Drive, change: Callable[[Drive, int], int]) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    executable = captured(cu, a, memory)
    change(cu, executable)
    cu.cuMemsetD8Async(memory, 1, 4096, a)
    cu.cuGraphLaunch(executable, b)
    assert said(cu) == []


def test_a_graph_is_told_with_the_free_of_what_it_uses(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAllocAsync(4096, 0)
    cu.cuCtxSynchronize()
    cu.cuGraphLaunch(captured(cu, a, memory), a)
    cu.cuMemFreeAsync(memory, b)
    assert said(cu) == [("memory-free-unordered", ["cuGraphLaunch"])]


def forked(cu: Drive) -> tuple[int, int, int]:
    """Two streams of a capture, and memory."""
    a, b, event, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2), cu.cuMemAlloc(4096)
    cu.cuStreamBeginCapture(a, 2)
    cu.cuEventRecord(event, a)
    cu.cuStreamWaitEvent(b, event, 0)
    return a, b, memory


def test_nodes_that_no_edge_orders_race(cu: Drive) -> None:
    a, b, memory = forked(cu)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == [("race-in-graph", ["cuMemsetD8Async"])]


def test_a_node_comes_after_those_before_the_fork(cu: Drive) -> None:
    a, b, memory = forked(cu)
    event = cu.cuEventCreate(2)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    cu.cuEventRecord(event, a)
    cu.cuMemsetD8Async(memory + 64, 0, 64, a)
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory, 0, 65, b)
    assert said(cu) == [("race-in-graph", ["cuMemsetD8Async"])]


def test_nodes_whose_dependencies_the_program_sets_are_not_judged(cu: Drive) -> None:
    a, b, memory = forked(cu)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuStreamUpdateCaptureDependencies(a, words(1), 0, 1, 1)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == []


def test_work_in_a_capture_does_not_race_with_work_outside(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuStreamBeginCapture(a, 2)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == []


def test_a_stale_address_in_a_graph_is_told_also_if_it_was_handed_out_again(cu: Drive) -> None:
    a, memory = cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    executable = captured(cu, a, memory)
    cu.cuMemFree(memory)
    assert cu.cuMemAlloc(4096, gives=memory) == memory
    cu.cuGraphLaunch(executable, a)
    assert said(cu) == [("graph-exec-memory-freed", ["cuMemsetD8Async"])]


def test_memory_that_is_mapped_again_is_no_stale_address(cu: Drive) -> None:
    a, address = cu.cuStreamCreate(1), cu.cuMemAddressReserve(1 << 21, 0, 0, 0)
    properties = bytes(32)
    handle = cu.cuMemCreate(1 << 21, properties, 0)
    cu.cuMemMap(address, 1 << 21, 0, handle, 0)
    executable = captured(cu, a, address)
    cu.cuMemUnmap(address, 1 << 21)
    cu.cuMemMap(address, 1 << 21, 0, handle, 0)
    cu.cuGraphLaunch(executable, a)
    assert said(cu) == []


def test_a_kernel_without_ptx_whose_argument_points_into_freed_memory_is_not_accused(cu: Drive) -> None:
    a, memory = cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuStreamBeginCapture(a, 2)
    launch(cu, a, memory + 8)
    executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(a), 0)
    cu.cuMemFree(memory)
    cu.cuGraphLaunch(executable, a)
    assert said(cu) == []


def test_a_graph_that_may_wait_for_what_no_call_shows_is_not_judged(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuStreamBeginCapture(b, 2)
    cu.cuLaunchHostFunc(b, 1, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(b), 0)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    cu.cuGraphLaunch(executable, b)
    assert said(cu) == []


def test_nodes_that_may_wait_for_what_no_call_shows_are_not_judged(cu: Drive) -> None:
    a, b, memory = forked(cu)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuLaunchHostFunc(a, 1, 0)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == []
@pytest.mark.parametrize("tells", ["cuLaunchHostFunc", "cuStreamAddCallback"])
def test_a_host_function_may_tell_the_host_that_the_work_before_it_is_done(cu: Drive, tells: str) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    getattr(cu, tells)(a, 1, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []


