"""General causes: what an error says of itself where nothing more is known of the program."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import doctor, inspect_gpu, run
from cuvet.rules.evidence import documented, measured, reported

DRIVER_ERRORS = "CUDA Driver API, Data types used by CUDA driver, CUresult"
RUNTIME_ERRORS = "CUDA Runtime API, Data types used by CUDA Runtime, cudaError"
SHOWS_CALL = run("the failing call with its arguments, its stack, and the objects that it names")
LOG = Tell(
    "CUDA_LOG_FILE=stderr PROGRAM", "a line of the driver on what it refused, with drivers of CUDA 12.9 and later"
)
SANITIZER = Tell("compute-sanitizer PROGRAM", "the kernel, the thread and the access or instruction")
XID = Tell("sudo dmesg | grep -i xid", "an Xid message of the time of the failure, with the GPU's PCI address")

CALLS = (
    Cause(
        id="argument-not-accepted",
        title="An argument of the call is out of range, or does not fit the others",
        why="The call checked its arguments and did nothing. Usual ones: a NULL or stale pointer, a size that goes past an"
        " allocation, a wrong direction of a copy, flags that do not go together.",
        tell=(SHOWS_CALL, LOG),
        fix="Compare each argument with the function's reference: ranges, alignments, and which memory a pointer must be of.",
        evidence=(
            documented("one or more parameters are not within the acceptable range of values", DRIVER_ERRORS),
            measured("copies and sets beyond an allocation: 1", "memcpy_past_end", "memset_past_end"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_VALUE": 22,
                "cudaErrorInvalidPitchValue": 70,
                "cudaErrorInvalidMemcpyDirection": 90,
                "cudaErrorInvalidChannelDescriptor": 90,
                "cudaErrorInvalidHostPointer": 40,
                "cudaErrorInvalidDevicePointer": 40,
                "cudaErrorInvalidFilterSetting": 70,
                "cudaErrorInvalidNormSetting": 70,
                "CUDA_ERROR_INVALID_RESOURCE_TYPE": 80,
                "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION": 80,
                "CUDA_ERROR_LOSSY_QUERY": 60,
            },
        ),
    ),
    RuleCause(
        id="argument-out-of-range",
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 16, "cudaErrorInvalidMemcpyDirection": 60}),
    ),
    RuleCause(
        id="argument-bad-flags",
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 10}, words=(r"\bflags?\b",)),
    ),
    RuleCause(
        id="device-ordinal-out-of-range",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_DEVICE": 75},
            calls=("cudaSetDevice", "cuDeviceGet", "cudaGetDeviceProperties"),
            words=(r"device ordinal",),
        ),
    ),
    RuleCause(
        id="memory-access-past-end",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 18, "CUDA_ERROR_ILLEGAL_ADDRESS": 10},
            calls=("cudaMemcpy", "cudaMemcpyAsync", "cudaMemset", "cudaMemcpy2D"),
            words=(r"past the end|out of bounds|overrun|overflow",),
        ),
    ),
    RuleCause(
        id="memory-not-device-memory",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 15, "CUDA_ERROR_ILLEGAL_ADDRESS": 5},
            calls=("cudaMemcpy", "cudaMemcpyAsync", "cudaMemset", "cuMemcpyHtoD"),
            words=(r"host pointer|host address",),
        ),
    ),
    RuleCause(
        id="memory-dereferenced-on-host",
        signs=Signs(errors={"SIGSEGV": 36, "SIGBUS": 10}, words=(r"dereferenc|host code", r"device pointer")),
    ),
    Cause(
        id="symbol-not-found",
        title="A variable or function is asked for that the loaded code does not have",
        why="Symbols are found in the images of the program that were loaded for the current device. A variable of another"
        " shared object, a name that C++ mangled, or code without this GPU's architecture is not among them.",
        tell=(
            Tell("cuobjdump --dump-elf-symbols FILE", "the names that the code has"),
            inspect_gpu("whether there is code for this GPU at all"),
            SHOWS_CALL,
        ),
        fix='Pass the symbol itself, not a string; declare kernels extern "C" or ask for the mangled name; build for this GPU.',
        evidence=(
            documented("a named symbol was not found: variables, functions, textures, surfaces", DRIVER_ERRORS),
            measured("cuModuleGetFunction of a name that the module lacks: 500", "module_garbage"),
        ),
        signs=Signs(
            errors={"cudaErrorInvalidSymbol": 85, "CUDA_ERROR_NOT_FOUND": 30, "cudaErrorInvalidDeviceFunction": 20},
            calls=("cudaMemcpyToSymbol", "cudaMemcpyFromSymbol", "cudaGetSymbolAddress", "cuModuleGetGlobal"),
        ),
    ),
    Cause(
        id="texture-reference-misused",
        title="A texture or surface reference of the old kind is not bound, or declared otherwise",
        why="Texture and surface references were variables of a file that had to be bound before a launch, with a type and"
        " filter that fit. Their errors remain; CUDA 12 removed the references.",
        tell=(
            Tell("grep -rn -e 'texture<' -e 'surface<' -e cudaBindTexture SOURCE", "references"),
            SHOWS_CALL,
        ),
        fix="Use texture and surface objects: cudaCreateTextureObject, cudaCreateSurfaceObject.",
        evidence=(
            documented("errors about textures, their bindings and settings", RUNTIME_ERRORS),
            documented(
                "texture and surface references are removed",
                "CUDA Toolkit 12.0 Release Notes, Deprecated and Dropped Features",
            ),
        ),
        signs=Signs(
            errors={
                "cudaErrorInvalidTexture": 80,
                "cudaErrorInvalidTextureBinding": 80,
                "cudaErrorTextureFetchFailed": 30,
                "cudaErrorTextureNotBound": 30,
                "cudaErrorInvalidFilterSetting": 40,
                "cudaErrorInvalidNormSetting": 40,
                "cudaErrorInvalidSurface": 80,
                "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING": 90,
                "cudaErrorLaunchFileScopedTex": 90,
                "cudaErrorLaunchFileScopedSurf": 90,
                "cudaErrorDuplicateTextureName": 50,
                "cudaErrorDuplicateSurfaceName": 50,
            },
        ),
    ),
    Cause(
        id="symbol-defined-twice",
        title="Two source files define a variable, texture or surface of the same name",
        why="Device variables of one program are registered by name. Two with one name cannot be told apart.",
        tell=(
            Tell("cuobjdump --dump-elf-symbols PROGRAM", "the name more than once"),
            Tell("grep -rn NAME SOURCE", "definitions in more than one .cu file, or in a header"),
        ),
        fix="Make the variables static, or define one and declare it extern (with -rdc=true) elsewhere.",
        evidence=(documented("several variables, textures or surfaces of one program share a name", RUNTIME_ERRORS),),
        signs=Signs(
            errors={
                "cudaErrorDuplicateVariableName": 95,
                "cudaErrorDuplicateTextureName": 80,
                "cudaErrorDuplicateSurfaceName": 80,
            },
        ),
    ),
    Cause(
        id="not-an-error",
        title="The status tells a state, not a failure",
        why="Queries answer that work is still going on, and peer access that is wanted twice is there already.",
        tell=(run("no finding at this call"),),
        fix="Treat the status as an answer. After cudaErrorPeerAccessAlreadyEnabled call cudaGetLastError once, or the next"
        " check finds it.",
        evidence=(
            documented(
                "CUDA_ERROR_NOT_READY is not actually an error: operations have not completed yet", DRIVER_ERRORS
            ),
            measured(
                "cudaEventQuery and cudaEventElapsedTime while the event's work runs: 600", "event_elapsed_notready"
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NOT_READY": 95, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": 60, "CUDA_SUCCESS": 90},
            calls=("cuEventQuery", "cuStreamQuery"),
        ),
        beliefs=("cudaErrorNotReady is a failure: it says that the work is not done yet.",),
    ),
    Cause(
        id="error-not-of-this-release",
        title="The number is none that this release of CUDA returns",
        why="Some errors were returned by device emulation, by early profilers or by releases before CUDA 4.1, and keep their"
        " number only. Whoever sees one has an old library, or a status variable that no CUDA call wrote.",
        tell=(
            run("that no call returned this number"),
            Tell(
                "ldd PROGRAM | grep cudart", "a libcudart of an old release; before CUDA 10.1 many numbers were others"
            ),
        ),
        fix="Print the status where the call returns it, and set status variables before use.",
        evidence=(
            documented(
                "deprecated error returns, each with the release since which it is not returned", RUNTIME_ERRORS
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_PROFILER_NOT_INITIALIZED": 80,
                "CUDA_ERROR_PROFILER_ALREADY_STARTED": 80,
                "CUDA_ERROR_PROFILER_ALREADY_STOPPED": 80,
                "CUDA_ERROR_CONTEXT_ALREADY_CURRENT": 80,
                "cudaErrorAddressOfConstant": 80,
                "cudaErrorTextureFetchFailed": 60,
                "cudaErrorTextureNotBound": 60,
                "cudaErrorSynchronizationError": 80,
                "cudaErrorMixedDeviceExecution": 80,
                "cudaErrorNotYetImplemented": 80,
                "cudaErrorMemoryValueTooLarge": 80,
                "cudaErrorPriorLaunchFailure": 80,
                "cudaErrorApiFailureBase": 80,
                "cudaErrorMissingConfiguration": 40,
                "cudaErrorInvalidHostPointer": 20,
                "cudaErrorInvalidDevicePointer": 20,
            },
        ),
    ),
)

LAUNCHES = (
    RuleCause(
        id="launch-impossible-configuration",
        signs=Signs(
            errors={
                "cudaErrorInvalidConfiguration": 95,
                "CUDA_ERROR_INVALID_VALUE": 10,
                "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 40,
                "cudaErrorMissingConfiguration": 20,
            },
            calls=("cuLaunchKernel", "cudaLaunchKernel"),
            words=(r"<<<|grid|block(dim)?s?\b|shared mem",),
        ),
    ),
    Cause(
        id="launch-needs-too-many-registers",
        title="A block of the kernel needs more registers or memory than a multiprocessor has",
        why="The registers of a block are those of a thread times its threads. A kernel that was compiled for up to 256 or 512"
        " threads may not start with 1024; debug builds and new compilers need more.",
        tell=(
            Tell("cuobjdump --dump-resource-usage FILE", "REG times threads per block is more than 65536"),
            SHOWS_CALL,
        ),
        fix="Launch fewer threads per block, or compile with __launch_bounds__(THREADS) or -maxrregcount.",
        evidence=(
            documented("too many threads for the kernel's register count, or too many arguments", DRIVER_ERRORS),
        ),
        signs=Signs(errors={"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 90}, words=(r"\bregisters?\b|nvcc -G|debug build",)),
        beliefs=("701 means that the GPU's memory is full: it is about what one launch asks for.",),
    ),
    Cause(
        id="launch-cooperative-too-large",
        title="A cooperative launch has more blocks than can be on the GPU at once",
        why="All blocks of a cooperative launch must be resident together. How many fit depends on the GPU, the kernel's"
        " registers and its shared memory, so that what starts on one GPU does not on a smaller one, or in a MIG slice.",
        tell=(
            Tell(
                "cudaOccupancyMaxActiveBlocksPerMultiprocessor × multiProcessorCount",
                "is less than the blocks of the grid",
            ),
            SHOWS_CALL,
        ),
        fix="Compute the grid from the occupancy at run time, and let each block do more.",
        evidence=(
            documented(
                "blocks exceed cuOccupancyMaxActiveBlocksPerMultiprocessor times the number of multiprocessors",
                DRIVER_ERRORS,
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 95}, words=(r"cooperative|grid\.sync",)),
    ),
    Cause(
        id="launch-cluster-not-possible",
        title="The launch's thread block cluster does not fit the grid, the kernel or the GPU",
        why="The grid must be a multiple of the cluster in each dimension, and the cluster no larger than the GPU allows for"
        " this kernel; sizes above 8 need an attribute of the kernel.",
        tell=(
            Tell("cudaOccupancyMaxPotentialClusterSize", "the largest cluster for this kernel and launch"),
            SHOWS_CALL,
        ),
        fix="Use a cluster of 8 blocks or fewer that divides the grid; above 8 set"
        " cudaFuncAttributeNonPortableClusterSizeAllowed.",
        evidence=(
            documented("a kernel launch error due to cluster misconfiguration", DRIVER_ERRORS),
            documented(
                "a cluster size of 8 is portable; the grid must be a multiple of it",
                "CUDA C++ Programming Guide, Thread Block Clusters",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_CLUSTER_SIZE": 95}, words=(r"thread.?block cluster|cluster.?(size|dim|launch)",)
        ),
    ),
    Cause(
        id="launch-nested-beyond-limit",
        title="Kernels that launch kernels go beyond a limit, or are not supported here",
        why="Depth, pending launches and waiting in kernels have limits that must be set before the launch. Waiting for"
        " children in a kernel is not supported from compute capability 9.0 on.",
        tell=(
            Tell("grep -rn -e '<<<' -e cudaDeviceSynchronize SOURCE", "launches and waits inside __global__ functions"),
            SHOWS_CALL,
        ),
        fix="Raise cudaLimitDevRuntimePendingLaunchCount with cudaDeviceSetLimit; replace waits in kernels by tail launches;"
        " compile all parts by one toolkit.",
        evidence=(
            documented(
                "errors of device runtime launches and of synchronisation in kernels, with the limits", RUNTIME_ERRORS
            ),
            documented(
                "an unsupported call of cudaDeviceSynchronize in the PTX; CUDA Dynamic Parallelism", DRIVER_ERRORS
            ),
        ),
        signs=Signs(
            errors={
                "cudaErrorLaunchMaxDepthExceeded": 95,
                "cudaErrorSyncDepthExceeded": 95,
                "cudaErrorLaunchPendingCountExceeded": 95,
                "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC": 95,
                "CUDA_ERROR_CDP_NOT_SUPPORTED": 95,
                "CUDA_ERROR_CDP_VERSION_MISMATCH": 95,
                "cudaErrorLaunchFileScopedTex": 30,
                "cudaErrorLaunchFileScopedSurf": 30,
            },
            words=(r"dynamic parallelism|\bcdp\b|child (kernel|grid)",),
        ),
    ),
    Cause(
        id="launch-not-configured",
        title="A launch by the old interface has no configuration",
        why="cudaLaunch of early releases took its grid from cudaConfigureCall. <<<…>>> and cudaLaunchKernel do not need it.",
        tell=(SHOWS_CALL, Tell("ldd PROGRAM | grep cudart", "more than one libcudart, or an old one")),
        fix="Launch by <<<…>>> or cudaLaunchKernel; load one libcudart.",
        evidence=(documented("the function was not configured by cudaConfigureCall", RUNTIME_ERRORS),),
        signs=Signs(errors={"cudaErrorMissingConfiguration": 70}),
    ),
    Cause(
        id="function-not-loaded",
        title="The function's code is not loaded yet: loading is lazy",
        why="With CUDA_MODULE_LOADING=LAZY, the default, a kernel's code is loaded at its first use. A few calls want it loaded.",
        tell=(SHOWS_CALL, Tell("CUDA_MODULE_LOADING=EAGER PROGRAM", "the error is gone")),
        fix="cuFuncLoad(function) first; cuFuncIsLoaded tells.",
        evidence=(
            documented(
                "a function handle is not loaded when calling an API that requires a loaded function", DRIVER_ERRORS
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_FUNCTION_NOT_LOADED": 95}, words=(r"lazy loading|CUDA_MODULE_LOADING",)),
    ),
)

DEVICE = (
    Cause(
        id="kernel-fault",
        title="A kernel accessed memory that it may not, or did something else that the GPU stops",
        why="The GPU ends the kernel and the context is lost. The host learns of it later: the call that returns the error"
        " need not be the launch.",
        tell=(
            SANITIZER,
            Tell("CUDA_LAUNCH_BLOCKING=1 PROGRAM", "the error at the launch itself"),
            run(
                "error[CV901] error-sticky with the last launches; freed memory among their arguments",
            ),
            XID,
        ),
        fix="Mend what compute-sanitizer names; start the program anew, since the context does not come back.",
        evidence=(
            documented(
                "the process is left in an inconsistent state, further CUDA work returns the same error, and the process must be"
                " terminated",
                DRIVER_ERRORS,
            ),
            measured("an address that is none: 700 at the next synchronisation", "oob_write", "launch_null_pointer"),
            measured("a trap instruction: 719", "trap_kernel"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_ILLEGAL_ADDRESS": 85,
                "CUDA_ERROR_ASSERT": 30,
                "CUDA_ERROR_HARDWARE_STACK_ERROR": 80,
                "CUDA_ERROR_ILLEGAL_INSTRUCTION": 70,
                "CUDA_ERROR_MISALIGNED_ADDRESS": 90,
                "CUDA_ERROR_INVALID_ADDRESS_SPACE": 90,
                "CUDA_ERROR_INVALID_PC": 80,
                "CUDA_ERROR_LAUNCH_FAILED": 80,
                "CUDA_ERROR_TENSOR_MEMORY_LEAK": 90,
            },
            words=(r"invalid __(global|shared|local)__ (read|write)",),
        ),
        beliefs=("The line that throws is the line at fault: errors of kernels are found at a later call.",),
    ),
    Cause(
        id="kernel-assert-failed",
        title="An assert in a kernel failed",
        why="Kernels of frameworks check their indices by assert. A label, a token or a class number beyond the table is the usual"
        " reason. The context is lost, so that every later call fails as well, of libraries by names of their own.",
        tell=(
            Tell("grep -m1 'Assertion' LOG", "the kernel's file and line, the condition, the block and the thread"),
            Tell("CUDA_LAUNCH_BLOCKING=1 PROGRAM", "the error at the launch itself, with the stack of the host"),
            Tell("the same on the CPU", "the index that is out of range, by name"),
        ),
        fix="Correct what the condition names: labels below the number of classes, ids below the size of the table. Then start the"
        " program anew.",
        evidence=(
            documented(
                "a device-side assert triggered during kernel execution; the context cannot be used", DRIVER_ERRORS
            ),
            reported(
                "'index out of bounds' asserts of a kernel, then CUBLAS_STATUS_EXECUTION_FAILED",
                "https://github.com/EvolvingLMMs-Lab/Otter/issues/218",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_ASSERT": 95, "CUBLAS_STATUS_EXECUTION_FAILED": 10, "CUBLAS_STATUS_NOT_INITIALIZED": 5},
            words=(r"\.cuh?:\d+.{0,120}assertion|device-side assert", r"index out of bounds"),
        ),
    ),
    Cause(
        id="kernel-timed-out",
        title="A kernel ran longer than the GPU's watchdog allows",
        why="The system can limit how long a kernel may run, so that a display goes on: Windows does, by 2 seconds unless it is set"
        " otherwise. An attribute of the device says whether there is a limit.",
        tell=(
            Tell("nvidia-smi -q | grep -i 'display active'", "Enabled on the GPU in use"),
            Tell("cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT)", "1"),
        ),
        fix="Split the kernel, or use a GPU that has no limit.",
        evidence=(
            documented("only where timeouts are enabled: CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT", DRIVER_ERRORS),
            documented(
                "TdrDelay, how long the GPU may delay a request to preempt, is 2 seconds by default",
                "Microsoft, TDR registry keys, https://learn.microsoft.com/windows-hardware/drivers/display/tdr-registry-keys",
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_LAUNCH_TIMEOUT": 95}, words=(r"watchdog|\btdr\b",)),
    ),
    Cause(
        id="hardware-fault",
        title="The GPU, its memory or its links failed",
        why="Error correction found what it could not correct, a link lost data, or the GPU stopped answering. The context is"
        " lost; some of these faults need a reset of the GPU or a reboot.",
        tell=(
            XID,
            Tell(
                "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER",
                "uncorrectable errors, pending retirements or remappings",
            ),
            Tell("nvidia-smi nvlink -e", "errors on the links"),
        ),
        fix="Look the Xid up in NVIDIA's Xid catalog and do what it says; where it comes again, have the GPU checked (dcgmi"
        " diag) or replaced.",
        evidence=(
            documented(
                "uncorrectable ECC and NVLink errors, contained errors, errors of external devices", DRIVER_ERRORS
            ),
            documented("Xid messages and what they ask for", "NVIDIA GPU Deployment and Management, XID Errors"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_ECC_UNCORRECTABLE": 95,
                "CUDA_ERROR_NVLINK_UNCORRECTABLE": 95,
                "CUDA_ERROR_CONTAINED": 85,
                "CUDA_ERROR_EXTERNAL_DEVICE": 70,
                "CUDA_ERROR_UNKNOWN": 25,
                "CUDA_ERROR_LAUNCH_FAILED": 10,
                "CUDA_ERROR_ILLEGAL_INSTRUCTION": 10,
                "CUDA_ERROR_HARDWARE_STACK_ERROR": 5,
                "CUDA_ERROR_KEY_ROTATION": 20,
            },
            words=(r"\bxid\b", r"\becc\b|uncorrectable", r"fallen off the bus|gpu is lost"),
        ),
    ),
    RuleCause(
        id="memory-exhausted",
        tell=(
            run("note[CV416] memory-exhausted: what this program holds, and the five places that hold most"),
            Tell("nvidia-smi -l 1, while the program runs", "its own memory near the total when the error comes"),
            Tell("the same program with batch size 1", "no error"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 60},
            calls=("cudaMalloc", "cudaMallocAsync", "cuMemAlloc"),
            words=(r"tried to allocate|fragment|batch size",),
        ),
        beliefs=(
            "Error 2 is always about the GPU's memory: cudaHostRegister and cudaMallocHost return it for the host's.",
        ),
    ),
    RuleCause(
        id="memory-larger-than-device",
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 20},
            calls=("cudaMalloc", "cuMemAlloc", "cudaMallocAsync", "cudaMallocManaged"),
        ),
    ),
    Cause(
        id="feature-not-supported",
        title="The GPU, the driver or the system does not have what the call asks for",
        why="Memory pools, virtual memory, peer access, limits, affinity, IPC: each has an attribute that says whether it is"
        " there. WSL, vGPUs, MIG devices, Tegra and MPS have less.",
        tell=(
            SHOWS_CALL,
            Tell("cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_…_SUPPORTED)", "0 for the feature"),
            Tell("nvidia-smi topo -p2p r", "NS for pairs without peer access"),
        ),
        fix="Ask for the attribute, and have another way where it is 0.",
        evidence=(
            documented("the operation is not supported on the current system or device", DRIVER_ERRORS),
            measured("cudaFreeAsync of managed memory: 801", "free_managed_with_freeasync"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_NOT_SUPPORTED": 60,
                "CUDA_ERROR_UNSUPPORTED_LIMIT": 95,
                "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": 95,
                "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY": 95,
                "CUDA_ERROR_NOT_PERMITTED": 30,
                "CUDA_ERROR_OPERATING_SYSTEM": 10,
            },
        ),
    ),
    Cause(
        id="not-permitted",
        title="The operation is not allowed to this caller or on this object",
        why="The driver knows the operation and refuses it, as the unloading of a module that a library owns.",
        tell=(SHOWS_CALL,),
        fix="Do not unload or change what belongs to another object.",
        evidence=(
            documented("the attempted operation is not permitted", DRIVER_ERRORS),
            measured("unloading the module of a library: 800", "module_of_library_unloaded"),
        ),
        signs=Signs(errors={"CUDA_ERROR_NOT_PERMITTED": 70}),
    ),
    Cause(
        id="peer-access-state",
        title="Peer access is enabled twice, was not enabled, or there are too many peers",
        why="Peer access is a state of a context towards another, set and unset once. Some systems limit the peers of a GPU to"
        " eight.",
        tell=(SHOWS_CALL, Tell("nvidia-smi topo -p2p r", "which pairs can reach each other")),
        fix="Enable once per pair and direction; tolerate cudaErrorPeerAccessAlreadyEnabled and clear it by cudaGetLastError.",
        evidence=(
            documented("peer access already enabled, not enabled, or resources exhausted", DRIVER_ERRORS),
            documented(
                "on systems without NVSwitch a device supports at most eight peer connections",
                "CUDA Programming Guide, Multi-Device System, Peer-to-Peer Memory Access",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": 80,
                "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED": 95,
                "CUDA_ERROR_TOO_MANY_PEERS": 95,
                "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": 10,
            },
            calls=("cudaDeviceEnablePeerAccess", "cuCtxEnablePeerAccess", "cudaDeviceDisablePeerAccess"),
        ),
    ),
    Cause(
        id="fabric-resources",
        title="Multicast or fabric resources between GPUs are used up or not ready",
        why="Multicast objects and memory shared over NVSwitch take resources of the switches, which Fabric Manager hands out.",
        tell=(
            Tell("nvidia-smi -q | grep -A3 Fabric", "State: Completed is ready, In Progress is not"),
            Tell("systemctl status nvidia-fabricmanager", "its state and messages"),
        ),
        fix="Wait and try again; free multicast objects; in NCCL NCCL_NVLS_ENABLE=0 does without them.",
        evidence=(
            documented(
                "a hardware resource to bind memory to a multicast object is unavailable; the fabric is not ready within the"
                " bounded wait, and applications may retry",
                DRIVER_ERRORS,
            ),
            documented("NCCL_NVLS_ENABLE=0 disables NVLink SHARP", "NCCL, Environment Variables"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_MULTICAST_RESOURCE_FULL": 95, "CUDA_ERROR_FABRIC_NOT_READY": 95},
            words=(r"multicast|\bnvls\b|fabric",),
        ),
    ),
)

PROCESS = (
    Cause(
        id="driver-not-initialised",
        title="The driver API is used before cuInit",
        why="Every driver call but a few returns 3 until cuInit has succeeded in this process. The runtime calls it; programs"
        " that use the driver API alone must.",
        tell=(run("no cuInit before the failing call, or one that failed"),),
        fix="Call cuInit(0) first and check it.",
        evidence=(
            documented("the driver has not been initialised with cuInit, or initialisation failed", DRIVER_ERRORS),
            measured("driver calls without cuInit: 3", "context_not_initialised"),
        ),
        signs=Signs(errors={"CUDA_ERROR_NOT_INITIALIZED": 50}),
    ),
    Cause(
        id="driver-lacks-call",
        title="The call, or the format of the code, is newer than the installed driver",
        why="Minor-version compatibility lets a newer runtime run on an older driver, but calls that came later are not there.",
        tell=(
            Tell("nvidia-smi", "CUDA Version is lower than the release that brought the call"),
            doctor("driver and toolkit versions beside each other"),
            SHOWS_CALL,
        ),
        fix="Install a newer driver, or do without the call: cudaDriverGetVersion tells.",
        evidence=(
            documented("the API call requires a newer driver than the one installed", DRIVER_ERRORS),
            documented("the loader version is insufficient for the fatbin", DRIVER_ERRORS),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER": 95,
                "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION": 90,
                "CUDA_ERROR_NOT_SUPPORTED": 10,
                "CUDA_ERROR_NOT_FOUND": 5,
                "CUDA_ERROR_LOSSY_QUERY": 40,
            },
        ),
    ),
    Cause(
        id="runtime-older-than-driver",
        title="The runtime is older than the driver, and does not understand its graph",
        why="A newer driver describes nodes of a graph with parameters that an older libcudart has no form for. Graphs that a"
        " library of a newer release built are the usual way to get them.",
        tell=(
            Tell(
                "ldd PROGRAM | grep cudart; nvidia-smi",
                "a libcudart of an older release than the driver's CUDA Version",
            ),
            SHOWS_CALL,
        ),
        fix="Build with a runtime of the release that made the graph, or ask through the driver API.",
        evidence=(
            documented(
                "the driver is newer than the runtime and returned graph node parameters that the runtime cannot translate",
                RUNTIME_ERRORS,
            ),
        ),
        signs=Signs(
            errors={"cudaErrorVersionTranslation": 95}, calls=("cudaGraphNodeGetParams", "cudaGraphKernelNodeGetParams")
        ),
    ),
    Cause(
        id="runtime-startup-failed",
        title="The runtime does not trust, or cannot start, what it found as the driver",
        why="libcudart tests itself and the driver when it starts. Replacements of libcuda, damaged files and mixed"
        " installations fail the test.",
        tell=(
            Tell("cuvet doctor -- PROGRAM", "which libcuda and libcudart are loaded"),
            Tell("LD_DEBUG=libs PROGRAM 2>&1 | grep -e libcuda", "a libcuda that is not the driver's"),
        ),
        fix="Take the replacement off the path and install driver and runtime anew from one source. Under cuvet run --device"
        " emulated, link the runtime shared (-cudart shared).",
        evidence=(
            documented(
                "tests of the runtime or the driver failed, and their validity could not be established", RUNTIME_ERRORS
            ),
            documented("an internal startup failure of the runtime", RUNTIME_ERRORS),
        ),
        signs=Signs(errors={"cudaErrorSoftwareValidityNotEstablished": 95, "cudaErrorStartupFailure": 95}),
    ),
    Cause(
        id="context-in-the-way",
        title="A context that exists already does not fit the call",
        why="Flags of the primary context must be set before it is active; some calls want the primary context and find one of"
        " cuCtxCreate, or one of an old API version, current.",
        tell=(run("where contexts were created, and by which library, before the failing call"),),
        fix="Set flags before the first call that makes the context; use cuDevicePrimaryCtxRetain instead of cuCtxCreate.",
        evidence=(
            documented(
                "the primary context has already been initialised; a context can be bound to one thread only",
                DRIVER_ERRORS,
            ),
            documented("the driver context is not compatible with the runtime", RUNTIME_ERRORS),
        ),
        signs=Signs(
            errors={
                "cudaErrorIncompatibleDriverContext": 95,
                "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE": 95,
                "CUDA_ERROR_CONTEXT_ALREADY_IN_USE": 90,
                "CUDA_ERROR_CONTEXT_ALREADY_CURRENT": 30,
            },
            calls=("cudaSetDeviceFlags", "cuDevicePrimaryCtxSetFlags"),
        ),
    ),
    Cause(
        id="profiler-in-use",
        title="An external profiler runs the program, and the call to control profiling is disabled",
        why="Under an external tool the program cannot control profiling itself.",
        tell=(Tell("env | grep -i -e NSYS -e CUDA_INJECTION -e PROFILE", "a profiler's variables"),),
        fix="Ignore the status, or run without the tool.",
        evidence=(
            documented("the profiler is not initialised, for example under external profiling tools", DRIVER_ERRORS),
        ),
        signs=Signs(errors={"CUDA_ERROR_PROFILER_DISABLED": 95}, words=(r"nsys|nsight|nvprof|profil",)),
    ),
    Cause(
        id="graphics-resource-state",
        title="A graphics resource is used in a state that does not allow it",
        why="Buffers and images of OpenGL, Direct3D and EGL must be registered, mapped while CUDA uses them and unmapped while"
        " the other side does, and are arrays or pointers by their kind.",
        tell=(run("the order of register, map, use, unmap and unregister for the resource"),),
        fix="Map before use and unmap after; take images as arrays (cuGraphicsSubResourceGetMappedArray) and buffers as pointers"
        " (cuGraphicsResourceGetMappedPointer).",
        evidence=(
            documented("errors of mapping, unmapping, registering and acquiring resources", DRIVER_ERRORS),
            documented(
                "a mapped resource must not be used by the graphics API until it is unmapped",
                "CUDA Driver API, Graphics Interoperability, cuGraphicsMapResources",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_MAP_FAILED": 85,
                "CUDA_ERROR_UNMAP_FAILED": 85,
                "CUDA_ERROR_ARRAY_IS_MAPPED": 95,
                "CUDA_ERROR_ALREADY_MAPPED": 95,
                "CUDA_ERROR_ALREADY_ACQUIRED": 95,
                "CUDA_ERROR_NOT_MAPPED": 95,
                "CUDA_ERROR_NOT_MAPPED_AS_ARRAY": 95,
                "CUDA_ERROR_NOT_MAPPED_AS_POINTER": 95,
                "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT": 20,
            },
            words=(r"interop|graphics resource|\begl\b",),
        ),
    ),
    Cause(
        id="shared-object-not-loaded",
        title="A shared library that the driver loads is missing, or does not resolve",
        why="The driver opens libraries of its own as they are needed (the compiler of PTX, NVVM, OptiX). One that is missing,"
        " of another version, or that initialises badly gives this.",
        tell=(
            Tell(
                "LD_DEBUG=libs,symbols PROGRAM 2>&1 | grep -e error -e nvidia",
                "the library, or the symbol, that is missing",
            ),
            Tell("ls -l /usr/lib/*/libnvidia-*", "files of more than one driver version"),
            doctor("what it finds of the driver's libraries"),
        ),
        fix="Reinstall the driver as a whole; in a container take all its libraries from the host.",
        evidence=(documented("linking to a shared object failed, or its initialisation did", DRIVER_ERRORS),),
        signs=Signs(
            errors={"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": 95, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED": 95},
        ),
    ),
    Cause(
        id="operating-system-call-failed",
        title="A call of the driver to the operating system failed",
        why="Opening device nodes, mapping memory, sharing handles between processes: the driver reports the refusal as 304"
        " without its reason.",
        tell=(
            Tell(
                "strace -f -e trace=openat,ioctl,mmap,socket PROGRAM 2>&1 | grep -e EPERM -e EACCES -e ENOMEM",
                "what was refused",
            ),
            doctor("permissions of device nodes, limits, the container's rules"),
        ),
        fix="Give what strace shows as refused: a permission, memory, a device node, a capability of the container.",
        evidence=(documented("an OS call failed", DRIVER_ERRORS),),
        signs=Signs(errors={"CUDA_ERROR_OPERATING_SYSTEM": 60}),
    ),
    Cause(
        id="license-missing",
        title="The virtual GPU has no licence",
        why="NVIDIA's vGPU software needs a licence; without one CUDA is refused.",
        tell=(Tell("nvidia-smi -q | grep -i license", "a status other than Licensed"),),
        fix="Configure the licence in the virtual machine, and look at its status again.",
        evidence=(documented("the Grid license is not applied", DRIVER_ERRORS),),
        signs=Signs(errors={"CUDA_ERROR_DEVICE_NOT_LICENSED": 98}, words=(r"\bvgpu\b|licen[cs]e",)),
    ),
    Cause(
        id="mps-limits",
        title="The Multi-Process Service has no room for another client, or ended this one",
        why="A server takes a limited number of clients and connections, and may end clients, for example when one of them"
        " faults.",
        tell=(
            Tell("echo get_server_list | nvidia-cuda-mps-control", "the server, or none"),
            Tell("tail /var/log/nvidia-mps/server.log", "why the client was refused or ended"),
        ),
        fix="Start fewer clients, or run without MPS (unset CUDA_MPS_PIPE_DIRECTORY); restart ended clients.",
        evidence=(documented("errors of MPS clients, servers and connections", DRIVER_ERRORS),),
        signs=Signs(
            errors={
                "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED": 80,
                "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED": 95,
                "CUDA_ERROR_MPS_CLIENT_TERMINATED": 80,
                "CUDA_ERROR_MPS_SERVER_NOT_READY": 40,
                "CUDA_ERROR_MPS_RPC_FAILURE": 30,
                "CUDA_ERROR_MPS_CONNECTION_FAILED": 20,
            },
            words=(r"\bmps\b",),
        ),
    ),
    Cause(
        id="jit-disabled",
        title="Compiling PTX was switched off by the environment",
        why="CUDA_DISABLE_PTX_JIT=1 keeps the driver from compiling PTX; a program without machine code for the GPU cannot run.",
        tell=(
            Tell("env | grep -e CUDA_DISABLE -e CUDA_FORCE", "CUDA_DISABLE_PTX_JIT=1 or CUDA_DISABLE_JIT=1"),
            Tell("cuvet inspect PROGRAM --gpu this", "PTX only for this GPU"),
        ),
        fix="Unset the variable, or build machine code for the GPU.",
        evidence=(
            documented("PTX JIT compilation was disabled", DRIVER_ERRORS),
            documented("CUDA_DISABLE_PTX_JIT", "CUDA Programming Guide, CUDA Environment Variables"),
        ),
        signs=Signs(errors={"CUDA_ERROR_JIT_COMPILATION_DISABLED": 98}, words=(r"cuda_disable_(ptx_)?jit",)),
    ),
    Cause(
        id="wait-timed-out",
        title="A wait with a time limit ended before what it waited for",
        why="The work, or the other side of an exchange, took longer than the limit that the call was given.",
        tell=(SHOWS_CALL,),
        fix="Raise the limit, or find out what the work waits for.",
        evidence=(documented("the timeout specified for the wait operation has lapsed", DRIVER_ERRORS),),
        signs=Signs(errors={"CUDA_ERROR_TIMEOUT": 90}),
    ),
    Cause(
        id="graph-update-not-possible",
        title="The new graph differs from the instantiated one in what an update cannot change",
        why="cuGraphExecUpdate keeps the topology: kinds of nodes, their order and some of their parameters must be as before.",
        tell=(
            SHOWS_CALL,
            Tell("cuGraphExecUpdate's result information", "which node differs and how (CUgraphExecUpdateResult)"),
        ),
        fix="Instantiate the new graph where the update is refused.",
        evidence=(
            documented("the update violated constraints specific to instantiated graph update", DRIVER_ERRORS),
            documented("a graph recapture failed and had to be terminated", DRIVER_ERRORS),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE": 95, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE": 85},
            calls=("cuGraphExecUpdate", "cudaGraphExecUpdate"),
        ),
    ),
    Cause(
        id="stream-detached",
        title="The green context of the stream was destroyed",
        why="Its streams outlive it, but nothing can be done with them any more; by the documentation they can be destroyed, which driver"
        " 580 refuses too.",
        tell=(run("cuGreenCtxDestroy before the failing call"),),
        fix="Destroy the streams first, the green context after them.",
        evidence=(
            measured(
                "after cuGreenCtxDestroy every call with its streams, cuStreamDestroy too: CUDA_ERROR_CONTEXT_IS_DESTROYED",
                "green_gone_stream_sync",
                "green_gone_stream_query",
                "green_gone_stream_memset",
                "green_gone_stream_record",
                "green_gone_stream_destroy",
                "green_gone_stream_destroy_with_work",
            ),
            documented("the stream is in a detached state: its green context may have been destroyed", DRIVER_ERRORS),
            documented(
                "after the green context is destroyed, calls with its streams return CUDA_ERROR_STREAM_DETACHED, except"
                " cuStreamDestroy",
                "CUDA Driver API, Green Contexts, cuGreenCtxDestroy",
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_STREAM_DETACHED": 98}, words=(r"green.?c(on)?te?xt",)),
    ),
    Cause(
        id="confidential-computing-keys",
        title="The exchange of keys with a GPU in confidential mode failed",
        why="In confidential computing the driver and the GPU change their keys from time to time; work cannot go on when that"
        " fails.",
        tell=(Tell("nvidia-smi conf-compute -f", "the state of confidential computing"), XID),
        fix="Start the program anew; if it comes again, reset the GPU or look at the messages of the kernel.",
        evidence=(
            documented("an error happened during the key rotation sequence", DRIVER_ERRORS),
            documented(
                "key rotation has a threshold, in confidential computing",
                "NVML API Reference Guide, Confidential Computing definitions",
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_KEY_ROTATION": 90}, words=(r"key rotation|confidential",)),
    ),
    Cause(
        id="driver-internal-error",
        title="The driver met an error that has no number of its own",
        why="999 is what remains: a kernel module in a bad state after suspend or an update, a fault of the GPU, a defect.",
        tell=(
            XID,
            doctor("driver and kernel module of different versions, missing device nodes"),
            SHOWS_CALL,
        ),
        fix="After suspend: sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm; else reboot. With an Xid, follow NVIDIA's Xid"
        " catalog.",
        evidence=(
            documented("an unknown internal error has occurred", DRIVER_ERRORS),
            reported(
                "after suspend, reloading nvidia_uvm brought CUDA back",
                "https://github.com/pytorch/pytorch/issues/49081",
            ),
            documented("Xid messages and what they ask for", "NVIDIA GPU Deployment and Management, XID Errors"),
        ),
        signs=Signs(errors={"CUDA_ERROR_UNKNOWN": 40}, words=(r"suspend|resume|sleep",)),
    ),
)

CAUSES: tuple[Cause | RuleCause, ...] = (*CALLS, *LAUNCHES, *DEVICE, *PROCESS)
