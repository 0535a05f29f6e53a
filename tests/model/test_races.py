"""What the rules say of work that nothing orders, where accesses are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pytest

from cuvet.analysis.kernels import RecordedKernels
from cuvet.catalog import driver
from cuvet.model import Arguments, Model
from cuvet.model.touches import Touches

from .driving import Drive

if TYPE_CHECKING:
    from cuvet.recording import Recording


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


FLOATS = b"_Z6kernelPf\0"
OF_NUMBERS = b"_Z6kernelPfN4cuda3std3__45arrayIiLm10EEE\0"
REVERSE = b"_Z6kernelN4cuda3std3__416reverse_iteratorIPfEE\0"


@pytest.fixture
def typed(cu: Drive) -> Drive:
    """Kernels have the parameters that their mangled names tell of."""
    cu.model.kernels = RecordedKernels(cast("Recording", None))
    return cu


def launch_typed(cu: Drive, symbol: bytes, stream: int, *sizes: int, **words: int) -> None:
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b""), symbol)
    layout = tuple((sum(sizes[:number]), size) for number, size in enumerate(sizes))
    data = bytearray(sum(sizes))
    for place, word in words.items():
        at = int(place.removeprefix("at_"))
        data[at : at + 8] = word.to_bytes(8, "little")
    arguments, pointers = Arguments(bytes(data), layout), tuple(words.values())
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0, arguments=arguments, pointers=pointers)


def test_a_word_of_an_array_of_numbers_is_no_pointer(typed: Drive) -> None:
    a, b, memory = typed.cuStreamCreate(1), typed.cuStreamCreate(1), typed.cuMemAlloc(4096)
    typed.cuMemsetD8Async(memory, 0, 4096, a)
    launch_typed(typed, OF_NUMBERS, b, 8, 40, at_32=memory)
    assert said(typed) == []
    launch_typed(typed, OF_NUMBERS, b, 8, 40, at_0=memory)
    assert said(typed) == [("race-between-streams", ["cuMemsetD8Async"])]


def test_a_word_of_another_array_may_be_a_pointer(typed: Drive) -> None:
    """A class of the program, or an array of Numba, whose parameters are seven words."""
    a, b, memory = typed.cuStreamCreate(1), typed.cuStreamCreate(1), typed.cuMemAlloc(4096)
    typed.cuMemsetD8Async(memory, 0, 4096, a)
    launch_typed(typed, b"_Z1k5ArrayIfLi2EE\0", b, 16, at_0=memory)
    assert said(typed) == [("race-between-streams", ["cuMemsetD8Async"])]
    launch_typed(typed, OF_NUMBERS, b, 8, 8, 40, at_8=memory)
    assert said(typed) == [("race-between-streams", ["cuMemsetD8Async"])]


def test_a_type_is_told_only_of_a_parameter_that_it_is_the_type_of(typed: Drive) -> None:
    """Where there are other parameters than the name tells of, a type could stand at any of them."""
    memory = typed.cuMemAlloc(4096)
    typed.cuMemFree(memory)
    for sizes, argument in (((8,), "argument 0 (float*)"), ((8, 8), "argument 0")):
        launch_typed(typed, FLOATS, 0, *sizes, at_0=memory)
        assert typed.prediction is not None
        (violation,) = typed.prediction.violations
        assert violation.message.startswith(f"{argument} of kernel kernel is ")


def test_a_pointer_beside_an_iterator_that_goes_backwards_is_one(typed: Drive) -> None:
    stream, address = typed.cuStreamCreate(1), 0x7F0000000000
    typed.cuMemAlloc(4096, gives=address)
    typed.cuMemFree(typed.cuMemAlloc(4096, gives=address + 4096))
    both = b"_Z6kernelPfN4cuda3std3__416reverse_iteratorIPfEE\0"
    launch_typed(typed, both, stream, 8, 8, at_0=address + 4096, at_8=address)
    assert said(typed) == [("memory-freed-in-kernel", [])]


def test_an_iterator_that_goes_backwards_begins_where_memory_ends(typed: Drive) -> None:
    a, b, address = typed.cuStreamCreate(1), typed.cuStreamCreate(1), 0x7F0000000000
    typed.cuMemAlloc(4096, gives=address)
    above = typed.cuMemAlloc(4096, gives=address + 4096)
    typed.cuMemsetD8Async(above, 0, 4096, a)
    launch_typed(typed, REVERSE, b, 8, at_0=above)
    assert said(typed) == []
    typed.cuMemFree(above)
    launch_typed(typed, REVERSE, b, 8, at_0=above)
    assert said(typed) == []
    launch_typed(typed, FLOATS, b, 8, at_0=above)
    assert said(typed) == [("memory-freed-in-kernel", [])]


def test_of_a_structure_of_which_nothing_is_known_the_first_word_counts(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 4096, a)
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b""), b"kernel\0")
    first, second = memory.to_bytes(8, "little") + bytes(8), bytes(8) + memory.to_bytes(8, "little")
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, b, 0, 0, arguments=Arguments(second, ((0, 16),)))
    assert said(cu) == []
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, b, 0, 0, arguments=Arguments(first, ((0, 16),)))
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


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


def set_node(cu: Drive, graph: int, memory: int, *before: int, size: int = 64) -> int:
    """A node that sets bytes of ``memory``, after these nodes."""
    described = described_set(memory, size)
    return int(cu.cuGraphAddMemsetNode(graph, words(*before), len(before), described, 0))


def described_set(memory: int, size: int) -> bytes:
    return driver().pack("CUDA_MEMSET_NODE_PARAMS", {"dst": memory, "elementSize": 1, "width": size, "height": 1})


def instantiated(cu: Drive, graph: int) -> int:
    return int(cu.cuGraphInstantiateWithFlags(graph, 0))


def test_nodes_added_by_hand_race_unless_a_path_orders_them(cu: Drive) -> None:
    graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    first = set_node(cu, graph, memory)
    between = cu.cuGraphAddEmptyNode(graph, words(first), 1)
    set_node(cu, graph, memory, between)
    set_node(cu, graph, memory + 64)
    instantiated(cu, graph)
    assert said(cu) == []
    set_node(cu, graph, memory + 63)
    instantiated(cu, graph)
    told = ["cuGraphAddMemsetNode", "cuGraphInstantiateWithFlags"]
    assert said(cu) == [("race-in-graph", told)] * 3


def test_edges_of_which_only_the_start_is_stored_are_not_judged(cu: Drive) -> None:
    graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    nodes = [set_node(cu, graph, memory) for _ in range(3)]
    cu.cuGraphAddDependencies(graph, words(*nodes[:1]), words(*nodes[1:2]), 0, 2)
    instantiated(cu, graph)
    assert said(cu) == []


CHANGES: dict[str, tuple[Callable[[Drive, int, int, int], None], list[str]]] = {
    "nothing": (lambda cu, inner, copied, other: None, ["race-in-graph"]),
    "a node": (lambda cu, inner, copied, other: cu.cuGraphMemsetNodeSetParams(copied, described_set(other, 64)), []),
    "another node": (lambda cu, inner, copied, other: cu.cuGraphAddEmptyNode(inner, words(), 0), ["race-in-graph"]),
    "a node that waits": (
        lambda cu, inner, copied, other: cu.cuGraphAddEventWaitNode(inner, words(), 0, cu.cuEventCreate(2)),
        [],
    ),
    "all": (lambda cu, inner, copied, other: recapture(cu, inner, other), []),
}


def recapture(cu: Drive, graph: int, memory: int) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginRecaptureToGraph(stream, 2, graph, 0)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    cu.cuStreamEndCapture(stream, gives=graph)


@pytest.mark.parametrize("changed", CHANGES)
def test_what_a_child_graph_touches_is_known_until_it_is_changed(cu: Drive, changed: str) -> None:
    child, outer, memory, other = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    set_node(cu, child, memory)
    node = cu.cuGraphAddChildGraphNode(outer, words(), 0, child)
    inner = cu.cuGraphChildGraphNodeGetGraph(node)
    cu.cuGraphGetNodes(inner, 1, hands_out={"nodes": [0x4444]})
    change, rules = CHANGES[changed]
    change(cu, inner, 0x4444, other)
    graph = cu.cuGraphCreate(0)
    set_node(cu, graph, memory)
    cu.cuGraphAddChildGraphNode(graph, words(), 0, outer)
    instantiated(cu, graph)
    assert [rule for rule, _ in said(cu)] == rules


def test_what_is_added_to_a_child_graph_is_touched_as_well(cu: Drive) -> None:
    child, outer, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    set_node(cu, outer, memory)
    inner = cu.cuGraphChildGraphNodeGetGraph(cu.cuGraphAddChildGraphNode(outer, words(), 0, child))
    set_node(cu, inner, memory)
    instantiated(cu, outer)
    assert [rule for rule, _ in said(cu)] == ["race-in-graph"]


def test_an_edge_that_is_removed_orders_no_more(cu: Drive) -> None:
    graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    first, second = set_node(cu, graph, memory), set_node(cu, graph, memory)
    for edge in ((first, second), (second, first)):
        cu.cuGraphAddDependencies(graph, words(edge[0]), words(edge[1]), 0, 1)
        instantiated(cu, graph)
        assert said(cu) == []
        cu.cuGraphRemoveDependencies(graph, words(edge[0]), words(edge[1]), 0, 1)
        instantiated(cu, graph)
        assert [rule for rule, _ in said(cu)] == ["race-in-graph"]


def test_nodes_whose_dependencies_are_not_known_are_not_judged(cu: Drive) -> None:
    graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    set_node(cu, graph, memory)
    set_node(cu, graph, memory, 0x1234)
    instantiated(cu, graph)
    assert said(cu) == []


def test_a_child_graph_is_judged_when_it_is_added(cu: Drive) -> None:
    child, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    set_node(cu, child, memory)
    set_node(cu, child, memory)
    graph = cu.cuGraphCreate(0)
    cu.cuGraphAddChildGraphNode(graph, 0, 0, child)
    assert said(cu) == [("race-in-graph", ["cuGraphAddMemsetNode", "cuGraphAddChildGraphNode"])]
    instantiated(cu, graph)
    assert said(cu) == []


def test_the_nodes_of_a_child_graph_race_with_others(cu: Drive) -> None:
    child, graph, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    set_node(cu, child, memory)
    cu.cuGraphAddChildGraphNode(graph, 0, 0, child)
    set_node(cu, graph, memory)
    instantiated(cu, graph)
    assert [rule for rule, _ in said(cu)] == ["race-in-graph"]


def test_a_graph_that_was_built_touches_what_its_nodes_do(cu: Drive) -> None:
    a, b, memory, graph = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuGraphCreate(0)
    node = set_node(cu, graph, memory)
    executable = instantiated(cu, graph)
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory + 64, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory + 63, 0, 1, b)
    assert said(cu) == [("race-between-streams", ["cuGraphLaunch", "cuGraphAddMemsetNode"])]
    cu.cuCtxSynchronize()
    cu.cuGraphExecMemsetNodeSetParams(executable, node, described_set(memory + 64, 64), 0)
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory + 64, 0, 64, b)
    assert said(cu) == [("race-between-streams", ["cuGraphLaunch", "cuGraphExecMemsetNodeSetParams"])]


def test_a_graph_is_instantiated_with_what_its_nodes_were_changed_to(cu: Drive) -> None:
    a, b, memory, graph = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuGraphCreate(0)
    node = set_node(cu, graph, memory)
    cu.cuGraphMemsetNodeSetParams(node, described_set(memory + 64, 64))
    cu.cuGraphLaunch(instantiated(cu, graph), a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory, 0, 65, b)
    assert [rule for rule, _ in said(cu)] == ["race-between-streams"]


def test_a_node_that_is_switched_off_touches_nothing(cu: Drive) -> None:
    a, b, memory, graph = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuGraphCreate(0)
    node = set_node(cu, graph, memory)
    executable = instantiated(cu, graph)
    cu.cuGraphNodeSetEnabled(executable, node, 0)
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []


def test_only_the_graph_that_may_wait_is_not_judged(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    waits, plain = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    cu.cuGraphAddHostNode(waits, 0, 0, words(1, 0))
    set_node(cu, waits, memory)
    set_node(cu, waits, memory)
    set_node(cu, plain, memory)
    waiting = instantiated(cu, waits)
    assert said(cu) == []
    executable = instantiated(cu, plain)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    cu.cuGraphLaunch(waiting, b)
    assert said(cu) == []
    c = cu.cuStreamCreate(1)
    cu.cuGraphLaunch(executable, c)
    assert [rule for rule, _ in said(cu)] == ["race-between-streams"]


def test_memory_of_a_graph_is_freed_after_all_branches_that_use_it(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), 0
    fork, join = cu.cuEventCreate(2), cu.cuEventCreate(2)
    cu.cuStreamBeginCapture(a, 2)
    memory = cu.cuMemAllocAsync(4096, a)
    cu.cuEventRecord(fork, a)
    cu.cuStreamWaitEvent(b, fork, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuEventRecord(join, b)
    cu.cuMemFreeAsync(memory, a)
    assert said(cu) == [("race-in-graph", ["cuMemsetD8Async"])]
    cu.cuStreamWaitEvent(a, join, 0)
    cu.cuMemFreeAsync(memory, a)
    assert said(cu) == []


def test_memory_of_a_graph_is_used_on_a_branch_that_waits_for_its_allocation(cu: Drive) -> None:
    a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
    fork = cu.cuEventCreate(2)
    cu.cuStreamBeginCapture(a, 2)
    cu.cuEventRecord(fork, a)
    cu.cuStreamWaitEvent(b, fork, 0)
    memory = cu.cuMemAllocAsync(4096, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == [("race-in-graph", ["cuMemAllocAsync"])]


ARRAY, DEVICE = 3, 2


def array_of(cu: Drive, gives: int | None = None) -> int:
    layout = driver().pack("CUDA_ARRAY3D_DESCRIPTOR", {"Width": 64, "Height": 64, "Format": 0x20, "NumChannels": 1})
    return int(cu.cuArray3DCreate(layout, gives=gives))


def box(memory: int, array: int, **members: int) -> bytes:
    """A copy of 16 bytes of 4 rows into the array."""
    given = {"srcMemoryType": DEVICE, "srcDevice": memory, "srcPitch": 256, "dstMemoryType": ARRAY, "dstArray": array}
    return driver().pack("CUDA_MEMCPY3D", {**given, "WidthInBytes": 16, "Height": 4, "Depth": 1, **members})


@pytest.mark.parametrize(
    ("members", "rules"),
    [
        ({}, ["race-between-streams"]),
        ({"dstXInBytes": 15, "dstY": 3}, ["race-between-streams"]),
        ({"dstXInBytes": 16}, []),
        ({"dstY": 4}, []),
        ({"dstZ": 1}, []),
    ],
)
def test_copies_into_one_box_of_an_array_race(cu: Drive, members: dict[str, int], rules: list[str]) -> None:
    a, b, memory, array = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), array_of(cu)
    cu.cuMemcpy3DAsync(box(memory, array), a)
    cu.cuMemcpy3DAsync(box(memory, array, **members), b)
    assert [rule for rule, _ in said(cu)] == rules


def test_a_line_of_an_array_is_the_first_row(cu: Drive) -> None:
    a, memory, array = cu.cuStreamCreate(1), cu.cuMemAlloc(4096), array_of(cu)
    pinned = cu.cuMemHostAlloc(4096, 0)
    cu.cuMemcpy3DAsync(box(memory, array), a)
    b = cu.cuStreamCreate(1)
    cu.cuMemcpyAtoHAsync(pinned, array, 16, 16, b)
    assert said(cu) == []
    cu.cuMemcpyAtoHAsync(pinned, array, 15, 16, b)
    assert said(cu) == [("race-between-streams", ["cuMemcpy3DAsync"])]


def test_planes_of_a_copy_have_other_rows_between_them(cu: Drive) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(16384), cu.cuMemAlloc(16384)
    ends = {"dstMemoryType": DEVICE, "dstDevice": memory, "dstPitch": 256, "dstHeight": 8, "srcHeight": 8, "Depth": 2}
    cu.cuMemcpy3DAsync(box(other, 0, **ends), a)
    cu.cuMemcpy3DAsync(box(other, 0, **ends, dstY=4), b)
    assert said(cu) == []
    cu.cuMemcpy3DAsync(box(other, 0, **ends, dstY=3), b)
    assert said(cu) == [("race-between-streams", ["cuMemcpy3DAsync"])]


@pytest.mark.parametrize("tells", ["cuLaunchHostFunc", "cuStreamAddCallback"])
def test_a_host_function_may_tell_the_host_that_the_work_before_it_is_done(cu: Drive, tells: str) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    getattr(cu, tells)(a, 1, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []


@pytest.mark.parametrize("writes", ["cuStreamWriteValue32", "cuStreamWriteValue64"])
def test_who_reads_a_value_knows_that_the_work_before_its_write_is_done(cu: Drive, writes: str) -> None:
    a, b, memory, flag = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemHostAlloc(4096, 2)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    getattr(cu, writes)(a, flag, 1, 0)
    cu.cuMemsetD8Async(memory + 64, 0, 64, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory + 64, 0, 64, b)
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


@pytest.mark.parametrize(
    "waits", ["cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamBatchMemOp", "cuLaunchHostFunc"]
)
def test_work_behind_a_wait_for_a_value_may_come_after_what_is_enqueued_later(cu: Drive, waits: str) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    getattr(cu, waits)(b, 1, 0)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == []
    cu.cuStreamSynchronize(b)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    cu.cuMemsetD8Async(memory, 0, 64, a)
    assert said(cu) == [("race-between-streams", ["cuMemsetD8Async"])]


def test_an_array_that_is_gone_races_with_nothing(cu: Drive) -> None:
    a, b, memory, array = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), array_of(cu)
    cu.cuMemcpy3DAsync(box(memory, array), a)
    cu.cuArrayDestroy(array)
    assert array_of(cu, gives=array) == array
    cu.cuMemcpy3DAsync(box(memory, array), b)
    assert said(cu) == []


def boxes(memory: int, other: int, *, reads: int = 1, row: int = 16, pitch: int = 64) -> bytes:
    """Of a batch: 4 rows of bytes from ``other`` to ``memory``."""
    operands = {
        f"{end}.{name}": value
        for end, address in (("dst", memory), ("src", other))
        for name, value in (("type", 1), ("op.ptr.ptr", address), ("op.ptr.rowLength", pitch))
    }
    extent = {"extent.width": row, "extent.height": 4, "extent.depth": 1, "srcAccessOrder": reads}
    return driver().pack("CUDA_MEMCPY3D_BATCH_OP", {**operands, **extent})


@pytest.mark.parametrize(("shift", "rules"), [(16, []), (15, ["race-between-streams"]), (256, [])])
def test_each_box_of_a_batch_is_looked_at(cu: Drive, shift: int, rules: list[str]) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemcpy3DBatchAsync(1, boxes(memory, other), 0, a)
    cu.cuMemcpy3DBatchAsync(2, boxes(memory + 2048, other) + boxes(memory + shift, other), 0, b)
    assert [rule for rule, _ in said(cu)] == rules


@pytest.mark.parametrize(("order", "rules"), [(1, ["race-between-streams"]), (3, [])])
def test_a_box_that_is_read_out_of_order_is_not_judged(cu: Drive, order: int, rules: list[str]) -> None:
    a, b, memory, other = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(other, 0, 16, a)
    cu.cuMemcpy3DWithAttributesAsync(boxes(memory, other, reads=order), 0, b)
    assert [rule for rule, _ in said(cu)] == rules


def test_nodes_that_are_described_as_any_node_are(cu: Drive) -> None:
    graph, memory, other = cu.cuGraphCreate(0), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    copied = driver().pack(
        "CUDA_MEMCPY3D",
        {"srcMemoryType": DEVICE, "srcDevice": memory, "dstMemoryType": DEVICE, "dstDevice": other}
        | {"WidthInBytes": 64, "Height": 1, "Depth": 1},
    )
    set_node(cu, graph, memory + 63)
    cu.cuGraphAddNode(graph, 0, 0, 0, driver().pack("CUgraphNodeParams", {"type": 1, "memcpy.copyParams": copied}))
    instantiated(cu, graph)
    assert said(cu) == [("race-in-graph", ["cuGraphAddMemsetNode", "cuGraphInstantiateWithFlags"])]
    described = driver().pack("CUgraphNodeParams", {"type": 2, "memset": described_set(other, 64)})
    cu.cuGraphAddNode(graph, 0, 0, 0, described)
    instantiated(cu, graph)
    assert len(said(cu)) == 2


def test_a_node_of_another_sort_touches_nothing(cu: Drive) -> None:
    graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(4096)
    set_node(cu, graph, memory)
    cu.cuGraphAddNode(
        graph, 0, 0, 0, driver().pack("CUgraphNodeParams", {"type": 5, "memset": described_set(memory, 64)})
    )
    instantiated(cu, graph)
    assert said(cu) == []


def test_a_clone_touches_what_its_original_does(cu: Drive) -> None:
    a, b, memory, graph = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096), cu.cuGraphCreate(0)
    set_node(cu, graph, memory)
    executable = instantiated(cu, cu.cuGraphClone(graph))
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert [rule for rule, _ in said(cu)] == ["race-between-streams"]


def test_an_executable_graph_touches_what_it_was_updated_to(cu: Drive) -> None:
    a, b, memory = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuMemAlloc(4096)
    first, second = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    node = set_node(cu, first, memory)
    set_node(cu, second, memory + 64)
    executable = instantiated(cu, first)
    cu.cuGraphExecUpdate(executable, second)
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory, 0, 64, b)
    assert said(cu) == []
    cu.cuMemsetD8Async(memory + 64, 0, 64, b)
    assert [rule for rule, _ in said(cu)] == ["race-between-streams"]
    cu.cuCtxSynchronize()
    cu.cuGraphExecMemsetNodeSetParams(executable, node, described_set(memory, 64), 0)
    cu.cuGraphLaunch(executable, a)
    cu.cuMemsetD8Async(memory + 64, 0, 64, b)
    assert said(cu) == []


PRIORITY, PROGRAMMATIC, COMPLETION = 8, 7, 12


def launch_with(cu: Drive, stream: int, memory: int, *attributes: tuple[int, int]) -> None:
    """A kernel that is given the memory. Each attribute has a number and, in the place of an event, a word."""
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b""), b"kernel\0")
    shape = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    config = driver().pack("CUlaunchConfig", {**shape, "hStream": stream, "numAttrs": len(attributes)})
    given = b"".join(
        driver().pack("CUlaunchAttribute", {"id": number, "value.programmaticEvent.event": word})
        for number, word in attributes
    )
    cu.cuLaunchKernelEx(
        config, function, 0, 0, attributes=given, arguments=Arguments(memory.to_bytes(8, "little"), ((0, 8),))
    )


@pytest.mark.parametrize("attribute", [PROGRAMMATIC, COMPLETION])
def test_work_that_waits_for_an_event_of_a_launch_may_come_after_it(cu: Drive, attribute: int) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAllocAsync(4096, a)
    launch_with(cu, a, memory, (PRIORITY, event), (attribute, event))
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == []
    cu.cuMemFreeAsync(memory, b)
    assert said(cu) == []


def test_other_attributes_of_a_launch_order_nothing(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAlloc(4096)
    launch_with(cu, a, memory, (PRIORITY, event))
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == [("race-between-streams", ["cuLaunchKernelEx"])]


def test_work_behind_the_launch_is_not_waited_for(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAlloc(4096)
    launch_with(cu, a, memory, (PROGRAMMATIC, event))
    cu.cuMemsetD8Async(memory, 1, 4096, a)
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == [
        ("race-between-streams", ["cuMemsetD8Async", "cuLaunchKernelEx", "cuStreamWaitEvent"]),
    ]


def test_an_event_that_a_launch_recorded_again_stands_for_the_launch(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAlloc(4096)
    cu.cuEventRecord(event, b)
    launch_with(cu, a, memory, (COMPLETION, event))
    cu.cuEventSynchronize(event)
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == []


def test_when_the_event_of_a_launch_is_seen_is_not_known(cu: Drive) -> None:
    """Even long after the kernel has completed (CUDA Driver API, CUlaunchAttributeID)."""
    cu.model.all_work = True
    a, event = cu.cuStreamCreate(1), cu.cuEventCreate(2)
    cu.cuEventRecord(event, a)
    cu.cuStreamSynchronize(a)
    cu.cuEventQuery(event)
    assert cu.prediction is not None and cu.prediction.statuses == (0,)
    launch_with(cu, a, cu.cuMemAlloc(4096), (PROGRAMMATIC, event))
    cu.cuStreamSynchronize(a)
    cu.cuEventQuery(event)
    assert cu.prediction is not None and cu.prediction.statuses == (0, 600)


def test_in_a_capture_the_event_of_a_launch_belongs_to_the_capture(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAlloc(4096)
    cu.cuStreamBeginCapture(a, 0)
    launch_with(cu, a, memory, (PROGRAMMATIC, event))
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == []
    cu.cuStreamEndCapture(a)
    assert cu.status == 904, "b has joined, and was not joined again"


def test_an_event_that_is_gone_or_bytes_that_end_too_soon_record_nothing(cu: Drive) -> None:
    a, b, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
    memory = cu.cuMemAlloc(4096)
    cu.cuEventDestroy(event)
    launch_with(cu, a, memory, (PROGRAMMATIC, event))
    launch_with(cu, a, memory, (PROGRAMMATIC, 0))
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b""), b"kernel\0")
    cu.cuLaunchKernelEx(b"\1" * 32 + bytes(24), function, 0, 0, status=0, attributes=(7).to_bytes(71, "little"))
    cu.cuMemsetD8Async(memory, 1, 4096, b)
    assert said(cu) == [("race-between-streams", ["cuLaunchKernelEx"])]


@pytest.mark.parametrize(("given", "told"), [("nothing", []), ("a number", []), ("memory", ["device-reset-pending"])])
def test_a_reset_behind_a_kernel_without_ptx_is_told_of_if_it_is_given_memory(
    cu: Drive, given: str, told: list[str]
) -> None:
    """Else it can only print: a kernel that launches kernels, say."""
    launch(cu, 0, *{"nothing": (), "a number": (8,), "memory": (cu.cuMemAlloc(4096),)}[given])
    cu.cuDevicePrimaryCtxReset(0)
    assert [rule for rule, _ in said(cu)] == told
