from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryRegisterSizeZero(RegistrationRule):
    """
    checks: A host registration is given a size of zero.
    why: The driver refuses it. A single empty buffer makes a program fail that otherwise works.
    instead: Skip the registration, and the unregistration, of empty buffers.
    limits: None.
    """

    code = "CV502"
    summary = "a host registration of zero bytes"
    help = "skip the registration when there is nothing to register"
    case = Case.SIZE_ZERO
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (register_zero)
    documented: bytesize is the size of the range to pin (CUDA Driver API, Memory Management, cuMemHostRegister)
    """
    VALID = ORDINARY
    VALID += """
## one byte
buffer = cu.host(64)
cu.cuMemHostRegister(buffer, 1, 0)
cu.cuMemHostUnregister(buffer)
"""
    INVALID = """
## empty buffer
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 0, 0)  # error: [host-memory-register-size-zero]
"""
