"""Which memory a copy or set touches: from the arguments of the call, or from the struct that describes a pitched copy."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cuvet.catalog import Struct, driver
from cuvet.catalog.roles import Kind
from cuvet.model.call import Call
from cuvet.model.objects import HostMemory, Object
from cuvet.model.view import ModelView

Side = Literal["device", "host", "any"]
"""What a pointer must be; ``any`` if the driver determines it (cuMemcpy, CU_MEMORYTYPE_UNIFIED)."""

_COPY = re.compile(r"cuMemcpy(HtoD|DtoH|DtoD|DtoA|AtoD|HtoA|AtoH|Peer|2D|2DUnaligned|3D|3DPeer)?(Async)?")
COPIES = frozenset(entry_point.name for entry_point in driver().entry_points if _COPY.fullmatch(entry_point.name))
SETS = frozenset(
    f"cuMemset{kind}{bits}{suffix}" for kind in ("D", "D2D") for bits in (8, 16, 32) for suffix in ("", "Async")
)

BATCHES = frozenset({"cuMemcpyBatchAsync", "cuMemcpyWithAttributesAsync"})
"""Copies of which attributes say when their source is read."""

_IN_STREAM_ORDER = 1
"""CU_MEMCPY_SRC_ACCESS_ORDER_STREAM. In the other orders the source may be read out of the order of the stream (CUDA Driver API,
CUmemcpySrcAccessOrder)."""

WRITES = frozenset({"cuStreamWriteValue32", "cuStreamWriteValue64", "cuStreamBatchMemOp"})
"""A stream writes one value, or does so in the first operation of a batch."""

ALLOCATED = frozenset({"linear", "pitched"})
"""Variants of memory of cuMemAlloc and cuMemAllocPitch."""

_VALUE_BYTES = {2: 4, 5: 8}
"""CU_STREAM_MEM_OP_WRITE_VALUE_32 and CU_STREAM_MEM_OP_WRITE_VALUE_64."""
_SIDES: dict[str, Side] = {
    "dst": "any",
    "src": "any",
    "dstDevice": "device",
    "srcDevice": "device",
    "dstHost": "host",
    "srcHost": "host",
}
_TYPES: dict[int, tuple[Side, str]] = {1: ("host", "Host"), 2: ("device", "Device"), 4: ("any", "Device")}
"""CUmemorytype; 3 is an array, which is not named by address."""


@dataclass(frozen=True, slots=True)
class Access:
    """``size`` bytes from ``address`` on, from the first byte touched to the last (rows of a pitched copy have gaps between them)."""

    argument: int
    address: int
    size: int
    side: Side
    writes: bool
    work: Literal["copy", "set"]
    shape: str
    row: int = 0
    """Of rows that are not one after the other: bytes of each; 0 if there are none."""
    pitch: int = 0

    @property
    def where(self) -> str:
        """``copy of 8 bytes [from|into] …``, ``set of 8 bytes [in] …``."""
        return "in" if self.work == "set" else "into" if self.writes else "from"

    @property
    def role(self) -> str:
        return "destination" if self.writes else "source"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``bytes`` each, ``pitch`` apart, from byte ``start`` of row ``first`` on, in planes of ``height`` rows (0: not said).
    ``end``: source or destination; empty of a set."""

    argument: int
    end: str
    bytes: int
    count: int
    pitch: int
    start: int = 0
    first: int = 0
    height: int = 0


def rows(call: Call) -> Iterator[Rows]:
    """The rows of linear memory that a pitched copy or set touches. None for a set of one row, which does not use its pitch."""
    if call.name in SETS and "dstPitch" in call.entry_point.index:
        row, count = call.arg("Width") * _element(call), call.arg("Height")
        if row and count > 1:
            yield Rows(call.entry_point.index["dstPitch"], "", row, count, call.arg("dstPitch"))
    members = _pitched(call)
    if not members or not all(members.get(name, 1) for name in ("WidthInBytes", "Height", "Depth")):
        return
    for end, word in (("src", "source"), ("dst", "destination")):
        if members[f"{end}MemoryType"] in _TYPES:
            start, first = members[f"{end}XInBytes"], members[f"{end}Y"]
            height, pitch = members.get(f"{end}Height", 0), members[f"{end}Pitch"]
            argument = call.entry_point.index["pCopy"]
            yield Rows(argument, word, members["WidthInBytes"], members["Height"], pitch, start, first, height)


def accesses(call: Call) -> tuple[Access, ...]:
    """The addresses that a call of ``COPIES``, ``SETS``, ``BATCHES`` or ``WRITES`` touches in the order of its stream, or
    the copy that it adds to a graph, if any bytes are. Worked out once for the rules that ask about the same call one after the other."""
    asked, found = _newest[0]
    if asked is not call:
        found = tuple(access for access in _accesses(call) if access.size)
        _newest[0] = call, found
    return found


_newest: list[tuple[Call | None, tuple[Access, ...]]] = [(None, ())]


def _accesses(call: Call) -> Iterator[Access]:
    if call.name in WRITES:
        return _write(call)
    if call.name in SETS:
        return _set(call)
    if call.name in BATCHES:
        return _copies(call)
    return _copy(call) if _description(call) is None else _pitched_copy(call)


