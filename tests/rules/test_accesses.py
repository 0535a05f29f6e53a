"""Which bytes a copy or set touches."""

from __future__ import annotations

from typing import Any

import pytest

from cuvet.catalog import driver
from cuvet.model import Call
from cuvet.model.accesses import COPIES, SETS, accesses
from cuvet.rules.mappings import first_hole, mappings, touching

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4


def call(name: str, *args: int, struct: bytes = b"") -> Call:
    entry_point = driver()[name]
    return Call(
        entry_point, args + (0,) * (len(entry_point.parameters) - len(args)), inputs={0: struct} if struct else {}
    )


def struct(name: str, **fields: int) -> bytes:
    layout = driver().structs[name]
    data = bytearray(layout.bytes)
    for field, value in fields.items():
        offset, size, _ = layout.fields[field]
        data[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(data)


def spans(made: Call) -> list[tuple[Any, ...]]:
    return [(each.address, each.size, each.side, each.writes) for each in accesses(made)]


def test_every_copy_and_set_names_its_addresses() -> None:
    for name in COPIES | SETS:
        names = {parameter.name for parameter in driver()[name].parameters}
        assert names & {"pCopy", "dstDevice", "dst", "dstHost", "srcHost", "srcDevice"}, name


def test_copies_name_both_sides() -> None:
    assert spans(call("cuMemcpyHtoD", 0x1000, 0x2000, 64)) == [
        (0x1000, 64, "device", True),
        (0x2000, 64, "host", False),
    ]
    assert spans(call("cuMemcpy", 0x1000, 0x2000, 64)) == [(0x1000, 64, "any", True), (0x2000, 64, "any", False)]
    assert spans(call("cuMemcpyHtoD", 0x1000, 0x2000, 0)) == []


@pytest.mark.parametrize(("name", "size"), [("cuMemsetD8", 10), ("cuMemsetD16", 20), ("cuMemsetD32Async", 40)])
def test_sets_count_elements(name: str, size: int) -> None:
    assert spans(call(name, 0x1000, 0, 10)) == [(0x1000, size, "device", True)]


def test_rows_end_with_the_last_one() -> None:
    assert spans(call("cuMemsetD2D32", 0x1000, 512, 0, 25, 10)) == [(0x1000, 9 * 512 + 100, "device", True)]
    assert spans(call("cuMemsetD2D8", 0x1000, 512, 0, 0, 10)) == []


def test_a_copy_of_rows_starts_at_its_offset() -> None:
    described = struct(
        "CUDA_MEMCPY2D",
        srcMemoryType=HOST, srcHost=0x2000, srcPitch=100,
        dstMemoryType=DEVICE, dstDevice=0x1000, dstPitch=512, dstY=2, dstXInBytes=8,
        WidthInBytes=100, Height=3,
    )  # fmt: skip
    assert spans(call("cuMemcpy2D", 1, struct=described)) == [
        (0x2000, 300, "host", False),
        (0x1000 + 2 * 512 + 8, 2 * 512 + 100, "device", True),
    ]


def test_a_copy_of_planes_and_arrays() -> None:
    described = struct(
        "CUDA_MEMCPY3D",
        srcMemoryType=ARRAY, srcArray=0x5000,
        dstMemoryType=UNIFIED, dstDevice=0x1000, dstPitch=64, dstHeight=8, dstZ=1,
        WidthInBytes=64, Height=4, Depth=2,
    )  # fmt: skip
    assert spans(call("cuMemcpy3D", 1, struct=described)) == [(0x1000 + 64 * 8, 64 * 8 + 3 * 64 + 64, "any", True)]


def test_a_struct_that_was_not_recorded_names_nothing() -> None:
    assert spans(call("cuMemcpy2D", 1)) == []
    assert spans(call("cuMemcpy2D", 1, struct=bytes(96))) == []


MAPS = (
    "1000-3000 rw-p 00000000 00:00 0",
    "3000-4000 r--s 00000000 08:01 42      /home/me/my file",
    "6000-7000 rw-s 00000000 00:05 7       /dev/nvidia0",
    "not a mapping",
)


def test_mappings_say_what_lies_in_a_range() -> None:
    found = mappings(MAPS)
    assert [mapping.path for mapping in found] == ["", "/home/me/my file", "/dev/nvidia0"]
    assert [mapping.start for mapping in touching(found, 0x2FFF, 0x3001)] == [0x1000, 0x3000]
    assert (found[1].writable, found[1].shared, found[1].file, found[2].device) == (False, True, True, True)


@pytest.mark.parametrize(
    ("start", "end", "hole"),
    [
        (0x1000, 0x4000, None),
        (0x1800, 0x3800, None),
        (0x3800, 0x5000, 0x4000),
        (0x800, 0x2000, 0x800),
        (0x3000, 0x6800, 0x4000),
    ],
)
def test_the_first_address_that_is_not_mapped(start: int, end: int, hole: int | None) -> None:
    assert first_hole(mappings(MAPS), start, end) == hole
