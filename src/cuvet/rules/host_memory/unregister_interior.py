from cuvet.rules.registrations import UNALIGNED, Case, RegistrationRule


class HostMemoryUnregisterInterior(RegistrationRule):
    """
    checks: An unregistration is given an address inside a registered range that is not its start.
    why: The address that was registered names the range. The call fails, and the range stays registered.
    instead: Keep the pointer that was registered.
    limits: None.
    """

    code = "CV512"
    summary = "an address inside a registered range is unregistered"
    help = "unregister the address that was registered"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.INTERIOR
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (unregister_interior)
    documented: the address must be that of the registration (CUDA Driver API, Memory Management, cuMemHostUnregister)
    """
    VALID = UNALIGNED
    VALID += """
## two ranges in one buffer
buffer = cu.host(8192)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostRegister(buffer + 4096, 4096, 0)
cu.cuMemHostUnregister(buffer + 4096)
cu.cuMemHostUnregister(buffer)
"""
    INVALID = """
## inside the range
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer, 1 << 20, 0)
cu.cuMemHostUnregister(buffer + 64)  # error: [host-memory-unregister-interior]
cu.cuMemHostUnregister(buffer)
"""
