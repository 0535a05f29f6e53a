from cuvet.model import Call, ModelView
from cuvet.model.accesses import Rows, rows
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CallRule, Violations

_MEASURED = frozenset(
    f"{name}{suffix}"
    for name in ("cuMemcpy2D", "cuMemcpy2DUnaligned", "cuMemcpy3D", "cuMemsetD2D8", "cuMemsetD2D16", "cuMemsetD2D32")
    for suffix in ("", "Async")
)


class MemoryPitchBelowWidth(CallRule):
    """
    checks: A copy or set of rows fails whose pitch is smaller than a row, or, in three dimensions, whose planes have too few rows.
    why: The pitch is the distance in bytes from the start of one row to the start of the next. Longer rows would overlap. Often the pitch
      is a width in elements, or belongs to another allocation.
    instead: Pass the pitch that `cudaMallocPitch` returned for this memory. For memory without padding, pass the bytes of a row.
    limits: The runtime checks copies of several rows itself and returns cudaErrorInvalidPitchValue (12). Copies that it does not give to
      the driver are not seen. A set of one row does not use its pitch.
    """

    code = "CV424"
    stage = Stage.ARGUMENT
    summary = "the pitch of a copy or set is smaller than its rows"
    help = "pass the pitch in bytes, as cudaMallocPitch returned it, or the bytes of a row"
    entry_points = _MEASURED
    evidence = """
    measured: sets of several rows, and copies of one or more, with a pitch smaller than the row:
      CUDA_ERROR_INVALID_VALUE; sets of one row, and copies with pitch 0: no error (pitch_below_width)
    documented: the pitch must be at least the width plus the offset in the row; the height of a plane at least the rows
      plus the offset (CUDA Driver API, Memory Management, cuMemcpy2D and cuMemcpy3D)
    """
    VALID = """
## the pitch of the allocation
memory, pitch = cu.cuMemAllocPitch(100, 10, 4)
cu.cuMemsetD2D8(memory, pitch, 0, 100, 10)

## rows without padding
memory = cu.cuMemAlloc(1000)
cu.cuMemsetD2D8(memory, 100, 0, 100, 10)
cu.cuMemsetD2D32(memory, 100, 0, 25, 10)

## one row
note: the pitch is not looked at
memory = cu.cuMemAlloc(1000)
cu.cuMemsetD2D8(memory, 0, 0, 1000, 1)

## pitch 0 of a copy
note: it stands for the width
memory, host, device = cu.cuMemAlloc(1000), 1, 2
cu.cuMemcpy2D(
    cu.struct(
        "CUDA_MEMCPY2D",
        srcMemoryType=host, srcHost=cu.host(1000), dstMemoryType=device, dstDevice=memory, WidthInBytes=100, Height=10,
    )
)
"""
    INVALID = """
## set of rows longer than the pitch
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD2D8(memory, 64, 0, 100, 10)  # error: [memory-pitch-below-width]

## pitch in elements
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD2D32(memory, 25, 0, 25, 10)  # error: [memory-pitch-below-width]

## copy of rows longer than the pitch
memory, host, device = cu.cuMemAlloc(4096), 1, 2
rows = cu.struct(
    "CUDA_MEMCPY2D",
    srcMemoryType=host, srcHost=cu.host(1000), srcPitch=100,
    dstMemoryType=device, dstDevice=memory, dstPitch=64, WidthInBytes=100, Height=10,
)
cu.cuMemcpy2D(rows)  # error: [memory-pitch-below-width]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for found in rows(call):
            wrong = _wrong(found)
            if wrong:
                yield cls.refused(wrong, argument=found.argument, outcomes=(1,) if found.pitch else (0, 1))
                return


def _wrong(found: Rows) -> str:
    """What is wrong with the rows; empty if nothing is."""
    whose = f"the {found.end}'s pitch" if found.end else "the pitch"
    if found.pitch < found.start + found.bytes and not (found.end and not found.pitch):
        offset = f" from byte {found.start} on" if found.start else ""
        return f"{whose} is {found.pitch}, less than the {found.bytes} bytes of a row{offset}"
    if 0 < found.height < found.first + found.count:
        return f"a plane of the {found.end} has {found.height} rows, {found.first + found.count} are needed"
    return ""
