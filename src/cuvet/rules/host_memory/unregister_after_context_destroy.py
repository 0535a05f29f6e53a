from cuvet.rules.registrations import Case, RegistrationRule


class HostMemoryUnregisterAfterContextDestroy(RegistrationRule):
    """
    checks: A range is unregistered after `cuCtxDestroy` (or the last `cuDevicePrimaryCtxRelease`) destroyed its context.
    why: The registration belongs to the context. The memory itself is still there and may be registered again.
    instead: Unregister before the context is destroyed.
    limits: Reported only when the call fails. `device-use-after-reset` is about resets of the device.
    """

    code = "CV514"
    summary = "memory is unregistered after the context of its registration ended"
    help = "unregister it before the context is destroyed"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.CONTEXT_GONE
    evidence = """
    measured: after a reset, which destroys the context as well: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; registering
      again succeeds (register_after_reset)
    documented: the pointer is in no registered range (CUDA Driver API, Data types,
      CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    """
    VALID = """
## unregistered before the context is destroyed
other = cu.cuCtxCreate(0, 0, device)
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuCtxDestroy(other)

## registered in a context that lives
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
other = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(other)
cu.cuCtxSetCurrent(context)
cu.cuMemHostUnregister(buffer)
"""
    INVALID = """
## after cuCtxDestroy
other = cu.cuCtxCreate(0, 0, device)
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuCtxDestroy(other)
cu.cuCtxSetCurrent(context)
cu.cuMemHostUnregister(buffer)  # error: [host-memory-unregister-after-context-destroy]
"""
