from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryRegisterBadFlags(RegistrationRule):
    """
    checks: The flags have bits that no registration flag has, or CU_MEMHOSTREGISTER_IOMEMORY is given for ordinary memory.
    why: The driver refuses unknown bits. IOMEMORY is for memory of another device that is mapped into the process.
    instead: The flags are 1 PORTABLE, 2 DEVICEMAP, 4 IOMEMORY, 8 READ_ONLY. Flags of `cuMemHostAlloc` differ: 4 is WRITECOMBINED.
    limits: Whether memory is ordinary is checked only when a registration fails.
    """

    code = "CV509"
    summary = "a host registration is given flags that do not fit"
    help = "pass flags of the registration (CU_MEMHOSTREGISTER_…), and IOMEMORY only for memory of a device"
    case = Case.BAD_FLAGS
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE, for unknown bits and for IOMEMORY on malloc memory (register_badflags)
    documented: CU_MEMHOSTREGISTER_IOMEMORY is for I/O memory, such as PCI resources of other devices (CUDA Driver API,
      Memory Management, cuMemHostRegister)
    """
    VALID = ORDINARY
    VALID += """
## portable and mapped
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 1 | 2)
cu.cuMemHostUnregister(buffer)
"""
    INVALID = """
## unknown bits
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0xFF0)  # error: [host-memory-register-bad-flags]

## ordinary memory as memory of a device
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 4)  # error: [host-memory-register-bad-flags]
"""
