"""Causes of errors about handles: objects that are gone, never were, or belong to another device, context or thread."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import run
from cuvet.rules.evidence import documented, measured, reported

SECOND_GPU = (
    r"\b(gpu|device|cuda:)\s?#?(n\b|[1-9]\b)|multi.?gpu|different (gpu|device)"
    r"|\b(2nd|second|other|another|multiple|several) gpus?\b"
)
EVENT_CALLS = ("cuEventRecord", "cuEventSynchronize", "cuEventQuery", "cuStreamWaitEvent", "cuEventElapsedTime")
STREAM_CALLS = (
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuMemcpyAsync",
    "cuMemFreeAsync",
    "cudaFreeAsync",
    "cuLaunchKernel",
)
MODULE_CALLS = ("cuModuleGetFunction", "cuModuleGetGlobal", "cuModuleUnload")

OTHER_DEVICE = (
    RuleCause(
        id="event-other-context",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 55},
            calls=("cuEventRecord",),
            words=(r"\bevents?\b.{0,60}\b(pool|thread.?local|cached|shared)\b", SECOND_GPU),
        ),
        beliefs=(
            "The event was destroyed: using a destroyed event crashes, it does not return 400.",
            "cudaStreamWaitEvent has the same restriction: it takes an event of any device.",
        ),
        cases=("event_stream_device_mismatch",),
    ),
    Cause(
        id="device-not-current",
        title="Another device is current than that of the call's stream, event or memory",
        why="Events, the default streams and loaded kernels are those of the device that is current on the calling thread."
        " Code that takes a stream or a pointer and does not switch to its device uses those of whichever device was left"
        " current.",
        tell=(
            run("event-other-context, stream-other-context or function-other-context, with both devices"),
            Tell(
                "CUDA_VISIBLE_DEVICES=<one GPU> PROGRAM",
                "the error goes away when the program sees a single GPU (then device 0)",
            ),
        ),
        fix="Make the device of the stream or the buffer current around the call (cudaSetDevice, or a guard that restores"
        " it), also in wrappers and callbacks.",
        evidence=(
            measured("cudaEventRecord with event and stream of two devices: 400", "stream_of_other_device"),
            documented(
                "cudaEventRecord fails if event and stream are associated to different devices; a launch fails if the stream is"
                " not of the current device",
                "CUDA Programming Guide, Multi-Device System, Stream and Event Behavior",
            ),
            reported(
                "a wrapper recorded and waited without switching to the stream's device",
                "https://github.com/eyalroz/cuda-api-wrappers/issues/232",
            ),
            reported(
                "threads kept the first device current and used memory of the second",
                "https://github.com/ccsb-scripps/AutoDock-GPU/issues/152",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_HANDLE": 50,
                "CUDA_ERROR_INVALID_VALUE": 10,
                "CUDA_ERROR_ILLEGAL_ADDRESS": 10,
                "CUDA_ERROR_INVALID_CONTEXT": 10,
            },
            calls=("cuEventRecord", "cuStreamWaitEvent", "cudaSetDevice", "cuMemcpyAsync", "cuMemsetD8Async"),
            words=(SECOND_GPU, r"cudaSetDevice"),
        ),
        beliefs=(
            "The stream says which device a call is for: a launch fails if the stream is not of the current device.",
        ),
        cases=("wrong_current_device",),
    ),
    Cause(
        id="thread-device-not-set",
        title="A new thread uses objects of another device: each thread begins with device 0 current",
        why="The current device belongs to the thread. A worker thread that never called cudaSetDevice has device 0 current,"
        " whatever the thread that made the stream, the handle or the session had chosen.",
        tell=(
            run("a finding of an object of device N that was created by another thread than the failing call's"),
            Tell(
                "CUDA_VISIBLE_DEVICES=N PROGRAM", "no error when the GPU in question is the only one, and so device 0"
            ),
        ),
        fix="Call cudaSetDevice (driver API: cuCtxSetCurrent) first thing in every thread that enters the code: worker"
        " pools, callbacks, inference requests.",
        evidence=(
            documented(
                "cudaSetDevice sets the device of the calling host thread; device 0 is current where it was not called",
                "CUDA Runtime API, Device Management, cudaSetDevice",
            ),
            measured(
                "a driver context that is current on one thread only: 201 on another", "context_current_on_other_thread"
            ),
            reported(
                "inference threads kept device 0 and used kernels and handles of the session's GPU: 400",
                "https://github.com/microsoft/onnxruntime/pull/24192",
            ),
            reported(
                "compute ran in threads that were started after the session: device 0",
                "https://github.com/microsoft/onnxruntime/pull/24010",
            ),
            reported("a worker thread used GPU 0", "https://github.com/microsoft/onnxruntime/pull/3475"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 35, "CUDA_ERROR_INVALID_CONTEXT": 20, "CUDA_ERROR_INVALID_VALUE": 5},
            words=(r"\bthreads?\b|thread.?pool", r"\bORT\b|onnxruntime|TensorRT", SECOND_GPU),
        ),
        beliefs=("cudaSetDevice in main() holds for the threads that main() starts: each begins with device 0.",),
        cases=("thread_without_owning_context",),
    ),
    Cause(
        id="thread-state-not-per-device",
        title="State kept per thread is shared by several devices",
        why="A thread_local cuBLAS or cuDNN handle, stream or allocator belongs to the device that was current when it was"
        " made. The same thread working for a second device finds the first one's.",
        tell=(
            run("objects of one device used with those of another, both created on the thread that fails"),
            Tell("grep -rn thread_local SOURCE", "CUDA objects keyed by thread and not also by device"),
        ),
        fix="Key the cache by (thread, device), or by the session or provider that owns the device.",
        evidence=(
            documented(
                "cublasCreate: the context is tied to the current CUDA device; use one handle per device",
                "cuBLAS, Using the cuBLAS API, cublasCreate()",
            ),
            reported(
                "thread-local handles and allocator of one provider were used by a second one for another GPU",
                "https://github.com/microsoft/onnxruntime/pull/1149",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_HANDLE": 15,
                "CUBLAS_STATUS_EXECUTION_FAILED": 10,
                "CUDNN_STATUS_MAPPING_ERROR": 20,
            },
            words=(r"thread.?local", r"(second|two|another) (session|provider|model)", SECOND_GPU),
        ),
        cases=("thread_local_state_shared_across_devices",),
    ),
    RuleCause(
        id="stream-other-context",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 45},
            calls=("cuLaunchKernel", "cudaLaunchKernel", "cuStreamCreate"),
            words=(
                SECOND_GPU,
                r"\bstreams?\b.{0,40}\b(cached?|pool|creat(ed|ion)|other|wrong)\b|\b(cached?|wrong)\b.{0,40}\bstreams?\b",
                r"kernel launch",
            ),
        ),
        cases=("stream_cached_across_devices", "stream_created_on_wrong_device"),
    ),
    RuleCause(
        id="function-other-context",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 35},
            calls=("cuLaunchKernel", "cudaLaunchKernel", "cuFuncGetAttribute", "cuFuncSetAttribute"),
            words=(
                SECOND_GPU,
                r"memoi[sz]ed?|cached? (kernel|function|module)|kernel cache",
                r"\b(cupy|pycuda)\b",
            ),
        ),
        beliefs=("A CUfunction is the kernel: it is the kernel as loaded into one context.",),
        cases=("kernel_cached_across_devices",),
    ),
    Cause(
        id="kernel-memory-of-other-device",
        title="A kernel is given memory of another device",
        why="An array belongs to the device that was current when it was made. A kernel on another device reaches it only"
        " if peer access is enabled between the two; otherwise it stops with an illegal address.",
        tell=(
            run("the launch, and the device of each allocation whose address is among its arguments"),
            Tell("nvidia-smi topo -p2p r", "whether peer access between the two GPUs is possible at all"),
            Tell("compute-sanitizer PROGRAM", "Invalid __global__ read or write in the kernel"),
        ),
        fix="Make the array inside the scope of the device that uses it, copy it over (cudaMemcpyPeer), or enable peer access.",
        evidence=(
            measured(
                "a kernel on device 1 with memory of device 0, no peer access: the launch succeeds, the next"
                " synchronisation returns 700",
                "launch_memory_of_other_device",
            ),
            documented(
                "accessing memory of a peer device needs cudaDeviceEnablePeerAccess",
                "CUDA Programming Guide, Multi-Device System, Peer-to-Peer Memory Access",
            ),
            reported(
                "an array was made before the per-GPU context manager was entered",
                "https://github.com/stumpy-dev/stumpy/issues/755",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_ILLEGAL_ADDRESS": 35, "CUDA_ERROR_INVALID_VALUE": 8, "CUDA_ERROR_LAUNCH_FAILED": 10},
            words=(SECOND_GPU, r"array of (gpu|device)", r"peer access|\bp2p\b|nvlink"),
        ),
        beliefs=("Unified addressing makes memory of all GPUs usable on each: only the addresses are unified.",),
        cases=("allocation_made_outside_device_scope",),
    ),
    RuleCause(
        id="memory-of-another-device",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 12},
            calls=("cudaMemsetAsync", "cuMemsetD8Async", "cuMemsetD32Async"),
            words=(SECOND_GPU,),
        ),
    ),
    RuleCause(
        id="event-elapsed-other-device",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 10}, calls=("cuEventElapsedTime",), words=(SECOND_GPU, r"elapsed")
        ),
    ),
)

CONTEXTS = (
    RuleCause(
        id="context-primary-and-user",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 30, "CUDA_ERROR_INVALID_CONTEXT": 10, "SIGSEGV": 5},
            calls=("cuCtxCreate", "cuEventRecord", "cuMemcpyAsync"),
            words=(
                r"\b(pycuda|tinygrad|cuCtxCreate|managedcuda)\b",
                r"CUDA.aware MPI|\bMPI\b",
                r"own context|two contexts|primary context",
            ),
        ),
        beliefs=(
            "One device has one context: cuCtxCreate makes another beside the primary one that the runtime uses.",
        ),
        cases=("mixed_primary_and_user_context",),
    ),
    RuleCause(
        id="context-none-current",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_CONTEXT": 75},
            calls=(
                "cuPointerGetAttribute",
                "cuPointerGetAttributes",
                "cuMemAlloc",
                "cuModuleLoadData",
                "cuStreamCreate",
            ),
            words=(r"no (current|active) context|invalid device context", r"autograd|worker thread|new thread"),
        ),
        beliefs=(
            "The runtime's context is current on every thread: it becomes so at the thread's first runtime call.",
        ),
        cases=("no_context_on_thread",),
    ),
    RuleCause(
        id="context-current-elsewhere",
        signs=Signs(errors={"CUDA_ERROR_INVALID_CONTEXT": 45}, words=(r"\b(other|another|new|worker) thread",)),
        cases=("no_context_on_thread",),
    ),
    RuleCause(
        id="context-destroyed-current",
        signs=Signs(
            errors={"CUDA_ERROR_CONTEXT_IS_DESTROYED": 60},
            calls=("cuCtxSynchronize", "cuMemAlloc", "cuStreamCreate", "cuCtxPopCurrent"),
            words=(r"after (the )?context (destroy|release|is destroyed)|context stack|cuCtx\w*.{0,20}after",),
        ),
        beliefs=(
            "Destroying the current context leaves the thread with none: it stays current, and calls return 709.",
        ),
        cases=("destroyed_context_left_current",),
    ),
    RuleCause(
        id="context-use-after-destroy",
        signs=Signs(
            errors={"CUDA_ERROR_CONTEXT_IS_DESTROYED": 40, "CUDA_ERROR_INVALID_CONTEXT": 15, "SIGABRT": 10},
            calls=("cuCtxSetCurrent", "cuCtxPushCurrent"),
            words=(r"after (the )?context (destroy|release|is destroyed)",),
        ),
    ),
    RuleCause(
        id="context-destroy-twice",
        signs=Signs(errors={"CUDA_ERROR_CONTEXT_IS_DESTROYED": 20, "SIGABRT": 20}, calls=("cuCtxDestroy",)),
    ),
    RuleCause(
        id="context-destroy-primary",
        signs=Signs(errors={"CUDA_ERROR_INVALID_CONTEXT": 8}, calls=("cuCtxDestroy",)),
    ),
    RuleCause(
        id="context-released-too-often",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_CONTEXT": 8, "CUDA_ERROR_CONTEXT_IS_DESTROYED": 15},
            calls=("cuDevicePrimaryCtxRelease",),
        ),
    ),
    RuleCause(
        id="stream-use-after-context-destroy",
        signs=Signs(errors={"CUDA_ERROR_CONTEXT_IS_DESTROYED": 30}, calls=STREAM_CALLS, words=(r"context destroy",)),
    ),
    RuleCause(
        id="event-use-after-context-destroy",
        signs=Signs(errors={"CUDA_ERROR_CONTEXT_IS_DESTROYED": 25}, calls=EVENT_CALLS, words=(r"context destroy",)),
    ),
    RuleCause(
        id="memory-use-after-context-destroy",
        signs=Signs(errors={"CUDA_ERROR_INVALID_VALUE": 5}, calls=("cuMemFree",), words=(r"context destroy",)),
    ),
    Cause(
        id="memory-of-foreign-context",
        title="The memory belongs to a context of another library, which is not current",
        why="Decoders, renderers and other libraries make a context of their own and hand out addresses in it. A copy made"
        " while another context is current does not know these addresses.",
        tell=(
            run(
                "the contexts that were created, by which library, and which of them was current at the failing call",
            ),
            Tell("cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_CONTEXT)", "a context other than that of cuCtxGetCurrent"),
        ),
        fix="Push the library's context around the copy (cuCtxPushCurrent, cuCtxPopCurrent), or give the library the primary"
        " context (cuDevicePrimaryCtxRetain) to work in.",
        evidence=(
            reported(
                "frames decoded by ffmpeg lie in its own context, which was not pushed before the copy: 1",
                "https://github.com/kunzmi/managedCuda/issues/125",
            ),
            documented(
                "CU_POINTER_ATTRIBUTE_CONTEXT is the context in which a pointer was allocated or registered",
                "CUDA Driver API, Unified Addressing, cuPointerGetAttribute",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 12, "CUDA_ERROR_INVALID_CONTEXT": 10, "CUDA_ERROR_INVALID_HANDLE": 5},
            calls=("cuMemcpy2D", "cuMemcpyDtoD"),
            words=(r"\b(ffmpeg|nvdec|nvcuvid|nvenc|gstreamer|hwaccel|libav\w*)\b", r"decoded frame|video frame"),
        ),
        cases=("foreign_context_not_current",),
    ),
    Cause(
        id="graphics-on-other-gpu",
        title="OpenGL or DirectX renders on another GPU than CUDA runs on",
        why="Interoperation needs one GPU for both. On laptops and servers with two, the window may be drawn by the"
        " integrated GPU or by software, and no CUDA device belongs to the graphics context.",
        tell=(
            Tell("glxinfo | grep 'OpenGL renderer'", "a renderer that is not the NVIDIA GPU (Mesa, Intel, llvmpipe)"),
            run("cuGLGetDevices or the graphics registration as the first failing call"),
        ),
        fix="Draw on the NVIDIA GPU: __NV_PRIME_RENDER_OFFLOAD=1 __GLX_VENDOR_LIBRARY_NAME=nvidia PROGRAM, or choose it in"
        " the desktop's settings; then take CUDA's device from cudaGLGetDevices.",
        evidence=(
            reported(
                "a laptop drew on its integrated GPU: no CUDA device for the OpenGL context",
                "https://github.com/NVIDIAGameWorks/kaolin-wisp/issues/60",
            ),
            documented(
                "cuGLGetDevices: CUDA_ERROR_NO_DEVICE and CUDA_ERROR_INVALID_GRAPHICS_CONTEXT",
                "CUDA Driver API, OpenGL Interoperability, cuGLGetDevices",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT": 80,
                "CUDA_ERROR_OPERATING_SYSTEM": 15,
                "CUDA_ERROR_UNKNOWN": 12,
                "CUDA_ERROR_NO_DEVICE": 3,
            },
            calls=("cuGLCtxCreate", "cuGLGetDevices", "cudaGraphicsGLRegisterBuffer", "cuGraphicsGLRegisterImage"),
            words=(r"\b(open)?gl\b.{0,20}(context|interop)|pycuda\.gl|opengl", r"\bD3D\d*|direct(x|3d)|vulkan"),
        ),
        cases=("gl_context_on_other_gpu",),
    ),
)

GONE = (
    RuleCause(
        id="stream-use-after-destroy",
        signs=Signs(
            errors={"SIGSEGV": 40, "CUDA_ERROR_INVALID_HANDLE": 15, "CUDA_ERROR_CONTEXT_IS_DESTROYED": 30},
            calls=STREAM_CALLS,
            words=(r"destroyed.{0,20}\bstream|\bstream.{0,30}\bdestroyed",),
        ),
        beliefs=(
            "A destroyed stream gives cudaErrorInvalidResourceHandle: nearly always the process dies inside libcuda.",
        ),
        cases=("stream_destroyed_before_use",),
    ),
    RuleCause(
        id="stream-destroy-twice",
        signs=Signs(errors={"SIGSEGV": 25}, calls=("cuStreamDestroy",)),
    ),
    RuleCause(
        id="stream-destroy-default",
        signs=Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 28}, calls=("cuStreamDestroy",)),
    ),
    RuleCause(
        id="stream-never-created",
        signs=Signs(
            errors={"SIGSEGV": 12, "CUDA_ERROR_INVALID_HANDLE": 12}, calls=STREAM_CALLS, words=(r"uninitiali[sz]ed",)
        ),
    ),
    RuleCause(
        id="event-use-after-destroy",
        signs=Signs(
            errors={"SIGSEGV": 35, "CUDA_ERROR_INVALID_HANDLE": 8},
            calls=EVENT_CALLS,
            words=(r"destroyed.{0,20}\bevent|\bevent.{0,30}\bdestroyed",),
        ),
        beliefs=("A destroyed event gives cudaErrorInvalidResourceHandle: on the machine measured the process dies.",),
    ),
    RuleCause(
        id="event-destroy-twice",
        signs=Signs(errors={"SIGSEGV": 20}, calls=("cuEventDestroy",)),
    ),
    RuleCause(
        id="event-null-handle",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 25},
            calls=(*EVENT_CALLS, "cuEventDestroy"),
            words=(r"\bnull\b.{0,20}event|event.{0,20}\b(null|moved)",),
        ),
    ),
    RuleCause(
        id="event-never-created",
        signs=Signs(errors={"SIGSEGV": 10, "CUDA_ERROR_INVALID_HANDLE": 5}, calls=EVENT_CALLS),
    ),
    RuleCause(
        id="event-timing-disabled",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 20},
            calls=("cuEventElapsedTime",),
            words=(r"elapsed.?time", r"DISABLE.?TIMING|enable_timing"),
        ),
        beliefs=("Every event can be timed: many libraries create theirs with cudaEventDisableTiming.",),
        cases=("event_timing_disabled_or_unrecorded",),
    ),
    RuleCause(
        id="event-never-recorded",
        signs=Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 18}, calls=("cuEventElapsedTime",), words=(r"elapsed.?time",)),
        cases=("event_timing_disabled_or_unrecorded",),
    ),
    RuleCause(
        id="module-use-after-unload",
        signs=Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 12}, calls=MODULE_CALLS, words=(r"unload",)),
    ),
    RuleCause(
        id="module-null-handle",
        signs=Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 12}, calls=MODULE_CALLS),
    ),
    RuleCause(
        id="module-unload-of-library",
        signs=Signs(errors={"CUDA_ERROR_NOT_PERMITTED": 40}, calls=("cuModuleUnload",)),
    ),
    RuleCause(
        id="function-use-after-unload",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 15}, calls=("cuLaunchKernel", "cuFuncGetAttribute"), words=(r"unload",)
        ),
    ),
    RuleCause(
        id="function-null-handle",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 15},
            calls=("cuLaunchKernel",),
            words=(r"null (function|kernel|handle)",),
        ),
    ),
    RuleCause(
        id="library-use-after-unload",
        signs=Signs(
            errors={"CUDA_ERROR_NOT_FOUND": 8, "SIGSEGV": 5}, calls=("cuLibraryGetKernel",), words=(r"unload",)
        ),
    ),
    RuleCause(
        id="kernel-use-after-unload",
        signs=Signs(errors={"SIGSEGV": 8}, calls=("cuLaunchKernel", "cuKernelGetFunction"), words=(r"unload",)),
    ),
    RuleCause(
        id="array-use-after-destroy",
        signs=Signs(
            errors={"SIGSEGV": 12},
            calls=("cuMemcpy2DToArray", "cudaMemcpy2DToArray", "cudaFreeArray", "cuArrayDestroy"),
            words=(r"\b(cuda)?array\b.{0,30}(freed|destroy)",),
        ),
    ),
    RuleCause(
        id="array-null-handle",
        signs=Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 5}, calls=("cuArrayDestroy", "cuArrayGetDescriptor")),
    ),
    RuleCause(
        id="texture-use-after-destroy",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 5},
            calls=("cudaGetTextureObjectResourceDesc",),
            words=(r"texture.{0,30}destroy",),
        ),
    ),
    RuleCause(
        id="graph-use-after-destroy",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 12},
            calls=("cuGraphInstantiate", "cuGraphAddKernelNode", "cuGraphDestroy"),
            words=(r"graph.{0,30}destroy",),
        ),
    ),
    RuleCause(
        id="graph-exec-use-after-destroy",
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_VALUE": 12},
            calls=("cuGraphLaunch", "cuGraphExecUpdate", "cuGraphExecDestroy"),
            words=(r"graph.{0,30}destroy",),
        ),
    ),
)

OTHER = (
    Cause(
        id="binding-returns-null-handle",
        title="A language binding returns success with a NULL handle",
        why="Bindings copy handles between the language and C. One that drops the value gives NULL, and the next call fails.",
        tell=(
            run("the creating call, as the driver saw it, with a handle that is not NULL; the using call with NULL"),
            Tell("pip list | grep -i cuda", "the binding's version; try the one before and after"),
        ),
        fix="Take another release of the binding.",
        evidence=(
            reported(
                "cuda-bindings 12.9.3: success and a NULL graphics resource; 12.9.2 worked",
                "https://github.com/NVIDIA/cuda-python/issues/1122",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_HANDLE": 3},
            calls=("cudaGraphicsGLRegisterImage", "cudaGraphicsGLRegisterBuffer"),
            words=(r"null (handle|resource|pointer).{0,30}success|success.{0,30}null", r"cuda.?(python|bindings)"),
        ),
        cases=("binding_library_regression",),
    ),
    Cause(
        id="texture-pitch-misaligned",
        title="The pitch or address of a texture's memory is not aligned as textures need",
        why="A texture over pitched memory needs an address that is a multiple of textureAlignment and a pitch that is a"
        " multiple of texturePitchAlignment. Rows that lie without a gap often do not have it.",
        tell=(
            run("cudaCreateTextureObject or cuTexObjectCreate as the failing call, with the resource's values"),
            Tell("cudaGetDeviceProperties: texturePitchAlignment", "the pitch is no multiple of it"),
        ),
        fix="Allocate with cudaMallocPitch, or copy to memory that was.",
        evidence=(
            reported(
                "OpenCV's continuous GpuMat has a pitch that is no multiple of texturePitchAlignment",
                "https://github.com/opencv/opencv_contrib/pull/4071",
            ),
            documented(
                "pitchInBytes must be a multiple of CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT",
                "CUDA Driver API, Texture Object Management, cuTexObjectCreate",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_VALUE": 10,
                "CUDA_ERROR_MISALIGNED_ADDRESS": 3,
                "cudaErrorInvalidPitchValue": 30,
            },
            calls=("cudaCreateTextureObject", "cuTexObjectCreate", "cudaBindTexture2D"),
            words=(r"texture", r"\bpitch"),
        ),
        cases=("texture_pitch_misaligned",),
    ),
)


def _capture(id: str, error: str, weight: int = 80, calls: tuple[str, ...] = ()) -> RuleCause:
    return RuleCause(id=id, signs=Signs(errors={error: weight}, calls=calls))


WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cuCtxSynchronize", "cudaStreamQuery", "cudaMemcpy")
UNSAFE = ("cudaMalloc", "cudaFree", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister", "cuMemAlloc")

CAPTURES = (
    _capture("capture-unsafe-call", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 70, UNSAFE),
    _capture("capture-wait", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 65, WAITS),
    _capture("capture-not-supported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 40),
    _capture("capture-wait-for-invalidated", "CUDA_ERROR_INVALID_VALUE", 2, ("cudaStreamWaitEvent",)),
    _capture("capture-begin-legacy", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 25, ("cudaStreamBeginCapture",)),
    _capture("capture-invalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    _capture("capture-merge", "CUDA_ERROR_STREAM_CAPTURE_MERGE"),
    _capture("capture-end-on-other-stream", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"),
    _capture("capture-unjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
    _capture("capture-wait-for-uncaptured", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"),
    _capture("capture-legacy-stream", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"),
    _capture("capture-event-wait", "CUDA_ERROR_CAPTURED_EVENT"),
    _capture("capture-end-on-other-thread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"),
    _capture("capture-end-not-begun", "CUDA_ERROR_ILLEGAL_STATE", 45, ("cudaStreamEndCapture",)),
    _capture("capture-begin-twice", "CUDA_ERROR_ILLEGAL_STATE", 40, ("cudaStreamBeginCapture",)),
    _capture("capture-free-outside-memory", "CUDA_ERROR_INVALID_VALUE", 3, ("cudaFreeAsync",)),
)

CAUSES: tuple[Cause | RuleCause, ...] = (*OTHER_DEVICE, *CONTEXTS, *GONE, *OTHER, *CAPTURES)
