from collections.abc import Iterator

from cuvet.model import ModelView
from cuvet.model.accesses import COPIES, accesses
from cuvet.model.touches import Access, Touch, is_shared
from cuvet.model.touching import memory_at
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import TouchRule, Violation


class RaceWithHost(TouchRule):
    """
    checks: Code of the host reads or writes pinned, registered or managed memory that work in flight uses: it reads or writes what a copy,
      set or kernel writes, or writes what that reads, and the host has not waited for the work. ``cuvet run --guard`` looks for this.
    why: An asynchronous call returns before its work is done. Without a wait, the host reads old data, or changes the data that the
      device is still to read.
    instead: Wait for the work first: ``cudaStreamSynchronize``, or ``cudaEventSynchronize`` for an event that was recorded after it.
    limits: The first byte that is touched is judged, for each use of the memory by new work. Pages that belong to several allocations are
      not guarded. System calls that read or write guarded memory are not seen: they fail with EFAULT. The host may be told by other means
      that work is done: nothing is said while a host function, a write to memory by a stream, or a kernel that accesses memory as
      volatile or in the scope of the system is in flight, nor of kernels without PTX. Where threads of a kernel cannot be followed, only
      the byte that its argument points to is judged.
    """

    code = "CV442"
    severity = "error"
    summary = "host code touches memory that work in flight uses"
    help = "wait for the work before: cudaStreamSynchronize, or an event that is recorded after it and cudaEventSynchronize"
    evidence = """
    documented: a copy with a stream is asynchronous with respect to the host, so the call may return before it is
      complete (CUDA Runtime API, cudaMemcpyAsync)
    documented: copies from host memory to host memory are synchronous with respect to the host (CUDA Runtime API, API
      synchronization behavior)
    """
    VALID = """
## the host waits for the stream
import ctypes
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
cu.cuStreamSynchronize(stream)
value = ctypes.c_int.from_address(pinned).value
cu.cuMemFreeHost(pinned)

## the host waits for an event of another stream
import ctypes
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
first = cu.cuEventCreate(2)
last = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, a)
cu.cuEventRecord(first, a)
cu.cuStreamWaitEvent(b, first, 0)
cu.cuEventRecord(last, b)
cu.cuEventSynchronize(last)
value = ctypes.c_int.from_address(pinned).value
cu.cuMemFreeHost(pinned)

## the time between two events is known, so both are done
import ctypes
stream = cu.cuStreamCreate(1)
start = cu.cuEventCreate(0)
end = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuEventRecord(start, stream)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
cu.cuEventRecord(end, stream)
cu.cuEventElapsedTime(start, end)
while cu.status:
    cu.cuEventElapsedTime(start, end)
value = ctypes.c_int.from_address(pinned).value
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## both read
import ctypes
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
ctypes.c_int.from_address(pinned).value = 1
cu.cuMemcpyHtoDAsync(memory, pinned, 4096, stream)
value = ctypes.c_int.from_address(pinned).value
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## other bytes
import ctypes
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(8192, 0)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
ctypes.c_int.from_address(pinned + 4096).value = 1
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## the copy waits itself
import ctypes
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyDtoH(pinned, memory, 4096)
value = ctypes.c_int.from_address(pinned).value
cu.cuMemFreeHost(pinned)
"""
    INVALID = """
## read before the copy is done
import ctypes
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
value = ctypes.c_int.from_address(pinned).value  # error: [race-with-host]
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## written again before the copy is done
import ctypes
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyHtoDAsync(memory, pinned, 4096, stream)
value = ctypes.c_int.from_address(pinned).value
ctypes.c_int.from_address(pinned).value = 1  # error: [race-with-host]
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## the event was recorded before the copy
import ctypes
stream = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuEventRecord(event, stream)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
cu.cuEventSynchronize(event)
value = ctypes.c_int.from_address(pinned).value  # error: [race-with-host]
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## the events whose time is known were recorded before the copy
import ctypes
stream = cu.cuStreamCreate(1)
start = cu.cuEventCreate(0)
end = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuEventRecord(start, stream)
cu.cuEventRecord(end, stream)
cu.cuMemcpyDtoHAsync(pinned, memory, 4096, stream)
cu.cuEventElapsedTime(start, end)
value = ctypes.c_int.from_address(pinned).value  # error: [race-with-host]
cu.cuStreamSynchronize(stream)
cu.cuMemFreeHost(pinned)

## managed memory that a kernel writes
import ctypes
text = b".version 7.0 .target sm_75 .address_size 64 .visible .entry store(.param .u64 memory) {"
text += b".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "store")
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAllocManaged(4096, 1)
cu.launch(kernel, stream, memory)
value = ctypes.c_int.from_address(memory).value  # error: [race-with-host]
cu.cuStreamSynchronize(stream)
cu.cuMemFree(memory)
"""

    @classmethod
    def explain(cls, address: int, writes: bool, model: ModelView) -> Violation | None:
        """What is wrong with reading or writing at ``address`` now; None if nothing is."""
        memory = memory_at(model, address)
        if memory is None or not is_shared(memory):
            return None
        touch = Touch(memory, address, address + 1, writes)
        access = next((each for each in model.in_use(touch) if not _is_synchronous(each, model)), None)
        return None if access is None else _race(touch, access)


def _is_synchronous(access: Access, model: ModelView) -> bool:
    """A copy of which both ends may be memory of the host."""
    if access.call.name not in COPIES:
        return False
    ends = [memory_at(model, each.address) for each in accesses(access.call)]
    return all(memory is None or is_shared(memory) for memory in ends)


def _race(touch: Touch, access: Access) -> Violation:
    memory, stream = touch.memory, access.stream
    did = "wrote" if touch.writes else "read"
    does = {True: "writes", False: "reads", None: "uses"}[access.touch.writes]
    return Violation(
        rule=RaceWithHost,
        message=f"the host {did} {memory.name} while {_work(access)} {does} it on {stream.name}, and did not wait for that",
        objects=(memory, stream),
        because=tuple(_because(touch, access)),
        earlier=((f"the work on {stream.name}", access.call),),
    )


def _work(access: Access) -> str:
    launch = access.touch.launch
    return access.call.asked if launch is None else f"kernel {launch[0].symbol or launch[0].name}"


def _because(touch: Touch, access: Access) -> Iterator[str]:
    memory, other = touch.memory, access.touch
    first = other.start - memory.handle
    extent = "" if other.end is None else f" to {other.end - 1 - memory.handle}"
    least = "at least " if other.partly else ""
    yield f"the host touched byte {touch.start - memory.handle} of {memory.name}, the work {least}bytes from {first}{extent}"
    stream = access.stream
    if stream.recorded is not None and stream.recorded[0].time_ns > access.call.time_ns:
        record, event = stream.recorded
        yield f"{event.name} was recorded on {stream.name} after the work by {place(record)}, but the host does not wait for it"
    else:
        yield f"the host does not wait for {stream.name} after the work: cuStreamSynchronize or an event"
