"""What each enumerator of ``CUresult`` means."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.cause import Meaning
from cuvet.knowledge.meanings._reference import described
from cuvet.rules.evidence import measured

_means = partial(described, source="CUDA Driver API, Data types used by CUDA driver, CUresult")


_LOST = "The context is lost: all further work returns the same error, until the process is started anew."

MEANINGS: dict[str, Meaning] = {
    "CUDA_SUCCESS": _means("The call did what it was asked. From a query: what was asked about is complete."),
    "CUDA_ERROR_INVALID_VALUE": _means(
        "An argument of this call is outside of what it accepts: a pointer, a size, a flag, or their combination.",
        measured(
            "freed and foreign pointers, sizes beyond an allocation: 1", "free_twice", "memcpy_past_end", "memset_freed"
        ),
        beliefs=(
            "It is about the call that the program checks: cudaGetLastError also tells of earlier calls of the thread.",
            "A launch with too many threads always gives 9 (invalid configuration): with CUDA 13 it gave 1.",
        ),
    ),
    "CUDA_ERROR_OUT_OF_MEMORY": _means(
        "There is not enough memory, or not enough of another resource, for what was asked.",
        measured("more pinned memory than the host has: 2, as for device memory", "malloc_too_large"),
        beliefs=("It is always the GPU's memory: cudaMallocHost and cudaHostRegister return it for the host's.",),
    ),
    "CUDA_ERROR_NOT_INITIALIZED": _means(
        "The driver was not initialised in this process: cuInit was not called, or it failed.",
        measured(
            "calls in a child that was forked after its parent used CUDA: 3",
            "fork_child_uses",
            "fork_after_cuinit_only",
        ),
        beliefs=("Calling cuInit in the forked child mends it: it returns 3 too.",),
    ),
    "CUDA_ERROR_DEINITIALIZED": _means(
        "The driver is shutting down, as the process is ending.",
        measured(
            "calls in static destructors and late exit handlers: 4",
            "exit_static_destructor",
            "exit_atexit_registered_first",
        ),
    ),
    "CUDA_ERROR_PROFILER_DISABLED": _means(
        "Profiling cannot be controlled in this run, for instance under an external profiler."
    ),
    "CUDA_ERROR_PROFILER_NOT_INITIALIZED": _means(
        "Not returned since CUDA 5.0: profiling was switched without being set up."
    ),
    "CUDA_ERROR_PROFILER_ALREADY_STARTED": _means(
        "Not returned since CUDA 5.0: profiling was started while it was running."
    ),
    "CUDA_ERROR_PROFILER_ALREADY_STOPPED": _means(
        "Not returned since CUDA 5.0: profiling was stopped while it was not running."
    ),
    "CUDA_ERROR_STUB_LIBRARY": _means(
        "The libcuda that was loaded is the toolkit's stub, which is for linking only, and not the driver's.",
        beliefs=(
            "The driver is missing: it may be there, behind a stubs directory on the loader's path.",
            "Reinstalling the toolkit helps: take …/stubs out of LD_LIBRARY_PATH and rpath.",
        ),
    ),
    "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER": _means("The installed driver does not have this call yet."),
    "CUDA_ERROR_DEVICE_UNAVAILABLE": _means(
        "The device cannot be used at this time, often as its compute mode is exclusive or prohibited.",
        measured(
            "after an illegal address and a device reset in the same process: 46", "sticky_error", "sticky_with_objects"
        ),
        beliefs=(
            "Another process must have the GPU: a process that lost its context and reset the device gets 46 too.",
        ),
    ),
    "CUDA_ERROR_MULTICAST_RESOURCE_FULL": _means(
        "The hardware has no resource left to bind memory to a multicast object."
    ),
    "CUDA_ERROR_NO_DEVICE": _means(
        "The driver finds no GPU that this process may use.",
        measured("CUDA_VISIBLE_DEVICES empty: 100", "cudnn_no_visible_device"),
        beliefs=("No GPU is built in: CUDA_VISIBLE_DEVICES, a container or permissions can hide those there are.",),
    ),
    "CUDA_ERROR_INVALID_DEVICE": _means(
        "The device's number is none of the visible devices, or the action is not possible for it.",
        beliefs=(
            "Devices are numbered as in nvidia-smi: they are counted among those in CUDA_VISIBLE_DEVICES, from 0.",
        ),
    ),
    "CUDA_ERROR_DEVICE_NOT_LICENSED": _means("The (virtual) GPU has no valid licence."),
    "CUDA_ERROR_INVALID_IMAGE": _means(
        "The bytes that were to be loaded are no device code that the driver knows, or are damaged.",
        measured("zeros, text, a cut ELF file, an empty file: 200", "module_garbage", "module_load_missing_file"),
        beliefs=("The GPU does not fit: where it was measured, that is 209. 200 is about the bytes.",),
    ),
    "CUDA_ERROR_INVALID_CONTEXT": _means(
        "No context is current on the calling thread, or the one that was given is not a context, or no longer.",
        measured(
            "driver calls on a thread without a context, or where it is current on another thread: 201",
            "context_none_current",
            "context_current_on_other_thread",
        ),
        beliefs=("A context that one thread made current is current on all: it is on that thread.",),
    ),
    "CUDA_ERROR_CONTEXT_ALREADY_CURRENT": _means("Not returned since CUDA 3.2: the context was current already."),
    "CUDA_ERROR_MAP_FAILED": _means("A resource could not be mapped or registered."),
    "CUDA_ERROR_UNMAP_FAILED": _means("A resource could not be unmapped or unregistered."),
    "CUDA_ERROR_ARRAY_IS_MAPPED": _means("The array is mapped at this time, so it cannot be destroyed."),
    "CUDA_ERROR_ALREADY_MAPPED": _means("The resource is mapped already."),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": _means(
        "The program, or the image, has no code that this GPU can run: no machine code for it, no PTX that could become it.",
        beliefs=(
            "The driver is too old: the binary must be built for the GPU, or come from a build that is.",
            "The toolkit on this machine matters: what matters is what the binary was built for.",
        ),
    ),
    "CUDA_ERROR_ALREADY_ACQUIRED": _means("The resource has been acquired already."),
    "CUDA_ERROR_NOT_MAPPED": _means("The resource is not mapped, and the call needs it to be."),
    "CUDA_ERROR_NOT_MAPPED_AS_ARRAY": _means("The mapped resource cannot be accessed as an array."),
    "CUDA_ERROR_NOT_MAPPED_AS_POINTER": _means("The mapped resource cannot be accessed by a pointer."),
    "CUDA_ERROR_ECC_UNCORRECTABLE": _means(
        "The GPU's memory had an error, while work ran, that could not be corrected."
    ),
    "CUDA_ERROR_UNSUPPORTED_LIMIT": _means("The active device does not have this limit."),
    "CUDA_ERROR_CONTEXT_ALREADY_IN_USE": _means(
        "The context can be bound to one thread at a time, and is bound to one."
    ),
    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": _means("The two devices cannot access each other's memory."),
    "CUDA_ERROR_INVALID_PTX": _means(
        "The driver's compiler refused the PTX.",
        measured("an unknown instruction, an unknown target, a target above the GPU: 218", "module_garbage"),
        beliefs=(
            "The PTX is damaged: it may be for a newer GPU, or (with drivers before CUDA 11) too new for the driver.",
        ),
    ),
    "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT": _means("Something is wrong with the OpenGL or DirectX context."),
    "CUDA_ERROR_NVLINK_UNCORRECTABLE": _means("An NVLink had an error, while work ran, that could not be corrected."),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": _means("The driver does not find its library that compiles PTX."),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": _means(
        "The PTX was made by a toolchain that the installed driver does not support: its version is newer than the driver's.",
        measured("PTX with .version 99.0: 222", "module_garbage"),
        beliefs=(
            "Reinstalling the toolkit mends it: the driver decides. Update it, or build with a toolkit that is no newer.",
            "Minor-version compatibility covers it: not PTX that the driver must compile.",
        ),
    ),
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": _means(
        "Compiling PTX was switched off, and the code has nothing else for this GPU."
    ),
    "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY": _means(
        "The active device does not support this kind of execution affinity."
    ),
    "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC": _means(
        "The PTX calls cudaDeviceSynchronize in a kernel in a way that is not supported."
    ),
    "CUDA_ERROR_CONTAINED": _means(
        "The GPU contained a fault, such as an invalid access to a peer's memory over NVLink or an error of the hardware. "
        + _LOST
    ),
    "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION": _means("The driver's loader is too old for this fatbin."),
    "CUDA_ERROR_INVALID_SOURCE": _means(
        "The source of device code is invalid, as errors of compiling or linking it show."
    ),
    "CUDA_ERROR_FILE_NOT_FOUND": _means(
        "The file with the code was not found.",
        measured("a path that does not exist: 301; a file that is no image: 200", "module_load_missing_file"),
    ),
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": _means(
        "A symbol of a shared object was not found when it was linked to."
    ),
    "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED": _means("A shared object was found, but failed to initialise."),
    "CUDA_ERROR_OPERATING_SYSTEM": _means(
        "A call of the driver to the operating system failed; the number does not say which.",
        beliefs=(
            "'OS call failed or operation not supported on this OS' means that the system is not supported: it is the message"
            " of every call to the operating system that fails.",
        ),
    ),
    "CUDA_ERROR_INVALID_HANDLE": _means(
        "A handle (stream, event, module, function, …) is not one that this call accepts: none at all, not of the current"
        " context, or not in the state that the call needs.",
        measured(
            "an event of one device on a stream of another, events without timing, NULL events, unloaded modules: 400",
            "stream_of_other_device",
            "event_elapsed_timing_disabled",
            "event_null_record",
            "module_use_after_unload",
        ),
        measured(
            "using destroyed streams and events: no error but SIGSEGV",
            "stream_sync_after_destroy",
            "event_record_after_destroy",
        ),
        beliefs=(
            "The handle was destroyed: destroyed streams and events nearly always end the process; 400 usually means another"
            " device or context.",
        ),
    ),
    "CUDA_ERROR_ILLEGAL_STATE": _means("Something that the call needs is not in a state in which it can do it."),
    "CUDA_ERROR_LOSSY_QUERY": _means(
        "The answer would leave out something that matters: the object uses newer features than this version of the query knows,"
        " or an optional output was not asked for."
    ),
    "CUDA_ERROR_NOT_FOUND": _means(
        "A named function, variable, texture or surface was not found.",
        measured(
            "a name that the module does not have, and a kernel of an unloaded library: 500",
            "module_garbage",
            "library_use_after_unload",
        ),
    ),
    "CUDA_ERROR_NOT_READY": _means(
        "Work that was asked about is not complete yet. This is an answer, not a failure.",
        measured("an event whose work is running: 600", "event_elapsed_notready"),
    ),
    "CUDA_ERROR_ILLEGAL_ADDRESS": _means(
        "A kernel read or wrote an address that is not valid for it. " + _LOST,
        measured(
            "the launch returns 0, a later call 700, and after it every call",
            "oob_write",
            "sticky_then_calls",
            "launch_freed_malloc",
        ),
        beliefs=(
            "The line that throws is the line at fault: the error is asynchronous, and any later call returns it.",
            "cudaDeviceReset repairs the process: afterwards calls returned 46.",
        ),
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": _means(
        "The launch asks for more than there is for it: usually too many threads for the kernel's registers, or arguments of"
        " wrong number or size."
    ),
    "CUDA_ERROR_LAUNCH_TIMEOUT": _means(
        "The kernel took longer than the device's time limit, where one is set. " + _LOST
    ),
    "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING": _means("The launch uses a texturing mode that does not fit."),
    "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": _means("Access to this peer is enabled already; nothing was changed."),
    "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED": _means("Access to this peer is to be disabled, and was not enabled."),
    "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE": _means(
        "The device's primary context exists already, and the call must come before it."
    ),
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": _means(
        "The thread's current context was destroyed, or is a primary context that is not initialised.",
        measured(
            "calls with a destroyed context current, and use of its streams: 709",
            "context_destroyed_current_use",
            "ctx_destroy_then_use",
        ),
        beliefs=("A destroyed context stops being current: it stays so until another is set.",),
    ),
    "CUDA_ERROR_ASSERT": _means(
        "An assert in a kernel failed. The context and its memory cannot be used any more.",
        beliefs=("The Python line that raises is the one at fault: the assert failed in a kernel before it.",),
    ),
    "CUDA_ERROR_TOO_MANY_PEERS": _means("The hardware has no resources left to enable access to another peer."),
    "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": _means(
        "The range, or a part of it, is registered already.",
        measured("the same or an overlapping range: 712", "register_twice", "register_overlap"),
        measured("a range that was unmapped while registered, mapped again: 712", "register_freed_then_again"),
        beliefs=("free() or munmap() ends a registration: it does not.",),
    ),
    "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": _means(
        "The address is not the begin of a range that is registered.",
        measured(
            "never registered, unregistered twice, or from before a reset: 713",
            "unregister_never",
            "register_twice",
            "register_after_reset",
        ),
    ),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": _means(
        "A kernel's stack was damaged or went beyond its limit. " + _LOST,
    ),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": _means("A kernel came to an instruction that is none. " + _LOST),
    "CUDA_ERROR_MISALIGNED_ADDRESS": _means(
        "A kernel accessed an address that is not aligned to the size of the access. " + _LOST
    ),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": _means(
        "An instruction of a kernel that works on certain address spaces (global, shared, local) got an address of none of them. "
        + _LOST
    ),
    "CUDA_ERROR_INVALID_PC": _means("A kernel's program counter left its address space. " + _LOST),
    "CUDA_ERROR_LAUNCH_FAILED": _means(
        "A kernel was stopped by an exception, often an invalid pointer or shared memory out of bounds. " + _LOST,
        measured("a trap instruction: 719, also from every later call", "trap_kernel"),
        beliefs=("The launch failed: the launch succeeded, the kernel failed while it ran.",),
    ),
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": _means(
        "The cooperative launch has more blocks than can be on the device at the same time."
    ),
    "CUDA_ERROR_TENSOR_MEMORY_LEAK": _means("A kernel ended without giving all of its tensor memory back. " + _LOST),
    "CUDA_ERROR_NOT_PERMITTED": _means(
        "The operation is not permitted.",
        measured("unloading a module that belongs to a library: 800", "module_of_library_unloaded"),
    ),
    "CUDA_ERROR_NOT_SUPPORTED": _means(
        "This system or device does not support the operation.",
        measured("cudaFreeAsync of managed memory: 801", "free_managed_with_freeasync"),
        beliefs=("The installation is broken: the device or system lacks the feature; attributes of the device tell.",),
    ),
    "CUDA_ERROR_SYSTEM_NOT_READY": _means(
        "The system cannot start CUDA work yet: a service that the driver needs, such as Fabric Manager, is not running.",
        beliefs=("The driver must be reinstalled: start the service, of exactly the driver's version.",),
    ),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": _means(
        "The kernel driver and libcuda are of versions that do not go together.",
        beliefs=(
            "The toolkit is of the wrong version: the two parts of the driver are, after an update without a reboot or with a"
            " compat libcuda in front.",
        ),
    ),
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": _means(
        "A forward-compatibility libcuda (cuda-compat) is in use, and a visible GPU is not one that it supports.",
        beliefs=("cuda-compat makes any GPU run newer CUDA: it is for data-centre GPUs and a few others only.",),
    ),
    "CUDA_ERROR_MPS_CONNECTION_FAILED": _means("The program could not connect to the MPS control daemon or server."),
    "CUDA_ERROR_MPS_RPC_FAILURE": _means("A call from the program to the MPS server failed."),
    "CUDA_ERROR_MPS_SERVER_NOT_READY": _means(
        "The MPS server takes no new clients at this time, for instance while it recovers from a fault."
    ),
    "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED": _means("The hardware has no resources left for another MPS client."),
    "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED": _means(
        "The hardware has no resources left for more connections to the device."
    ),
    "CUDA_ERROR_MPS_CLIENT_TERMINATED": _means("The MPS server ended this client; the process must be started anew."),
    "CUDA_ERROR_CDP_NOT_SUPPORTED": _means(
        "The module launches kernels from kernels (dynamic parallelism), which this configuration, MPS for instance, does not support."
    ),
    "CUDA_ERROR_CDP_VERSION_MISMATCH": _means(
        "The module mixes versions of dynamic parallelism that do not work together."
    ),
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": _means(
        "The operation is not allowed while a stream is capturing.",
        measured(
            "waits, queries and cudaMalloc during a capture: 900, and the capture is invalid afterwards",
            "capture_invalid_sync",
            "capture_calls_global",
        ),
        beliefs=(
            "Only calls on the capturing stream count: in the global mode cudaMalloc on another thread fails too.",
        ),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": _means(
        "An earlier error made the capture invalid; the cause is that error.",
        measured("cudaStreamEndCapture after a forbidden call: 901", "capture_invalid_sync"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_MERGE": _means(
        "The operation would join two captures that are independent.",
        measured("waiting for an event of another capture: 902", "capture_merge"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED": _means(
        "The capture did not begin on this stream.",
        measured("ending it on a stream that joined: 903", "capture_end_on_other_stream"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": _means(
        "The capture went on to another stream that has not been joined back.",
        measured("cudaStreamEndCapture then: 904", "capture_unjoined"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": _means(
        "The operation would make captured work depend on work outside of the capture.",
        measured("waiting for an event that was recorded before the capture: 905", "capture_wait_for_uncaptured"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": _means(
        "The legacy default stream was used while a stream that synchronises with it is capturing.",
        measured(
            "906; with a stream created cudaStreamNonBlocking it is allowed",
            "capture_legacy_stream_use",
            "capture_legacy_stream_use_nonblocking",
        ),
    ),
    "CUDA_ERROR_CAPTURED_EVENT": _means(
        "The event was last recorded in a capture, so that the host can neither wait for it nor ask.",
        measured("cudaEventSynchronize: 907", "capture_event_sync_of_captured"),
    ),
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": _means(
        "A capture that is not of the relaxed mode was ended on another thread than it was begun.",
        measured("908", "capture_end_other_thread"),
    ),
    "CUDA_ERROR_TIMEOUT": _means("A wait ended as its time limit was over."),
    "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE": _means(
        "The executable graph was not updated: the new graph has changes that an update cannot make."
    ),
    "CUDA_ERROR_EXTERNAL_DEVICE": _means(
        "A device other than the GPU failed. If CUDA was waiting for its signal, the context is lost: all further work returns"
        " the same error, until the process is started anew."
    ),
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": _means(
        "The launch's cluster of thread blocks is not configured in a way that is possible."
    ),
    "CUDA_ERROR_FUNCTION_NOT_LOADED": _means(
        "The call needs a function whose code is loaded, and this one's is not yet."
    ),
    "CUDA_ERROR_INVALID_RESOURCE_TYPE": _means(
        "A resource that was given is of a type that the operation does not take."
    ),
    "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION": _means(
        "The resources that were given are too few for the operation or do not fit it."
    ),
    "CUDA_ERROR_KEY_ROTATION": _means("Changing the keys (key rotation) failed."),
    "CUDA_ERROR_STREAM_DETACHED": _means("The stream is detached, for instance since its green context was destroyed."),
    "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE": _means("Capturing into a graph again failed and was ended."),
    "CUDA_ERROR_FABRIC_NOT_READY": _means(
        "The fabric of the GPUs was not ready within the time waited for it; trying again later may succeed."
    ),
    "CUDA_ERROR_UNKNOWN": _means(
        "An error inside of the driver that has no number of its own.",
        beliefs=(
            "It is about the call that returned it: often the machine is the matter. dmesg and the driver's state tell more.",
        ),
    ),
}
