"""What holds memory: bytes and allocations by the place that made them, now and when it was most.

Memory is counted from the call that makes it to the call that ends it, as many bytes as were asked for. The places of a
heap are told apart by stack, so that a program that allocates a million times in a loop has one.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from typing import Literal, TypeAlias

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind
from cuvet.model.call import Call
from cuvet.model.naming import member
from cuvet.model.objects import Allocation, HostMemory, Object

Heap: TypeAlias = tuple[Literal["device", "managed", "host"], int | None]
"""The memory of a device (None: it is not known which), managed memory, or pinned host memory."""
MANAGED: Heap = ("managed", None)
HOST: Heap = ("host", None)

MOST_CHANGES = 4_000_000
_ON_DEVICE = frozenset({"linear", "pitched", "stream-ordered"})
"""Variants of allocations that hold memory of their own. Mapped memory is held by its handle, that of a module by the module."""
BACKED = frozenset({"cuArrayCreate", "cuArray3DCreate", "cuMipmappedArrayCreate", "cuMemCreate"})
"""Entry points that make objects with memory behind them, which has no address of its own."""
_CHANNEL_BYTES = {
    "UNSIGNED_INT8": 1, "UNSIGNED_INT16": 2, "UNSIGNED_INT32": 4, "SIGNED_INT8": 1, "SIGNED_INT16": 2, "SIGNED_INT32": 4,
    "HALF": 2, "FLOAT": 4,
}  # fmt: skip
"""Of an array's element, by format; other formats pack their channels."""
_NOT_BACKED = 0x40 | 0x80
"""CUDA_ARRAY3D_SPARSE and CUDA_ARRAY3D_DEFERRED_MAPPING: such an array has no memory when it is made."""


@dataclass(slots=True)
class Held:
    """What calls with one stack held. ``call`` is the first of them; ``peak_bytes`` and ``peak_count`` are of the moment when all places
    together held most."""

    call: Call
    bytes: int = 0
    count: int = 0
    peak_bytes: int = 0
    peak_count: int = 0
    peak: int = 0
    """Number of the peak that ``peak_bytes`` and ``peak_count`` are of; if that is not the newest, nothing has changed since."""


_MOST_NS = (1 << 63) - 1


class Changes:
    """Every change of what places hold, in the order in which calls were judged: columns of when (nanoseconds since the process's first
    record), which place (its number in ``places``, which has its heap too), and by how many bytes."""

    def __init__(self) -> None:
        self.places: list[tuple[Heap, Held]] = []
        self.time_ns, self.place, self.bytes = array("Q"), array("L"), array("q")
        self.more = 0
        """Changes behind the first ``MOST_CHANGES``."""
        self._numbers: dict[int, int] = {}

    def add(self, heap: Heap, place: Held, bytes: int, time_ns: int) -> None:
        """A time that is not known, or before that of the last change, counts as that."""
        if len(self.time_ns) >= MOST_CHANGES:
            self.more += 1
            return
        number = self._numbers.setdefault(id(place), len(self.places))
        if number == len(self.places):
            self.places.append((heap, place))
        self.bytes.append(bytes)  # first: if the recording is damaged, the number may not fit
        self.place.append(number)
        self.time_ns.append(min(max(time_ns, self.time_ns[-1] if self.time_ns else 0), _MOST_NS))


@dataclass(slots=True)
class Total:
    """A heap: what is held now, and at the peak, ``peak_ns`` after the process's first record."""

    bytes: int = 0
    count: int = 0
    peak_bytes: int = 0
    peak_count: int = 0
    peak_ns: int = 0
    heap: Heap = ("host", None)
    changes: Changes | None = None
    _peaks: int = 0
    _places: dict[tuple[str, int], Held] = field(default_factory=dict)

    def places(self) -> list[Held]:
        """Those that hold something or did at the peak, in no order, as they are now."""
        every = [self._settled(place) for place in self._places.values()]
        return [replace(place) for place in every if place.count or place.peak_count]

    def largest(self, most: int) -> list[Held]:
        """The places that hold most now, the largest first."""
        return sorted((held for held in self.places() if held.bytes), key=lambda held: -held.bytes)[:most]

    def place_of(self, call: Call) -> Held:
        key = (call.name, call.stack)
        if key not in self._places:
            self._places[key] = Held(call, peak=self._peaks)
        return self._places[key]

    def change(self, place: Held, bytes: int, count: int, time_ns: int) -> None:
        self._settled(place)
        place.bytes += bytes
        place.count += count
        self.bytes += bytes
        self.count += count
        if self.changes is not None:
            self.changes.add(self.heap, place, bytes, time_ns)
        if self.bytes > self.peak_bytes:
            self.peak_bytes, self.peak_count, self.peak_ns = self.bytes, self.count, time_ns
            self._peaks += 1

    def _settled(self, place: Held) -> Held:
        """The place, with what it held at the newest peak."""
        if place.peak != self._peaks:
            place.peak, place.peak_bytes, place.peak_count = self._peaks, place.bytes, place.count
        return place


