"""Managed memory: what the program advised, and where it asked pages to be. They never move: the host's memory is all there is.

The attributes are those of cuMemRangeGetAttribute's documentation: each is of a range if all pages in it have it.
"""

from itertools import pairwise

from cuvet.catalog import driver as catalog
from cuvet.device.invocation import Invocation, read_words, require, write
from cuvet.device.protocol import Steps

_CPU, _INVALID = -1, -2  # CU_DEVICE_CPU, CU_DEVICE_INVALID
_READ_MOSTLY, _PREFERRED, _PREFETCHED = "read mostly", "preferred", "prefetched"
_Location = tuple[int, int]
"""Type and id of a CUmemLocation."""


def _type(name: str) -> int:
    return catalog().enumerations["CUmemLocationType"][f"CU_MEM_LOCATION_TYPE_{name}"]


def cuMemAdvise(call: Invocation) -> None:
    start, end = call["devPtr"], call["devPtr"] + call["count"]
    require(call["count"])
    advice = catalog().enumerator("CUmem_advise", call["advice"], "CU_MEM_ADVISE_")
    location = call.member("location", "type"), call.member("location", "id")
    given, on = call.process.advice, not advice.startswith("UNSET")
    if advice.endswith("READ_MOSTLY"):
        given.put(_READ_MOSTLY, start, end, 1 if on else None)
    elif advice.endswith("PREFERRED_LOCATION"):
        given.put(_PREFERRED, start, end, location if on else None)
    else:
        given.put(_accessed_by(location), start, end, 1 if on else None)


def _accessed_by(location: _Location) -> str:
    return f"accessed by {_ordinal(location)}"


def _ordinal(location: _Location) -> int:
    """The device's number, or CU_DEVICE_CPU."""
    return location[1] if location[0] == _type("DEVICE") else _CPU


def cuMemPrefetchAsync(call: Invocation) -> None:
    require(call["count"])
    location = call.member("location", "type"), call.member("location", "id")
    call.process.advice.put(_PREFETCHED, call["devPtr"], call["devPtr"] + call["count"], location)


def cuMemPrefetchBatchAsync(call: Invocation) -> Steps[None]:
    ranges = yield from _ranges(call)
    locations = yield from read_words(call["prefetchLocs"], call["numPrefetchLocs"])
    first = yield from read_words(call["prefetchLocIdxs"], call["numPrefetchLocs"])
    require(ranges and locations and not first[0] and all(a < b for a, b in pairwise([*first, len(ranges)])))
    for word, begin, end in zip(locations, first, [*first[1:], len(ranges)], strict=True):
        for start, size in ranges[begin:end]:
            location = word & 0xFFFFFFFF, word >> 32
            call.process.advice.put(_PREFETCHED, start, start + size, location)


def cuMemDiscardBatchAsync(call: Invocation) -> Steps[None]:
    """What the pages hold is undefined from now on: they may keep it."""
    require((yield from _ranges(call)))


cuMemDiscardAndPrefetchBatchAsync = cuMemPrefetchBatchAsync


def _ranges(call: Invocation) -> Steps[list[tuple[int, int]]]:
    starts = yield from read_words(call["dptrs"], call["count"])
    sizes = yield from read_words(call["sizes"], call["count"])
    return [] if call["flags"] or not all(sizes) else list(zip(starts, sizes, strict=True))


# Questions.


def cuMemRangeGetAttribute(call: Invocation) -> Steps[None]:
    require(call["data"] and call["count"])
    return _answer(call, call["attribute"], call["data"], call["dataSize"])


def cuMemRangeGetAttributes(call: Invocation) -> Steps[None]:
    count = call["numAttributes"]
    targets = yield from read_words(call["data"], count)
    sizes = yield from read_words(call["dataSizes"], count)
    attributes = yield from read_words(call["attributes"], count, 4)
    require(count and call["count"])
    for attribute, target, size in zip(attributes, targets, sizes, strict=True):
        yield from _answer(call, attribute, target, size)


def _answer(call: Invocation, attribute: int, target: int, size: int) -> Steps[None]:
    name = catalog().enumerator("CUmem_range_attribute", attribute, "CU_MEM_RANGE_ATTRIBUTE_")
    several = name == "ACCESSED_BY"
    require(name and size and size % 4 == 0 and (size == 4 or several))
    start, end, given = call["devPtr"], call["devPtr"] + call["count"], call.process.advice
    if several:
        found = [
            number for number in (_CPU, *range(call.model.devices)) if given.of(f"accessed by {number}", start, end)
        ]
        values = [*found, *[_INVALID] * (size // 4)][: size // 4]
    elif name == "READ_MOSTLY":
        values = [1 if given.of(_READ_MOSTLY, start, end) else 0]
    else:
        values = [
            _location_value(name, given.of(_PREFERRED if name.startswith("PREFERRED") else _PREFETCHED, start, end))
        ]
    yield from write(target, b"".join((value & 0xFFFFFFFF).to_bytes(4, "little") for value in values))


def _location_value(name: str, found: object) -> int:
    """Of LAST_PREFETCH_LOCATION or PREFERRED_LOCATION, or of their _TYPE or _ID."""
    location: _Location = found if isinstance(found, tuple) else (_type("INVALID"), 0)
    if name.endswith("_TYPE"):
        return location[0]
    if name.endswith("_ID"):
        return location[1]
    return _ordinal(location) if found else _INVALID
