"""Causes of failing host registrations, and of trouble with pinned memory."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import run
from cuvet.rules.evidence import documented, measured, reported

REGISTER = ("cudaHostRegister", "cuMemHostRegister")
UNREGISTER = ("cudaHostUnregister", "cuMemHostUnregister")

RULES = (
    RuleCause(
        id="host-memory-register-too-large",
        tell=(
            run("error[CV518] host-memory-register-too-large: the call, with its size"),
            Tell("sudo dmesg | grep NVRM", "failed to allocate page table"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 12},
            calls=REGISTER,
            words=(r"512 ?Gi?B|2\^39|549.?755.?813.?888", r"page table|nvos_create_alloc"),
        ),
        beliefs=("2 from cudaHostRegister means that the GPU's memory is full: it is about host memory.",),
        cases=("single_registration_512gib_limit",),
    ),
    RuleCause(
        id="host-memory-register-size-zero",
        tell=(run("error[CV502] host-memory-register-size-zero: the call, with its size"),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 30},
            calls=REGISTER,
            words=(r"\b(zero|0).?(size|byte|length)|empty (buffer|tensor|range)",),
        ),
        cases=("zero_size",),
    ),
    RuleCause(
        id="host-memory-register-pinned",
        tell=(run("error[CV503] host-memory-register-pinned: the call, and where the memory was allocated pinned"),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 28, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": 30},
            calls=REGISTER,
            words=(r"cudaMallocHost|cudaHostAlloc|already pinned",),
        ),
        beliefs=("Memory for cudaHostRegister must come from cudaMallocHost: that is what fails; malloc's works.",),
        cases=("already_pinned_memory",),
    ),
    RuleCause(
        id="host-memory-registered-twice",
        tell=(run("error[CV504] host-memory-registered-twice: both ranges, and where the first was registered"),),
        signs=Signs(
            errors={"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": 75},
            calls=REGISTER,
            words=(r"already registered|registered (again|twice)|second registration",),
        ),
        beliefs=("712 can be ignored: it stays in the last-error slot until cudaGetLastError is called.",),
        cases=("double_registration",),
    ),
    RuleCause(
        id="host-memory-unmapped-while-registered",
        tell=(run("error[CV515] host-memory-unmapped-while-registered: where it was registered and unmapped"),),
        signs=Signs(
            errors={"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": 50},
            calls=REGISTER,
            words=(r"munmap|stale registration|without unregister",),
        ),
        beliefs=("free() ends a registration: it does not.",),
        cases=("freed_without_unregister",),
    ),
    RuleCause(
        id="host-memory-register-read-only",
        tell=(run("error[CV506] host-memory-register-read-only: the call, and the mapping that cannot be written"),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 18},
            calls=REGISTER,
            words=(r"read.?only|PROT_READ|rodata",),
        ),
    ),
    RuleCause(
        id="host-memory-register-file",
        tell=(run("error[CV508] host-memory-register-file: the call, and the file that is mapped there"),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 18, "CUDA_ERROR_NOT_SUPPORTED": 8},
            calls=REGISTER,
            words=(r"mmap|mapping|MAP_SHARED|/dev/",),
        ),
    ),
    RuleCause(
        id="host-memory-register-unmapped",
        tell=(
            run("error[CV507] host-memory-register-unmapped: the call, and the part of the range that is not mapped"),
        ),
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 15}, calls=REGISTER, words=(r"unmapped|munmap|past the end",)),
    ),
    RuleCause(
        id="host-memory-register-null",
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 12}, calls=REGISTER, words=(r"\bnull\b|nullptr",)),
    ),
    RuleCause(
        id="host-memory-register-device-memory",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 14}, calls=REGISTER, words=(r"device (pointer|memory)|managed memory",)
        ),
    ),
    RuleCause(
        id="host-memory-register-bad-flags",
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 10}, calls=REGISTER, words=(r"\bflags?\b|IoMemory",)),
    ),
    RuleCause(
        id="host-memory-unregister-never-registered",
        tell=(
            run(
                "error[CV510] host-memory-unregister-never-registered: the call; a registration that failed stands before it"
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 60, "CUDA_ERROR_INVALID_VALUE": 8},
            calls=UNREGISTER,
            words=(r"unregister fail",),
        ),
        cases=("wrong_pointer_registered",),
    ),
    RuleCause(
        id="host-memory-unregistered-twice",
        tell=(run("error[CV511] host-memory-unregistered-twice: where it was registered and unregistered before"),),
        signs=Signs(errors={"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 50}, calls=UNREGISTER, words=(r"twice|again",)),
    ),
    RuleCause(
        id="host-memory-unregister-interior",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 8, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 5}, calls=UNREGISTER
        ),
    ),
    RuleCause(
        id="host-memory-unregister-pinned",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 10}, calls=UNREGISTER, words=(r"cudaMallocHost|cudaHostAlloc",)
        ),
    ),
    RuleCause(
        id="host-memory-unregister-after-context-destroy",
        signs=Signs(
            errors={"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 30}, calls=UNREGISTER, words=(r"context destroy|reset",)
        ),
    ),
)

LIMITS = (
    Cause(
        id="host-register-not-supported",
        title="The device cannot use registered host memory",
        why="Registering needs a GPU that sees the CPU's caches. Tegra chips before Xavier do not, and say so by an attribute.",
        tell=(
            Tell(
                "cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)",
                "0",
            ),
            run("cuMemHostRegister returning 801"),
        ),
        fix="Ask for the attribute first; where it is 0 allocate with cudaHostAlloc or cudaMallocManaged.",
        evidence=(
            reported("a Jetson Nano returns 801", "https://github.com/JuliaGPU/CUDAdrv.jl/issues/142"),
            reported("the attribute is 1 on Xavier NX and 0 on Nano", "https://github.com/open-mpi/ompi/issues/9851"),
            documented(
                "CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED: the device supports host memory registration",
                "CUDA Driver API, Data types used by CUDA driver, CUdevice_attribute",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NOT_SUPPORTED": 30},
            calls=REGISTER,
            words=(r"jetson|tegra|\bnano\b|\btx[12]\b", r"integrated"),
        ),
        cases=("host_register_unsupported_device",),
    ),
    Cause(
        id="host-register-device-mapping",
        title="The memory is a driver's mapping of device pages, which the CUDA driver does not pin",
        why="Memory that another driver mapped by remap_pfn_range has no ordinary pages behind it. Drivers from 550.54.14 on"
        " no longer pin it.",
        tell=(
            Tell("grep -A25 ADDRESS /proc/PID/smaps | grep VmFlags", "pf (pages by frame number) or io"),
            run(
                "cudaHostRegister returning 1, and error[CV508] host-memory-register-file if the mapping is a device file's"
            ),
        ),
        fix="cudaHostRegisterIoMemory for memory of a PCI device; else let the other driver allocate in a way that has pages, or"
        " copy.",
        evidence=(
            reported(
                "drivers from 550.54.14 on refuse mappings of remap_pfn_range; NVIDIA confirms",
                "https://github.com/NVIDIA/open-gpu-kernel-modules/pull/742",
            ),
            documented(
                "CU_MEMHOSTREGISTER_IOMEMORY: the pointer is to I/O memory of a third-party PCIe device",
                "CUDA Driver API, Memory Management, cuMemHostRegister",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 6, "CUDA_ERROR_NOT_PERMITTED": 10, "CUDA_ERROR_NOT_SUPPORTED": 8},
            calls=REGISTER,
            words=(r"remap_pfn|pfn_?map|VM_IO|follow_pfn", r"\bPCIe? (device|bar)|kernel module|/dev/"),
        ),
        cases=("vma_pfnmap_or_io",),
    ),
    Cause(
        id="registrations-share-page",
        title="Two small registrations share a page",
        why="Whether ranges overlap is decided by bytes, pinning is done by pages. Registrations of parts of one page depend on"
        " each other in ways that differ between drivers and layers in between.",
        tell=(run("the registrations with their addresses and sizes; those within 4096 bytes of each other"),),
        fix="Register whole pages, once: align begin and end to 4096 bytes, and keep small buffers in one pinned pool.",
        evidence=(
            reported(
                "two ranges in one page that do not overlap both register; bookkeeping by pages gave 712",
                "https://github.com/lupinemachines/lupine/pull/878",
            ),
            measured(
                "of three registrations in one page, the two that do not overlap succeeded and the third returned 712, in four runs"
                " of five; in the fifth the first returned 2",
                "register_overlap_same_page",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": 12, "CUDA_ERROR_OUT_OF_MEMORY": 3},
            calls=REGISTER,
            words=(r"(same|one) page", r"small (disjoint )?buffers?|sub-?page|not aligned|unaligned"),
        ),
        cases=("api_contract_probe",),
    ),
)

PINNED = (
    Cause(
        id="pinned-allocator-rounds-up",
        title="The framework's cache of pinned memory rounds sizes up to powers of two",
        why="PyTorch's caching host allocator takes the next power of two for each block, so that 33 GB become 64 GB of memory"
        " that cannot be swapped.",
        tell=(
            run("cudaHostAlloc with sizes that are powers of two, nearly double what the program asked for"),
            Tell("grep -e VmLck -e VmPin -e VmRSS /proc/PID/status", "nearly double the tensors' size"),
        ),
        fix="Pin in pieces whose size is a power of two, or let PyTorch register instead:"
        " PYTORCH_CUDA_ALLOC_CONF=pinned_use_cuda_host_register:True; or register your own memory with cudaHostRegister.",
        evidence=(
            reported(
                "since PyTorch 1.11 sizes are rounded up to a power of two",
                "https://github.com/pytorch/pytorch/issues/95823",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 8, "SIGKILL": 10},
            calls=("cudaHostAlloc", "cuMemHostAlloc", "cudaMallocHost"),
            words=(r"doubl(e|es|ing)|twice|power of (two|2)", r"pin_?memory|pinned"),
        ),
        cases=("allocator_power_of_two_rounding",),
    ),
    Cause(
        id="pinned-too-much",
        title="So much memory is pinned that the system cannot work",
        why="Pinned pages cannot be swapped or dropped, also when they are a file's. Pinning a model of the size of the"
        " machine's memory leaves nothing for the kernel and other programs.",
        tell=(
            Tell(
                "free -g; grep -e Unevictable -e Mlocked /proc/meminfo",
                "hardly anything available while the program runs",
            ),
            run("cudaHostRegister or cudaHostAlloc of sizes that add up to the machine's memory"),
        ),
        fix="Pin a staging buffer and copy through it, not the whole mapping.",
        evidence=(
            reported(
                "pinning a huge mapped model made systems unstable", "https://github.com/ggml-org/llama.cpp/pull/6206"
            ),
            documented(
                "excessive amounts of pinned memory may degrade system performance",
                "CUDA Runtime API, Memory Management, cudaHostAlloc",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 10, "SIGKILL": 20},
            calls=(*REGISTER, "cudaHostAlloc", "cudaMallocHost"),
            words=(r"hang|instab|unstable|freez", r"mmap", r"OOM.?kill"),
        ),
        beliefs=("Pinned memory is memory of the GPU: it is the host's, and cannot be swapped.",),
        cases=("mmap_pinning_pressure",),
    ),
    Cause(
        id="pinned-memory-in-io-uring",
        title="Memory of cudaHostAlloc is given to a kernel interface that wants anonymous memory",
        why="cudaHostAlloc's memory is a mapping of the NVIDIA device file. io_uring's fixed buffers of older kernels refuse"
        " mappings of files.",
        tell=(
            Tell("grep nvidia /proc/PID/maps", "the buffer lies in a mapping of /dev/nvidia…"),
            Tell("strace -e io_uring_register PROGRAM", "EOPNOTSUPP"),
        ),
        fix="Map anonymous memory (mmap, MAP_ANONYMOUS) and pin it by cudaHostRegister.",
        evidence=(
            reported(
                "io_uring_register_buffers refuses memory of cudaHostAlloc",
                "https://github.com/sirius-db/sirius/pull/954",
            ),
            measured("anonymous memory can be registered", "register_anonymous_shared", "register_malloc"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NOT_SUPPORTED": 3},
            calls=("cudaHostAlloc", "cudaMallocHost"),
            words=(r"io_uring", r"EOPNOTSUPP|EFAULT", r"fixed buffers?"),
        ),
        cases=("cudahostalloc_is_device_file_backed",),
    ),
    Cause(
        id="copy-from-private-mapping",
        title="A copy from a writable private mapping makes its pages the process's own",
        why="On GPUs that share memory with the CPU, the driver touches the source of a pageable copy as if for writing. With"
        " a file mapped private and writable, each touched page is copied into memory of the process.",
        tell=(
            Tell(
                "grep -A25 FILE /proc/PID/smaps | grep -e Private_Dirty -e Anonymous",
                "grows to the file's size while loading",
            ),
            Tell("sudo dmesg | grep -i 'out of memory'", "the process was killed"),
        ),
        fix="Map the file read-only (PROT_READ), or read it into a staging buffer.",
        evidence=(
            reported(
                "loading from a mapping PROT_READ|PROT_WRITE, MAP_PRIVATE turned file pages into anonymous memory",
                "https://github.com/pytorch/pytorch/issues/192209",
            ),
        ),
        signs=Signs(
            errors={"SIGKILL": 15, "CUDA_ERROR_OUT_OF_MEMORY": 3},
            words=(
                r"private (file )?mapping|MAP_PRIVATE|safetensors|checkpoint",
                r"unified.memory gpu|integrated gpu|\bGB10\b|DGX Spark",
                r"OOM.?kill",
            ),
        ),
        cases=("writable_private_mapping_cow_on_integrated_gpu",),
    ),
)

CAUSES: tuple[Cause | RuleCause, ...] = (*RULES, *LIMITS, *PINNED)
