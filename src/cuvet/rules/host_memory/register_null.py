from cuvet.rules.registrations import ORDINARY, UNALIGNED, Case, RegistrationRule


class HostMemoryRegisterNull(RegistrationRule):
    """
    checks: The address given to a host registration is NULL.
    why: There is no memory at NULL. Usually an allocation failed, or the buffer is allocated later.
    instead: Register the buffer after its allocation, and check the allocation.
    limits: None.
    """

    code = "CV501"
    summary = "NULL is registered as host memory"
    help = "check that the allocation of the buffer succeeded"
    case = Case.NULL
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (register_null)
    documented: p is the host pointer to the memory to page-lock (CUDA Driver API, Memory Management, cuMemHostRegister)
    """
    VALID = ORDINARY + UNALIGNED
    INVALID = """
## no buffer
cu.cuMemHostRegister(0, 4096, 0)  # error: [host-memory-register-null]
"""
