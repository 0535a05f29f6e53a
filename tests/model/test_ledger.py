"""Who holds memory: the ledger's sums against a count that looks at everything after each call."""

from __future__ import annotations

import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.catalog import driver
from cuvet.model import Model
from cuvet.model.ledger import HOST, MANAGED, Changes, Heap, Held, Total

from .driving import Drive, drive

DEVICE: Heap = ("device", 0)
STACKS = (7, 8, 9)


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def total(cu: Drive, heap: Heap = DEVICE) -> Total:
    return cu.model.ledger.totals[heap]


def held(cu: Drive, heap: Heap = DEVICE) -> tuple[int, int]:
    """Bytes and allocations now."""
    return (total(cu, heap).bytes, total(cu, heap).count) if heap in cu.model.ledger.totals else (0, 0)


def by_stack(places: list[Held]) -> dict[int, tuple[int, int, int, int]]:
    return {it.call.stack: (it.bytes, it.count, it.peak_bytes, it.peak_count) for it in places}


def array(width: int, height: int, depth: int = 0, flags: int = 0, format: str = "FLOAT", channels: int = 2) -> bytes:
    """A CUDA_ARRAY3D_DESCRIPTOR."""
    number = driver().enumerations["CUarray_format"][f"CU_AD_FORMAT_{format}"]
    return struct.pack("<QQQIIII", width, height, depth, number, channels, flags, 0)


@given(st.lists(st.one_of(st.tuples(st.sampled_from(STACKS), st.integers(1, 5)), st.integers(0, 9)), max_size=60))
def test_peaks_are_those_of_a_count_after_each_call(steps: list[tuple[int, int] | int]) -> None:
    cu = drive().setup()
    living: list[tuple[int, int, int]] = []
    peak: tuple[int, Counter[int], Counter[int]] = (0, Counter(), Counter())
    for step in steps:
        if isinstance(step, tuple):
            stack, size = step
            living.append((cu.cuMemAlloc(size, stack=stack), stack, size))
        elif step < len(living):
            cu.cuMemFree(living.pop(step)[0])
        now = sum(size for _, _, size in living)
        if now > peak[0]:
            sizes: Counter[int] = Counter()
            for _, stack, size in living:
                sizes[stack] += size
            peak = now, sizes, Counter(stack for _, stack, _ in living)
    if not peak[0]:
        assert cu.model.ledger.totals == {}
        return
    found = total(cu)
    assert (found.peak_bytes, found.peak_count, found.count) == (peak[0], peak[1 + 1].total(), len(living))
    expected = {
        stack: (
            sum(size for _, of, size in living if of == stack),
            sum(of == stack for _, of, _ in living),
            peak[1][stack],
            peak[2][stack],
        )
        for stack in STACKS
    }
    assert by_stack(found.places()) == {stack: row for stack, row in expected.items() if row[1] or row[3]}


def test_places_are_few_however_many_calls(cu: Drive) -> None:
    for _ in range(1000):
        cu.cuMemFree(cu.cuMemAlloc(64, stack=7))
    assert by_stack(total(cu).places()) == {7: (0, 0, 64, 1)}


def test_the_time_of_the_peak_is_that_of_the_call_that_reached_it(cu: Drive) -> None:
    cu.cuMemFree(cu.cuMemAlloc(64, time_ns=100))
    cu.cuMemAlloc(64, time_ns=200)
    cu.cuMemAlloc(1, time_ns=300)
    assert (total(cu).peak_bytes, total(cu).peak_ns) == (65, 300)


def test_pitched_memory_counts_with_its_pitch(cu: Drive) -> None:
    cu.cuMemAllocPitch(100, 10, 4)
    assert held(cu) == (5120, 1)


def test_managed_and_pinned_memory_stand_apart(cu: Drive) -> None:
    cu.cuMemAllocManaged(64, 1)
    pinned = cu.cuMemHostAlloc(128, 0)
    cu.cuMemHostRegister(0x10000, 4096, 0)
    assert (held(cu), held(cu, MANAGED), held(cu, HOST)) == ((0, 0), (64, 1), (4224, 2))
    cu.cuMemFreeHost(pinned)
    cu.cuMemHostUnregister(0x10000)
    assert held(cu, HOST) == (0, 0)


def test_stream_ordered_memory_is_held_until_its_free_is_enqueued(cu: Drive) -> None:
    memory = cu.cuMemAllocAsync(64, 0)
    assert held(cu) == (64, 1)
    cu.cuMemFreeAsync(memory, 0)
    assert held(cu) == (0, 0)


