"""Copies and sets of memory, of arrays too."""

from dataclasses import dataclass
from functools import partial

from cuvet.device import status
from cuvet.device.driver.graph import enqueue
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import BadAddress, Invocation, read
from cuvet.device.protocol import Command, Op, Steps

_HOST, _ARRAY = 1, 3  # CUmemorytype


@dataclass(frozen=True, slots=True)
class Box:
    """Where one end of a copy begins, and the distances in bytes between its rows and its slices."""

    address: int
    pitch: int = 0
    slice_pitch: int = 0


def _copy(call: Invocation, to: Box, source: Box, row_bytes: int, rows: int = 1, slices: int = 1) -> Steps[int]:
    for number in range(slices):
        destination, origin = to.address + number * to.slice_pitch, source.address + number * source.slice_pitch
        done = yield Command(Op.COPY, (destination, origin, row_bytes, rows, to.pitch, source.pitch))
        if done.error and not _pinned(call, destination) and not _pinned(call, origin):
            return status.INVALID_VALUE
    return status.SUCCESS


def _pinned(call: Invocation, address: int) -> bool:
    """Whether it is registered: the device keeps its pages even if the program unmapped them (measured: register_freed_then_copy)."""
    memory = call.model.host_memory_at(address)
    return memory is not None and memory.alive


def _linear(call: Invocation, destination: str, source: str, size: str = "ByteCount") -> Steps[int]:
    to, origin, count = Box(call[destination]), Box(call[source]), call[size]
    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_MEMCPY", lambda: _copy(call, to, origin, count))))


cuMemcpy = cuMemcpyAsync = partial(_linear, destination="dst", source="src")
cuMemcpyHtoD = cuMemcpyHtoDAsync = partial(_linear, destination="dstDevice", source="srcHost")
cuMemcpyDtoH = cuMemcpyDtoHAsync = partial(_linear, destination="dstHost", source="srcDevice")
cuMemcpyDtoD = cuMemcpyDtoDAsync = cuMemcpyPeer = cuMemcpyPeerAsync = partial(
    _linear, destination="dstDevice", source="srcDevice"
)


def cuMemcpyBatchAsync(call: Invocation) -> Steps[int]:
    arrays = []
    for name in ("dsts", "srcs", "sizes"):
        data = yield from read(call[name], 8 * call["count"])
        arrays.append([int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8)])

    def run() -> Steps[int]:
        for to, source, size in zip(*arrays, strict=True):
            result = yield from _copy(call, Box(to), Box(source), size)
            if result:
                return result
        return status.SUCCESS

    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_MEMCPY_BATCH", run)))


# Arrays.


def _in_array(call: Invocation, handle: int, x_bytes: int = 0, y: int = 0, z: int = 0) -> Box:
    array = call.process.arrays.get(handle)
    if array is None:
        raise BadAddress(hex(handle))
    slice_pitch = array.width_bytes * max(array.height, 1)
    return Box(array.address + z * slice_pitch + y * array.width_bytes + x_bytes, array.width_bytes, slice_pitch)


def _array_end(call: Invocation, side: str) -> Box:
    return _in_array(call, call[f"{side}Array"], call[f"{side}Offset"])


def _to_array(call: Invocation, source: str) -> Steps[int]:
    """``source``: the parameter with an address, or "" for another array."""
    to, count = _array_end(call, "dst"), call["ByteCount"]
    origin = Box(call[source]) if source else _array_end(call, "src")
    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_MEMCPY", lambda: _copy(call, to, origin, count))))


def _from_array(call: Invocation, destination: str) -> Steps[int]:
    to, source, count = Box(call[destination]), _array_end(call, "src"), call["ByteCount"]
    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_MEMCPY", lambda: _copy(call, to, source, count))))


cuMemcpyHtoA = cuMemcpyHtoAAsync = partial(_to_array, source="srcHost")
cuMemcpyDtoA = partial(_to_array, source="srcDevice")
cuMemcpyAtoA = partial(_to_array, source="")
cuMemcpyAtoH = cuMemcpyAtoHAsync = partial(_from_array, destination="dstHost")
cuMemcpyAtoD = partial(_from_array, destination="dstDevice")


