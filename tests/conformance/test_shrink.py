"""A disagreement is shrunk to the calls that matter, and printed as Python."""

from __future__ import annotations

from cuvet.catalog import driver
from cuvet.conformance.compare import Disagreement, tally
from cuvet.conformance.python import python
from cuvet.conformance.recording import Header, Row, Session
from cuvet.conformance.shrink import shrink
from cuvet.conformance.world import struct

HEADER = Header(driver=13000, driver_release="", gpus=("none",), memory_bytes=1 << 30, date="2026-01-01")
CONTEXT, STREAM, EVENT, POOL, MEMORY = (0x7F0000000000 + 0x1000000 * number for number in range(1, 6))
OUTPUT = 0x1234560
INVALID_HANDLE, UNKNOWN = 400, 999


def row(name: str, *args: int, status: int = 0, outputs: dict[int, int] | None = None, **inputs: bytes) -> Row:
    index = driver()[name].index
    found = {index[parameter]: content for parameter, content in inputs.items()}
    return Row(0, name, args, status, outputs or {}, found)


BEFORE = (
    row("cuInit", 0),
    row("cuDevicePrimaryCtxRetain", OUTPUT, 0, outputs={0: CONTEXT}),
    row("cuCtxSetCurrent", CONTEXT),
    row("cuMemAlloc", OUTPUT, 64, outputs={0: MEMORY}),
    row("cuStreamCreate", OUTPUT, 0, outputs={0: STREAM}),
    row("cuEventCreate", OUTPUT, 0, outputs={0: EVENT}),
    row("cuMemsetD8Async", MEMORY, 1, 64, STREAM),
)


def disagreement(*last: Row) -> Disagreement:
    (found,) = tally(HEADER, [Session(1, (0,), (*BEFORE, *last))]).disagreements
    return shrink(HEADER, found)


def test_calls_that_change_nothing_are_left_out() -> None:
    found = disagreement(row("cuStreamQuery", STREAM), row("cuEventCreate", OUTPUT, 2, status=UNKNOWN))
    assert python(found).splitlines() == [
        "cu.cuInit(0)",
        "context1 = cu.cuDevicePrimaryCtxRetain(0)",
        "cu.cuCtxSetCurrent(context1)",
        "cu.cuEventCreate(2)  # CUDA_ERROR_UNKNOWN",
        "# driver: CUDA_ERROR_UNKNOWN; model: CUDA_SUCCESS",
    ]


def test_structs_and_addresses_are_written_by_name() -> None:
    properties = struct("CUmemPoolProps", allocType=1, location__type=1)
    found = disagreement(
        row("cuMemPoolCreate", OUTPUT, OUTPUT, outputs={0: POOL}, poolProps=properties),
        row("cuMemsetD8", MEMORY + 8, 1, 8, status=UNKNOWN),
    )
    assert "cu.cuMemsetD8(memory2 + 8, 1, 8)" in python(found)
    found = disagreement(row("cuMemPoolCreate", OUTPUT, OUTPUT, status=UNKNOWN, poolProps=properties))
    assert 'cu.cuMemPoolCreate(cu.struct("CUmemPoolProps", allocType=1, location__type=1))' in python(found)


def test_the_program_is_python() -> None:
    copied = struct(
        "CUDA_MEMCPY2D", srcMemoryType=2, srcDevice=MEMORY, dstMemoryType=1, dstHost=0x5000000, WidthInBytes=8
    )
    text = python(disagreement(row("cuMemcpy2D", OUTPUT, status=UNKNOWN, pCopy=copied)))
    compile(text, "shrunk", "exec")


def test_what_agrees_is_no_disagreement() -> None:
    assert tally(HEADER, [Session(1, (0,), BEFORE)]).disagreements == []
    assert tally(
        HEADER, [Session(1, (0,), (*BEFORE, row("cuEventRecord", 0, STREAM, status=INVALID_HANDLE)))]
    ).all.agreed
