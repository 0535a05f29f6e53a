"""cuBLAS: ``cublasStatus_t``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import documented, reported

said = partial(meaning, source="cuBLAS, Using the cuBLAS API, cublasStatus_t")

MEANINGS = {
    "CUBLAS_STATUS_SUCCESS": said("The call succeeded.", "the operation completed successfully"),
    "CUBLAS_STATUS_NOT_INITIALIZED": said(
        "cublasCreate failed, or cuBLAS is used without a handle from it. From cublasCreate it mostly says that no GPU memory"
        " was left.",
        "usually no prior cublasCreate, an error of the CUDA runtime called by cuBLAS, or of the hardware setup",
        reported(
            "more GPUs for the same model made it work",
            "https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
        ),
        reported("JAX had preallocated the memory", "https://github.com/jax-ml/jax/issues/7118"),
        beliefs=(
            "The installation is broken: the library was loaded and asked the GPU. Less work on the GPU, or ending what else"
            " runs there, is what helps most often.",
        ),
    ),
    "CUBLAS_STATUS_ALLOC_FAILED": said(
        "An allocation inside cuBLAS failed: there is too little GPU memory left.",
        "usually a cudaMalloc that failed; free memory before the call",
    ),
    "CUBLAS_STATUS_INVALID_VALUE": said(
        "An argument is wrong: a negative size, a leading dimension smaller than the matrix, a type that does not fit.",
        "an unsupported value or parameter was passed, a negative vector size for example",
        reported("libcublas with a libcublasLt of another version", "https://github.com/pytorch/pytorch/pull/174320"),
        beliefs=(
            "The call's arguments must be wrong: correct ones are refused as well where libcublas and libcublasLt are of"
            " different releases.",
        ),
    ),
    "CUBLAS_STATUS_ARCH_MISMATCH": said(
        "The function needs something that this GPU's architecture does not have.",
        "the function requires a feature absent from the device's architecture",
    ),
    "CUBLAS_STATUS_MAPPING_ERROR": said(
        "GPU memory could not be reached, as when a texture cannot be bound.",
        "an access to GPU memory space failed, usually because a texture could not be bound",
    ),
    "CUBLAS_STATUS_EXECUTION_FAILED": said(
        "A kernel of cuBLAS could not be launched, or the GPU had an error by then.",
        "the GPU program failed to execute; often the kernel could not be launched, for one of many reasons",
        reported(
            "the log has index assertions of an earlier kernel", "https://github.com/EvolvingLMMs-Lab/Otter/issues/218"
        ),
        documented(
            "a launch may return errors of earlier, asynchronous launches", "CUDA Runtime API, cudaLaunchKernel"
        ),
        beliefs=(
            "The matrix product is at fault: an index out of bounds in a kernel before it is reported here, and everywhere"
            " after.",
        ),
    ),
    "CUBLAS_STATUS_INTERNAL_ERROR": said(
        "Something inside cuBLAS failed, mostly a copy to or from the GPU.",
        "usually a cudaMemcpyAsync that failed; check that memory given to the call is not freed before it has ended",
    ),
    "CUBLAS_STATUS_NOT_SUPPORTED": said(
        "cuBLAS does not support this combination of types, sizes, layouts or settings.",
        "the functionality requested is not supported",
    ),
    "CUBLAS_STATUS_LICENSE_ERROR": said(
        "What was asked for needs a licence, and the check of it failed.",
        "the licence is not present or has expired, or NVIDIA_LICENSE_FILE is not set properly",
    ),
}
