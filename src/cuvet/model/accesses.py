"""Which memory a copy or set touches: from the arguments of the call, or from the struct that describes a pitched copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from cuvet.catalog import EntryPoint, Struct, driver
from cuvet.catalog.roles import Kind
from cuvet.model.call import Call
from cuvet.model.objects import HostMemory, Object

if TYPE_CHECKING:
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

BATCHES_OF_BOXES = frozenset({"cuMemcpy3DBatchAsync", "cuMemcpy3DWithAttributesAsync"})
"""Likewise, of boxes."""

_IN_STREAM_ORDER = 1
"""CU_MEMCPY_SRC_ACCESS_ORDER_STREAM. In the other orders the source may be read out of the order of the stream (CUDA Driver API,
CUmemcpySrcAccessOrder)."""

NODES = frozenset(
    f"cuGraph{prefix}{kind}Node{suffix}"
    for kind in ("", "Kernel", "Memcpy", "Memset")
    for prefix, suffix in (("Add", ""), ("", "SetParams"), ("Exec", "SetParams"))
)
"""Calls that say what a node of a graph does: it is added, or changed."""

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
_DESCRIBE = ("pCopy", "copyParams", "memsetParams", "nodeParams")
"""Parameters that point to the struct that says what is done."""
_WORKS = {0: "kernel", 1: "memcpy.copyParams", 2: "memset"}
"""CU_GRAPH_NODE_TYPE_KERNEL, _MEMCPY and _MEMSET: where CUgraphNodeParams has what the node does."""
_TYPES: dict[int, tuple[Side, str]] = {1: ("host", "Host"), 2: ("device", "Device"), 4: ("any", "Device")}
"""CUmemorytype, but for arrays, which are not named by address."""
_ARRAY = 3
"""CU_MEMORYTYPE_ARRAY."""
_POINTER = 1
"""CU_MEMCPY_OPERAND_TYPE_POINTER."""


class Access(msgspec.Struct, frozen=True):
    """``size`` bytes from ``address`` on, from the first byte touched to the last (rows of a pitched copy have gaps between them)."""

    argument: int
    address: int
    size: int
    side: Side
    writes: bool
    work: Literal["copy", "set"]
    rows: str = ""
    """Its shape, where that is more than how many bytes it has."""
    row: int = 0
    """Of rows that are not one after the other: bytes of each; 0 if there are none."""
    pitch: int = 0
    planes: int = 1
    """Of which each has these rows, ``plane`` bytes apart."""
    plane: int = 0

    @property
    def shape(self) -> str:
        """``8 bytes``, ``2 rows of 8 bytes, 512 apart``."""
        return self.rows or f"{self.size} byte{'s' if self.size != 1 else ''}"

    @property
    def where(self) -> str:
        """``copy of 8 bytes [from|into] …``, ``set of 8 bytes [in] …``."""
        return "in" if self.work == "set" else "into" if self.writes else "from"

    @property
    def role(self) -> str:
        return "destination" if self.writes else "source"


class Box(NamedTuple):
    """A part of an array, in bytes of a row, rows and layers: the first, and the end."""

    columns: tuple[int, int]
    rows: tuple[int, int]
    layers: tuple[int, int]

    def overlaps(self, other: Box) -> bool:
        """Whether they share a byte."""
        return all(first < last and start < end for (start, last), (first, end) in zip(self, other, strict=True))


@dataclass(frozen=True, slots=True)
class ArrayAccess:
    """What a copy does in the array of that handle."""

    argument: int
    array: int
    box: Box
    writes: bool


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
        row, count = call.arg("Width") * _element(call.entry_point), call.arg("Height")
        if row and count > 1:
            yield Rows(call.entry_point.index["dstPitch"], "", row, count, call.arg("dstPitch"))
    argument, members = _pitched(call)
    if not members or not all(members.get(name, 1) for name in ("WidthInBytes", "Height", "Depth")):
        return
    for end, word in (("src", "source"), ("dst", "destination")):
        if members[f"{end}MemoryType"] in _TYPES:
            start, first = members[f"{end}XInBytes"], members[f"{end}Y"]
            height, pitch = members.get(f"{end}Height", 0), members[f"{end}Pitch"]
            yield Rows(argument, word, members["WidthInBytes"], members["Height"], pitch, start, first, height)


def accesses(call: Call) -> tuple[Access, ...]:
    """The addresses that a call of ``COPIES``, ``SETS``, ``BATCHES``, ``BATCHES_OF_BOXES`` or ``WRITES`` touches in the order of its
    stream, or the copy that it adds to a graph, if any bytes are. Worked out once for the rules that ask about the same call one after
    the other."""
    asked, found = _newest[0]
    if asked is not call:
        found = tuple([access for access in _accesses(call) if access.size])
        _newest[0] = call, found
    return found


def array_accesses(call: Call) -> Iterator[ArrayAccess]:
    """Those of a call of ``COPIES``, or of the copy that it adds to a graph."""
    index = call.entry_point.index
    for end in ("dst", "src"):
        if f"{end}Array" in index:
            start = call.arg(f"{end}Offset") if f"{end}Offset" in index else 0
            box = Box((start, start + call.arg("ByteCount")), (0, 1), (0, 1))
            yield ArrayAccess(index[f"{end}Array"], call.arg(f"{end}Array"), box, end == "dst")
    argument, members = _pitched(call)
    for end in ("dst", "src") if members else ():
        if members[f"{end}MemoryType"] == _ARRAY:
            starts = members[f"{end}XInBytes"], members[f"{end}Y"], members.get(f"{end}Z", 0)
            extent = members["WidthInBytes"], members["Height"], members.get("Depth", 1)
            box = Box(*((start, start + size) for start, size in zip(starts, extent, strict=True)))
            yield ArrayAccess(argument, members[f"{end}Array"], box, end == "dst")


_newest: list[tuple[Call | None, tuple[Access, ...]]] = [(None, ())]


def _accesses(call: Call) -> Iterable[Access]:
    read = _reader(call.entry_point)
    if read is not None:
        return read(call)
    found = _description(call)
    if found is None:
        return _copy(call)
    return _set_by_node(call) if found.struct.startswith("CUDA_MEMSET") else _pitched_copy(call)


@cache
def _reader(entry_point: EntryPoint) -> Callable[[Call], Iterable[Access]] | None:
    """What tells the accesses of its calls; None if that depends on the call."""
    for names, read in ((WRITES, _write), (SETS, _set), (BATCHES, _copies), (BATCHES_OF_BOXES, _boxes)):
        if entry_point.name in names:
            return read
    return None if any(name in entry_point.index for name in _DESCRIBE) else _copy


def _set(call: Call) -> Iterable[Access]:
    index, args, element = call.entry_point.index, call.args, _element(call.entry_point)
    argument = index["dstDevice"]
    address = args[argument]
    if "N" in index:
        row = args[index["N"]] * element
        return (Access(argument, address, row, "device", True, "set"),)
    return _set_rows(argument, address, call.arg("Width") * element, call.arg("Height"), call.arg("dstPitch"))


def _set_by_node(call: Call) -> Iterator[Access]:
    found = _described(call)
    if found is not None:
        argument, members = found
        row = members["width"] * members["elementSize"]
        yield from _set_rows(argument, members["dst"], row, members["height"], members["pitch"])


def _set_rows(argument: int, address: int, row: int, rows: int, pitch: int) -> Iterator[Access]:
    """A set of one row does not use its pitch."""
    if not row or not rows:
        return
    if rows == 1:
        yield Access(argument, address, row, "device", True, "set")
        return
    shape = f"{rows} rows of {row} bytes, {pitch} apart"
    yield Access(argument, address, (rows - 1) * pitch + row, "device", True, "set", shape, row, pitch)


@cache
def _element(entry_point: EntryPoint) -> int:
    """Bytes of each element that a set writes."""
    return int(entry_point.name.removesuffix("Async").removeprefix("cuMemsetD2D").removeprefix("cuMemsetD")) // 8


def _write(call: Call) -> Iterator[Access]:
    if "addr" in call.entry_point.index:
        argument, size, address = call.entry_point.index["addr"], int(call.name[-2:]) // 8, call.arg("addr")
    else:
        argument, size, address = call.entry_point.index["paramArray"], *_first_written(call)
    yield Access(argument, address, size, "device", True, "set")


def _first_written(call: Call) -> tuple[int, int]:
    """How many bytes the first operation of a batch writes, and where; 0 bytes if it does not, or that is not known. A
    CUstreamBatchMemOpParams starts with the operation; the address is its member at byte 8."""
    data = call.inputs.get(call.entry_point.index["paramArray"], b"")
    if len(data) < 16:
        return 0, 0
    return _VALUE_BYTES.get(int.from_bytes(data[:4], "little"), 0), int.from_bytes(data[8:16], "little")


def _copy(call: Call) -> list[Access]:
    args, (count, ends) = call.args, _ends(call.entry_point)
    size = args[count]
    return [Access(at, args[at], size, side, writes, "copy") for at, side, writes in ends]


@cache
def _ends(entry_point: EntryPoint) -> tuple[int, tuple[tuple[int, Side, bool], ...]]:
    """Of linear copies: the parameter with the bytes, those with an address, what it must be, and whether it is written to."""
    index = entry_point.index
    ends = ((index[name], side, name.startswith("dst")) for name, side in _SIDES.items() if name in index)
    return index["ByteCount"], tuple(ends)


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
            yield Access(index[name], address, size, "any", writes, "copy")


def _boxes(call: Call) -> Iterator[Access]:
    """Between memory: "for pointer-to-pointer copies, the element size is considered to be 1" (CUDA Driver API, cuMemcpy3DBatchAsync). What
    lies in arrays is left out."""
    argument = call.entry_point.index["opList" if "opList" in call.entry_point.index else "op"]
    data, layout = call.inputs.get(argument, b""), driver().structs["CUDA_MEMCPY3D_BATCH_OP"]
    for at in range(0, len(data) - layout.bytes + 1, layout.bytes):
        one = partial(driver().member, layout.name, data[at : at + layout.bytes])
        row, rows, depth = (one(f"extent.{name}") for name in ("width", "height", "depth"))
        if one("src.type") != _POINTER or one("dst.type") != _POINTER or not row or not rows or not depth:
            continue
        for end in ("dst", "src"):
            if end == "src" and one("srcAccessOrder") != _IN_STREAM_ORDER:
                continue
            pitch = one(f"{end}.op.ptr.rowLength") or row
            plane = pitch * (one(f"{end}.op.ptr.layerHeight") or rows)
            size = (depth - 1) * plane + (rows - 1) * pitch + row
            gaps = (row, pitch) if pitch > row and rows * depth > 1 else (0, 0)
            start = one(f"{end}.op.ptr.ptr")
            yield Access(argument, start, size, "any", end == "dst", "copy", "", *gaps, depth, plane)


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
    argument, members = _pitched(call)
    if not members:
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
        yield Access(argument, start, size, side, end == "dst", "copy", shape, row, pitch, depth, plane)


class _Description(NamedTuple):
    """Of what a call does: a struct that begins at ``offset`` of what the parameter at ``argument`` points to."""

    argument: int
    struct: str
    offset: int


def _description(call: Call) -> _Description | None:
    """None if there is none; so of a node that is no kernel, copy or set."""
    index = call.entry_point.index
    argument = next((index[name] for name in _DESCRIBE if name in index), None)
    struct = None if argument is None else call.entry_point.parameters[argument].pointee
    if argument is None or struct is None:
        return None
    if struct != "CUgraphNodeParams":
        return _Description(argument, struct, 0)
    kind = int.from_bytes(call.inputs.get(argument, b"\xff" * 4)[:4], "little")
    if kind not in _WORKS:
        return _Description(argument, "", 0)
    offset, _, inner = driver().field(struct, _WORKS[kind])
    return _Description(argument, inner, offset)


def _described(call: Call) -> tuple[int, dict[str, int]] | None:
    """The members of that struct, and the parameter; None if they are not known."""
    found = _description(call)
    if found is None or not found.struct:
        return None
    data, layout = call.inputs.get(found.argument, b"")[found.offset :], driver().structs[found.struct]
    least = layout.fields["kern"][0] if "kern" in layout.fields else layout.bytes
    return (found.argument, _members(layout, data)) if len(data) >= least else None


def node_kernel(call: Call) -> tuple[int, dict[str, int]] | None:
    """If the call adds or changes a kernel node: the members of the struct that describes it, and the parameter."""
    found = _description(call) if call.name in NODES else None
    return _described(call) if found is not None and found.struct.startswith("CUDA_KERNEL") else None


def _pitched(call: Call) -> tuple[int, dict[str, int]]:
    """The members of the struct that describes a pitched copy, and the parameter; empty if there is none, or it is not known."""
    found = _description(call)
    copies = found is not None and found.struct.startswith("CUDA_MEMCPY")
    return (_described(call) if copies else None) or (-1, {})


def _members(layout: Struct, data: bytes) -> dict[str, int]:
    return {name: int.from_bytes(data[at : at + size], "little") for name, (at, size, _) in layout.fields.items()}


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
