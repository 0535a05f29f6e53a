"""Copies and sets of memory, of arrays too."""

from functools import partial

import msgspec

from cuvet.device.driver.graph import enqueue, enqueue_work
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import BadAddress, Invocation, read_words, require
from cuvet.device.link import post
from cuvet.device.protocol import Command, Op, Steps

_HOST, _ARRAY = 1, 3  # CUmemorytype


class Box(msgspec.Struct, frozen=True):
    """Where one end of a copy begins, and the distances in bytes between its rows and its slices."""

    address: int
    pitch: int = 0
    slice_pitch: int = 0


def _copy(call: Invocation, to: Box, source: Box, row_bytes: int, rows: int = 1, slices: int = 1) -> Steps[None]:
    for number in range(slices):
        destination, origin = to.address + number * to.slice_pitch, source.address + number * source.slice_pitch
        command = Command(Op.COPY, (destination, origin, row_bytes, rows, to.pitch, source.pitch))
        done = post(call.thread, command) or (yield command)
        require(not done.error or _pinned(call, destination) or _pinned(call, origin))


def _pinned(call: Invocation, address: int) -> bool:
    """Whether it is registered: the device keeps its pages even if the program unmapped them (measured: register_freed_then_copy)."""
    memory = call.model.host_memory_at(address)
    return memory is not None and memory.alive


def _in_array(call: Invocation, handle: int, x_bytes: int = 0, y: int = 0, z: int = 0) -> Box:
    array = call.process.arrays.get(handle)
    if array is None:
        raise BadAddress(hex(handle))
    slice_pitch = array.width_bytes * max(array.height, 1)
    return Box(array.address + z * slice_pitch + y * array.width_bytes + x_bytes, array.width_bytes, slice_pitch)


def _end(call: Invocation, parameter: str) -> Box:
    """Where the parameter says that a copy begins or ends: an address, or an array with its offset."""
    if parameter.endswith("Array"):
        return _in_array(call, call[parameter], call[parameter.replace("Array", "Offset")])
    return Box(call[parameter])


def _linear(call: Invocation, destination: str, source: str) -> Steps[None]:
    to, origin, count = _end(call, destination), _end(call, source), call["ByteCount"]
    return enqueue_work(call, "CU_GRAPH_NODE_TYPE_MEMCPY", lambda: _copy(call, to, origin, count))


cuMemcpy = cuMemcpyAsync = partial(_linear, destination="dst", source="src")
cuMemcpyHtoD = cuMemcpyHtoDAsync = partial(_linear, destination="dstDevice", source="srcHost")
cuMemcpyDtoH = cuMemcpyDtoHAsync = partial(_linear, destination="dstHost", source="srcDevice")
cuMemcpyDtoD = cuMemcpyDtoDAsync = cuMemcpyPeer = cuMemcpyPeerAsync = partial(
    _linear, destination="dstDevice", source="srcDevice"
)
cuMemcpyHtoA = cuMemcpyHtoAAsync = partial(_linear, destination="dstArray", source="srcHost")
cuMemcpyDtoA = partial(_linear, destination="dstArray", source="srcDevice")
cuMemcpyAtoA = partial(_linear, destination="dstArray", source="srcArray")
cuMemcpyAtoH = cuMemcpyAtoHAsync = partial(_linear, destination="dstHost", source="srcArray")
cuMemcpyAtoD = partial(_linear, destination="dstDevice", source="srcArray")


def cuMemcpyBatchAsync(call: Invocation) -> Steps[None]:
    arrays = []
    for name in ("dsts", "srcs", "sizes"):
        arrays.append((yield from read_words(call[name], call["count"])))

    def run() -> Steps[None]:
        for to, source, size in zip(*arrays, strict=True):
            yield from _copy(call, Box(to), Box(source), size)

    yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_MEMCPY_BATCH", run))


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
    if call.member(parameter, "Height") < 2:
        return False
    pitches = [
        call.member(parameter, f"{side}Pitch")
        for side in ("src", "dst")
        if call.member(parameter, f"{side}MemoryType") != _ARRAY
    ]
    return any(pitch < call.member(parameter, "WidthInBytes") for pitch in pitches)


def _box(call: Invocation, deep: bool) -> Steps[None]:
    require(not _bad_pitch(call, "pCopy"))
    return enqueue(call, box_copy(call, "pCopy", deep))


cuMemcpy2D = cuMemcpy2DUnaligned = cuMemcpy2DAsync = partial(_box, deep=False)
cuMemcpy3D = cuMemcpy3DAsync = cuMemcpy3DPeer = cuMemcpy3DPeerAsync = partial(_box, deep=True)


# Sets.


def fill(
    call: Invocation, address: int, value: int, element: int, row_bytes: int, rows: int, pitch: int
) -> Steps[None]:
    command = Command(Op.SET, (address, value, element, row_bytes, rows, pitch))
    done = post(call.thread, command) or (yield command)
    require(not done.error)


def _memset(call: Invocation, value: str, element: int) -> Steps[None]:
    address, number = call["dstDevice"], call[value]
    if "N" in call.entry_point.index:
        size, rows = call["N"] * element, 1
        pitch = size
    else:
        size, rows, pitch = call["Width"] * element, call["Height"], call["dstPitch"]
    require(address % element == 0 and pitch % element == 0 and (rows < 2 or pitch >= size))
    return enqueue_work(
        call, "CU_GRAPH_NODE_TYPE_MEMSET", lambda: fill(call, address, number, element, size, rows, pitch)
    )


cuMemsetD8 = cuMemsetD8Async = cuMemsetD2D8 = cuMemsetD2D8Async = partial(_memset, value="uc", element=1)
cuMemsetD16 = cuMemsetD16Async = cuMemsetD2D16 = cuMemsetD2D16Async = partial(_memset, value="us", element=2)
cuMemsetD32 = cuMemsetD32Async = cuMemsetD2D32 = cuMemsetD2D32Async = partial(_memset, value="ui", element=4)
