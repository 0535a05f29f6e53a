from cuvet.model import Call, ModelView
from cuvet.rules.rule import Violations
from cuvet.rules.unfinished import UnfinishedWork


class DeviceResetPending(UnfinishedWork):
    """
    checks: The primary context is reset (`cudaDeviceReset`, `cuDevicePrimaryCtxReset`) before the program waited for work in it.
    why: The reset destroys streams and memory that the work uses, at once. The caller must make sure that nobody uses the device any
      more. Where it was measured, a reset after `cudaFreeAsync` without any synchronisation succeeded, and the device worked afterwards.
      The results and errors of that work are lost without a message.
    instead: Call `cudaDeviceSynchronize`, check its status, and then reset. Or do not reset at all: the end of the process does it.
    limits: Waits that cannot be seen (a kernel's flag in mapped memory) do not count. Without `--record full`, only work that is always
      stored and that is on non-blocking streams counts: calls that are not stored may have waited for the rest. Silent if the context was
      lost before, and, with `--races`, if all that is pending are kernels that can only print: whose PTX accesses no memory, or that have
      no PTX and are given no memory.
    """

    code = "CV121"
    severity = "warning"
    summary = "a device is reset while work on it is pending"
    help = "call cudaDeviceSynchronize and check its status before the reset, or leave the reset out"
    entry_points = frozenset({"cuDevicePrimaryCtxReset"})
    evidence = """
    documented: the reset is immediate; the caller must make sure that no other thread of the process uses the device
      (CUDA Runtime API, Device Management, cudaDeviceReset)
    documented: what kernels print is written when the context is destroyed by cudaDeviceReset or cuCtxDestroy
      (CUDA C++ Programming Guide, Formatted Output, Limitations)
    measured, succeeds: a kernel running, also with cudaFreeAsync behind it, then cudaDeviceReset: no error, and the
      device works (freeasync_reset, reset_with_running_kernel)
    """
    VALID = """
## waited for first
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()
cu.cuDevicePrimaryCtxReset(device)

## stream waited for
note: the memory and the stream go with the reset
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuStreamSynchronize(stream)
cu.cuDevicePrimaryCtxReset(device)
"""
    INVALID = """
## stream-ordered free pending
non_blocking = 1
stream = cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuDevicePrimaryCtxReset(device)  # warning: [device-reset-pending]

## only another stream waited for
non_blocking = 1
stream, other = cu.cuStreamCreate(non_blocking), cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuStreamSynchronize(other)
cu.cuDevicePrimaryCtxReset(device)  # warning: [device-reset-pending]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from cls.about(call, model, model.primary_context(call.arg("dev")), "reset")
