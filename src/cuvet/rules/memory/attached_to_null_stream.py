from cuvet.model import Allocation, Call, ModelView
from cuvet.rules.rule import CRASH, CallRule, Violations

_GLOBAL, _SINGLE = 1, 4
"""CU_MEM_ATTACH_GLOBAL and CU_MEM_ATTACH_SINGLE"""


class MemoryAttachedToNullStream(CallRule):
    """
    checks: Managed memory is attached to one stream (CU_MEM_ATTACH_SINGLE), but the stream is NULL, and the call fails. Or memory that
      was allocated with CU_MEM_ATTACH_GLOBAL is attached to NULL with flags 0.
    why: NULL stands for all blocking streams of the context, not for one. The driver returns CUDA_ERROR_INVALID_VALUE. Flags of 0 are
      none of the three that the call takes; with the NULL stream the driver dies of SIGSEGV.
    instead: Pass a stream of `cuStreamCreate`, or use CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST, which take NULL.
    limits: Reported only when the call fails, or, with flags of 0, does not return. Silent about per-thread default streams.
    """

    code = "CV423"
    summary = "managed memory is attached to the NULL stream alone"
    help = "attach it to a stream that cuStreamCreate made"
    entry_points = frozenset({"cuStreamAttachMemAsync"})
    evidence = """
    recorded: CU_MEM_ATTACH_SINGLE and stream NULL: CUDA_ERROR_INVALID_VALUE; with another stream it succeeds
    recorded: flags 0 and stream NULL, of memory of cuMemAllocManaged with CU_MEM_ATTACH_GLOBAL: SIGSEGV, 3 of 3; with
      CU_MEM_ATTACH_HOST: no error, once
    documented: CU_MEM_ATTACH_SINGLE with NULL is an error (CUDA Driver API, Stream Management, cuStreamAttachMemAsync)
    """
    VALID = """
## to a stream, and to all
stream, memory = cu.cuStreamCreate(0), cu.cuMemAllocManaged(4096, 1)
everywhere, single = 1, 4
cu.cuStreamAttachMemAsync(stream, memory, 0, single)
cu.cuStreamAttachMemAsync(0, memory, 0, everywhere)

## to the host
memory, host = cu.cuMemAllocManaged(4096, 1), 2
cu.cuStreamAttachMemAsync(0, memory, 0, host)
cu.cuMemFree(memory)
"""
    INVALID = """
## to the NULL stream
memory, single = cu.cuMemAllocManaged(4096, 1), 4
cu.cuStreamAttachMemAsync(0, memory, 0, single)  # error: [memory-attached-to-null-stream]

## to the NULL stream, with no flags
note: the driver dies in the call
memory = cu.cuMemAllocManaged(4096, 1)
cu.cuStreamAttachMemAsync(0, memory, 0, 0)  # error: [memory-attached-to-null-stream]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.arg("hStream") or call.per_thread:
            return
        if call.arg("flags") == _SINGLE:
            yield cls.refused("the NULL stream is not one stream", argument=call.index("hStream"))
        memory = model.allocation_at(call.arg("dptr"))
        if not call.arg("flags") and memory is not None and memory.alive and _is_of_all_streams(memory):
            message = "flags is 0, which names neither all streams, nor the host, nor one stream"
            yield cls.broken(message, memory, argument=call.index("flags"), outcomes=(CRASH,))


def _is_of_all_streams(memory: Allocation) -> bool:
    made = memory.created_by
    return made is not None and made.name == "cuMemAllocManaged" and made.arg("flags") == _GLOBAL
