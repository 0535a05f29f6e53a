"""From a model's ledger to the report: what a process held, by place, with the stacks looked up."""

from collections.abc import Iterator

from cuvet.analysis.diagnosis import memory_place
from cuvet.findings import MemoryUse
from cuvet.model.ledger import Heap, Ledger, Total

MOST_PLACES = 100
"""Of a kind of memory: smaller places are not looked up."""


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
