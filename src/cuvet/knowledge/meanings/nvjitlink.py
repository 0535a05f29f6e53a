"""nvJitLink: ``nvJitLinkResult``. Each failure has more in ``nvJitLinkGetErrorLog``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import documented, reported

said = partial(meaning, source="nvJitLink, User Interface, nvJitLinkResult")
OPTIONS = "nvJitLink, User Interface, Supported Link Options"

MEANINGS = {
    "NVJITLINK_SUCCESS": said("The call succeeded.", "no error"),
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION": said(
        "An option is not one of nvJitLink's.",
        "unrecognized option",
        documented("options begin with one dash, a value follows '=' without a space: -arch=sm_90", OPTIONS),
    ),
    "NVJITLINK_ERROR_MISSING_ARCH": said(
        "The option -arch is missing: nvJitLink does not ask the GPU.",
        "option -arch=sm_NN not specified",
        documented("-arch=sm_<N> is a required option", OPTIONS),
    ),
    "NVJITLINK_ERROR_INVALID_INPUT": said(
        "An argument is wrong, such as a handle that is not one, or an input's data are not what its type says.",
        "invalid input",
    ),
    "NVJITLINK_ERROR_PTX_COMPILE": said(
        "PTX among the inputs could not be compiled; the error log has ptxas' messages.", "issue during PTX compilation"
    ),
    "NVJITLINK_ERROR_NVVM_COMPILE": said(
        "LTO-IR among the inputs could not be compiled.", "issue during NVVM compilation"
    ),
    "NVJITLINK_ERROR_INTERNAL": said(
        "Linking failed in a way that has no status of its own; the error log says more.",
        "internal error",
        reported(
            "6, and in the log: 'LTOIR arch newer than target arch'", "https://github.com/m-schuetz/SimLOD/issues/9"
        ),
        beliefs=("It is a bug in nvJitLink: in the thread an input was for a newer architecture than -arch.",),
    ),
    "NVJITLINK_ERROR_THREADPOOL": said(
        "The threads for split compilation could not be started.",
        "issue with thread pool",
        documented("-split-compile=<N>: the most threads for it; 0 uses all processors", OPTIONS),
    ),
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT": said(
        "An input is no kind of file or data that nvJitLink knows.", "unrecognized input"
    ),
    "NVJITLINK_ERROR_FINALIZE": said("The last step, which makes the linked cubin, failed.", "finalizer error"),
    "NVJITLINK_ERROR_NULL_INPUT": said("An input is NULL or empty.", "null input"),
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS": said(
        "Options exclude each other, or one needs another that is not given.",
        "incompatible options",
        documented("-ptx is only supported with -lto", OPTIONS),
    ),
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE": said(
        "The type that was named for an input is not what the input is.", "incorrect input type"
    ),
    "NVJITLINK_ERROR_ARCH_MISMATCH": said(
        "An input is for an architecture that does not fit the one of -arch.", "arch mismatch"
    ),
    "NVJITLINK_ERROR_OUTDATED_LIBRARY": said(
        "The nvJitLink that is loaded is older than what made an input.",
        "outdated library",
        documented("the library's version must be that of the newest input, or newer", "nvJitLink, Compatibility"),
    ),
    "NVJITLINK_ERROR_MISSING_FATBIN": said(
        "A host object or library among the inputs has no device code in it.", "missing fatbin"
    ),
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH": said(
        "The value of -arch is no architecture that this nvJitLink knows.", "unrecognized -arch value"
    ),
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH": said(
        "nvJitLink knows the architecture of -arch, but does not link for it.", "unsupported -arch value"
    ),
    "NVJITLINK_ERROR_LTO_NOT_ENABLED": said(
        "An input or an option needs link time optimization, and -lto is not given.", "requires -lto"
    ),
}
