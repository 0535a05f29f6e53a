"""cuSOLVER: ``cusolverStatus_t``. IRS are the iterative refinement solvers, ``cusolverDnIRSXgesv`` and ``cusolverDnIRSXgels``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import documented, reported

said = partial(meaning, source="cuSOLVER, cusolverStatus_t")
refined = partial(meaning, source="cuSOLVER, cusolverDnIRSXgesv")

MEANINGS = {
    "CUSOLVER_STATUS_SUCCESS": said("The call succeeded.", "the operation completed successfully"),
    "CUSOLVER_STATUS_NOT_INITIALIZED": said(
        "cusolverDnCreate (or cusolverSpCreate, cusolverRfCreate) failed or was not called, or the handle is not one.",
        "usually no prior call, an error of the CUDA runtime called by cuSOLVER, or of the hardware setup",
        documented("an invalid handle is reported as this status, not through info", "cuSOLVER, Convention of info"),
    ),
    "CUSOLVER_STATUS_ALLOC_FAILED": said(
        "An allocation inside cuSOLVER failed: there is too little memory left.",
        "usually a cudaMalloc that failed; free memory before the call",
    ),
    "CUSOLVER_STATUS_INVALID_VALUE": said(
        "An argument is wrong: a negative size, a leading dimension that is too small.",
        "an unsupported value or parameter was passed, a negative vector size for example",
    ),
    "CUSOLVER_STATUS_ARCH_MISMATCH": said(
        "The function needs something that this GPU's architecture does not have.",
        "the function requires a feature absent from the device's architecture",
        documented(
            "the IRS solvers need compute capability 7.0; 16BF and TF32 as lowest precision need 8.0",
            "cuSOLVER, cusolverDnIRSXgesv",
        ),
    ),
    "CUSOLVER_STATUS_MAPPING_ERROR": meaning(
        "GPU memory could not be reached, as when a texture cannot be bound.",
        "CUSOLVER_STATUS_MAPPING_ERROR = 5; described for cuBLAS and cuSPARSE under their names",
        source="cusolver_common.h, cusolverStatus_t",
    ),
    "CUSOLVER_STATUS_EXECUTION_FAILED": said(
        "A kernel of cuSOLVER could not be launched, the GPU had an error by then, or the numbers made the algorithm fail.",
        "the GPU program failed to execute; often the kernel could not be launched, for one of many reasons",
        reported(
            "cusolverDnXgesvd before CUDA 11.5 returns it if the matrix has a NaN",
            "https://github.com/pytorch/pytorch/pull/68683",
        ),
        beliefs=("It is always the GPU or the installation: with a NaN in the matrix it is the input.",),
    ),
    "CUSOLVER_STATUS_INTERNAL_ERROR": said(
        "Something inside cuSOLVER failed. From cusolverDnCreate it mostly says that no GPU memory was left.",
        "usually a cudaMemcpyAsync that failed; check that memory given to the call is not freed before it has ended",
        reported("from cusolverDnCreate: lack of GPU memory", "https://github.com/JIA-Lab-research/UVTR/issues/13"),
        reported("too little GPU memory", "https://github.com/PaddlePaddle/PaddleX/issues/740"),
    ),
    "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED": said(
        "The function does not take a matrix of this type.", "usually an invalid matrix descriptor was passed"
    ),
    "CUSOLVER_STATUS_NOT_SUPPORTED": said(
        "cuSOLVER does not support these parameters together.", "the parameter combination is not supported"
    ),
    "CUSOLVER_STATUS_ZERO_PIVOT": meaning(
        "A factorization met a pivot that is zero.",
        "a zero pivot was encountered during the computation",
        source="cuSOLVER, cusolverRfRefactor",
    ),
    "CUSOLVER_STATUS_INVALID_LICENSE": meaning(
        "A licence check failed.",
        "CUSOLVER_STATUS_INVALID_LICENSE = 11",
        source="cusolver_common.h, cusolverStatus_t",
    ),
    "CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED": refined(
        "The structure with the solver's parameters was not created (cusolverDnIRSParamsCreate).",
        "the configuration parameter structure was not created",
    ),
    "CUSOLVER_STATUS_IRS_PARAMS_INVALID": refined(
        "One of the solver's parameters has a value that it cannot have.",
        "one of the configuration parameters in the structure is not valid",
    ),
    "CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC": refined(
        "Main and lowest precision of the solver do not go together.",
        "the main or lowest precision is not valid; the reference has a table of the combinations",
    ),
    "CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE": refined(
        "No refinement solver was chosen, or one that is not valid.",
        "the refinement solver is not valid; CUSOLVER_IRS_REFINE_NOT_SET, the value of a new structure, is an error",
    ),
    "CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER": refined(
        "The largest number of iterations is not valid.", "the maxiter configuration parameter is not valid"
    ),
    "CUSOLVER_STATUS_IRS_INTERNAL_ERROR": refined(
        "Something inside the refinement solver failed; niters and dinfo say more.",
        "an internal error occurred; check dinfo and niters",
    ),
    "CUSOLVER_STATUS_IRS_NOT_SUPPORTED": refined(
        "The solver does not support one of its parameters with this problem.",
        "a configuration parameter is not supported, for example GMRES with nrhs > 1",
    ),
    "CUSOLVER_STATUS_IRS_OUT_OF_RANGE": refined(
        "The refinement ran into numbers out of range; niters is negative and says how.",
        "numerical error related to niters < 0",
    ),
    "CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES": refined(
        "GMRES as refinement solver takes one right-hand side only.",
        "CUSOLVER_IRS_REFINE_GMRES is not supported with nrhs > 1",
    ),
    "CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED": refined(
        "The structure for the solver's information was not created (cusolverDnIRSInfosCreate).",
        "the information structure was not created",
    ),
    "CUSOLVER_STATUS_IRS_INFOS_NOT_DESTROYED": meaning(
        "The parameters cannot be destroyed yet: information structures that belong to them still exist.",
        "not all Infos structures associated with this Params structure have been destroyed yet",
        source="cuSOLVER, cusolverDnIRSParamsDestroy",
    ),
    "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR": refined(
        "The matrix is singular: dinfo is the place of the zero pivot.", "numerical error related to dinfo > 0"
    ),
    "CUSOLVER_STATUS_INVALID_WORKSPACE": refined(
        "The workspace is smaller than the solver needs with the parameters as they are now.",
        "lwork_bytes is smaller than required; as when parameters change after the call of _bufferSize",
    ),
}
