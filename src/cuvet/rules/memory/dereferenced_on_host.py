from cuvet.model import Allocation, HostMemory, ModelView
from cuvet.rules.lifecycle import chain
from cuvet.rules.rule import CRASH, FaultRule, Violation


class MemoryDereferencedOnHost(FaultRule):
    """
    checks: The process died of SIGSEGV at an address in device memory or freed memory, which the host cannot reach.
    why: ``cuMemAlloc`` returns an address for the device. Host code that reads or writes it faults at once.
    instead: Copy to a host buffer, or allocate managed memory (``cudaMallocManaged``) or pinned memory (``cudaMallocHost``).
    limits: Only the fault that ended the process is explained. On systems whose host reaches device memory there is no fault.
    """

    code = "CV413"
    summary = "host code reads or writes memory that only the device reaches"
    help = "copy the data to a host buffer, or allocate managed or pinned memory"
    evidence = """
    measured: SIGSEGV, for living and for freed device memory (host_deref_live, host_deref_freed)
    documented: managed memory: the pointer is valid on the CPU and on all GPUs in the system that support managed
      memory (CUDA Driver API, Memory Management, cuMemAllocManaged)
    """
    VALID = """
## copied to the host first
memory = cu.cuMemAlloc(4096)
buffer = cu.host(4096)
cu.cuMemsetD8(memory, 1, 4096)
cu.cuMemcpyDtoH(buffer, memory, 4096)
cu.cuMemFree(memory)

## pinned memory
note: pinned memory is host memory
import ctypes
memory = cu.cuMemHostAlloc(4096, 0)
ctypes.c_int.from_address(memory).value = 1
cu.cuMemFreeHost(memory)

## managed memory
note: both sides reach managed memory
import ctypes
memory = cu.cuMemAllocManaged(4096, 1)
ctypes.c_int.from_address(memory).value = 1
cu.cuMemFree(memory)
"""
    INVALID = """
## living device memory
import ctypes
memory = cu.cuMemAlloc(4096)
value = ctypes.c_int.from_address(memory).value  # error: [memory-dereferenced-on-host]

## freed device memory
import ctypes
memory = cu.cuMemAlloc(4096)
cu.cuMemFree(memory)
value = ctypes.c_int.from_address(memory).value  # error: [memory-dereferenced-on-host]
"""

    @classmethod
    def explain(cls, address: int, model: ModelView) -> Violation | None:
        """The violation behind a SIGSEGV at ``address`` that ended the process; None if the address is not memory of CUDA."""
        memory, pinned = model.allocation_at(address), model.host_memory_at(address)
        if pinned is not None and (pinned.alive or pinned.registered):
            return None
        if memory is not None and memory.alive:
            if memory.variant == "managed":
                return None
            return _violation(
                f"the host accessed {memory.name} at byte {address - memory.handle}, which is device memory", memory
            )
        dead = pinned or memory
        if dead is None or dead.destroyed_by is None:
            return None
        return _violation(
            f"the host accessed {dead.name} at byte {address - dead.handle} after it was freed", dead, *chain(dead)
        )


def _violation(message: str, found: Allocation | HostMemory, *because: str) -> Violation:
    return MemoryDereferencedOnHost.broken(message, found, because=because, outcomes=(CRASH,))
