"""Managed memory: what the program advised, and where it asked pages to be. They never move: the host's memory is all there is.

The attributes are those of cuMemRangeGetAttribute's documentation: each is of a range if all pages in it have it.
"""

from itertools import pairwise

from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.invocation import Invocation, Refused, read, write
from cuvet.device.protocol import Steps

_CPU, _INVALID = -1, -2  # CU_DEVICE_CPU, CU_DEVICE_INVALID
_READ_MOSTLY, _PREFERRED, _PREFETCHED = "read mostly", "preferred", "prefetched"
_Place = tuple[int, int]
"""Type and id of a CUmemLocation."""


def _types() -> dict[str, int]:
    prefix = "CU_MEM_LOCATION_TYPE_"
    return {name.removeprefix(prefix): value for name, value in catalog().enumerations["CUmemLocationType"].items()}


def _nowhere() -> _Place:
    return _types()["INVALID"], 0


def cuMemAdvise(call: Invocation) -> None:
    start, end = call["devPtr"], call["devPtr"] + call["count"]
    if not call["count"]:
        raise Refused(status.INVALID_VALUE)
    names = {number: name for name, number in catalog().enumerations["CUmem_advise"].items()}
    advice = names[call["advice"]].removeprefix("CU_MEM_ADVISE_")
    place = call.member("location", "type"), call.member("location", "id")
    given, on = call.process.advice, not advice.startswith("UNSET")
    if advice.endswith("READ_MOSTLY"):
        given.put(_READ_MOSTLY, start, end, 1 if on else None)
    elif advice.endswith("PREFERRED_LOCATION"):
        given.put(_PREFERRED, start, end, place if on else None)
    else:
        given.put(_accessed_by(place), start, end, 1 if on else None)


def _accessed_by(place: _Place) -> str:
    return f"accessed by {_ordinal(place)}"


def _ordinal(place: _Place) -> int:
    """The device's number, or CU_DEVICE_CPU."""
    return place[1] if place[0] == _types()["DEVICE"] else _CPU


def cuMemPrefetchAsync(call: Invocation) -> None:
    if not call["count"]:
        raise Refused(status.INVALID_VALUE)
    place = call.member("location", "type"), call.member("location", "id")
    call.process.advice.put(_PREFETCHED, call["devPtr"], call["devPtr"] + call["count"], place)


def cuMemPrefetchBatchAsync(call: Invocation) -> Steps[None]:
    ranges = yield from _ranges(call)
    places = yield from _numbers(call, "prefetchLocs", call["numPrefetchLocs"])
    first = yield from _numbers(call, "prefetchLocIdxs", call["numPrefetchLocs"])
    if not ranges or not places or first[0] or any(a >= b for a, b in pairwise([*first, len(ranges)])):
        raise Refused(status.INVALID_VALUE)
    for word, begin, end in zip(places, first, [*first[1:], len(ranges)], strict=True):
        for start, size in ranges[begin:end]:
            place = word & 0xFFFFFFFF, word >> 32
            call.process.advice.put(_PREFETCHED, start, start + size, place)


def cuMemDiscardBatchAsync(call: Invocation) -> Steps[int]:
    """What the pages hold is undefined from now on: they may keep it."""
    return status.SUCCESS if (yield from _ranges(call)) else status.INVALID_VALUE


cuMemDiscardAndPrefetchBatchAsync = cuMemPrefetchBatchAsync


def _ranges(call: Invocation) -> Steps[list[tuple[int, int]]]:
    starts = yield from _numbers(call, "dptrs", call["count"])
    sizes = yield from _numbers(call, "sizes", call["count"])
    return [] if call["flags"] or not all(sizes) else list(zip(starts, sizes, strict=True))


def _numbers(call: Invocation, parameter: str, count: int) -> Steps[list[int]]:
    data = yield from read(call[parameter], 8 * count)
    return [int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8)]


# Questions.


def cuMemRangeGetAttribute(call: Invocation) -> Steps[int]:
    if not call["data"] or not call["count"]:
        return status.INVALID_VALUE
    return (yield from _answer(call, call["attribute"], call["data"], call["dataSize"]))


def cuMemRangeGetAttributes(call: Invocation) -> Steps[int]:
    count = call["numAttributes"]
    targets = yield from _numbers(call, "data", count)
    sizes = yield from _numbers(call, "dataSizes", count)
    attributes = yield from read(call["attributes"], 4 * count)
    if not count or not call["count"]:
        return status.INVALID_VALUE
    for position, (target, size) in enumerate(zip(targets, sizes, strict=True)):
        attribute = int.from_bytes(attributes[4 * position : 4 * position + 4], "little")
        result = yield from _answer(call, attribute, target, size)
        if result:
            return result
    return status.SUCCESS


def _answer(call: Invocation, attribute: int, target: int, size: int) -> Steps[int]:
    names = {number: name for name, number in catalog().enumerations["CUmem_range_attribute"].items()}
    name = names.get(attribute, "").removeprefix("CU_MEM_RANGE_ATTRIBUTE_")
    several = name == "ACCESSED_BY"
    if not name or size % 4 or not size or (size != 4 and not several):
        return status.INVALID_VALUE
    start, end, given = call["devPtr"], call["devPtr"] + call["count"], call.process.advice
    if several:
        found = [
            number for number in (_CPU, *range(call.model.devices)) if given.of(f"accessed by {number}", start, end)
        ]
        values = [*found, *[_INVALID] * (size // 4)][: size // 4]
    elif name == "READ_MOSTLY":
        values = [1 if given.of(_READ_MOSTLY, start, end) else 0]
    else:
        values = [_place_value(name, given.of(_PREFERRED if name.startswith("PREFERRED") else _PREFETCHED, start, end))]
    yield from write(target, b"".join((value & 0xFFFFFFFF).to_bytes(4, "little") for value in values))
    return status.SUCCESS


def _place_value(name: str, found: object) -> int:
    """Of LAST_PREFETCH_LOCATION or PREFERRED_LOCATION, or of their _TYPE or _ID."""
    place: _Place = found if isinstance(found, tuple) else _nowhere()
    if name.endswith("_TYPE"):
        return place[0]
    if name.endswith("_ID"):
        return place[1]
    return _ordinal(place) if found else _INVALID
