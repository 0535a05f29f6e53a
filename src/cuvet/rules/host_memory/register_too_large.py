from cuvet.rules.registrations import Case, RegistrationRule


class HostMemoryRegisterTooLarge(RegistrationRule):
    """
    checks: One registration of 512 GiB or more fails.
    why: The kernel module allocates a table of the pages of a registration in one piece. From 2^39 bytes on, the table is larger than such
      a piece can be, however much memory is free: the call returns CUDA_ERROR_OUT_OF_MEMORY. The limit is for one call.
    instead: Register the memory in pieces, of 64 GiB for example. A wrong size is often negative, or multiplied twice.
    limits: Drivers of the 580 series; other drivers may accept more. A registration that succeeds is never reported.
    """

    code = "CV518"
    summary = "more host memory is registered in one call than the driver takes"
    help = "check the size, or register in pieces, of 64 GiB for example"
    case = Case.TOO_LARGE
    evidence = """
    measured: 1, 2, 4 and 64 TiB in one call: CUDA_ERROR_OUT_OF_MEMORY at once (register_over_512_gib, register_wraps)
    reported: the threshold is 549,755,813,888 bytes, irrespective of free memory
      (https://github.com/vllm-project/vllm/issues/51080)
    reported: registering in pieces of 64 GiB works (https://github.com/xcena-dev/maru/pull/64)
    reported: in the kernel module: the table's size is above INT_MAX
      (https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1234)
    """
    VALID = """
## ordinary host memory
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer, 1 << 20, 0)
cu.cuMemHostUnregister(buffer)

## in pieces
buffer, piece = cu.host(1 << 20), 1 << 18
for start in range(0, 1 << 20, piece):
    cu.cuMemHostRegister(buffer + start, piece, 0)
for start in range(0, 1 << 20, piece):
    cu.cuMemHostUnregister(buffer + start)
"""
    INVALID = """
## 4 TiB
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4 << 40, 0)  # error: [host-memory-register-too-large]
"""
