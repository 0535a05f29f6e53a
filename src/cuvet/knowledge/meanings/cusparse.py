"""cuSPARSE: ``cusparseStatus_t``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import reported

said = partial(meaning, source="cuSPARSE, cusparseStatus_t")

MEANINGS = {
    "CUSPARSE_STATUS_SUCCESS": said("The call succeeded.", "the operation completed successfully"),
    "CUSPARSE_STATUS_NOT_INITIALIZED": said(
        "cusparseCreate failed or was not called; or a matrix or vector descriptor was not made.",
        "usually no prior call, an error of the CUDA runtime called by cuSPARSE, or of the hardware setup; also a descriptor that"
        " is not initialized",
    ),
    "CUSPARSE_STATUS_ALLOC_FAILED": said(
        "An allocation inside cuSPARSE failed, of GPU or host memory.",
        "usually a device memory allocation, or one of host memory",
    ),
    "CUSPARSE_STATUS_INVALID_VALUE": said(
        "An argument is wrong: a negative size, a descriptor that does not fit, a buffer that is NULL.",
        "an unsupported value or parameter was passed, a negative vector size for example",
    ),
    "CUSPARSE_STATUS_ARCH_MISMATCH": said(
        "The function needs something that this GPU's architecture does not have.",
        "the function requires a feature absent from the device's architecture",
    ),
    "CUSPARSE_STATUS_MAPPING_ERROR": said(
        "GPU memory could not be reached: a pointer that is not the GPU's, or a texture.",
        "usually a texture that could not be bound, or an invalid device pointer",
    ),
    "CUSPARSE_STATUS_EXECUTION_FAILED": said(
        "A kernel of cuSPARSE could not be launched, or the GPU had an error by then.",
        "the GPU program failed to execute; often the kernel could not be launched, for one of many reasons",
    ),
    "CUSPARSE_STATUS_INTERNAL_ERROR": said(
        "Something inside cuSPARSE failed, mostly a copy to or from the GPU.",
        "usually a cudaMemcpyAsync that failed; check that memory given to the call is not freed before it has ended",
    ),
    "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED": said(
        "The function does not take a matrix of this type.", "usually an invalid matrix descriptor was passed"
    ),
    "CUSPARSE_STATUS_ZERO_PIVOT": meaning(
        "A factorization or triangular solve met a zero on the diagonal, in the structure or in the numbers.",
        "returned by the functions that ask for the position of a structural or numerical zero",
        source="cuSPARSE, cusparseXcsric02_zeroPivot",
    ),
    "CUSPARSE_STATUS_NOT_SUPPORTED": said(
        "cuSPARSE does not support this operation with these types, formats or settings.",
        "the operation or data type combination is currently not supported",
    ),
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES": said(
        "The computation needs more than there is, of GPU or shared memory, or sizes that the index type cannot hold.",
        "resources such as global or shared memory do not suffice; or the computation mode, as the size of indices, does not allow"
        " the input",
        reported(
            "a product of sparse matrices whose intermediate result is too large for the default algorithm",
            "https://github.com/cupy/cupy/issues/7699",
        ),
        beliefs=("The GPU's memory is full: SpGEMM's default algorithm gives it with much memory free.",),
    ),
}
