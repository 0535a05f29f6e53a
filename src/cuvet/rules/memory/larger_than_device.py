from cuvet.model import MORE_THAN_ANY_GPU, Call, ModelView
from cuvet.rules.rule import CallRule, Violations


class MemoryLargerThanDevice(CallRule):
    """
    checks: An allocation asks for more bytes than the largest GPU has.
    why: It can never succeed. Usually the size is wrong: negative, multiplied by the element size twice, or uninitialised. If its status
      is not checked, a later call seems to be at fault: the runtime keeps the error until ``cudaGetLastError`` is called.
    instead: Check how the size is computed. ``cuMemGetInfo`` tells how much memory there is.
    limits: Managed memory may be larger than a device. Reported only when the allocation fails because there is not enough memory. If the
      driver does not tell how large its GPUs are, the limit is 1 TiB.
    """

    code = "CV412"
    severity = "warning"
    only_for_failed = True
    summary = "an allocation asks for more memory than a device has"
    help = "check how the size is computed, and the status of the allocation"
    entry_points = frozenset({"cuMemAlloc", "cuMemAllocPitch", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"})
    evidence = """
    measured: CUDA_ERROR_OUT_OF_MEMORY (peek_stale_error, malloc_too_large)
    measured: cudaGetLastError after a launch still returns the status of the cudaMalloc (peek_stale_error)
    documented: CUDA_ERROR_OUT_OF_MEMORY is among the results (CUDA Driver API, Memory Management, cuMemAlloc)
    """
    VALID = """
## fits
memory = cu.cuMemAlloc(1 << 20)
cu.cuMemFree(memory)

## managed memory larger than needed
note: managed memory is not limited by the device
memory = cu.cuMemAllocManaged(1 << 24, 1)
cu.cuMemFree(memory)
"""
    INVALID = """
## far too large
memory = cu.cuMemAlloc(1 << 50)  # warning: [memory-larger-than-device]

## a negative number of bytes, in stream order
size = -4096
memory = cu.cuMemAllocAsync(size, 0)  # warning: [memory-larger-than-device]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.name == "cuMemAllocPitch":
            size, argument = call.arg("WidthInBytes") * call.arg("Height"), call.index("Height")
        else:
            size, argument = call.arg("bytesize"), call.index("bytesize")
        size &= (1 << 64) - 1
        if size <= model.memory:
            return
        negative = f" (as a signed number {size - (1 << 64)})" if size >> 63 == 1 else ""
        message = f"allocation of {size} bytes{negative} is larger than a device"
        because = () if model.memory == MORE_THAN_ANY_GPU else (f"the largest GPU has {model.memory} bytes",)
        yield cls.refused(message, argument=argument, because=because, outcomes=(2,))
