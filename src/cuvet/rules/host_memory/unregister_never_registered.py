from cuvet.rules.registrations import ORDINARY, UNALIGNED, Case, RegistrationRule


class HostMemoryUnregisterNeverRegistered(RegistrationRule):
    """
    checks: An address is unregistered that was never registered: NULL, another pointer, device memory, or memory that moved after it.
    why: There is no registration to end. Often the registration failed and its status was not checked. Or the buffer grew: when
      `std::vector` or `realloc` moves a buffer, the old addresses are freed but stay registered.
    instead: Remember whether the registration succeeded, and unregister the same pointer. Unregister a buffer before it can move.
    limits: Registrations by libraries that were not watched are not recognised. A move is recognised if the old addresses are not mapped
      when the call fails, and if the registration is among the last 64.
    """

    code = "CV510"
    summary = "memory is unregistered that was never registered"
    help = "unregister exactly what was registered, and only if the registration succeeded"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.NEVER
    evidence = """
    measured: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; for NULL and for device memory CUDA_ERROR_INVALID_VALUE
      (unregister_never, unregister_size_zero_after_zero, register_device_pointer)
    measured: a vector that grew, mremap and realloc: unregistering the new address returns
      CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, the old one CUDA_SUCCESS (register_then_moved)
    documented: the pointer is in no registered range (CUDA Driver API, Data types,
      CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    """
    VALID = ORDINARY + UNALIGNED
    INVALID = """
## memory that moved
note: as a vector does that grows: the finding names the registration of the old addresses
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
may_move, fixed, elsewhere = 1, 2, libc.mmap(None, 1 << 21, 3, 0x22, -1, 0)
address = libc.mmap(None, 1 << 20, 3, 0x22, -1, 0)
cu.cuMemHostRegister(address, 1 << 20, 0)
moved = libc.mremap(address, 1 << 20, 1 << 21, may_move | fixed, elsewhere)
cu.cuMemHostUnregister(moved)  # error: [host-memory-unregister-never-registered]

## never registered
buffer = cu.host(4096)
cu.cuMemHostUnregister(buffer)  # error: [host-memory-unregister-never-registered]

## NULL
cu.cuMemHostUnregister(0)  # error: [host-memory-unregister-never-registered]

## device memory
memory = cu.cuMemAlloc(4096)
cu.cuMemHostUnregister(memory)  # error: [host-memory-unregister-never-registered]
cu.cuMemFree(memory)
"""