@dataclass(slots=True)
class _Entry:
    """One allocation. ``mappings``: how many keep the memory of its handle."""

    total: Total
    place: Held
    bytes: int
    counted: bool = True
    mappings: int = 0

    def count(self, held: bool, time_ns: int = 0) -> None:
        """From now on it is held, or is not."""
        if held != self.counted:
            self.counted = held
            sign = 1 if held else -1
            self.total.change(self.place, sign * self.bytes, sign, time_ns)


class Ledger:
    """Memory of one process. ``gpus`` are the bytes of each GPU, 0 where unknown."""

    def __init__(self, gpus: tuple[int, ...] = ()) -> None:
        self.gpus = gpus
        self.changes: Changes | None = None
        """Kept if somebody set it."""
        self.totals: dict[Heap, Total] = {}
        self._entries: dict[Object | None, _Entry] = {}

    def begin(self, made: Object, call: Call) -> None:
        """``call`` has made an object; if it holds memory, that is counted."""
        measured = _measure(made, call)
        if measured is None:
            return
        heap, size = measured
        if heap == ("device", None):
            heap = self.heap_of(None)
        total = self.totals.get(heap)
        if total is None:
            total = self.totals[heap] = Total(heap=heap, changes=self.changes)
        entry = self._entries[made] = _Entry(total, total.place_of(call), size, counted=False)
        entry.count(True, call.time_ns)

    def map(self, mapping: Object, handle: Object | None, call: Call) -> None:
        """``mapping`` keeps the memory of the handle. That ends with the last mapping: recordings do not have the releases of handles."""
        entry = self._entries.get(handle)
        if entry is not None:
            entry.mappings += 1
            entry.count(True, call.time_ns)
            self._entries[mapping] = entry

    def end(self, gone: Object) -> None:
        entry = self._entries.pop(gone, None)
        if entry is None:
            return
        if gone.kind is Kind.MEMORY and entry.mappings:
            entry.mappings -= 1
        if not entry.mappings:
            entry.count(False, gone.destroyed_by.time_ns if gone.destroyed_by is not None else 0)

    def heap_of(self, device: int | None) -> Heap:
        """The memory of a device; if it is not known which and there is only one, of that."""
        return "device", 0 if device is None and len(self.gpus) == 1 else device

    def capacity_of(self, device: int) -> int:
        """Bytes of that GPU; 0 if unknown."""
        return self.gpus[device] if 0 <= device < len(self.gpus) else 0


def _measure(made: Object, call: Call) -> tuple[Heap, int] | None:
    """The heap and the bytes of what was made; None if it holds no memory of its own."""
    if isinstance(made, Allocation):
        if made.variant == "managed":
            return MANAGED, made.size
        return (("device", made.device), made.size) if made.variant in _ON_DEVICE else None
    if isinstance(made, HostMemory):
        return HOST, made.size
    if call.name == "cuMemCreate":
        return backing(call)
    return ("device", made.device), bytes_of_array(call)


def backing(call: Call) -> tuple[Heap, int]:
    """Where a cuMemCreate makes memory, and how many bytes."""
    locations = driver().enumerations["CUmemLocationType"]
    if member(call, "prop", "location.type") == locations["CU_MEM_LOCATION_TYPE_DEVICE"]:
        return ("device", member(call, "prop", "location.id")), call.arg("size")
    return HOST, call.arg("size")


def bytes_of_array(call: Call) -> int:
    """About as many as the array takes that the call makes."""
    parameter = call.entry_point.parameters[1].name
    levels = call.arg("numMipmapLevels") if "numMipmapLevels" in call.entry_point.index else 1
    return _texels(call, parameter, levels) * _element(call, parameter)


def _texels(call: Call, parameter: str, levels: int) -> int:
    """Elements of an array with that descriptor, in all its levels; each level has half the extents of the one before."""
    deep = "3D" in (call.entry_point.parameters[call.entry_point.index[parameter]].pointee or "")
    if deep and (member(call, parameter, "Flags") or 0) & _NOT_BACKED:
        return 0
    extents = [member(call, parameter, name) or 0 for name in ("Width", "Height", *(("Depth",) if deep else ()))]
    levels = min(levels, max(extents).bit_length())
    return sum(prod(max(extent >> level, 1) for extent in extents) for level in range(max(levels, 1)))


def _element(call: Call, parameter: str) -> int:
    """Bytes of one element, about: of a format that packs its channels, as many as there are channels."""
    channel = _channel_bytes().get(member(call, parameter, "Format") or 0, 1)
    return channel * max(member(call, parameter, "NumChannels") or 0, 1)


@cache
def _channel_bytes() -> dict[int, int]:
    """By value of CUarray_format."""
    formats = driver().enumerations["CUarray_format"]
    return {formats[f"CU_AD_FORMAT_{name}"]: size for name, size in _CHANNEL_BYTES.items()}
