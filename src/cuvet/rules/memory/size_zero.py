from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CallRule, Violations


class MemorySizeZero(CallRule):
    """
    checks: ``cuMemAlloc`` or ``cuMemAllocManaged`` is asked for no bytes.
    why: The driver refuses it and returns no address. ``malloc`` and ``cudaMalloc`` do not refuse.
    instead: Skip the allocation when there is nothing to store.
    limits: ``cudaMalloc`` of no bytes succeeds without a driver call, and is not seen.
    """

    code = "CV415"
    stage = Stage.ARGUMENT
    summary = "an allocation of zero bytes"
    help = "skip the allocation when the size is zero"
    entry_points = frozenset({"cuMemAlloc", "cuMemAllocManaged"})
    evidence = """
    measured: cuMemAlloc and cuMemAllocManaged: CUDA_ERROR_INVALID_VALUE; cuMemAllocAsync, cuMemHostAlloc and
      cuMemAllocHost succeed (size_zero_driver)
    documented: of 0: CUDA_ERROR_INVALID_VALUE (CUDA Driver API, Memory Management, cuMemAlloc and cuMemAllocManaged)
    """
    VALID = """
## one byte
memory = cu.cuMemAlloc(1)
cu.cuMemFree(memory)

## nothing copied
note: copies of no bytes are allowed
memory = cu.cuMemAlloc(64)
cu.cuMemcpyHtoD(memory, cu.host(64), 0)
cu.cuMemFree(memory)
"""
    INVALID = """
## no bytes
memory = cu.cuMemAlloc(0)  # error: [memory-size-zero]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.arg("bytesize") == 0:
            yield cls.refused("allocation of zero bytes", argument=call.index("bytesize"))
