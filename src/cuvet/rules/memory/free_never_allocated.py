from cuvet.model import Call, ModelView
from cuvet.rules.frees import ENTRY_POINTS, Case, freed
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryFreeNeverAllocated(CallRule):
    """
    checks: A free function is given an address that no CUDA allocation returned: of ``malloc``, ``new`` or the stack, or uninitialised.
    why: The free functions take only memory that CUDA allocated. The call fails, and the memory is not freed.
    instead: Free each pointer with the counterpart of its allocation: ``free`` for ``malloc``, ``cuMemFree`` for ``cuMemAlloc``.
    limits: Reported only when the call fails, because memory can come from libraries and processes that were not watched.
    """

    code = "CV403"
    summary = "memory that CUDA did not allocate is freed"
    help = "free it with the counterpart of the function that allocated it"
    entry_points = ENTRY_POINTS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE for malloc memory (free_host_ptr, freeasync_host, freehost_malloc)
    documented: frees what an allocation function returned (CUDA Driver API, Memory Management, cuMemFree)
    """
    VALID = """
## device memory
memory = cu.cuMemAlloc(1024)
cu.cuMemFree(memory)

## managed memory
note: managed memory is freed by cuMemFree, although the host can use it
memory = cu.cuMemAllocManaged(4096, 1)
cu.cuMemFree(memory)

## freed with another context current
note: the address says which context the memory belongs to
memory = cu.cuMemAlloc(4096)
cu.cuCtxSetCurrent(0)
other = cu.cuCtxCreate(0, 0, device)
cu.cuMemFree(memory)
cu.cuCtxDestroy(other)
"""
    INVALID = """
## host memory
buffer = cu.host(1024)
cu.cuMemFree(buffer)  # error: [memory-free-never-allocated]

## host memory, in stream order
buffer = cu.host(64)
cu.cuMemFreeAsync(buffer, 0)  # error: [memory-free-never-allocated]

## host memory that is not pinned
buffer = cu.host(64)
cu.cuMemFreeHost(buffer)  # error: [memory-free-never-allocated]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        if given.case is Case.UNKNOWN:
            message = f"{given.address:#x} was not allocated by CUDA"
            yield cls.refused(message, argument=given.argument, outcomes=(1, 0) if model.graphs_allocate else (1,))
