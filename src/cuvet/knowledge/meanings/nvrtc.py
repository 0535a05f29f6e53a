"""NVRTC: ``nvrtcResult``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import reported

create = partial(meaning, source="NVRTC, User Interface, nvrtcCreateProgram")
compile_program = partial(meaning, source="NVRTC, User Interface, nvrtcCompileProgram")
names = partial(meaning, source="NVRTC, User Interface, nvrtcAddNameExpression and nvrtcGetLoweredName")
precompiled = partial(meaning, source="NVRTC, User Interface, nvrtcGetPCHCreateStatus")

MEANINGS = {
    "NVRTC_SUCCESS": create("The call succeeded.", "no error"),
    "NVRTC_ERROR_OUT_OF_MEMORY": create(
        "NVRTC could not allocate host memory.", "returned by nvrtcCreateProgram and nvrtcCompileProgram"
    ),
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE": create(
        "nvrtcCreateProgram could not make a program.", "returned by nvrtcCreateProgram"
    ),
    "NVRTC_ERROR_INVALID_INPUT": create(
        "An argument is wrong: NULL where a pointer is needed, a count that does not fit its arrays.",
        "returned by nearly all functions",
    ),
    "NVRTC_ERROR_INVALID_PROGRAM": create(
        "The handle is not that of a program that exists.", "returned by the functions that take an nvrtcProgram"
    ),
    "NVRTC_ERROR_INVALID_OPTION": compile_program(
        "NVRTC does not know an option, or not the value given to it; nvrtcGetProgramLog names it. The usual one is"
        " --gpu-architecture with a GPU that this NVRTC does not know.",
        "the options are those of the release; see Supported Compile Options",
        reported("an NVRTC from before the RTX 4090", "https://github.com/sczhou/CodeFormer/issues/167"),
    ),
    "NVRTC_ERROR_COMPILATION": compile_program(
        "The program has errors; nvrtcGetProgramLog has the compiler's messages.",
        "the program log holds the compiler's output",
        beliefs=("The status says what is wrong: only the log does, and many frameworks hide it.",),
    ),
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE": compile_program(
        "libnvrtc could not use its second library, libnvrtc-builtins: mostly the loader does not find one of the same release.",
        "returned by nvrtcCompileProgram and by the functions that install the bundled headers",
        reported(
            "the log says 'failed to open libnvrtc-builtins.so.12.8'", "https://github.com/NVIDIA/numba-cuda/pull/196"
        ),
        beliefs=("A builtin function of the program fails: the program is not looked at yet.",),
    ),
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION": names(
        "nvrtcAddNameExpression was called after nvrtcCompileProgram: it must come before.",
        "name expressions have to be added before the compilation",
    ),
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION": names(
        "nvrtcGetLoweredName was called before nvrtcCompileProgram: names exist after it.",
        "lowered names exist once the program is compiled",
    ),
    "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID": names(
        "The name that nvrtcGetLoweredName asks for was not given to nvrtcAddNameExpression, character by character.",
        "the name expression must be identical to the one that was added",
    ),
    "NVRTC_ERROR_INTERNAL_ERROR": meaning(
        "Something inside NVRTC failed.",
        "returned by nvrtcGetTypeName if the type's name cannot be had",
        source="NVRTC, User Interface, Host Helper",
    ),
    "NVRTC_ERROR_TIME_FILE_WRITE_FAILED": compile_program(
        "The file named by the option --time could not be written.", "returned by nvrtcCompileProgram"
    ),
    "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED": precompiled(
        "No precompiled header was made: none was asked for, or, where NVRTC may decide, it decided against.",
        "not requested in the compilation before, or automatic and the compiler chose not to",
    ),
    "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED": precompiled(
        "The heap for precompiled headers is too small.",
        "ask nvrtcGetPCHHeapSizeRequired, set that size, and compile with a new program",
    ),
    "NVRTC_ERROR_PCH_CREATE": precompiled(
        "The precompiled header could not be made.", "an error condition prevented the file from being created"
    ),
    "NVRTC_ERROR_CANCELLED": meaning(
        "The compilation was ended by the callback that the program set for that.",
        "the callback returns 1 to cancel the compilation",
        source="NVRTC, User Interface, nvrtcSetFlowCallback",
    ),
    "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED": meaning(
        "The file named by the option --fdevice-time-trace could not be written.",
        "--fdevice-time-trace=<file-name> writes how long the parts of the compilation took",
        source="NVRTC 13.5, nvrtc.h, Supported Compile Options",
    ),
    "NVRTC_ERROR_BUSY": meaning(
        "Another process is installing NVRTC's headers in that directory, and the call was told not to wait for it.",
        "the lock is held by another process and NVRTC_INSTALL_HEADERS_NO_WAIT was given",
        source="NVRTC 13.5, nvrtc.h, nvrtcInstallBundledHeaders",
    ),
}
