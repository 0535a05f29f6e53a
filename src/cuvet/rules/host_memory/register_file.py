from cuvet.rules.registrations import Case, RegistrationRule


class HostMemoryRegisterFile(RegistrationRule):
    """
    checks: Registration fails for a range in a shared, writable mapping of a file, or in a mapping of a device file such as a PCI resource.
    why: The driver cannot pin the pages for writing. Where it was measured, the same file was accepted when it was mapped privately or
      registered as read-only. A mapping of a device file is memory of a device, not pages of the host.
    instead: Map the file privately, register it as read-only, or read it into ordinary memory. Shared memory (`shm_open`, `memfd_create`)
      can be registered. For I/O memory pass CU_MEMHOSTREGISTER_IOMEMORY (`cudaHostRegisterIoMemory`).
    limits: Reported only when the registration fails. That depends on the file system (one was measured) and the device's driver.
    """

    code = "CV508"
    summary = "a shared mapping of a file, or a mapping of a device file, is registered"
    help = "map the file privately or read-only (with CU_MEMHOSTREGISTER_READ_ONLY), or copy it to ordinary memory"
    case = Case.FILE
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE for a shared writable mapping; success for a shared read-only mapping with the
      flag, and for a private one (register_file_mmap)
    measured: shared memory and /dev/zero are registered without an error (register_shm, register_memfd,
      register_anonymous_shared, register_device_file)
    documented: CU_MEMHOSTREGISTER_IOMEMORY is for I/O memory, such as PCI resources of other devices (CUDA Driver API,
      Memory Management, cuMemHostRegister)
    """
    VALID = """
## private mapping of a file
import tempfile
with tempfile.TemporaryFile(dir=".") as file:
    file.truncate(1 << 20)
    address = cu.map(1 << 20, flags=2, file=file.fileno())
    cu.cuMemHostRegister(address, 1 << 20, 0)
    cu.cuMemHostUnregister(address)

## shared memory
address = cu.map(1 << 20, flags=0x21)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.cuMemHostUnregister(address)

## private mapping of a device file that stands for ordinary memory
with open("/dev/zero", "r+b", buffering=0) as file:
    address = cu.map(1 << 20, flags=2, file=file.fileno())
    cu.cuMemHostRegister(address, 1 << 20, 0)
    cu.cuMemHostUnregister(address)
"""
    INVALID = """
## shared mapping of a file
import tempfile
with tempfile.TemporaryFile(dir=".") as file:
    file.truncate(1 << 20)
    address = cu.map(1 << 20, flags=1, file=file.fileno())
    cu.cuMemHostRegister(address, 1 << 20, 0)  # error: [host-memory-register-file]
"""
