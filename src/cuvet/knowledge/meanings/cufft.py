"""cuFFT: ``cufftResult``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import reported

said = partial(meaning, source="cuFFT API Reference, Return value cufftResult")

MEANINGS = {
    "CUFFT_SUCCESS": said("The call succeeded.", "the cuFFT operation was successful"),
    "CUFFT_INVALID_PLAN": said(
        "The plan is not one: it was never made, making it failed, or it was destroyed.",
        "cuFFT was passed an invalid plan handle",
    ),
    "CUFFT_ALLOC_FAILED": said(
        "cuFFT could not allocate memory, on the GPU or the host.",
        "cuFFT failed to allocate GPU or CPU memory",
    ),
    "CUFFT_INVALID_TYPE": said("The type of the transform is not supported.", "the cuFFT type provided is unsupported"),
    "CUFFT_INVALID_VALUE": said(
        "A pointer or another argument is wrong.", "user specified an invalid pointer or parameter"
    ),
    "CUFFT_INTERNAL_ERROR": said(
        "cuFFT or the driver below it failed, for example because this cuFFT does not know the GPU.",
        "driver or internal cuFFT library error",
        reported("on an RTX 4090 with CUDA 11.7; gone with 11.8", "https://github.com/pytorch/pytorch/issues/88038"),
        reported("on an L4 with CUDA 11.7", "https://github.com/warpem/warp/issues/178"),
        beliefs=("The GPU is broken: a cuFFT that is older than the GPU is the usual reason.",),
    ),
    "CUFFT_EXEC_FAILED": said(
        "The transform could not be run on the GPU.",
        "failed to execute an FFT on the GPU",
        reported("a cached plan of another GPU was used", "https://github.com/pytorch/pytorch/issues/19224"),
    ),
    "CUFFT_SETUP_FAILED": said("cuFFT could not start.", "the cuFFT library failed to initialize"),
    "CUFFT_INVALID_SIZE": said("The transform cannot have this size.", "user specified an invalid transform size"),
    "CUFFT_UNALIGNED_DATA": said("Not returned by current releases.", "not currently in use"),
    "CUFFT_INCOMPLETE_PARAMETER_LIST": said("Parameters are missing in the call.", "missing parameters in call"),
    "CUFFT_INVALID_DEVICE": said(
        "The plan was made on another GPU than the one that is current now.",
        "execution of a plan was on a different GPU than plan creation",
    ),
    "CUFFT_PARSE_ERROR": said("cuFFT's own database of plans could not be read.", "internal plan database error"),
    "CUFFT_NO_WORKSPACE": said(
        "The plan has no work area: cuFFT was told not to allocate one (cufftSetAutoAllocation), and cufftSetWorkArea was not"
        " called.",
        "no workspace has been provided prior to plan execution",
    ),
    "CUFFT_NOT_IMPLEMENTED": said(
        "The function does not do this for these parameters.",
        "the function does not implement functionality for the parameters given",
    ),
    "CUFFT_LICENSE_ERROR": said("A licence check failed; only older releases have it.", "used in previous versions"),
    "CUFFT_NOT_SUPPORTED": said(
        "cuFFT does not support the operation for these parameters.", "operation is not supported for parameters given"
    ),
    "CUFFT_MISSING_DEPENDENCY": said(
        "A library that cuFFT opens when it needs it was not found.", "cuFFT is unable to find a dependency"
    ),
    "CUFFT_NVRTC_FAILURE": said(
        "NVRTC, which compiles kernels for cuFFT at run time, failed.",
        "an NVRTC failure was encountered during a cuFFT operation",
    ),
    "CUFFT_NVJITLINK_FAILURE": said(
        "nvJitLink, which links kernels for cuFFT at run time, failed.",
        "an nvJitLink failure was encountered during a cuFFT operation",
    ),
    "CUFFT_NVSHMEM_FAILURE": said(
        "NVSHMEM, which cuFFTMp uses among GPUs, failed.", "an NVSHMEM failure was encountered during a cuFFT operation"
    ),
}
