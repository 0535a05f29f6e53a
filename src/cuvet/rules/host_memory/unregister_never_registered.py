from __future__ import annotations

from cuvet.rules.evidence import documented, measured
from cuvet.rules.registrations import Case, RegistrationRule
from cuvet.rules.rule import Example


class HostMemoryUnregisterNeverRegistered(RegistrationRule):
    """
    ## What it checks
    An address is unregistered that no registration was given: NULL, another pointer of the program, device memory.

    ## Why it is wrong
    There is nothing to end. Often the registration before failed and its status was not looked at.

    ## Use instead
    Remember whether the registration succeeded, and unregister the same pointer.

    ## Limits
    Registrations by libraries that were not watched are not recognised.
    """

    code = "CV510"
    name = "host-memory-unregister-never-registered"
    severity = "error"
    summary = "memory is unregistered that was never registered"
    help = "unregister exactly what was registered, and only if the registration succeeded"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.NEVER
    evidence = (
        measured(
            "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; for NULL and for device memory CUDA_ERROR_INVALID_VALUE",
            "unregister_never",
            "unregister_size_zero_after_zero",
            "register_device_pointer",
        ),
        documented(
            "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: the pointer passed to cuMemHostUnregister() does not correspond "
            "to any currently registered memory region",
            "CUDA Driver API, Data types used by CUDA driver, CUresult",
        ),
    )
    VALID = (
        Example(
            "ordinary host memory",
            """
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
""",
            note="memory of malloc can be registered",
        ),
        Example(
            "neither start nor size aligned",
            """
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer + 3, 1001, 0)
cu.cuMemHostUnregister(buffer + 3)
""",
            note="registrations need no alignment",
        ),
    )
    INVALID = (
        Example(
            "never registered",
            """
buffer = cu.host(4096)
cu.cuMemHostUnregister(buffer)  # error: [host-memory-unregister-never-registered]
""",
        ),
        Example(
            "NULL",
            """
cu.cuMemHostUnregister(0)  # error: [host-memory-unregister-never-registered]
""",
        ),
        Example(
            "device memory",
            """
memory = cu.cuMemAlloc(4096)
cu.cuMemHostUnregister(memory)  # error: [host-memory-unregister-never-registered]
cu.cuMemFree(memory)
""",
        ),
    )
