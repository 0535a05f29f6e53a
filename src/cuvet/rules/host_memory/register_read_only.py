from cuvet.rules.registrations import Case, RegistrationRule


class HostMemoryRegisterReadOnly(RegistrationRule):
    """
    checks: The range lies in a mapping that the host may only read, such as constants of the program, and the read-only flag is missing.
    why: The driver pins the pages for writing, which the mapping does not allow.
    instead: Pass CU_MEMHOSTREGISTER_READ_ONLY (`cudaHostRegisterReadOnly`), or map the memory for writing.
    limits: Checked only when a registration fails. Not every device supports the flag: ask for
      CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED.
    """

    code = "CV506"
    summary = "memory that is mapped read-only is registered without the read-only flag"
    help = "pass CU_MEMHOSTREGISTER_READ_ONLY (cudaHostRegisterReadOnly)"
    case = Case.READ_ONLY
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE without the flag, success with it (register_readonly_mmap, register_rodata)
    documented: required, except with CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES (CUDA Driver API,
      Memory Management, cuMemHostRegister)
    """
    VALID = """
## read-only mapping with the flag
address = cu.map(1 << 20, access=1)
cu.cuMemHostRegister(address, 1 << 20, 8)
cu.cuMemHostUnregister(address)

## writable memory with the flag
note: the flag is allowed for writable memory
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 8)
cu.cuMemHostUnregister(buffer)
"""
    INVALID = """
## read-only mapping
address = cu.map(1 << 20, access=1)
cu.cuMemHostRegister(address, 1 << 20, 0)  # error: [host-memory-register-read-only]
"""
