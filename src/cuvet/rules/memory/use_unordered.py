from collections.abc import Iterator, Sequence

from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Verb
from cuvet.model import Allocation, Call, ModelView
from cuvet.model.accesses import COPIES, SETS, accesses
from cuvet.model.touches import Touch
from cuvet.model.touching import touched, touches_memory
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violation, Violations

_COPIES = COPIES | SETS


class MemoryUseUnordered(CallRule):
    """
    checks: Memory allocated in the order of one stream is used on another stream that does not wait for the allocation.
    why: The memory exists from the point of the stream where it was allocated. Work on another stream may run before that point, while
      the memory still belongs to another allocation.
    instead: Record an event on the allocating stream after the allocation and make the other stream wait for it, or wait on the host.
    limits: The program often works, because the memory is already there. Order that is made without CUDA (polling of mapped memory, memory
      operations on streams) is not seen; streams that use it are not judged. Kernel arguments count only if they are its start, but with
      ``cuvet run --races`` wherever they point to in it.
    """

    code = "CV410"
    severity = "warning"
    summary = "stream-ordered memory is used on a stream that does not wait for its allocation"
    help = "record an event after the allocation and make the other stream wait for it"
    about_work = True
    only_when = beyond_ordinary_memory
    evidence = """
    measured, succeeds: no error, and the kernel usually finds the memory in place (mallocasync_other_stream_nosync)
    documented: no access before the allocation completes; other streams wait for it with events or stream
      synchronisation (CUDA Driver API, Stream Ordered Memory Allocator, cuMemAllocAsync)
    """
    VALID = """
## ordered by an event
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuEventRecord(event, a)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## ordered by the host
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuStreamSynchronize(a)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## ordered by the legacy default stream
note: streams created without CU_STREAM_NON_BLOCKING wait for work on the legacy default stream
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)
"""
    INVALID = """
## set on another stream
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, b)  # warning: [memory-use-unordered]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## kernel on another stream
kernel = cu.kernel()
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.launch(kernel, b, memory)  # warning: [memory-use-unordered]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return entry_point.name in _COPIES or any(role.verb is Verb.LAUNCHES for role in entry_point.roles)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_on(call)
        if stream is None or stream.capture is not None:
            return
        looks = model.touches is not None and touches_memory(call.entry_point)
        touches = touched(call, model) if looks else ()
        for argument, memory in _named(call, model, touches):
            origin, made = memory.stream, memory.created_by
            if origin is None or made is None or origin is stream or model.ordered_after(call, stream, made):
                continue
            if any(access.stream is origin for _, access in model.races(call, stream, touches)):
                continue  # which the race of the two streams is about
            yield Violation(
                rule=cls,
                message=f"{memory.name} is used on {stream.name}, which does not wait for its allocation on {origin.name}",
                objects=(memory, origin, stream),
                argument=argument,
                earlier=((f"its allocation, on {origin.name}", made),),
            )


def _named(call: Call, model: ModelView, touches: Sequence[Touch]) -> Iterator[tuple[int | None, Allocation]]:
    """Living stream-ordered allocations that the call names, each once."""
    found: dict[Allocation, int | None] = {}
    if call.name in _COPIES:
        for access in accesses(call):
            memory = model.allocation_at(access.address)
            if memory is not None:
                found.setdefault(memory, access.argument)
    for pointer in call.pointers:
        memory = model.allocation_at(pointer)
        if memory is not None and memory.handle == pointer:
            found.setdefault(memory, call.entry_point.index.get("kernelParams"))
    for touch in touches:
        if isinstance(touch.memory, Allocation) and touch.memory.variant == "stream-ordered":
            found.setdefault(touch.memory, touch.argument)
    for memory, argument in found.items():
        if memory.alive and memory.variant == "stream-ordered":
            yield argument, memory
