"""From a model's ledger to the report: what a process held, by place, with the stacks looked up."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cuvet.analysis.diagnosis import memory_place
from cuvet.findings import MemoryPlace, MemoryUse
from cuvet.model.ledger import Changes, Heap, Ledger, Total

MOST_PLACES = 100
"""Of a kind of memory: smaller places are not looked up."""

MOST_CURVES = 12
"""Places of a kind of memory that are told apart over time: those that held most at some moment."""


@dataclass(frozen=True, slots=True)
class HeldOverTime:
    """Changes of what a kind of memory holds: when, in nanoseconds since the process's first record, at which of the ``places`` (the number
    behind the last: at others), and by how many bytes."""

    heap: Heap
    capacity: int
    peak_bytes: int
    places: tuple[MemoryPlace, ...]
    others: int
    """How many other places there are."""
    time_ns: NDArray[np.int64]
    place: NDArray[np.int64]
    bytes: NDArray[np.int64]


def held_over_time(ledger: Ledger) -> tuple[HeldOverTime, ...]:
    """Each kind of memory of which changes were kept, devices first."""
    changes = ledger.changes
    if changes is None:
        return ()
    time_ns, place, size = (np.array(each, np.int64) for each in (changes.time_ns, changes.place, changes.bytes))
    heaps = [heap for heap, _ in changes.places]
    return tuple(
        _over_time(ledger, changes, heap, (time_ns, place, size)) for heap in sorted(dict.fromkeys(heaps), key=_order)
    )


def _over_time(
    ledger: Ledger,
    changes: Changes,
    heap: Heap,
    columns: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> HeldOverTime:
    of_heap = [number for number, (each, _) in enumerate(changes.places) if each == heap]
    time_ns, place, size = (column[np.isin(columns[1], of_heap)] for column in columns)
    most = _most_at_once(place, size, len(changes.places))
    largest = sorted(of_heap, key=lambda number: -int(most[number]))[:MOST_CURVES]
    shown = np.full(len(changes.places), len(largest), np.int64)
    shown[largest] = np.arange(len(largest))
    total = ledger.totals[heap]
    return HeldOverTime(
        heap=heap,
        capacity=ledger.capacity_of(heap[1]) if heap[1] is not None else 0,
        peak_bytes=total.peak_bytes,
        places=tuple(memory_place(changes.places[number][1]) for number in largest),
        others=len(of_heap) - len(largest),
        time_ns=time_ns,
        place=shown[place],
        bytes=size,
    )


def _most_at_once(place: NDArray[np.int64], size: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """By place: the most bytes that it held at one moment."""
    order = np.argsort(place, kind="stable")
    sums = np.cumsum(size[order])
    most = np.zeros(count, np.int64)
    begins = np.searchsorted(place[order], np.arange(count))
    before = np.where(begins > 0, sums[np.maximum(begins - 1, 0)], 0)[place[order]] if len(order) else sums
    np.maximum.at(most, place[order], sums - before)
    return most


def memory_used(process: int, ledger: Ledger) -> Iterator[MemoryUse]:
    """Each kind of memory that the process held, devices first."""
    for heap, total in sorted(ledger.totals.items(), key=lambda item: _order(item[0])):
        yield _use(process, heap, total, ledger)


def _order(heap: Heap) -> tuple[int, int]:
    memory, device = heap
    return ("device", "managed", "host").index(memory), -1 if device is None else device


def _use(process: int, heap: Heap, total: Total, ledger: Ledger) -> MemoryUse:
    memory, device = heap
    largest = sorted(total.places(), key=lambda held: (-max(held.bytes, held.peak_bytes), held.call.time_ns))
    return MemoryUse(
        process=process,
        memory=memory,
        device=device,
        capacity=(ledger.capacity_of(device) or None) if device is not None else None,
        bytes=total.bytes,
        count=total.count,
        peak_bytes=total.peak_bytes,
        peak_count=total.peak_count,
        peak_ns=total.peak_ns,
        places=tuple(memory_place(held) for held in largest[:MOST_PLACES]),
    )
