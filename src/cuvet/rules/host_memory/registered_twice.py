from __future__ import annotations

from cuvet.rules.evidence import documented, measured
from cuvet.rules.registrations import Case, RegistrationRule
from cuvet.rules.rule import Example


class HostMemoryRegisteredTwice(RegistrationRule):
    """
    ## What it checks
    A range is registered that overlaps a registered one. Often the buffer was freed without being unregistered, and
    a new buffer has its addresses.

    ## Why it is wrong
    A registration stays until it is ended, also when the memory is freed or unmapped. The driver refuses ranges
    that share bytes with it.

    ## Use instead
    Let one owner register a buffer, and unregister it before the buffer is freed. Ranges that only touch each other
    may both be registered.

    ## Limits
    That the earlier buffer was freed meanwhile is not seen: frees of ordinary memory are no CUDA calls.
    """

    code = "CV504"
    name = "host-memory-registered-twice"
    severity = "error"
    summary = "host memory is registered while it is registered already"
    help = "register each range once, and unregister it before it is freed"
    case = Case.REGISTERED
    evidence = (
        measured(
            "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, for the same range and for partial overlap",
            "register_twice",
            "register_overlap",
        ),
        measured(
            "also when the memory was unmapped and mapped again in between",
            "register_freed_then_again",
        ),
        documented(
            "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: the memory range passed to cuMemHostRegister() has already "
            "been registered",
            "CUDA Driver API, Data types used by CUDA driver, CUresult",
        ),
    )
    VALID = (
        Example(
            "again after being unregistered",
            """
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
""",
        ),
        Example(
            "neighbouring ranges",
            """
buffer = cu.host(3 << 16)
cu.cuMemHostRegister(buffer, 1 << 16, 0)
cu.cuMemHostRegister(buffer + (1 << 16), 1 << 16, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostUnregister(buffer + (1 << 16))
""",
            note="ranges that touch do not overlap",
        ),
    )
    INVALID = (
        Example(
            "same range",
            """
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostRegister(buffer, 4096, 0)  # error: [host-memory-registered-twice]
cu.cuMemHostUnregister(buffer)
""",
        ),
        Example(
            "overlapping range",
            """
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer, 1 << 16, 0)
cu.cuMemHostRegister(buffer + (1 << 15), 1 << 16, 0)  # error: [host-memory-registered-twice]
cu.cuMemHostUnregister(buffer)
""",
        ),
    )