# Boxes.


def _end_of_box(call: Invocation, side: str, parameter: str, deep: bool, prefix: str) -> Box:
    """One end of a CUDA_MEMCPY2D or CUDA_MEMCPY3D."""

    def member(name: str) -> int:
        return call.member(parameter, f"{prefix}{side}{name}")

    x, y, z = member("XInBytes"), member("Y"), member("Z") if deep else 0
    kind = member("MemoryType")
    if kind == _ARRAY:
        return _in_array(call, member("Array"), x, y, z)
    address, pitch = member("Host" if kind == _HOST else "Device"), member("Pitch")
    slice_pitch = pitch * member("Height") if deep else 0
    return Box(address + z * slice_pitch + y * pitch + x, pitch, slice_pitch)


def box_copy(call: Invocation, parameter: str, deep: bool, prefix: str = "") -> Node:
    """The node that carries out the copy which the struct describes, or the member of it that the prefix names."""
    to, source = (_end_of_box(call, side, parameter, deep, prefix) for side in ("dst", "src"))
    row_bytes, rows = call.member(parameter, f"{prefix}WidthInBytes"), call.member(parameter, f"{prefix}Height")
    slices = call.member(parameter, f"{prefix}Depth") if deep else 1
    return Node("CU_GRAPH_NODE_TYPE_MEMCPY", lambda: _copy(call, to, source, row_bytes, rows, slices))


def _bad_pitch(call: Invocation, parameter: str) -> bool:
    width, rows = call.member(parameter, "WidthInBytes"), call.member(parameter, "Height")
    for side in ("src", "dst"):
        pitch = call.member(parameter, f"{side}Pitch")
        if call.member(parameter, f"{side}MemoryType") != _ARRAY and rows > 1 and pitch < width:
            return True
    return False


def _box(call: Invocation, deep: bool) -> Steps[int]:
    if _bad_pitch(call, "pCopy"):
        return status.INVALID_VALUE
    return (yield from enqueue(call, box_copy(call, "pCopy", deep)))


cuMemcpy2D = cuMemcpy2DUnaligned = cuMemcpy2DAsync = partial(_box, deep=False)
cuMemcpy3D = cuMemcpy3DAsync = cuMemcpy3DPeer = cuMemcpy3DPeerAsync = partial(_box, deep=True)


# Sets.


def fill(address: int, value: int, element: int, row_bytes: int, rows: int, pitch: int) -> Steps[int]:
    done = yield Command(Op.SET, (address, value, element, row_bytes, rows, pitch))
    return status.INVALID_VALUE if done.error else status.SUCCESS


def _memset(call: Invocation, value: str, element: int) -> Steps[int]:
    address, number, size = call["dstDevice"], call[value], call["N"] * element
    if address % element:
        return status.INVALID_VALUE
    node = Node("CU_GRAPH_NODE_TYPE_MEMSET", lambda: fill(address, number, element, size, 1, size))
    return (yield from enqueue(call, node))


def _memset_2d(call: Invocation, value: str, element: int) -> Steps[int]:
    address, number, pitch = call["dstDevice"], call[value], call["dstPitch"]
    size, rows = call["Width"] * element, call["Height"]
    if address % element or pitch % element or (rows > 1 and pitch < size):
        return status.INVALID_VALUE
    node = Node("CU_GRAPH_NODE_TYPE_MEMSET", lambda: fill(address, number, element, size, rows, pitch))
    return (yield from enqueue(call, node))


cuMemsetD8 = cuMemsetD8Async = partial(_memset, value="uc", element=1)
cuMemsetD16 = cuMemsetD16Async = partial(_memset, value="us", element=2)
cuMemsetD32 = cuMemsetD32Async = partial(_memset, value="ui", element=4)


cuMemsetD2D8 = cuMemsetD2D8Async = partial(_memset_2d, value="uc", element=1)
cuMemsetD2D16 = cuMemsetD2D16Async = partial(_memset_2d, value="us", element=2)
cuMemsetD2D32 = cuMemsetD2D32Async = partial(_memset_2d, value="ui", element=4)
