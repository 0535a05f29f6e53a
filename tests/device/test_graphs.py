"""What questions about graphs write into the program's arrays."""

from __future__ import annotations

import pytest

from cuvet.device.handles import Handles

from .support import Device
from .test_foreknown import POINTER, call, new_thread

START = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, (name, status)
word = ctypes.c_uint64
def new(name, *arguments):
    made = word()
    call(name, ctypes.byref(made), *arguments)
    return made
call("cuInit", 0)
context = new("cuDevicePrimaryCtxRetain", 0)
call("cuCtxSetCurrent", context)
"""
EDGES = """
graph = new("cuGraphCreate", 0)
first = new("cuGraphAddEmptyNode", graph, None, word(0))
second = new("cuGraphAddEmptyNode", graph, ctypes.byref(first), word(1))
names = {first.value: 1, second.value: 2}
before, behind, count = (word * 4)(7, 7, 7, 7), (word * 4)(7, 7, 7, 7), word(3)
call("cuGraphGetEdges", graph, before, behind, ctypes.byref(count))
print([names.get(word, word) for word in before], [names.get(word, word) for word in behind], count.value)
nodes, count = (word * 4)(7, 7, 7, 7), word(3)
call("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
print([names.get(word, word) for word in nodes], count.value)
call("cuGraphGetEdges", graph, None, None, ctypes.byref(count))
print(count.value)
"""


def test_room_that_is_left_is_cleared_and_no_more(device: Device) -> None:
    """NULL in the remaining entries: CUDA Driver API, cuGraphGetEdges and cuGraphGetNodes."""
    ended = device.python(START + EDGES)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["[1, 0, 0, 7] [2, 0, 0, 7] 1", "[1, 2, 0, 7] 2", "1"]


CHILDREN = """
import struct
memory = new("cuMemAlloc_v2", word(1))
def filling(value):
    made = new("cuGraphCreate", 0)
    fill = struct.pack("<QQIIQQ", memory.value, 0, value, 1, 1, 1)
    new("cuGraphAddMemsetNode", made, None, word(0), fill, context)
    return made
def filled():
    call("cuGraphLaunch", executable, None)
    call("cuCtxSynchronize")
    byte = ctypes.c_ubyte()
    call("cuMemcpyDtoH_v2", ctypes.byref(byte), memory, word(1))
    return byte.value
def nested(graph):
    outer = new("cuGraphCreate", 0)
    return outer, new("cuGraphAddChildGraphNode", outer, None, word(0), graph)
outer, node = nested(nested(filling(1))[0])
empty = new("cuGraphAddEmptyNode", outer, None, word(0))
executable = new("cuGraphInstantiateWithFlags", outer, word(0))
set_child = ctypes.CDLL(LIBRARY)[SET_CHILD]
told = [filled()]
other = nested(filling(2))[0]
told += [set_child(executable, node, other), filled()]
call("cuGraphDestroy", other)
told += [filled()]
told += [set_child(executable, node, new("cuGraphCreate", 0)), set_child(executable, empty, filling(3)), filled()]
executable = new("cuGraphInstantiateWithFlags", outer, word(0))
print(*told, filled())
"""
ANOTHER_TOPOLOGY, INVALID_VALUE = 910, 1


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("libcuda.so.1", "cuGraphExecChildGraphNodeSetParams"),
        ("libcudart.so.13", "cudaGraphExecChildGraphNodeSetParams"),
    ],
)
def test_a_child_graph_is_replaced_in_the_executable_graph_alone(device: Device, library: str, name: str) -> None:
    """CUDA Driver API, cuGraphExecChildGraphNodeSetParams: hNode is not modified; the topology must match."""
    ended = device.python(f"LIBRARY, SET_CHILD = {library!r}, {name!r}\n{START}{CHILDREN}")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == list(map(str, [1, 0, 2, 2, ANOTHER_TOPOLOGY, INVALID_VALUE, 2, 1]))


def test_the_end_of_a_graph_gives_back_its_handles_and_looks_at_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = new_thread()
    handles = thread.process.handles
    made = [int.from_bytes(call(thread, "cuGraphCreate", POINTER, 0)[1], "little") for _ in range(3)]
    others, (outer, inner, _) = handles.live(), made
    call(thread, "cuGraphAddEmptyNode", POINTER, inner, 0, 0)
    assert call(thread, "cuGraphAddChildGraphNode", POINTER, outer, 0, 0, inner)[0] == 0
    _, executable = call(thread, "cuGraphInstantiateWithFlags", POINTER, outer, 0)
    assert len(handles.live()) > len(others)
    alive = handles.live
    monkeypatch.setattr(Handles, "live", None)
    assert call(thread, "cuGraphExecDestroy", int.from_bytes(executable, "little"))[0] == 0
    assert [call(thread, "cuGraphDestroy", each)[0] for each in (outer, inner)] == [0, 0]
    assert {value for _, value in alive()} == {value for _, value in others} - {outer, inner}
