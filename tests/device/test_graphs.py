"""What questions about graphs write into the program's arrays."""

from __future__ import annotations

from .support import Device

PROGRAM = """
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
call("cuCtxSetCurrent", new("cuDevicePrimaryCtxRetain", 0))
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
    ended = device.python(PROGRAM)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["[1, 0, 0, 7] [2, 0, 0, 7] 1", "[1, 2, 0, 7] 2", "1"]
