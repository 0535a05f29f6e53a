from collections.abc import Iterator

from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.ledger import HOST, MANAGED, Heap, Total, backing
from cuvet.rules.rule import FailureRule, Violation
from cuvet.sizes import binary_size

_OUT_OF_MEMORY = 2
_APART = {HOST: "pinned host memory", MANAGED: "managed memory"}


class MemoryExhausted(FailureRule):
    """
    checks: A call fails because there is not enough memory or not enough of another resource, and no other rule explains it. The finding
      says what this program held at that moment, and the five places in it that held most.
    why: The call itself is correct. A program that continues as if it had succeeded uses memory that it does not have. A program that
      frees memory and tries again, as the allocators of frameworks do, is correct.
    instead: Look at the places that hold most. If they are in the program, hold less at once: use smaller batches, free memory earlier,
      empty the caches of allocators and pools. If the program holds little, look for other processes on the GPU with `nvidia-smi`.
    limits: The memory of contexts, modules, graphs, kernels' local memory and other processes is not counted, nor freed memory that a
      pool keeps. A framework that divides large blocks itself has one place for each block, not for each tensor.
    """

    code = "CV416"
    severity = "note"
    summary = "a call failed because there was not enough memory"
    help = "hold less at once: use smaller batches, free memory earlier, empty caches"
    evidence = """
    documented: not enough memory or other resources (CUDA Driver API, Data types used by CUDA driver, CUresult)
    measured: more than there is, on the device or pinned: CUDA_ERROR_OUT_OF_MEMORY (malloc_too_large)
    """
    VALID = """
## there is enough
memory = cu.cuMemAlloc(1 << 30)
cu.cuMemFree(memory)

## freed before the next
note: 256 GiB in all, 1 GiB at a time
for _ in range(256):
    memory = cu.cuMemAlloc(1 << 30)
    cu.cuMemFree(memory)
"""
    INVALID = """
## more than half of it twice
note: each allocation fits the device, both together do not
free, total = cu.cuMemGetInfo()
cu.cuMemAlloc(total // 10 * 6)
cu.cuMemAlloc(total // 10 * 6)  # note: [memory-exhausted]
"""

    @classmethod
    def explain(cls, call: Call, status: int, model: ModelView) -> Violation | None:
        return explain_exhausted(call, status, model) if call.entry_point.api == "driver" else None


def explain_exhausted(call: Call, status: int, model: ModelView) -> Violation | None:
    """The violation of a call that failed for want of memory. None if it failed otherwise; and of a host registration, which has
    other reasons to."""
    if status != _OUT_OF_MEMORY or any(role.verb is Verb.REGISTERS for role in call.entry_point.roles):
        return None
    heap, asked = _wanted(call, model)
    return Violation(
        rule=MemoryExhausted,
        message=_message(heap, asked),
        because=tuple(_holding(heap, asked, model)),
        outcomes=(_OUT_OF_MEMORY,),
        held=model.ledger.totals.get(heap),
    )


def _wanted(call: Call, model: ModelView) -> tuple[Heap, int]:
    """Which memory the call wants, and how many bytes of it; 0 if it does not say."""
    if call.name == "cuMemCreate":
        return backing(call)
    if call.name == "cuMemAllocManaged":
        return MANAGED, call.arg("bytesize")
    if any(role.verb is Verb.ALLOCATES and role.kind is Kind.HOST_MEMORY for role in call.entry_point.roles):
        return HOST, call.arg("bytesize")
    heap = model.ledger.heap_of(call.arg("dev") if "dev" in call.entry_point.index else model.device_of(call))
    if call.name == "cuMemAllocPitch":
        return heap, call.arg("WidthInBytes") * call.arg("Height")
    return heap, call.arg("bytesize") if "bytesize" in call.entry_point.index else 0


def _message(heap: Heap, asked: int) -> str:
    if heap == HOST:
        return f"not enough host memory to pin {binary_size(asked)}"
    if heap == MANAGED:
        return f"not enough memory left for {binary_size(asked)} of managed memory"
    wanted = binary_size(asked) if asked else "this call, or not enough of other resources"
    return f"not enough memory left on {_name(heap)} for {wanted}"


def _name(heap: Heap) -> str:
    return "the GPU" if heap[1] is None else f"GPU {heap[1]}"


def _holding(heap: Heap, asked: int, model: ModelView) -> Iterator[str]:
    """How much of the memory the process itself held, and who may have the rest."""
    total = model.ledger.totals.get(heap, Total())
    count = f", in {total.count:,} allocation{'' if total.count == 1 else 's'}" if total.count else ""
    if heap in _APART:
        yield f"this process held {binary_size(total.bytes)} of {_APART[heap]}{count}"
        return
    capacity = model.ledger.capacity_of(heap[1]) if heap[1] is not None else 0
    place = f"of the {binary_size(capacity)} of {_name(heap)}" if capacity else f"on {_name(heap)}"
    yield f"this process held {binary_size(total.bytes)} {place}{count}"
    if capacity and total.bytes + asked > capacity:
        yield f"with {binary_size(asked)} more that would be more than there is"
    elif capacity:
        rest = binary_size(capacity - total.bytes)
        yield f"the other {rest}: contexts and modules, other processes, and what is free"
    managed = model.ledger.totals.get(MANAGED)
    if managed is not None and managed.bytes:
        yield f"{binary_size(managed.bytes)} of managed memory, which can be on the GPU too, is not counted in this"