def test_memory_of_another_device_is_another_total() -> None:
    cu = drive(Model(devices=2)).setup()
    cu.cuMemAlloc(64)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
    cu.cuMemAlloc(128)
    assert (held(cu), held(cu, ("device", 1))) == ((64, 1), (128, 1))


def test_memory_ends_with_its_context(cu: Drive) -> None:
    other = cu.cuCtxCreate(0, 0, 0)
    cu.cuMemAlloc(64)
    cu.cuMemHostAlloc(64, 0)
    cu.cuCtxDestroy(other)
    assert (held(cu), held(cu, HOST)) == ((0, 0), (0, 0))


@pytest.mark.parametrize(
    ("descriptor", "levels", "size"),
    [
        (array(64, 0), 1, 64 * 8),
        (array(64, 64, 4), 1, 64 * 64 * 4 * 8),
        (array(64, 64, format="HALF", channels=1), 1, 64 * 64 * 2),
        (array(4, 4, format="UNSIGNED_INT8", channels=1), 3, 16 + 4 + 1),
        (array(64, 64, flags=0x40), 1, 0),
    ],
    ids=["one-dimensional", "three-dimensional", "half", "levels", "sparse"],
)
def test_arrays_have_the_size_of_their_elements(cu: Drive, descriptor: bytes, levels: int, size: int) -> None:
    if levels > 1:
        made = cu.cuMipmappedArrayCreate(descriptor, levels)
        cu.cuMipmappedArrayGetLevel(made, 0)
    else:
        made = cu.cuArray3DCreate(descriptor)
    assert held(cu) == (size, 1)
    (cu.cuMipmappedArrayDestroy if levels > 1 else cu.cuArrayDestroy)(made)
    assert held(cu) == (0, 0)


def test_a_handle_is_held_until_it_is_neither_mapped_nor_there() -> None:
    cu = drive(Model(devices=2)).setup()
    handle = cu.cuMemCreate(1 << 21, _on("DEVICE", 1), 0)
    assert held(cu, ("device", 1)) == (1 << 21, 1)
    cu.cuMemMap(0x40000000, 1 << 21, 0, handle, 0)
    cu.cuMemMap(0x50000000, 1 << 21, 0, handle, 0)
    cu.cuMemRelease(handle)
    cu.cuMemUnmap(0x40000000, 1 << 21)
    assert held(cu, ("device", 1)) == (1 << 21, 1)
    cu.cuMemUnmap(0x50000000, 1 << 21)
    assert held(cu, ("device", 1)) == (0, 0)


def test_a_handle_that_is_mapped_again_is_held_again(cu: Drive) -> None:
    handle = cu.cuMemCreate(1 << 21, _on("DEVICE", 0), 0)
    for _ in range(2):
        cu.cuMemMap(0x40000000, 1 << 21, 0, handle, 0)
        assert held(cu) == (1 << 21, 1)
        cu.cuMemUnmap(0x40000000, 1 << 21)
        assert held(cu) == (0, 0)
    cu.cuMemRelease(handle)
    assert held(cu) == (0, 0)


def test_host_memory_can_have_handles_too(cu: Drive) -> None:
    cu.cuMemRelease(cu.cuMemCreate(1 << 21, _on("HOST", 0), 0))
    assert (total(cu, HOST).peak_bytes, held(cu, HOST)) == (1 << 21, (0, 0))


def test_memory_of_others_is_not_counted(cu: Drive) -> None:
    cu.cuIpcOpenMemHandle(0, 1)
    cu.cuExternalMemoryGetMappedBuffer(0x1234, b"")
    cu.cuStreamCreate(0)
    assert cu.model.ledger.totals == {}


def test_a_child_process_begins_with_nothing(cu: Drive) -> None:
    cu.cuMemAlloc(64)
    cu.model.ledger.gpus = (1 << 30,)
    child = cu.model.forked()
    assert (child.ledger.totals, child.ledger.capacity_of(0)) == ({}, 1 << 30)


def _on(location: str, number: int) -> bytes:
    """A CUmemAllocationProp."""
    kind = driver().enumerations["CUmemLocationType"][f"CU_MEM_LOCATION_TYPE_{location}"]
    return struct.pack("<IIIi16x", 1, 0, kind, number)


def test_a_number_that_does_not_fit_leaves_no_part_of_a_change(cu: Drive) -> None:
    cu.cuMemAlloc(64, stack=7)
    (place,) = total(cu).places()
    changes = Changes()
    with pytest.raises(OverflowError):
        changes.add(DEVICE, place, 1 << 63, 1)
    changes.add(DEVICE, place, 64, 1 << 64)
    assert (list(changes.time_ns), list(changes.place), list(changes.bytes)) == ([(1 << 63) - 1], [0], [64])
