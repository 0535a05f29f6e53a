"""cuDNN: ``cudnnStatus_t`` of cuDNN 9, with what the names that it replaced meant in cuDNN 8."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import documented, measured, reported

header = partial(meaning, source="cuDNN 9.28, cudnn_graph.h, cudnnStatus_t")
version_8 = partial(meaning, source="NVIDIA cuDNN 8.9.7 API Reference, cudnnStatus_t")
LOG = documented(
    "with CUDNN_LOGLEVEL_DBG=1 and CUDNN_LOGDEST_DBG=stderr cuDNN prints a traceback of the conditions that led to an error",
    "NVIDIA cuDNN, Troubleshooting, Error Reporting And API Logging",
)

GENERAL = {
    "CUDNN_STATUS_SUCCESS": header("The call succeeded.", "operation completed successfully"),
    "CUDNN_STATUS_NOT_INITIALIZED": version_8(
        "cudnnCreate failed, or cuDNN is used without a handle from it. What keeps cudnnCreate from using the GPU, be it memory,"
        " driver or device, mostly ends in this one status.",
        "usually cudnnCreate failed, because a call of the CUDA runtime inside it did or because of the hardware, or it was not"
        " called",
        measured("cudnnCreate where no device is visible: CUDNN_STATUS_NOT_INITIALIZED", "cudnn_no_visible_device"),
        beliefs=(
            "cuDNN is not installed, and installing it again will help: the status comes from libcudnn, which was loaded. Look"
            " at free memory, driver and visible devices first.",
        ),
    ),
    "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": header(
        "The parts of cuDNN that were loaded (libcudnn_graph, libcudnn_ops, libcudnn_cnn and others) are not all of one version.",
        "sub-library version mismatch; before cuDNN 9: CUDNN_STATUS_VERSION_MISMATCH",
        beliefs=("The framework was built for another version: it is cuDNN's own files that differ among themselves.",),
    ),
    "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH": header(
        "A serialized plan is read by a version of cuDNN that does not fit the one that wrote it.",
        "serialization version mismatch",
    ),
    "CUDNN_STATUS_DEPRECATED": header("A feature was used that is deprecated.", "deprecated feature was used"),
    "CUDNN_STATUS_LICENSE_ERROR": version_8(
        "What was asked for needs a licence, and the check of it failed.",
        "the licence is not present or has expired, or NVIDIA_LICENSE_FILE is not set properly",
    ),
    "CUDNN_STATUS_RUNTIME_IN_PROGRESS": version_8(
        "No failure: the work that cudnnQueryRuntimeError asked about has not ended yet.",
        "some tasks in the user's stream are not completed",
    ),
    "CUDNN_STATUS_RUNTIME_FP_OVERFLOW": version_8(
        "A kernel computed a number that is too large for its floating-point type.",
        "numerical overflow occurred during the execution of the GPU kernel",
    ),
    "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": header(
        "A part of cuDNN that libcudnn opens by name when it first needs it could not be loaded: it is missing, not on the"
        " loader's path, of another version, or lacks a library of its own.",
        "sub-library loading failed; since cuDNN 9.2",
        beliefs=("The file that is named is missing: it may well be there, and a library that it needs be missing.",),
    ),
}

ARGUMENTS = {
    "CUDNN_STATUS_BAD_PARAM": version_8(
        "An argument is wrong, or does not fit the others. cuDNN 9 often says more closely what (CUDNN_STATUS_BAD_PARAM_*).",
        "an incorrect value or parameter was passed to the function",
        measured(
            "cudnnSetStream and cudnnGetStream with NULL as handle: CUDNN_STATUS_BAD_PARAM", "cudnn_null_handle_use"
        ),
        measured(
            "a destroyed handle: cudnnSetStream succeeds, a second cudnnDestroy ends in SIGABRT",
            "cudnn_destroy_then_use",
            "cudnn_destroy_twice",
        ),
        LOG,
        beliefs=(
            "A handle that was destroyed is reported as a bad parameter: cudnnSetStream on one succeeded, cudnnDestroy on one"
            " ended the process.",
        ),
    ),
    "CUDNN_STATUS_INVALID_VALUE": header(
        "An older name for a wrong argument: cuDNN 9 has CUDNN_STATUS_BAD_PARAM in its place.",
        "deprecated; please transition to CUDNN_STATUS_BAD_PARAM",
    ),
    "CUDNN_STATUS_BAD_PARAM_NULL_POINTER": header(
        "NULL was given where a pointer is needed.", "null pointer passed as parameter"
    ),
    "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER": header(
        "A pointer is not aligned as the operation needs it.", "misaligned pointer passed"
    ),
    "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED": header(
        "A backend descriptor is used before cudnnBackendFinalize succeeded on it.", "descriptor not finalized"
    ),
    "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND": header(
        "A value or an index lies outside of what is allowed.", "parameter out of bounds"
    ),
    "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT": header(
        "A buffer is too small, such as a workspace smaller than the plan asked for.", "insufficient buffer size"
    ),
    "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH": header(
        "The stream does not fit the handle or the operation.",
        "CUDA stream mismatch",
    ),
    "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH": header(
        "The shapes of the tensors do not go together.", "tensor shape mismatch"
    ),
    "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES": header(
        "Something that may be named once is named twice.", "duplicated entries detected"
    ),
    "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE": header(
        "The type that was given with an attribute of a backend descriptor is not that attribute's.",
        "wrong attribute type",
    ),
    "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH": header(
        "The CUDA graph does not fit the plan.",
        "CUDA graph mismatch; since cuDNN 9.5",
    ),
    "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE": header(
        "A backend descriptor of another type was given than the call needs.", "wrong descriptor type; since cuDNN 9.6"
    ),
}

NOT_SUPPORTED = {
    "CUDNN_STATUS_NOT_SUPPORTED": version_8(
        "The arguments are valid one by one, but this cuDNN has no implementation for them together: type, layout, shape,"
        " algorithm, GPU.",
        "the functionality requested is not presently supported by cuDNN",
        reported(
            "for some shapes the heuristics chose an algorithm that cannot be used",
            "https://github.com/pytorch/pytorch/issues/31336",
        ),
        LOG,
        beliefs=(
            "The input is not contiguous, as PyTorch's message supposes: contiguous ones can be beyond what the chosen"
            " algorithm supports as well.",
        ),
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN": header(
        "No engine supports this combination of operations in one graph.", "graph pattern not supported"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_SHAPE": header(
        "The engine does not support the tensors' shape.", "shape not supported"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE": header(
        "The engine does not support the data types.", "data type not supported"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT": header(
        "The engine does not support the tensors' layout (strides).", "layout not supported"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER": header(
        "The installed CUDA driver cannot run what was asked for.", "incompatible CUDA driver"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART": header(
        "The CUDA runtime that is loaded does not fit what was asked for.", "incompatible CUDA runtime"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH": version_8(
        "The GPU's architecture lacks what the function needs, or this cuDNN has no code for it.",
        "CUDNN_STATUS_ARCH_MISMATCH: a feature is absent from the current GPU",
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING": version_8(
        "A library that the function needs at run time, such as libnvrtc, was not found.",
        "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING: a runtime library required by cuDNN cannot be found in the search paths",
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE": header(
        "The part of cuDNN that has the function is not available.", "sub-library unavailable"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT": header(
        "The kernel needs more shared memory than this GPU has for a block.", "insufficient shared memory"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_PADDING": header(
        "The engine does not support the padding.", "padding mode not supported"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM": header(
        "The parameters of the kernel's launch are not possible for this problem.", "bad launch parameters"
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API": header(
        "The engine cannot be put into a CUDA graph by cudnnBackendPopulateCudaGraph.",
        "CUDA graph native API not supported; since cuDNN 9.5",
    ),
    "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE": header(
        "A shape given at run time is not valid for the plan.",
        "invalid dynamic shape; since cuDNN 9.18",
    ),
}

INTERNAL = {
    "CUDNN_STATUS_INTERNAL_ERROR": version_8(
        "Something inside cuDNN failed. The reason is mostly outside of it: no memory left to load its kernels, or an earlier"
        " error of the process.",
        "an internal cuDNN operation failed",
        measured(
            "cudnnCreate after a kernel's illegal address: CUDNN_STATUS_INTERNAL_ERROR",
            "cudnn_sticky_error_then_create",
        ),
        reported(
            "loading libcudnn_cnn_infer's kernels took about 500 MB, which were not left",
            "https://github.com/pytorch/pytorch/issues/81620",
        ),
        LOG,
        beliefs=("It is a bug in cuDNN: look at free memory, and for an earlier error, first.",),
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED": header(
        "A kernel that cuDNN generates at run time could not be compiled.", "kernel compilation failed", LOG
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE": header(
        "cuDNN met a value in itself that it does not expect.", "unexpected internal value", LOG
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED": header(
        "An allocation of host memory failed. Under the name CUDNN_STATUS_ALLOC_FAILED, cuDNN 8 says it of any allocation,"
        " mostly of the GPU's memory.",
        "host memory allocation failed; CUDNN_STATUS_ALLOC_FAILED is its deprecated name",
        documented(
            "CUDNN_STATUS_ALLOC_FAILED: resource allocation failed, usually an internal cudaMalloc",
            "NVIDIA cuDNN 8.9.7 API Reference, cudnnStatus_t",
        ),
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED": header(
        "An allocation of GPU memory inside cuDNN failed.", "device memory allocation failed"
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM": header(
        "cuDNN launched one of its kernels with a configuration that is not possible.",
        "bad internal launch parameters",
        LOG,
    ),
    "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED": header(
        "A texture could not be created. From cudnnSetStream, under the name CUDNN_STATUS_MAPPING_ERROR, it says that stream and"
        " handle are of different contexts.",
        "texture creation failed; CUDNN_STATUS_MAPPING_ERROR is its deprecated name",
        documented(
            "CUDNN_STATUS_MAPPING_ERROR: mismatch between the user's stream and the context of the handle",
            "NVIDIA cuDNN 8.9.7 API Reference, cudnnSetStream",
        ),
        beliefs=(
            "It is about textures, and the program has none: a handle used in another context or thread gives it too.",
        ),
    ),
}

EXECUTION = {
    "CUDNN_STATUS_EXECUTION_FAILED": version_8(
        "A kernel of cuDNN could not be launched, or the GPU reported an error by then.",
        "the GPU program failed to execute, usually because a kernel could not be launched, for one of many reasons",
        reported("the algorithm that was chosen ran out of memory", "https://github.com/BVLC/caffe/issues/2197"),
        LOG,
        beliefs=(
            "The layer that is named is at fault: an error of an earlier kernel is often reported by the next call that looks.",
        ),
    ),
    "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER": header(
        "A call of the CUDA driver inside cuDNN failed.", "CUDA driver execution failure", LOG
    ),
    "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS": header(
        "A call of cuBLAS inside cuDNN failed.", "cuBLAS execution failure", LOG
    ),
    "CUDNN_STATUS_EXECUTION_FAILED_CUDART": header(
        "A call of the CUDA runtime inside cuDNN failed.", "CUDA runtime execution failure", LOG
    ),
    "CUDNN_STATUS_EXECUTION_FAILED_CURAND": header(
        "A call of cuRAND inside cuDNN failed.", "cuRAND execution failure", LOG
    ),
}

MEANINGS = {**GENERAL, **ARGUMENTS, **NOT_SUPPORTED, **INTERNAL, **EXECUTION}
