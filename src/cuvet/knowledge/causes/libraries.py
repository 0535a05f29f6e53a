"""Why calls of cuDNN, cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuRAND, NVRTC, nvJitLink and NCCL fail: use, input, memory, and release."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import doctor, run
from cuvet.rules.evidence import documented, measured, reported

CUBLAS = "cuBLAS, Using the cuBLAS API"
CUDNN_8 = "NVIDIA cuDNN 8.9.7 API Reference"
CUFFT = "cuFFT API Reference, Return value cufftResult"
CUSOLVER_IRS = "cuSOLVER, cusolverDnIRSXgesv"
CUSPARSE = "cuSPARSE, cusparseStatus_t"
NCCL_TROUBLE = "NCCL User Guide, Troubleshooting"
NVJITLINK_OPTIONS = "nvJitLink, User Interface, Supported Link Options"
NVJITLINK_LOG = "print nvJitLinkGetErrorLog's text"
NVRTC_LOG = "print nvrtcGetProgramLog's text"
LIBRARY_LOGS = (
    "CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=stderr, CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stderr, CUSPARSE_LOG_LEVEL=5 or"
    " CUSOLVERDN_LOG_LEVEL=5 PROGRAM"
)
HANDLE_CALLS = ("cublasCreate", "cusolverDnCreate", "cusolverSpCreate", "cusparseCreate", "cufftCreate", "cufftPlan1d")


def nccl_log(shows: str) -> Tell:
    return Tell("NCCL_DEBUG=INFO PROGRAM", shows)


HANDLES = (
    RuleCause(
        id="library-handle-not-made",
        tell=(
            Tell(
                "grep -rn -E '(cublas|cusparse|cusolverDn|cufft)Create|cufftPlan' SOURCE",
                "calls whose status is ignored",
            ),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_NOT_INITIALIZED": 20,
                "CUSPARSE_STATUS_NOT_INITIALIZED": 60,
                "CUSOLVER_STATUS_NOT_INITIALIZED": 60,
                "CUFFT_INVALID_PLAN": 70,
                "CURAND_STATUS_NOT_INITIALIZED": 80,
                "CUDNN_STATUS_BAD_PARAM": 10,
                "CUDNN_STATUS_BAD_PARAM_NULL_POINTER": 30,
                "NVRTC_ERROR_INVALID_PROGRAM": 80,
                "NVJITLINK_ERROR_INVALID_INPUT": 20,
            },
            words=(r"null handle|uninitiali[sz]ed handle|handle (is|was) (null|not)",),
        ),
    ),
    RuleCause(
        id="library-handle-of-other-device",
        tell=(Tell("CUDA_VISIBLE_DEVICES=<one GPU> PROGRAM", "no error"),),
        signs=Signs(
            errors={
                "CUFFT_INVALID_DEVICE": 90,
                "CUFFT_EXEC_FAILED": 45,
                "CUFFT_INVALID_PLAN": 20,
                "CUDNN_STATUS_MAPPING_ERROR": 60,
                "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH": 70,
                "CUBLAS_STATUS_MAPPING_ERROR": 25,
                "CUBLAS_STATUS_EXECUTION_FAILED": 12,
                "CUSOLVER_STATUS_EXECUTION_FAILED": 10,
                "CUSPARSE_STATUS_EXECUTION_FAILED": 10,
            },
            calls=("cudnnSetStream", "cublasSetStream", "cufftSetStream"),
            words=(r"plan cache|cached plan", r"(second|other|another|different) (gpu|device)|multi.?gpu|cuda:[1-9]"),
        ),
    ),
    Cause(
        id="library-argument-invalid",
        title="An argument of the library's call does not fit: size, type, pointer or descriptor",
        why="The libraries check what can be checked on the host and refuse the call. Shapes of input and weights that do not go"
        " together are the usual reason in frameworks, a leading dimension smaller than the rows in C++.",
        tell=(
            Tell(LIBRARY_LOGS, "the call with all its arguments, or which check failed"),
            Tell("print shape, dtype and device of every tensor in the call", "one that does not fit the others"),
        ),
        fix="Correct the argument; the reference lists, for each function, what it returns this status for.",
        evidence=(
            documented(
                "CUBLAS_STATUS_INVALID_VALUE: an unsupported value or parameter was passed", f"{CUBLAS}, cublasStatus_t"
            ),
            documented(
                "CUDNN_STATUS_BAD_PARAM: an incorrect value or parameter was passed", f"{CUDNN_8}, cudnnStatus_t"
            ),
            reported(
                "weights whose shape does not fit the input: CUDNN_STATUS_BAD_PARAM",
                "https://github.com/pytorch/pytorch/issues/16035",
            ),
            reported(
                "full_matrices of a wide matrix: CUSOLVER_STATUS_INVALID_VALUE",
                "https://github.com/jiaweizzhao/GaLore/issues/7",
            ),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_INVALID_VALUE": 55,
                "CUSPARSE_STATUS_INVALID_VALUE": 85,
                "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED": 60,
                "CUSOLVER_STATUS_INVALID_VALUE": 85,
                "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED": 60,
                "CUFFT_INVALID_VALUE": 85,
                "CUFFT_INVALID_TYPE": 85,
                "CUFFT_INVALID_SIZE": 85,
                "CUFFT_INCOMPLETE_PARAMETER_LIST": 85,
                "CURAND_STATUS_TYPE_ERROR": 85,
                "CURAND_STATUS_OUT_OF_RANGE": 85,
                "CURAND_STATUS_LENGTH_NOT_MULTIPLE": 90,
                "CUFFT_UNALIGNED_DATA": 40,
                "CUDNN_STATUS_BAD_PARAM": 80,
                "CUDNN_STATUS_INVALID_VALUE": 80,
                "CUDNN_STATUS_BAD_PARAM_NULL_POINTER": 80,
                "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER": 80,
                "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND": 80,
                "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT": 40,
                "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH": 30,
                "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH": 90,
                "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH": 80,
            },
            words=(
                r"leading dimension|\bld[abc]\b",
                r"shape|channels?|dtype|contiguous",
                r"on entry to \w+ parameter number",
            ),
        ),
    ),
    Cause(
        id="cudnn-descriptor-misused",
        title="A cuDNN backend descriptor is not finalized, or given what it does not take",
        why="A descriptor is created for a type, its attributes are set with their types, and cudnnBackendFinalize ends that; only"
        " then may another descriptor or cudnnBackendExecute name it.",
        tell=(
            Tell(
                "CUDNN_LOGLEVEL_DBG=1 CUDNN_LOGDEST_DBG=stderr PROGRAM", "the condition that failed, with the attribute"
            ),
            Tell("grep -n cudnnBackendFinalize SOURCE", "a call whose status is ignored, or that is missing"),
        ),
        fix="Check the status of every cudnnBackendSetAttribute and cudnnBackendFinalize; or use the cudnn-frontend library.",
        evidence=(
            documented(
                "descriptor not finalized; wrong attribute type; wrong descriptor type; duplicated entries",
                "cuDNN 9.28, cudnn_graph.h, cudnnStatus_t",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED": 90,
                "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE": 90,
                "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE": 90,
                "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES": 90,
                "CUDNN_STATUS_BAD_PARAM": 15,
            },
            calls=(
                "cudnnBackendSetAttribute",
                "cudnnBackendFinalize",
                "cudnnBackendExecute",
                "cudnnBackendGetAttribute",
            ),
        ),
    ),
    Cause(
        id="library-workspace-too-small",
        title="The workspace that the program gave to the library is missing or too small",
        why="Many functions take a workspace whose size another function tells. The size changes with the problem and with the"
        " settings; one that was asked for earlier, or for a smaller problem, does not suffice.",
        tell=(
            Tell(
                "compare the size given with what …_bufferSize or cudnnGet…WorkspaceSize returns just before",
                "it is smaller",
            ),
        ),
        fix="Ask for the size after the last setting and for the very problem, in bytes or in elements as the function says.",
        evidence=(
            documented(
                "the workspace is smaller than required, as when settings change after the call of _bufferSize",
                CUSOLVER_IRS,
            ),
            documented("CUFFT_NO_WORKSPACE: no workspace has been provided prior to plan execution", CUFFT),
        ),
        signs=Signs(
            errors={
                "CUSOLVER_STATUS_INVALID_WORKSPACE": 95,
                "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT": 70,
                "CUFFT_NO_WORKSPACE": 90,
                "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES": 10,
                "CUBLAS_STATUS_INVALID_VALUE": 3,
            },
            calls=("cufftSetWorkArea", "cublasSetWorkspace"),
            words=(r"buffer_?size|work(space|area)",),
        ),
    ),
)

SUPPORT = (
    Cause(
        id="library-case-not-supported",
        title="The library has nothing for this combination of types, sizes and layout",
        why="Each function supports some combinations, which grow with the releases and differ among GPUs. A heuristic can also"
        " propose an algorithm that does not take the shape.",
        tell=(
            Tell(LIBRARY_LOGS, "the combination, and with cuDNN the condition that is not met"),
            Tell("the same call with float32 and a smaller size", "it works"),
        ),
        fix="Take a combination from the function's table of supported ones, a newer release, or another algorithm (PyTorch:"
        " torch.backends.cudnn.benchmark = True; a copy by .contiguous()).",
        evidence=(
            documented("CUDNN_STATUS_NOT_SUPPORTED: not presently supported by cuDNN", f"{CUDNN_8}, cudnnStatus_t"),
            documented("CUFFT_NOT_SUPPORTED: the operation is not supported for the parameters given", CUFFT),
            documented(
                "CUSPARSE_STATUS_NOT_SUPPORTED: operation or data type combination currently not supported", CUSPARSE
            ),
            reported(
                "the heuristic chose an algorithm that the shape does not allow",
                "https://github.com/pytorch/pytorch/issues/31336",
            ),
            reported(
                "a bug of cuDNN, mended later; benchmark mode goes around it",
                "https://github.com/pytorch/pytorch/issues/1664",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_NOT_SUPPORTED": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_SHAPE": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_PADDING": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API": 85,
                "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE": 85,
                "CUDNN_STATUS_DEPRECATED": 60,
                "CUBLAS_STATUS_NOT_SUPPORTED": 80,
                "CUSPARSE_STATUS_NOT_SUPPORTED": 85,
                "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED": 50,
                "CUSOLVER_STATUS_NOT_SUPPORTED": 85,
                "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED": 50,
                "CUFFT_NOT_SUPPORTED": 85,
                "CUFFT_NOT_IMPLEMENTED": 85,
                "CUFFT_INVALID_SIZE": 20,
                "CUFFT_INVALID_TYPE": 30,
            },
            words=(r"non-contiguous input", r"unable to find an engine", r"\b(fp8|bfloat16|bf16|half|int8)\b"),
        ),
    ),
    Cause(
        id="library-gpu-lacks-feature",
        title="The GPU's architecture lacks what the function needs",
        why="Some functions need hardware that came with an architecture: double-precision atomics, bfloat16, FP8, so much shared"
        " memory. The library refuses them on older GPUs.",
        tell=(
            Tell(
                "nvidia-smi --query-gpu=name,compute_cap --format=csv",
                "a compute capability below what the function needs",
            ),
        ),
        fix="Choose a type or algorithm that the GPU has (float32 or float16 instead of bfloat16 before compute capability 8.0), or"
        " a newer GPU.",
        evidence=(
            documented(
                "CUBLAS_STATUS_ARCH_MISMATCH: a feature is absent from the device's architecture",
                f"{CUBLAS}, cublasStatus_t",
            ),
            documented(
                "IRS solvers need compute capability 7.0; 16BF and TF32 as lowest precision need 8.0", CUSOLVER_IRS
            ),
            reported(
                "gemmEx on compute capability 5.2: CUBLAS_STATUS_ARCH_MISMATCH",
                "https://github.com/JuliaGPU/CUDA.jl/issues/609",
            ),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_ARCH_MISMATCH": 85,
                "CUSPARSE_STATUS_ARCH_MISMATCH": 85,
                "CUSOLVER_STATUS_ARCH_MISMATCH": 85,
                "CURAND_STATUS_ARCH_MISMATCH": 80,
                "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED": 90,
                "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH": 60,
                "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT": 85,
                "CUBLAS_STATUS_NOT_SUPPORTED": 30,
                "CUSOLVER_STATUS_IRS_NOT_SUPPORTED": 10,
            },
            words=(r"\b(bfloat16|bf16|fp8|tf32)\b", r"compute capability|\bsm_\d\d"),
        ),
    ),
    Cause(
        id="library-older-than-gpu",
        title="The library's release is older than the GPU, and does not know its architecture",
        why="The driver runs code of an older architecture on newer GPUs of the same major version, but a library that chooses its"
        " kernels by architecture can fail on one that is not in its list. cuFFT of CUDA 11.7 says internal error on compute"
        " capability 8.9.",
        tell=(
            Tell("nvidia-smi --query-gpu=name,compute_cap --format=csv", "the GPU's compute capability"),
            Tell('python -c "import torch; print(torch.version.cuda)"', "a CUDA release from before that"),
        ),
        fix="Take the framework's build for a CUDA release that knows the GPU: 11.8 or later for Ada (8.9) and Hopper (9.0), 12.8 or"
        " later for Blackwell (10.0, 12.0).",
        evidence=(
            reported("RTX 4090 with CUDA 11.7; 11.8 mends it", "https://github.com/pytorch/pytorch/issues/88038"),
            reported("L4 with CUDA 11.7", "https://github.com/warpem/warp/issues/178"),
            reported("cu118 in place of cu117", "https://github.com/microsoft/NOTSOFAR1-Challenge/issues/40"),
        ),
        signs=Signs(
            errors={
                "CUFFT_INTERNAL_ERROR": 70,
                "CUFFT_SETUP_FAILED": 25,
                "CUBLAS_STATUS_ARCH_MISMATCH": 40,
                "CUBLAS_STATUS_NOT_SUPPORTED": 15,
                "CUBLAS_STATUS_EXECUTION_FAILED": 10,
                "CUSPARSE_STATUS_ARCH_MISMATCH": 40,
                "CUSOLVER_STATUS_ARCH_MISMATCH": 40,
                "CURAND_STATUS_ARCH_MISMATCH": 40,
                "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH": 70,
            },
            words=(
                r"RTX ?\d0[5-9]0|\b(4090|4080|4070|5090|5080|L4|L40S?|H100|B200)\b",
                r"cu11[0-7]\b|cuda ?11\.[0-7]\b",
            ),
        ),
        beliefs=("A newer driver is enough for a newer GPU: the libraries must know it as well.",),
    ),
    Cause(
        id="cudnn-plan-of-other-version",
        title="A serialized cuDNN plan comes from another version of cuDNN",
        why="A plan that was saved names engines and settings of the version that made it. Another one may not know them.",
        tell=(Tell("cudnnGetVersion() where the plan was saved and where it is read", "two versions"),),
        fix="Build the plan again with the version that is installed; store the version with the plan.",
        evidence=(documented("serialization version mismatch", "cuDNN 9.28, cudnn_graph.h, cudnnStatus_t"),),
        signs=Signs(errors={"CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH": 95}),
    ),
    Cause(
        id="cublaslt-of-other-release",
        title="libcublas is used with a libcublasLt of another release",
        why="libcublas opens libcublasLt through the loader. With a toolkit on LD_LIBRARY_PATH, the framework's libcublas gets the"
        " toolkit's libcublasLt, and correct calls are refused, or a symbol is missing.",
        tell=(
            Tell("grep -E 'libcublas(Lt)?' /proc/PID/maps", "two directories"),
            Tell("env -u LD_LIBRARY_PATH PROGRAM", "no error"),
        ),
        fix="unset LD_LIBRARY_PATH, or take the toolkit's directory out of it.",
        evidence=(
            reported(
                "the pip libcublas took the system's libcublasLt; loading the right one first mends it",
                "https://github.com/pytorch/pytorch/pull/174320",
            ),
            reported("unset LD_LIBRARY_PATH mends it", "https://github.com/vllm-project/vllm/issues/35608"),
            reported("a CUDA on LD_LIBRARY_PATH breaks cuBLAS", "https://github.com/JuliaGPU/CUDA.jl/issues/1755"),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_INVALID_VALUE": 45,
                "CUBLAS_STATUS_NOT_SUPPORTED": 12,
                "CUBLAS_STATUS_INTERNAL_ERROR": 10,
                "CUBLAS_STATUS_NOT_INITIALIZED": 5,
            },
            calls=("cublasGemmEx", "cublasSgemm", "cublasLtMatmul"),
            words=(r"cublasLtHSHMatmulAlgoInit", r"libcublasLt", r"LD_LIBRARY_PATH"),
        ),
        beliefs=("CUBLAS_STATUS_INVALID_VALUE means a bug in the framework's call: look at what is loaded first.",),
    ),
    Cause(
        id="library-run-time-compilation-failed",
        title="A library could not compile or link its kernels at run time",
        why="cuDNN and cuFFT make some kernels while the program runs, with NVRTC and nvJitLink. These must be found by the loader, be"
        " of the right release, and know the GPU.",
        tell=(
            doctor("nvrtc-builtins-missing, nvjitlink-older-in-front or cudnn-dependency-missing"),
            Tell("LD_DEBUG=libs PROGRAM 2>&1 | grep -i -E 'nvrtc|nvjitlink'", "not found, or a toolkit's directory"),
        ),
        fix="Install nvidia-cuda-nvrtc and nvidia-nvjitlink of the library's CUDA release, and keep others off LD_LIBRARY_PATH.",
        evidence=(
            documented("an NVRTC or nvJitLink failure was encountered during a cuFFT operation", CUFFT),
            documented("kernel compilation failed", "cuDNN 9.28, cudnn_graph.h, cudnnStatus_t"),
            reported("NVRTC was not found from wheels", "https://github.com/v-iashin/Synchformer/issues/9"),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED": 90,
                "CUFFT_NVRTC_FAILURE": 90,
                "CUFFT_NVJITLINK_FAILURE": 90,
                "CUFFT_MISSING_DEPENDENCY": 85,
                "CUFFT_NVSHMEM_FAILURE": 20,
            },
            words=(r"\bnvrtc\b", r"nvjitlink"),
        ),
    ),
    Cause(
        id="cufft-nvshmem-not-set-up",
        title="NVSHMEM, which cuFFTMp needs, is missing or not set up in every process",
        why="cuFFTMp moves data among GPUs with NVSHMEM, a library of its own that is found by the loader and started with MPI.",
        tell=(
            Tell("LD_DEBUG=libs PROGRAM 2>&1 | grep nvshmem", "not found, or not of the version cuFFTMp was built for"),
            Tell("NVSHMEM_DEBUG=INFO PROGRAM", "what failed"),
        ),
        fix="Install the NVSHMEM release that cuFFTMp's notes name, and start all processes through one MPI.",
        evidence=(documented("an NVSHMEM failure was encountered during a cuFFT operation", CUFFT),),
        signs=Signs(errors={"CUFFT_NVSHMEM_FAILURE": 90}, words=(r"nvshmem", r"cufftmp")),
    ),
    Cause(
        id="library-license-missing",
        title="A licence that the function asks for was not found",
        why="Some functions of older releases check a licence file that NVIDIA_LICENSE_FILE names.",
        tell=(Tell("echo $NVIDIA_LICENSE_FILE", "empty, or a file that is not there or has expired"),),
        fix="Set NVIDIA_LICENSE_FILE to a valid licence, or use a current release.",
        evidence=(
            documented(
                "the licence is not present or has expired, or NVIDIA_LICENSE_FILE is not set properly",
                f"{CUBLAS}, cublasStatus_t",
            ),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_LICENSE_ERROR": 95,
                "CUDNN_STATUS_LICENSE_ERROR": 95,
                "CUSOLVER_STATUS_INVALID_LICENSE": 95,
                "CUFFT_LICENSE_ERROR": 95,
            }
        ),
    ),
    Cause(
        id="library-defect",
        title="A defect of this release of the library",
        why="Now and then a release fails for inputs that the one before or after takes.",
        tell=(
            Tell("the same call in a small program with another release of the library", "it works"),
            Tell("the library's release notes, Resolved Issues", "the case"),
        ),
        fix="Take another release. If the newest has it too, report it to NVIDIA with the small program.",
        evidence=(
            reported(
                "an SVD of the identity fails with CUDA 9.1 and not with 9.0",
                "https://github.com/cupy/cupy/issues/1365",
            ),
            reported(
                "CUBLAS_STATUS_NOT_INITIALIZED for some batch sizes, gone with another CUDA release",
                "https://github.com/mlcommons/algorithmic-efficiency/issues/185",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE": 60,
                "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM": 60,
                "CUDNN_STATUS_INTERNAL_ERROR": 5,
                "NVRTC_ERROR_INTERNAL_ERROR": 70,
                "NVRTC_ERROR_PROGRAM_CREATION_FAILURE": 30,
                "NVJITLINK_ERROR_INTERNAL": 30,
                "NVJITLINK_ERROR_FINALIZE": 30,
                "CUFFT_INTERNAL_ERROR": 15,
                "CUFFT_PARSE_ERROR": 70,
                "CUBLAS_STATUS_INTERNAL_ERROR": 10,
                "CUSPARSE_STATUS_INTERNAL_ERROR": 15,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 10,
                "CUSOLVER_STATUS_EXECUTION_FAILED": 10,
                "CUSOLVER_STATUS_IRS_INTERNAL_ERROR": 40,
                "CURAND_STATUS_INTERNAL_ERROR": 40,
                "ncclInternalError": 15,
            },
            words=(r"regression|worked (with|in|before)|after (the )?up(grade|date)",),
        ),
    ),
)

MEMORY = (
    Cause(
        id="memory-left-too-little",
        title="The program itself fills the GPU's memory, and too little is left for the library",
        why="What is allocated, what a framework's allocator keeps, and what libraries take for handles, workspaces and kernels adds up"
        " to more than there is. A library then reports a status of its own instead of out of memory.",
        tell=(
            run("note[CV416] memory-exhausted: an allocation that fails just before, and the places that hold most"),
            Tell("nvidia-smi -l 1, while the program runs", "its own memory near the total when the error comes"),
            Tell("the same program with batch size 1", "no error"),
        ),
        fix="A smaller batch or model part; free what is not needed; make handles before the tensors are allocated; return cached"
        " memory (cudaMemPoolTrimTo, torch.cuda.empty_cache()).",
        evidence=(
            documented(
                "CUBLAS_STATUS_ALLOC_FAILED: usually a cudaMalloc failed; free memory before",
                f"{CUBLAS}, cublasStatus_t",
            ),
            reported(
                "cuDNN ran out of memory while it loaded its kernels: INTERNAL_ERROR",
                "https://github.com/pytorch/pytorch/issues/81620",
            ),
            reported(
                "cublasCreate; more GPUs for the same model made it work",
                "https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
            ),
            reported("cusolverDnCreate", "https://github.com/PaddlePaddle/PaddleX/issues/740"),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_NOT_INITIALIZED": 48,
                "CUBLAS_STATUS_ALLOC_FAILED": 65,
                "CUBLAS_STATUS_INTERNAL_ERROR": 25,
                "CUDNN_STATUS_NOT_INITIALIZED": 38,
                "CUDNN_STATUS_INTERNAL_ERROR": 38,
                "CUDNN_STATUS_ALLOC_FAILED": 50,
                "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED": 70,
                "CUDNN_STATUS_EXECUTION_FAILED": 12,
                "CUFFT_ALLOC_FAILED": 85,
                "CUFFT_INTERNAL_ERROR": 25,
                "CUFFT_EXEC_FAILED": 10,
                "CUFFT_SETUP_FAILED": 40,
                "CUSPARSE_STATUS_ALLOC_FAILED": 85,
                "CUSPARSE_STATUS_NOT_INITIALIZED": 35,
                "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES": 25,
                "CUSOLVER_STATUS_ALLOC_FAILED": 85,
                "CUSOLVER_STATUS_NOT_INITIALIZED": 30,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 60,
                "CURAND_STATUS_ALLOCATION_FAILED": 85,
                "CURAND_STATUS_INITIALIZATION_FAILED": 40,
                "CURAND_STATUS_INTERNAL_ERROR": 25,
                "ncclUnhandledCudaError": 50,
            },
            calls=HANDLE_CALLS,
            words=(r"batch.?size|larger model|long(er)? sequence", r"out of memory|\boom\b"),
        ),
        beliefs=("Out of memory is always reported as such: from a library it has many names.",),
        cases=("gpu_oom_at_handle_creation",),
    ),
    Cause(
        id="host-memory-exhausted",
        title="The host has no memory left for the process",
        why="Compilers and libraries allocate on the host as well. A limit of the process, of its container or of the machine makes"
        " that fail; threads need memory and a place in the limit of processes too.",
        tell=(
            Tell("free -m; ulimit -v -u; cat /sys/fs/cgroup/memory.max", "little free, or a low limit"),
            Tell("sudo dmesg | grep -i 'out of memory'", "a kill"),
        ),
        fix="Raise the limit, or do less at once: fewer processes, fewer compilations in parallel.",
        evidence=(
            documented(
                "NVRTC_ERROR_OUT_OF_MEMORY is returned by nvrtcCreateProgram and nvrtcCompileProgram",
                "NVRTC, User Interface",
            ),
            documented("host memory allocation failed", "cuDNN 9.28, cudnn_graph.h, cudnnStatus_t"),
        ),
        signs=Signs(
            errors={
                "NVRTC_ERROR_OUT_OF_MEMORY": 90,
                "NVRTC_ERROR_PROGRAM_CREATION_FAILURE": 40,
                "NVJITLINK_ERROR_THREADPOOL": 80,
                "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED": 25,
                "CUFFT_ALLOC_FAILED": 15,
                "CUSPARSE_STATUS_ALLOC_FAILED": 15,
                "CUSOLVER_STATUS_ALLOC_FAILED": 15,
                "CURAND_STATUS_ALLOCATION_FAILED": 15,
            },
            words=(r"bad_alloc|cannot allocate memory", r"resource temporarily unavailable"),
        ),
    ),
    Cause(
        id="library-given-wrong-memory",
        title="The library was given memory that its GPU cannot use: the host's, freed, too small",
        why="Libraries do not check where a pointer leads. A kernel that reads through a bad one fails, and the call or a later one"
        " says that execution failed. Memory that is freed or reused while the work is queued has the same effect, and scalars"
        " follow the pointer mode: host or device.",
        tell=(
            run("memory-freed-in-kernel or memory-not-device-memory"),
            Tell("compute-sanitizer PROGRAM", "Invalid __global__ read or write in the library's kernel"),
        ),
        fix="Give device memory of the GPU that the handle belongs to, as large as the reference says, and keep it until the work is"
        " done (cudaStreamSynchronize).",
        evidence=(
            documented(
                "CUBLAS_STATUS_INTERNAL_ERROR: check that memory passed is not deallocated before the routine has completed",
                f"{CUBLAS}, cublasStatus_t",
            ),
            documented("CUSPARSE_STATUS_MAPPING_ERROR: check that all device pointers are valid", CUSPARSE),
            documented(
                "scalars are read from host or device memory by the pointer mode", f"{CUBLAS}, cublasPointerMode_t"
            ),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_EXECUTION_FAILED": 35,
                "CUBLAS_STATUS_MAPPING_ERROR": 60,
                "CUBLAS_STATUS_INTERNAL_ERROR": 50,
                "CUSPARSE_STATUS_EXECUTION_FAILED": 50,
                "CUSPARSE_STATUS_MAPPING_ERROR": 85,
                "CUSPARSE_STATUS_INTERNAL_ERROR": 60,
                "CUSOLVER_STATUS_EXECUTION_FAILED": 40,
                "CUSOLVER_STATUS_MAPPING_ERROR": 85,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 25,
                "CUFFT_EXEC_FAILED": 40,
                "CUDNN_STATUS_EXECUTION_FAILED": 20,
                "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER": 50,
                "CUDNN_STATUS_EXECUTION_FAILED_CUDART": 45,
                "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS": 40,
                "CUDNN_STATUS_EXECUTION_FAILED_CURAND": 40,
                "ncclUnhandledCudaError": 15,
            },
            words=(r"pointer ?mode|host pointer|device pointer",),
        ),
    ),
    Cause(
        id="library-reports-earlier-error",
        title="A kernel before the library's call failed, and the library is the first to notice",
        why="Errors of kernels come up at a later call, whichever it is. A matrix product follows nearly everything, so that cuBLAS or"
        " cuDNN often reports the index out of bounds or the assertion of another kernel; and after such an error no handle can"
        " be made any more.",
        tell=(
            run("the first failing call, and error-sticky"),
            Tell("CUDA_LAUNCH_BLOCKING=1 PROGRAM", "the error comes at the launch that causes it"),
            Tell("grep -n 'Assertion' LOG | head -1", "an assertion of a kernel, before the library's error"),
        ),
        fix="Mend the kernel that failed first: indices beyond the table (labels, tokens, class numbers) are the usual ones.",
        evidence=(
            measured(
                "cudnnCreate after a kernel's illegal address: CUDNN_STATUS_INTERNAL_ERROR",
                "cudnn_sticky_error_then_create",
            ),
            documented(
                "a launch may return errors of earlier, asynchronous launches", "CUDA Runtime API, cudaLaunchKernel"
            ),
            reported(
                "an index out of bounds stands before CUBLAS_STATUS_EXECUTION_FAILED in the log",
                "https://github.com/EvolvingLMMs-Lab/Otter/issues/218",
            ),
            reported("index assertions before the same error", "https://github.com/swc-17/SparseDrive/issues/105"),
        ),
        signs=Signs(
            errors={
                "CUBLAS_STATUS_EXECUTION_FAILED": 60,
                "CUBLAS_STATUS_INTERNAL_ERROR": 35,
                "CUBLAS_STATUS_NOT_INITIALIZED": 25,
                "CUBLAS_STATUS_ALLOC_FAILED": 20,
                "CUDNN_STATUS_EXECUTION_FAILED": 40,
                "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER": 60,
                "CUDNN_STATUS_EXECUTION_FAILED_CUDART": 60,
                "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS": 50,
                "CUDNN_STATUS_EXECUTION_FAILED_CURAND": 60,
                "CUDNN_STATUS_INTERNAL_ERROR": 20,
                "CUDNN_STATUS_MAPPING_ERROR": 15,
                "CUFFT_EXEC_FAILED": 50,
                "CUFFT_INTERNAL_ERROR": 20,
                "CUSPARSE_STATUS_EXECUTION_FAILED": 60,
                "CUSPARSE_STATUS_INTERNAL_ERROR": 30,
                "CUSOLVER_STATUS_EXECUTION_FAILED": 45,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 25,
                "CURAND_STATUS_PREEXISTING_FAILURE": 90,
                "CURAND_STATUS_LAUNCH_FAILURE": 50,
                "CURAND_STATUS_INITIALIZATION_FAILED": 45,
                "CURAND_STATUS_INTERNAL_ERROR": 20,
                "ncclUnhandledCudaError": 45,
            },
            words=(
                r"\.cuh?:\d+.{0,120}assertion|device-side assert|index out of bounds",
                r"illegal memory access|unspecified launch failure",
                r"CUDA_LAUNCH_BLOCKING|asynchronously reported",
            ),
        ),
        beliefs=(
            "The library has a bug, or the installation: run with CUDA_LAUNCH_BLOCKING=1 before changing either.",
        ),
    ),
)

NUMBERS = (
    Cause(
        id="solver-input-not-finite",
        title="The matrix has a NaN or an infinity",
        why="Some factorizations do not come to an end, or fail, when the matrix has numbers that are none. The training that"
        " produced it diverged, or a division by zero came before.",
        tell=(Tell("torch.isfinite(A).all()", "False"),),
        fix="Find where the NaN arises (torch.autograd.set_detect_anomaly(True)), or check the matrix before the call.",
        evidence=(
            reported(
                "cusolverDnXgesvd: CUSOLVER_STATUS_EXECUTION_FAILED for a NaN before CUDA 11.5, info since",
                "https://github.com/pytorch/pytorch/pull/68683",
            ),
            reported("PyTorch tests for it", "https://github.com/pytorch/pytorch/pull/64533"),
        ),
        signs=Signs(
            errors={
                "CUSOLVER_STATUS_EXECUTION_FAILED": 55,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 10,
                "CUSOLVER_STATUS_IRS_OUT_OF_RANGE": 40,
            },
            calls=("cusolverDnXgesvd", "cusolverDnXsyevd", "cusolverDnXgeqrf", "cusolverDnSgesvdj"),
            words=(r"contains nan|\bnans?\b|\binf(inity)?\b", r"\b(svd|eigh?|qr|cholesky|logdet)\b"),
        ),
    ),
    Cause(
        id="matrix-singular",
        title="The matrix is singular, or the factorization without pivoting meets a zero",
        why="A zero on the diagonal, from the start or made by the elimination, cannot be divided by. Incomplete factorizations and"
        " triangular solvers do not exchange rows.",
        tell=(
            Tell("the position that …_zeroPivot, info or dinfo gives", "the row of the zero"),
            Tell("the condition number on the host (numpy.linalg.cond)", "very large or infinite"),
        ),
        fix="Check how the matrix is made (an empty row, a missing diagonal entry); add a small multiple of the identity; or use a"
        " factorization with pivoting.",
        evidence=(
            documented("dinfo > 0 and CUSOLVER_STATUS_IRS_MATRIX_SINGULAR", CUSOLVER_IRS),
            documented(
                "the function reports a structural or numerical zero and its position",
                "cuSPARSE, cusparseXcsric02_zeroPivot",
            ),
        ),
        signs=Signs(
            errors={
                "CUSPARSE_STATUS_ZERO_PIVOT": 95,
                "CUSOLVER_STATUS_ZERO_PIVOT": 95,
                "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR": 95,
                "CUSOLVER_STATUS_IRS_OUT_OF_RANGE": 20,
            },
            words=(r"singular|zero.?pivot",),
        ),
    ),
    Cause(
        id="solver-refinement-not-converged",
        title="The solver with iterative refinement does not converge",
        why="The refinement solvers factorize in a lower precision and improve the solution step by step. A matrix that is badly"
        " conditioned, or whose numbers do not fit into the low precision, does not get there.",
        tell=(Tell("niters after the call", "negative: overflow, or the fallback was taken"),),
        fix="Choose a higher lowest precision, allow the fallback to the main one (cusolverDnIRSParamsEnableFallback), or scale.",
        evidence=(documented("CUSOLVER_STATUS_IRS_OUT_OF_RANGE: numerical error related to niters < 0", CUSOLVER_IRS),),
        signs=Signs(errors={"CUSOLVER_STATUS_IRS_OUT_OF_RANGE": 80, "CUSOLVER_STATUS_IRS_INTERNAL_ERROR": 50}),
    ),
    Cause(
        id="solver-refinement-set-up-wrongly",
        title="The structures of the solver with iterative refinement are not set up",
        why="cusolverDnIRSParamsCreate makes a structure in which precisions and refinement solver are not set; the solver returns an"
        " error until they are. cusolverDnIRSInfosCreate makes the second one, which must go before the first.",
        tell=(Tell("grep -n cusolverDnIRS SOURCE", "a missing Create or SetSolverPrecisions, SetRefinementSolver"),),
        fix="Create both, set main and lowest precision of the reference's table and CUSOLVER_IRS_REFINE_GMRES (one right-hand side"
        " only), solve, destroy Infos, then Params.",
        evidence=(
            documented("what each status means", CUSOLVER_IRS),
            documented(
                "CUSOLVER_IRS_REFINE_NOT_SET, set when Params are created, is an error",
                "cuSOLVER, cusolverIRSRefinement_t",
            ),
            documented("Infos must be destroyed first", "cuSOLVER, cusolverDnIRSParamsDestroy"),
        ),
        signs=Signs(
            errors={
                "CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED": 95,
                "CUSOLVER_STATUS_IRS_PARAMS_INVALID": 95,
                "CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC": 95,
                "CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE": 95,
                "CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER": 95,
                "CUSOLVER_STATUS_IRS_NOT_SUPPORTED": 80,
                "CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES": 95,
                "CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED": 95,
                "CUSOLVER_STATUS_IRS_INFOS_NOT_DESTROYED": 95,
            }
        ),
    ),
    Cause(
        id="sparse-product-too-large",
        title="The product of two sparse matrices is too large for the algorithm",
        why="cusparseSpGEMM's default algorithm keeps all intermediate products at once. Their number can be far above that of the"
        " result, and beyond 32-bit indices or the memory.",
        tell=(Tell("the sum over all entries (i, k) of A of the entries in row k of B", "thousands of millions"),),
        fix="Use CUSPARSE_SPGEMM_ALG2 or CUSPARSE_SPGEMM_ALG3, which work in parts, multiply in blocks, or use dense matrices.",
        evidence=(
            documented("SpGEMM has algorithms that need less memory", "cuSPARSE, cusparseSpGEMM"),
            reported("other algorithms need less memory", "https://github.com/cupy/cupy/issues/7699"),
            reported("falling back to ALG2 on this status", "https://github.com/dmlc/dgl/pull/4974"),
            reported("for some inputs only", "https://github.com/NVIDIA/CUDALibrarySamples/issues/38"),
        ),
        signs=Signs(
            errors={"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES": 85},
            calls=("cusparseSpGEMM_workEstimation", "cusparseSpGEMM_compute"),
            words=(r"spgemm|spspmm|sparse (product|gemm|matmul)",),
        ),
    ),
    Cause(
        id="numbers-overflow",
        title="The numbers are too large for the floating-point type of the kernel",
        why="Half precision ends at 65504, and kernels that accumulate in it pass that soon.",
        tell=(Tell("the same computation in float32", "finite results, above 65504"),),
        fix="Compute in float32 or bfloat16, or scale the inputs.",
        evidence=(
            documented(
                "CUDNN_STATUS_RUNTIME_FP_OVERFLOW: numerical overflow during the execution of the kernel",
                f"{CUDNN_8}, cudnnStatus_t",
            ),
        ),
        signs=Signs(errors={"CUDNN_STATUS_RUNTIME_FP_OVERFLOW": 95}),
    ),
    Cause(
        id="library-work-in-progress",
        title="Nothing failed: the work that was asked about is not done yet",
        why="Two statuses report progress. A program that treats every status but success as an error stops at them.",
        tell=(Tell("the same query a little later", "success"),),
        fix="Ask again until it is another status: ncclCommGetAsyncError for a communicator made with blocking = 0,"
        " cudnnQueryRuntimeError for cuDNN.",
        evidence=(
            documented(
                "ncclInProgress: an operation is being enqueued and progresses in the background",
                "NCCL User Guide, Types, ncclResult_t",
            ),
            documented("some tasks in the user's stream are not completed", f"{CUDNN_8}, cudnnStatus_t"),
        ),
        signs=Signs(errors={"ncclInProgress": 95, "CUDNN_STATUS_RUNTIME_IN_PROGRESS": 95}),
    ),
)

COMPILERS = (
    Cause(
        id="nvrtc-program-has-errors",
        title="The program given to NVRTC does not compile",
        why="NVRTC compiles CUDA C++ without the host's headers: names, includes and types that nvcc provides are not all there. The"
        " status says only that there are errors.",
        tell=(Tell(NVRTC_LOG, "the compiler's messages, with lines"),),
        fix="Mend what the log names. For headers that are not found pass --include-path=<toolkit>/include; the host's standard"
        " library is not available, cuda/std is.",
        evidence=(
            documented(
                "the program log holds the output of the compilation", "NVRTC, User Interface, nvrtcGetProgramLog"
            ),
            documented(
                "--include-path, --define-macro, --std and others", "NVRTC, User Interface, Supported Compile Options"
            ),
        ),
        signs=Signs(
            errors={"NVRTC_ERROR_COMPILATION": 90},
            calls=("nvrtcCompileProgram",),
            words=(r"could not open source file|cannot open source file", r"error: (identifier|expected|namespace)"),
        ),
    ),
    Cause(
        id="nvrtc-option-unknown",
        title="NVRTC is given an option that it does not have",
        why="NVRTC takes options of its own, not nvcc's: -Xcompiler, -ccbin and -gencode are not among them, and newer options are"
        " not in older releases.",
        tell=(Tell(NVRTC_LOG, "the option that is not recognised"),),
        fix="Leave the option out, or write it as NVRTC does: --gpu-architecture=sm_90, one architecture in a call.",
        evidence=(documented("all options that there are", "NVRTC, User Interface, Supported Compile Options"),),
        signs=Signs(
            errors={"NVRTC_ERROR_INVALID_OPTION": 60},
            calls=("nvrtcCompileProgram",),
            words=(r"unrecognized option|unknown option", r"-Xcompiler|-gencode|-ccbin"),
        ),
    ),
    Cause(
        id="nvrtc-call-order",
        title="NVRTC's functions are called in the wrong order, or with names that were not announced",
        why="Names of templates and overloads are announced before the compilation and asked for after it, in the same spelling.",
        tell=(
            Tell(
                "grep -n -E 'nvrtc(AddNameExpression|CompileProgram|GetLoweredName|DestroyProgram)' SOURCE",
                "another order",
            ),
        ),
        fix="nvrtcCreateProgram, nvrtcAddNameExpression, nvrtcCompileProgram, nvrtcGetLoweredName with the same string,"
        " nvrtcDestroyProgram.",
        evidence=(documented("when names are added and asked for", "NVRTC, Accessing Lowered Names"),),
        signs=Signs(
            errors={
                "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION": 95,
                "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION": 95,
                "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID": 95,
                "NVRTC_ERROR_INVALID_PROGRAM": 40,
            },
            calls=("nvrtcAddNameExpression", "nvrtcGetLoweredName"),
        ),
    ),
    Cause(
        id="nvrtc-argument-invalid",
        title="An argument of an NVRTC call is wrong",
        why="Source, names and outputs are pointers that must not be NULL, and counts must fit their arrays.",
        tell=(Tell("a debugger at the failing call", "NULL, or a count beyond the array"),),
        fix="Correct the argument; nvrtcGetErrorString names the status only.",
        evidence=(documented("NVRTC_ERROR_INVALID_INPUT, among each function's results", "NVRTC, User Interface"),),
        signs=Signs(errors={"NVRTC_ERROR_INVALID_INPUT": 90, "NVRTC_ERROR_PROGRAM_CREATION_FAILURE": 40}),
    ),
    Cause(
        id="nvrtc-precompiled-header",
        title="NVRTC's precompiled header could not be made",
        why="Precompiled headers are kept in a heap of fixed size and, if named, in a file. NVRTC goes without where it was not asked,"
        " or where the program does not allow one.",
        tell=(
            Tell("nvrtcGetPCHHeapSizeRequired against nvrtcGetPCHHeapSize", "more than there is"),
            Tell(NVRTC_LOG, "why, with --pch-messages=true"),
        ),
        fix="nvrtcSetPCHHeapSize with the size required, then compile with a new program; make the directory of --pch-dir writable.",
        evidence=(
            documented(
                "what each status means, and the way from one to the next",
                "NVRTC, User Interface, nvrtcGetPCHCreateStatus",
            ),
        ),
        signs=Signs(
            errors={
                "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED": 90,
                "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED": 95,
                "NVRTC_ERROR_PCH_CREATE": 90,
            },
            words=(r"\bpch\b|precompiled header",),
        ),
    ),
    Cause(
        id="nvrtc-file-not-writable",
        title="A file that NVRTC was told to write cannot be written",
        why="--time and --fdevice-time-trace name files. A directory that does not exist, or that may not be written, fails.",
        tell=(Tell("touch FILE", "permission denied, no such directory, or no space"),),
        fix="Name a file in a directory that exists and may be written, or leave the option out.",
        evidence=(
            documented(
                "--time=<file-name>, --fdevice-time-trace=<file-name>",
                "NVRTC, User Interface, Supported Compile Options",
            ),
        ),
        signs=Signs(errors={"NVRTC_ERROR_TIME_FILE_WRITE_FAILED": 95, "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED": 95}),
    ),
    Cause(
        id="nvrtc-stopped-by-program",
        title="The program told NVRTC to stop, or not to wait",
        why="A callback of nvrtcSetFlowCallback ends the compilation by returning 1; with NVRTC_INSTALL_HEADERS_NO_WAIT the"
        " installation of headers returns at once while another process has the lock.",
        tell=(Tell("grep -n -E 'nvrtcSetFlowCallback|NVRTC_INSTALL_HEADERS_NO_WAIT' SOURCE", "where it is asked for"),),
        fix="Nothing is broken: try again, or let the callback return 0 and leave the flag out.",
        evidence=(
            documented(
                "the callback returns 1 to cancel the compilation", "NVRTC, User Interface, nvrtcSetFlowCallback"
            ),
            documented("NVRTC_ERROR_BUSY", "NVRTC 13.5, nvrtc.h, nvrtcInstallBundledHeaders"),
        ),
        signs=Signs(errors={"NVRTC_ERROR_CANCELLED": 95, "NVRTC_ERROR_BUSY": 95}),
    ),
    Cause(
        id="nvjitlink-option-wrong",
        title="An option of nvJitLink is missing, unknown, or does not go with another",
        why="nvJitLink asks for -arch in every link and spells options with one dash and no space: -arch=sm_90. An architecture of a"
        " later toolkit is unknown to it.",
        tell=(Tell(NVJITLINK_LOG, "the option"),),
        fix="Pass -arch=sm_<GPU> (compute_<…> only with -ptx); add -lto for LTO-IR inputs and for -ptx.",
        evidence=(documented("the options, what they need and exclude", NVJITLINK_OPTIONS),),
        signs=Signs(
            errors={
                "NVJITLINK_ERROR_UNRECOGNIZED_OPTION": 95,
                "NVJITLINK_ERROR_MISSING_ARCH": 95,
                "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS": 95,
                "NVJITLINK_ERROR_UNRECOGNIZED_ARCH": 70,
                "NVJITLINK_ERROR_UNSUPPORTED_ARCH": 70,
                "NVJITLINK_ERROR_LTO_NOT_ENABLED": 95,
            },
            calls=("nvJitLinkCreate",),
        ),
    ),
    Cause(
        id="nvjitlink-older-than-input",
        title="The nvJitLink that is loaded is older than an input of the link, or than the GPU",
        why="nvJitLink reads inputs of its own release and older ones. LTO-IR of a newer NVRTC or nvcc, and architectures that came"
        " later, it does not.",
        tell=(
            Tell("nvJitLinkVersion against nvrtcVersion or nvcc --version", "nvJitLink's is lower"),
            Tell("cuvet inspect INPUT", "the release that made it, and its architecture"),
        ),
        fix="Install nvidia-nvjitlink of the newest release among the inputs, and keep older ones off LD_LIBRARY_PATH.",
        evidence=(
            documented("the library's version must be that of the newest input, or newer", "nvJitLink, Compatibility"),
            reported(
                "'libnvJitLink.so.12 is too old; it is version 12.2, need at least version 12.9'",
                "https://github.com/NVIDIA/cudf/pull/20873",
            ),
            reported("pip took an older one than cuSPARSE needs", "https://github.com/NVIDIA/cuvs/pull/1794"),
        ),
        signs=Signs(
            errors={
                "NVJITLINK_ERROR_OUTDATED_LIBRARY": 90,
                "NVJITLINK_ERROR_NVVM_COMPILE": 70,
                "NVJITLINK_ERROR_PTX_COMPILE": 40,
                "NVJITLINK_ERROR_UNRECOGNIZED_INPUT": 40,
                "NVJITLINK_ERROR_UNRECOGNIZED_ARCH": 60,
                "NVJITLINK_ERROR_UNSUPPORTED_ARCH": 60,
                "NVJITLINK_ERROR_INTERNAL": 25,
            },
            words=(r"libnvjitlink\S* is too old", r"\bltoir\b|lto-ir", r"unsupported (ir )?version"),
        ),
    ),
    Cause(
        id="nvjitlink-input-for-other-architecture",
        title="An input of the link is for another architecture than -arch, or has none for it",
        why="Machine code must fit the target, and PTX and LTO-IR may not be for a newer architecture than it. A host object or"
        " library may hold device code for other GPUs only.",
        tell=(
            Tell(NVJITLINK_LOG, "the input's name and both architectures"),
            Tell("cuvet inspect INPUT", "the architectures that it has"),
        ),
        fix="Compile the input for the target or an older architecture (PTX, LTO-IR), or ask the GPU for its architecture and pass"
        " that to both.",
        evidence=(
            reported(
                "'LTOIR arch newer than target arch': compiled for compute_89, linked for another",
                "https://github.com/m-schuetz/SimLOD/issues/9",
            ),
            documented("arch mismatch; missing fatbin", "nvJitLink, User Interface, nvJitLinkResult"),
        ),
        signs=Signs(
            errors={
                "NVJITLINK_ERROR_ARCH_MISMATCH": 95,
                "NVJITLINK_ERROR_INTERNAL": 50,
                "NVJITLINK_ERROR_MISSING_FATBIN": 70,
                "NVJITLINK_ERROR_FINALIZE": 30,
            },
            calls=("nvJitLinkAddData", "nvJitLinkAddFile"),
            words=(r"arch newer than target", r"target arch"),
        ),
    ),
    Cause(
        id="nvjitlink-input-wrong",
        title="An input of the link is not what it is said to be, is empty, or does not compile",
        why="Each input has a type: cubin, PTX, LTO-IR, fatbin, host object, library. Data of another type, cut off, or with errors in"
        " them are refused; a symbol that no input defines fails at the end.",
        tell=(
            Tell(NVJITLINK_LOG, "the input's name, and the compiler's messages"),
            Tell("cuvet inspect INPUT", "what it is"),
        ),
        fix="Name the type that the input has, or NVJITLINK_INPUT_ANY; compile host objects with -rdc=true; check that the file was"
        " read in full.",
        evidence=(
            documented("the types of inputs, ANY among them", "nvJitLink, User Interface, nvJitLinkInputType"),
            reported(
                "an NVRTC error that was not looked at left an empty LTO-IR",
                "https://github.com/NVIDIA/cuda-python/pull/689",
            ),
        ),
        signs=Signs(
            errors={
                "NVJITLINK_ERROR_INVALID_INPUT": 80,
                "NVJITLINK_ERROR_NULL_INPUT": 90,
                "NVJITLINK_ERROR_UNRECOGNIZED_INPUT": 80,
                "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE": 95,
                "NVJITLINK_ERROR_PTX_COMPILE": 70,
                "NVJITLINK_ERROR_NVVM_COMPILE": 40,
                "NVJITLINK_ERROR_FINALIZE": 60,
                "NVJITLINK_ERROR_MISSING_FATBIN": 60,
                "NVJITLINK_ERROR_INTERNAL": 20,
            },
            calls=("nvJitLinkAddData", "nvJitLinkAddFile"),
            words=(r"undefined (reference|symbol).{0,20}link",),
        ),
    ),
)

NCCL = (
    Cause(
        id="nccl-ranks-share-gpu",
        title="Two ranks of one communicator use the same GPU",
        why="Each rank must have a GPU of its own. Ranks that do not choose one by their local number all get device 0; more processes"
        " than visible GPUs end the same way.",
        tell=(
            nccl_log("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device …"),
            Tell(
                "print LOCAL_RANK, torch.cuda.current_device() and CUDA_VISIBLE_DEVICES in every rank",
                "one device twice",
            ),
        ),
        fix="torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before init_process_group; no more processes than GPUs.",
        evidence=(
            documented(
                "one device as several ranks of a communicator is not supported",
                "NCCL User Guide, Creating a Communicator",
            ),
            reported("a default GPU was set in the code", "https://github.com/Peterande/D-FINE/issues/289"),
            reported("'Duplicate GPU detected' from every rank", "https://github.com/horovod/horovod/issues/3929"),
        ),
        signs=Signs(
            errors={"ncclInvalidUsage": 85},
            calls=("ncclCommInitRank", "ncclCommInitRankConfig"),
            words=(r"duplicate gpu detected", r"local_rank|set_device|nproc_per_node"),
        ),
    ),
    Cause(
        id="nccl-call-misused",
        title="A call of NCCL has a wrong argument, or comes in a state that does not allow it",
        why="NCCL checks pointers, roots, counts and the communicator. A communicator that was aborted or destroyed, often by the"
        " handling of an earlier error, is used again.",
        tell=(nccl_log("NCCL WARN … : invalid …, or comm … has already been destroyed"),),
        fix="Correct the argument. After an error abort the communicator on every rank and make a new one.",
        evidence=(
            documented(
                "ncclInvalidArgument and ncclInvalidUsage are programming errors in the application",
                f"{NCCL_TROUBLE}, Errors",
            ),
            reported(
                "a communicator that had already been destroyed", "https://github.com/horovod/horovod/issues/3625"
            ),
        ),
        signs=Signs(
            errors={"ncclInvalidArgument": 90, "ncclInvalidUsage": 35},
            calls=("ncclAllReduce", "ncclBroadcast", "ncclCommDestroy", "ncclSend", "ncclRecv"),
            words=(r"already been destroyed|invalid root|NCCL WARN .{0,60}invalid",),
        ),
    ),
    Cause(
        id="nccl-shared-memory-too-small",
        title="/dev/shm is too small for NCCL, as in a container with Docker's default of 64 MB",
        why="Ranks on one machine without peer access exchange data through shared memory in /dev/shm. When it is full,"
        " posix_fallocate fails, and NCCL says system error.",
        tell=(
            nccl_log("Error while creating shared memory segment /dev/shm/nccl-…, No space left on device"),
            Tell("df -h /dev/shm", "64M, or nearly full"),
        ),
        fix="docker run --shm-size=1g (or --ipc=host); in Kubernetes an emptyDir with medium: Memory at /dev/shm.",
        evidence=(
            documented("Docker's defaults are too small: --shm-size=1g --ulimit memlock=-1", f"{NCCL_TROUBLE}, Docker"),
            reported("64 MB; a larger size mends it", "https://github.com/NVIDIA/nccl/issues/342"),
            reported("--shm-size=1g mends it", "https://github.com/pytorch/torchtitan/issues/853"),
            reported("--ipc=host mends it", "https://github.com/NVIDIA/nccl/issues/473"),
        ),
        signs=Signs(
            errors={"ncclSystemError": 60},
            words=(
                r"shared memory segment|posix_fallocate|/dev/shm",
                r"no space left on device",
                r"docker|container|kubernetes|shm-size",
            ),
        ),
    ),
    Cause(
        id="nccl-peer-ended",
        title="Another rank ended or failed first; this one only lost the connection",
        why="When one process dies, of memory, an exception or a signal, all others lose it and report a remote or internal error. The"
        " last error in time is the first that is shown.",
        tell=(
            nccl_log("Connection closed by remote peer, Call to recv … failed, in the ranks that survive"),
            Tell("the end of every rank's log, ordered by time", "one that ends before the others report"),
        ),
        fix="Look for the rank that failed first (torchrun --redirects 3 --log-dir DIR keeps each rank's output), and mend that.",
        evidence=(
            documented(
                "a network error, or a remote process that exited prematurely", "NCCL User Guide, Types, ncclResult_t"
            ),
            reported(
                "a segmentation fault in one rank before the others' internal error",
                "https://github.com/NVIDIA/nccl/issues/795",
            ),
            reported(
                "one rank out of memory, the others: connection closed by remote peer",
                "https://github.com/NVIDIA/nccl/issues/1235",
            ),
        ),
        signs=Signs(
            errors={"ncclRemoteError": 80, "ncclInternalError": 70, "ncclSystemError": 20, "ncclTimeout": 40},
            words=(
                r"connection (closed|reset) by|broken pipe|recv failed|socket.{0,20}failed",
                r"remote peer|rank \d+",
            ),
        ),
        beliefs=("Rank 0's message tells the reason: it tells that another rank has gone.",),
    ),
    Cause(
        id="nccl-network",
        title="The machines do not reach each other over the interface that NCCL chose",
        why="NCCL picks network interfaces by itself. One that is up but does not lead to the other machines makes it fail or hang, and"
        " InfiniBand with a fault fails in the middle of the work.",
        tell=(
            nccl_log("NET/Socket : Using …, NET/IB : Got completion … with error"),
            Tell("ibstat; ib_write_bw between the machines", "a port that is down, or no connection"),
        ),
        fix="NCCL_SOCKET_IFNAME=<interface>, NCCL_IB_HCA=<adapter>; to see whether InfiniBand is the reason: NCCL_IB_DISABLE=1.",
        evidence=(
            documented(
                "NCCL may try interfaces that are up and cannot communicate: it fails or hangs; NCCL_SOCKET_IFNAME",
                f"{NCCL_TROUBLE}, Networking issues",
            ),
            reported("InfiniBand was broken on some machines", "https://github.com/NVIDIA/nccl/issues/2076"),
        ),
        signs=Signs(
            errors={"ncclRemoteError": 60, "ncclSystemError": 45, "ncclInternalError": 30, "ncclTimeout": 50},
            words=(
                r"NET/IB|infiniband|ibv_\w+|\brdma\b|\broce\b",
                r"NCCL_SOCKET_IFNAME|no route to host|connection refused|connect to .{0,60}failed",
                r"vendor err|got completion",
            ),
        ),
    ),
    Cause(
        id="nccl-ranks-disagree",
        title="The ranks do not all make the same calls in the same order",
        why="A collective waits for every rank. One that takes another branch, has fewer batches, or another size, leaves the others"
        " waiting, until a timeout ends them.",
        tell=(
            Tell("TORCH_DISTRIBUTED_DEBUG=DETAIL PROGRAM", "which rank called what, and with which shape"),
            Tell("py-spy dump --pid PID, on every rank", "one rank in another place than the rest"),
        ),
        fix="Make all ranks call the same collectives with the same counts: equal numbers of batches, no collective under a condition"
        " that differs.",
        evidence=(
            documented(
                "each rank must call the same collective with the same count and type; else undefined: hangs, crashes",
                "NCCL User Guide, Collective Operations",
            ),
        ),
        signs=Signs(
            errors={"ncclTimeout": 70, "ncclInvalidUsage": 20, "ncclRemoteError": 15, "ncclInternalError": 10},
            words=(r"collective operation timeout|watchdog|timed out", r"\bhangs?\b|stuck"),
        ),
    ),
    Cause(
        id="nccl-cuda-call-failed",
        title="A CUDA call inside NCCL failed, and NCCL's log has CUDA's own error",
        why="NCCL allocates buffers, loads kernels and maps memory of peers. Each of these can fail as in any other program, and NCCL"
        " returns one status for all.",
        tell=(
            nccl_log("NCCL WARN Cuda failure 'out of memory', 'invalid argument', 'named symbol not found', …"),
            Tell("cuvet explain - < LOG", "the causes of that error"),
            run("the call that failed, with its arguments"),
        ),
        fix="Mend the error that the log names. 'named symbol not found' and 'no kernel image': a NCCL built for another CUDA release"
        " or without the GPU's architecture.",
        evidence=(
            documented(
                "ncclUnhandledCudaError and ncclSystemError: a call to an external library failed",
                f"{NCCL_TROUBLE}, Errors",
            ),
            reported("'Cuda failure 'out of memory''", "https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/386"),
            reported(
                "'named symbol not found' with a NCCL for CUDA 11.8", "https://github.com/NVIDIA/nccl-tests/issues/208"
            ),
        ),
        signs=Signs(
            errors={"ncclUnhandledCudaError": 75},
            calls=("ncclCommInitRank", "ncclCommInitAll"),
            words=(r"cuda failure",),
        ),
    ),
)

CAUSES = (*HANDLES, *SUPPORT, *MEMORY, *NUMBERS, *COMPILERS, *NCCL)
