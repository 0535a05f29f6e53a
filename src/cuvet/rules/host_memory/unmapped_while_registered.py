from __future__ import annotations

from cuvet.rules.evidence import measured
from cuvet.rules.registrations import Case, RegistrationRule
from cuvet.rules.rule import Example


class HostMemoryUnmappedWhileRegistered(RegistrationRule):
    """
    ## What it checks
    A registration fails because of an earlier one whose memory is not all there any more: it was freed or unmapped
    without being unregistered.

    ## Why it is wrong
    A registration outlives the memory. The device goes on reading and writing the old pages, while the host sees
    new ones at the same addresses, and the addresses cannot be registered again.

    ## Use instead
    Unregister memory before it is freed or unmapped.

    ## Limits
    Seen only when a later registration fails at the same addresses and part of the old range is still unmapped.
    Without that nothing shows: unregistering after the unmapping succeeds.
    """

    code = "CV515"
    name = "host-memory-unmapped-while-registered"
    severity = "error"
    summary = "host memory was unmapped while it was registered"
    help = "unregister memory before it is freed or unmapped"
    case = Case.UNMAPPED_SINCE
    evidence = (
        measured(
            "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED when the addresses are registered again",
            "register_freed_then_again",
        ),
        measured(
            "unregistering after munmap, and copying from the range, succeed",
            "free_then_unregister",
            "register_freed_then_copy",
        ),
    )
    VALID = (
        Example(
            "unregistered before it is unmapped",
            """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
address = libc.mmap(None, 1 << 20, 3, 0x22, -1, 0)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.cuMemHostUnregister(address)
libc.munmap(address, 1 << 20)
""",
        ),
        Example(
            "ordinary host memory",
            """
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
""",
            note="memory of malloc can be registered",
        ),
    )
    INVALID = (
        Example(
            "part mapped and registered again",
            """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
address = libc.mmap(None, 1 << 20, 3, 0x22, -1, 0)
cu.cuMemHostRegister(address, 1 << 20, 0)
libc.munmap(ctypes.c_void_p(address + (1 << 19)), 1 << 19)
cu.cuMemHostRegister(address, 1 << 16, 0)  # error: [host-memory-unmapped-while-registered]
""",
        ),
    )
