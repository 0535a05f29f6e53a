"""Causes around freeing, resetting and ending: who takes away what somebody still uses."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import run
from cuvet.rules.evidence import documented, measured, reported

RESET = r"device.?reset|cuDevicePrimaryCtxReset"
USE_AFTER_FREE = r"use.?after.?free|silent(ly)? corrupt|data race"

RESETS = (
    RuleCause(
        id="device-use-after-reset",
        signs=Signs(
            errors={
                "SIGSEGV": 25,
                "CUDA_ERROR_INVALID_HANDLE": 10,
                "CUDA_ERROR_INVALID_CONTEXT": 15,
                "CUDA_ERROR_CONTEXT_IS_DESTROYED": 15,
                "CUDA_ERROR_INVALID_VALUE": 5,
                "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 10,
            },
            calls=("cudaDeviceReset", "cuDevicePrimaryCtxReset", "cudaFree", "cudaStreamDestroy"),
            words=(RESET, rf"(after|second|reuse).{{0,30}}({RESET})|({RESET}).{{0,30}}(then|before)|double free"),
        ),
        beliefs=(
            "cudaDeviceReset after cudaFreeAsync crashes: it did not. What crashed was destroying a stream after the reset.",
            "Objects from before the reset give an error code: some do, some end the process.",
        ),
        cases=("free_after_device_reset", "use_after_device_reset"),
    ),
    Cause(
        id="device-reset-by-library",
        title="A library resets the device, and takes away what others made on it",
        why="cudaDeviceReset destroys the process's primary context on the device: the memory, streams, events, kernels and"
        " host registrations of every library in it. A library that resets when it ends, or when it begins, ends the others.",
        tell=(
            run("error[CV120] device-use-after-reset, and the stack of the reset: the library's"),
            Tell("gdb -ex 'break cudaDeviceReset' -ex run --args PROGRAM", "who calls it"),
        ),
        fix="Take the reset out of the library; let the program do it, at its very end, if at all. At exit the driver frees"
        " everything by itself.",
        evidence=(
            measured("memory from before a reset: 1", "memcpy_after_reset", "free_after_reset"),
            measured("a registration from before a reset: 713", "register_after_reset"),
            documented(
                "cudaDeviceReset destroys all allocations and resets all state on the current device in the current process; it"
                " is the caller's responsibility that the device is not being accessed by any other host threads",
                "CUDA Runtime API, Device Management, cudaDeviceReset",
            ),
            reported(
                "an executor's destructor reset the device and freed other libraries' memory",
                "https://github.com/ginkgo-project/ginkgo/issues/461",
            ),
            reported("a reset dropped another layer's host registrations", "https://github.com/lattice/quda/issues/99"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_HANDLE": 5,
                "CUDA_ERROR_INVALID_CONTEXT": 10,
                "CUDA_ERROR_CONTEXT_IS_DESTROYED": 10,
                "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": 10,
                "SIGSEGV": 8,
            },
            calls=("cudaDeviceReset", "cuDevicePrimaryCtxReset"),
            words=(RESET, r"registrations? lost|all (user )?memory|destructor|finali[sz]e"),
        ),
        beliefs=(
            "A program must end with cudaDeviceReset: at exit the driver takes everything back by itself.",
            "A reset concerns only the caller's own objects: it takes those of every library in the process.",
        ),
        cases=("device_reset_kills_other_library",),
    ),
    Cause(
        id="device-reset-breaks-default-pool",
        title="A defect of CUDA 11.2: a device reset breaks the default memory pool",
        why="Stream-ordered allocation after a reset used a pool that was no longer whole: launches failed, or the process"
        " died.",
        tell=(
            Tell("nvidia-smi", "CUDA Version: 11.2"),
            run("cudaMallocAsync after cudaDeviceReset, with no finding before it"),
        ),
        fix="Do not reset the device in programs that use cudaMallocAsync, or install a newer driver.",
        evidence=(
            reported(
                "CUDA 11.2: launches fail and crash after a reset with stream-ordered memory; not mended in 11.2 Update 1",
                "https://github.com/JuliaGPU/CUDA.jl/pull/679",
            ),
            measured("driver 580: cudaDeviceReset after cudaFreeAsync does no harm", "freeasync_reset"),
        ),
        signs=Signs(
            errors={"SIGSEGV": 4, "CUDA_ERROR_INVALID_VALUE": 1},
            calls=("cuMemAllocAsync", "cudaMallocAsync", "cudaMallocFromPoolAsync"),
            words=(
                r"(stream.ordered|memory pool|mempool|allocasync).{0,60}reset|reset.{0,60}(pool|allocasync)",
                r"cuda.?11\.2\b",
            ),
        ),
        cases=("driver_bug_mempool_after_reset",),
    ),
    RuleCause(
        id="device-reset-pending",
        signs=Signs(errors={"CUDA_ERROR_LAUNCH_FAILED": 2}, calls=("cudaDeviceReset",)),
    ),
)

FREES = (
    Cause(
        id="free-assumed-to-synchronise",
        title="The program relies on cudaFree to wait for the device",
        why="cudaFree waits for outstanding work as a side effect that is not promised for every case, and cudaFreeAsync and"
        " memory pools do not wait at all. Code that was right only because of the wait breaks when the allocator changes.",
        tell=(
            run(
                "warning[CV409] memory-free-unordered: the free, and the work that uses the memory on another stream",
            ),
            Tell("CUDA_LAUNCH_BLOCKING=1 PROGRAM", "the results are right again"),
            Tell(
                "compute-sanitizer --track-stream-ordered-races all PROGRAM", "use-after-free or use-before-alloc races"
            ),
        ),
        fix="Wait for the work before the free (cudaStreamSynchronize, or an event that the freeing stream waits for), or"
        " free by cudaFreeAsync on the stream of the last use.",
        evidence=(
            documented(
                "the memory must not be accessed after stream execution reaches the free",
                "CUDA Runtime API, Stream Ordered Memory Allocator, cudaFreeAsync",
            ),
            reported(
                "cudaFree may synchronise, and does not for memory of cudaMallocAsync",
                "https://github.com/kokkos/kokkos/issues/9307",
            ),
            reported(
                "the synchronisation in cudaFree is an implementation detail that many rely on",
                "https://github.com/cupy/cupy/issues/3777",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_ILLEGAL_ADDRESS": 6},
            calls=("cudaFree", "cudaFreeAsync", "cuMemFree", "cuMemFreeAsync"),
            words=(USE_AFTER_FREE, r"assum\w+.{0,30}synchroni[sz]|free.{0,30}(synchroni[sz]|not wait)"),
        ),
        beliefs=(
            "cudaFree always waits for the device: memory of cudaMallocAsync it frees without, and nothing promises the rest.",
        ),
        cases=("cudafree_assumed_synchronous",),
    ),
    RuleCause(
        id="memory-free-unordered",
        signs=Signs(
            errors={"CUDA_ERROR_ILLEGAL_ADDRESS": 15},
            calls=("cuMemFreeAsync", "cudaFreeAsync"),
            words=(USE_AFTER_FREE, r"finali[sz]er|garbage collect|\bGC\b", r"before (the )?(work|kernel|stream)"),
        ),
        beliefs=("Queued work keeps its memory alive: it does not.",),
        cases=("free_on_wrong_stream", "free_before_async_work_done"),
    ),
    RuleCause(
        id="memory-use-unordered",
        signs=Signs(
            errors={"CUDA_ERROR_ILLEGAL_ADDRESS": 12},
            calls=("cuMemAllocAsync", "cudaMallocAsync"),
            words=(USE_AFTER_FREE, r"another stream|other stream"),
        ),
    ),
    RuleCause(
        id="memory-use-after-free",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 25, "CUDA_ERROR_ILLEGAL_ADDRESS": 10},
            calls=("cudaMemcpy", "cudaMemcpyAsync", "cuMemcpyHtoD", "cuMemcpyDtoH", "cudaMemset"),
            words=(r"use.?after.?free",),
        ),
    ),
    RuleCause(
        id="memory-freed-in-kernel",
        signs=Signs(errors={"CUDA_ERROR_ILLEGAL_ADDRESS": 40}, words=(r"use.?after.?free",)),
    ),
    RuleCause(
        id="memory-free-twice",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 20},
            calls=("cudaFree", "cudaFreeAsync", "cuMemFree", "cuMemFreeAsync", "cudaFreeHost"),
            words=(r"double free|freed? twice",),
        ),
    ),
    RuleCause(
        id="memory-free-interior",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 12, "cudaErrorInvalidDevicePointer": 20},
            calls=("cudaFree", "cudaFreeAsync", "cuMemFree"),
        ),
    ),
    RuleCause(
        id="memory-free-never-allocated",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 15, "cudaErrorInvalidDevicePointer": 40},
            calls=("cudaFree", "cuMemFree", "cudaFreeHost"),
        ),
    ),
    RuleCause(
        id="memory-free-wrong-function",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 15, "CUDA_ERROR_NOT_SUPPORTED": 20, "cudaErrorInvalidHostPointer": 30},
            calls=("cudaFree", "cudaFreeHost", "cudaFreeAsync", "cudaFreeArray"),
        ),
    ),
    RuleCause(
        id="pool-use-after-destroy", signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 5}, words=(r"\bmem(ory )?pool",))
    ),
    RuleCause(
        id="pool-destroy-default", signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 3}, calls=("cudaMemPoolDestroy",))
    ),
)

ENDS = (
    RuleCause(
        id="exit-call-after-shutdown",
        signs=Signs(
            errors={"CUDA_ERROR_DEINITIALIZED": 92, "SIGSEGV": 15, "CUDA_ERROR_NOT_INITIALIZED": 5},
            calls=("cuStreamDestroy", "cuDevicePrimaryCtxRelease", "cudaEventSynchronize", "cudaMemPoolDestroy"),
            words=(
                r"static (object|variable|destructor|singleton)|singleton|global (object|variable)|atexit",
                r"(process|program|at|unclean|on) exit|shut.?down|unload",
            ),
        ),
        beliefs=(
            "A failing free at exit leaks: the driver takes everything back when the process ends.",
            "Static objects are destroyed before the driver shuts down: the order depends on what was initialised first.",
        ),
        cases=("teardown_after_driver_deinit",),
    ),
    Cause(
        id="destroyed-in-wrong-order",
        title="A parent is destroyed before its children, or never since a child keeps it",
        why="Execution contexts belong to engines, plans to handles, nodes to graphs. Destroying the parent first is"
        " undefined in most APIs; in languages with garbage collection a child that is still referenced keeps the parent's"
        " memory.",
        tell=(
            run("note[CV941] exit-leak with the objects that were never freed, or the destroying calls in order"),
            Tell("nvidia-smi", "the memory stays in use after the object was deleted"),
        ),
        fix="Drop children before parents, in so many words: context = None, then engine = None; do not rely on __del__.",
        evidence=(
            measured("destroying a node of a destroyed graph ends the process", "graph_node_after_graph_destroy"),
            reported(
                "22 GB stayed allocated where nothing made a TensorRT context go before its engine",
                "https://github.com/daydreamlive/StreamDiffusion/pull/2",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 8, "SIGSEGV": 8},
            calls=("cudaGraphDestroy", "cudaGraphDestroyNode"),
            words=(
                r"teardown|__del__|destroy order|del order",
                r"stay(s|ed)? allocated|not (freed|released)|leak",
                r"TensorRT|\bTRT\b",
            ),
        ),
        cases=("destroy_order_child_after_parent",),
    ),
    RuleCause(
        id="graph-node-use-after-graph-destroy",
        signs=Signs(errors={"SIGSEGV": 6}, calls=("cudaGraphDestroyNode", "cuGraphDestroyNode")),
    ),
    Cause(
        id="interposer-between",
        title="A library between the program and the driver answers, and not the driver",
        why="vGPU managers, profilers and memory limiters are loaded by LD_PRELOAD or as libcuda.so.1. One that does not"
        " know a function, or does not forward it, returns what no driver returns.",
        tell=(
            Tell("env | grep LD_PRELOAD; cat /etc/ld.so.preload", "a library that is not the program's"),
            Tell("cuvet doctor -- PROGRAM", "which libcuda is loaded"),
            Tell("LD_PRELOAD= PROGRAM", "the error is gone"),
        ),
        fix="Run without the library, or take a release of it that forwards what it does not know.",
        evidence=(
            reported(
                "an interposer did not know memory of cuMemAllocFromPoolAsync and returned -1 on its free",
                "https://github.com/Project-HAMi/HAMi-core/pull/217",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_UNKNOWN": 6, "CUDA_ERROR_INVALID_VALUE": 2, "CUDA_ERROR_NOT_FOUND": 2},
            words=(
                r"interpos\w+|LD_PRELOAD|ld\.so\.preload",
                r"\bvgpu\b|hami|gpu.?shar\w+",
                r"(CUresult|error|status).{0,3}-1\b",
            ),
        ),
        cases=("interposer_untracked_allocation",),
    ),
)

CAUSES: tuple[Cause | RuleCause, ...] = (*RESETS, *FREES, *ENDS)
