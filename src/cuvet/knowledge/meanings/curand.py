"""cuRAND: ``curandStatus_t``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning

said = partial(meaning, source="cuRAND Library, enum curandStatus")

MEANINGS = {
    "CURAND_STATUS_SUCCESS": said("The call succeeded.", "no errors"),
    "CURAND_STATUS_VERSION_MISMATCH": said(
        "The program was compiled for another release of cuRAND than the one that was loaded.",
        "header file and linked library version do not match",
    ),
    "CURAND_STATUS_NOT_INITIALIZED": said(
        "The generator is not one: curandCreateGenerator failed or was not called, or it was destroyed.",
        "generator not initialized",
    ),
    "CURAND_STATUS_ALLOCATION_FAILED": said(
        "cuRAND could not allocate memory for the generator's state.", "memory allocation failed"
    ),
    "CURAND_STATUS_TYPE_ERROR": said(
        "The generator is of a type that cannot do this, or there is no such type.", "generator is wrong type"
    ),
    "CURAND_STATUS_OUT_OF_RANGE": said("An argument is outside its range.", "argument out of range"),
    "CURAND_STATUS_LENGTH_NOT_MULTIPLE": said(
        "So many numbers cannot be generated: normal distributions take an even count, quasirandom generators a multiple of their"
        " dimensions.",
        "length requested is not a multiple of dimension",
    ),
    "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED": said(
        "The MRG32k3a generator needs double precision, which the GPU does not have.",
        "GPU does not have double precision required by MRG32k3a",
    ),
    "CURAND_STATUS_LAUNCH_FAILURE": said("A kernel of cuRAND could not be launched.", "kernel launch failure"),
    "CURAND_STATUS_PREEXISTING_FAILURE": said(
        "A CUDA call or kernel before this call had failed already.", "preexisting failure on library entry"
    ),
    "CURAND_STATUS_INITIALIZATION_FAILED": said(
        "CUDA could not be started for the generator.", "initialization of CUDA failed"
    ),
    "CURAND_STATUS_ARCH_MISMATCH": said(
        "The GPU does not support what was asked for.", "architecture mismatch, GPU does not support requested feature"
    ),
    "CURAND_STATUS_INTERNAL_ERROR": said("cuRAND failed inside.", "internal library error"),
}
