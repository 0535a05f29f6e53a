from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import chain
from cuvet.rules.rule import CallRule, Violations


class HostMemoryNotPinned(CallRule):
    """
    checks: The program asks for the device address of host memory that is not, or no longer, pinned or registered, and the call fails.
    why: Only pinned memory has a device address. For other memory the driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Allocate the memory with `cuMemHostAlloc` (`cudaHostAlloc`), or register it first, and check the status of that call.
    limits: Memory that was pinned before the first call that was seen is not known. A call that succeeds is never reported.
    """

    code = "CV516"
    summary = "the program asks for the device address of host memory that is not pinned"
    help = "allocate the memory as pinned or register it first, and check the status of that call"
    stage = Stage.HANDLE
    entry_points = frozenset({"cuMemHostGetDevicePointer"})
    evidence = """
    measured: cudaHostGetDevicePointer of malloc memory: cudaErrorInvalidValue (hostgetdevicepointer_unregistered)
    recorded: cuMemHostGetDevicePointer of NULL, of ordinary and of freed or unregistered memory:
      CUDA_ERROR_INVALID_VALUE
    documented: gives the device pointer of pinned memory of cuMemHostAlloc, and of memory registered with
      cuMemHostRegister (CUDA Driver API, Memory Management, cuMemHostGetDevicePointer and cuMemHostRegister)
    """
    VALID = """
## allocated as pinned
note: any address inside will do
memory = cu.cuMemHostAlloc(4096, 2)
cu.cuMemHostGetDevicePointer(memory, 0)
cu.cuMemHostGetDevicePointer(memory + 64, 0)
cu.cuMemFreeHost(memory)

## registered
memory = cu.host(4096)
cu.cuMemHostRegister(memory, 4096, 0)
cu.cuMemHostGetDevicePointer(memory, 0)
cu.cuMemHostUnregister(memory)
"""
    INVALID = """
## ordinary memory
cu.cuMemHostGetDevicePointer(cu.host(4096), 0)  # error: [host-memory-not-pinned]

## unregistered
memory = cu.host(4096)
cu.cuMemHostRegister(memory, 4096, 0)
cu.cuMemHostUnregister(memory)
cu.cuMemHostGetDevicePointer(memory, 0)  # error: [host-memory-not-pinned]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        address = call.arg("p")
        found = model.host_memory_at(address) if address else None
        if found is not None and found.alive:
            return
        message = f"{address:#x} is not pinned host memory" if address else "the address is NULL"
        yield cls.refused(message, found, argument=call.index("p"), because=() if found is None else chain(found))
