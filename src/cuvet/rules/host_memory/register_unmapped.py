from cuvet.rules.registrations import UNALIGNED, Case, RegistrationRule


class HostMemoryRegisterUnmapped(RegistrationRule):
    """
    checks: Part of the range is not memory of the process: it is not mapped, is past the end of its mapping, or is mapped without access.
    why: There are no pages to pin. A size that is one element too large is enough if it crosses the end of the mapping.
    instead: Register exactly the bytes of the buffer while it is allocated.
    limits: Checked only when a registration fails. Freed memory that is still mapped is registered without an error.
    """

    code = "CV507"
    summary = "a range is registered that is not mapped, or only in part"
    help = "check the address, the size and that the memory was not freed"
    case = Case.UNMAPPED
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (register_unmapped, register_past_mapping, register_prot_none, register_wraps)
    measured: a range whose addresses were mapped again by somebody else is registered without an error (register_freed)
    documented: registers an existing host memory range (CUDA Driver API, Memory Management, cuMemHostRegister)
    """
    VALID = UNALIGNED
    VALID += """
## whole mapping
address = cu.map(1 << 20)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.cuMemHostUnregister(address)
"""
    INVALID = """
## nothing there
cu.cuMemHostRegister(0x10000, 4096, 0)  # error: [host-memory-register-unmapped]

## past the end of the mapping
address = cu.map(1 << 20)
cu.unmap(address + (1 << 19), 1 << 19)
cu.cuMemHostRegister(address, 1 << 20, 0)  # error: [host-memory-register-unmapped]

## mapped without access
address = cu.map(1 << 20, access=0)
cu.cuMemHostRegister(address, 1 << 20, 0)  # error: [host-memory-register-unmapped]
"""