def _set(call: Call) -> Iterator[Access]:
    element = _element(call)
    row = pitch = 0
    if "N" in call.entry_point.index:
        size = call.arg("N") * element
        shape = _bytes(size)
    else:
        row, rows, pitch = call.arg("Width") * element, call.arg("Height"), call.arg("dstPitch")
        size = (rows - 1) * pitch + row if row and rows else 0
        shape = f"{rows} rows of {row} bytes, {pitch} apart"
    yield Access(
        call.entry_point.index["dstDevice"], call.arg("dstDevice"), size, "device", True, "set", shape, row, pitch
    )


def _element(call: Call) -> int:
    """Bytes of each element that a set writes."""
    return int(call.name.removesuffix("Async").removeprefix("cuMemsetD2D").removeprefix("cuMemsetD")) // 8


def _write(call: Call) -> Iterator[Access]:
    if "addr" in call.entry_point.index:
        argument, size, address = call.entry_point.index["addr"], int(call.name[-2:]) // 8, call.arg("addr")
    else:
        argument, size, address = call.entry_point.index["paramArray"], *_first_written(call)
    yield Access(argument, address, size, "device", True, "set", _bytes(size))


def _first_written(call: Call) -> tuple[int, int]:
    """How many bytes the first operation of a batch writes, and where; 0 bytes if it does not, or that is not known. A
    CUstreamBatchMemOpParams starts with the operation; the address is its member at byte 8."""
    data = call.inputs.get(call.entry_point.index["paramArray"], b"")
    if len(data) < 16:
        return 0, 0
    return _VALUE_BYTES.get(int.from_bytes(data[:4], "little"), 0), int.from_bytes(data[8:16], "little")


def _copy(call: Call) -> Iterator[Access]:
    size = call.arg("ByteCount")
    for name, side in _SIDES.items():
        argument = call.entry_point.index.get(name)
        if argument is not None:
            yield Access(argument, call.args[argument], size, side, name.startswith("dst"), "copy", _bytes(size))


def _copies(call: Call) -> Iterator[Access]:
    index = call.entry_point.index
    if "sizes" in index:
        names, (targets, sources, sizes) = (
            ("dsts", "srcs"),
            (_numbers(call, name) for name in ("dsts", "srcs", "sizes")),
        )
    else:
        names, (targets, sources, sizes) = ("dst", "src"), ([call.arg(name)] for name in ("dst", "src", "size"))
    sources = sources if _reads_in_order(call) else []
    for name, addresses, writes in ((names[0], targets, True), (names[1], sources, False)):
        for address, size in zip(addresses, sizes, strict=False):
            yield Access(index[name], address, size, "any", writes, "copy", _bytes(size))


def _numbers(call: Call, parameter: str) -> list[int]:
    """The words of an array, as far as they are known."""
    data = call.inputs.get(call.entry_point.index[parameter], b"")
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - 7, 8)]


def _reads_in_order(call: Call) -> bool:
    """Whether all sources are read in the order of the stream, if that is known. Of several attributes only the first is."""
    index = call.entry_point.index
    data = call.inputs.get(index.get("attrs", index.get("attr", -1)), b"")
    one = "numAttrs" not in index or call.arg("numAttrs") == 1
    return one and int.from_bytes(data[:4], "little") == _IN_STREAM_ORDER


def _pitched_copy(call: Call) -> Iterator[Access]:
    argument, members = _description(call), _pitched(call)
    if argument is None or not members:
        return
    row, rows, depth = members["WidthInBytes"], members["Height"], members.get("Depth", 1)
    for end in ("src", "dst"):
        side, pointer = _TYPES.get(members[f"{end}MemoryType"], ("any", ""))
        if not pointer or not row or not rows or not depth:
            continue
        pitch = members[f"{end}Pitch"]
        plane = pitch * (members.get(f"{end}Height", 0) or rows)
        start = members[f"{end}{pointer}"] + members[f"{end}Y"] * pitch + members[f"{end}XInBytes"]
        start += members.get(f"{end}Z", 0) * plane
        size = (depth - 1) * plane + (rows - 1) * pitch + row
        shape = f"{rows} rows of {row} bytes, {pitch} apart" + (f", in {depth} planes" if depth > 1 else "")
        yield Access(argument, start, size, side, end == "dst", "copy", shape, row, pitch)


def _description(call: Call) -> int | None:
    """Position of the struct that describes a pitched copy; None if there is none."""
    index = call.entry_point.index
    return index.get("pCopy", index.get("copyParams"))


def _pitched(call: Call) -> dict[str, int]:
    """The members of the struct that describes a pitched copy; empty if there is none, or it is not known."""
    argument = _description(call)
    pointee = None if argument is None else call.entry_point.parameters[argument].pointee
    if argument is None or pointee is None:
        return {}
    data = call.inputs.get(argument, b"")
    layout = driver().structs[pointee]
    return _members(layout, data) if len(data) >= layout.bytes else {}


def _members(layout: Struct, data: bytes) -> dict[str, int]:
    return {name: int.from_bytes(data[at : at + size], "little") for name, (at, size, _) in layout.fields.items()}


def _bytes(size: int) -> str:
    return f"{size} byte{'s' if size != 1 else ''}"


def pinned_at(model: ModelView, address: int) -> HostMemory | None:
    """Living pinned or registered host memory that holds the address."""
    found = model.host_memory_at(address)
    return found if found is not None and found.alive else None


def array_at(model: ModelView, handle: int) -> Object | None:
    """Living array of that handle."""
    for kind in (Kind.ARRAY, Kind.MIPMAPPED_ARRAY):
        found = model.find(kind, handle)
        if found is not None and found.alive:
            return found
    return None
