"""Finds CUDA's errors in what people and programs write: by name, by message, or by a number that is called an error."""

import re
from functools import cache, lru_cache

from cuvet.catalog.apis import PREFIXES, STATUSES, TITLES
from cuvet.knowledge import APIS
from cuvet.knowledge.errors import INTEGER, Error, named, numbered, signalled, value

# What cudaGetErrorString answers, of the errors that public logs show.
_MESSAGES = {
    "invalid argument": "cudaErrorInvalidValue",
    "out of memory": "cudaErrorMemoryAllocation",
    "initialization error": "cudaErrorInitializationError",
    "driver shutting down": "cudaErrorCudartUnloading",
    "invalid configuration argument": "cudaErrorInvalidConfiguration",
    "invalid pitch argument": "cudaErrorInvalidPitchValue",
    "invalid device symbol": "cudaErrorInvalidSymbol",
    "invalid copy direction for memcpy": "cudaErrorInvalidMemcpyDirection",
    "CUDA driver is a stub library": "cudaErrorStubLibrary",
    "CUDA driver version is insufficient for CUDA runtime version": "cudaErrorInsufficientDriver",
    "API call is not supported in the installed CUDA driver": "cudaErrorCallRequiresNewerDriver",
    "CUDA-capable device(s) is/are busy or unavailable": "cudaErrorDevicesUnavailable",
    "incompatible driver context": "cudaErrorIncompatibleDriverContext",
    "invalid device function": "cudaErrorInvalidDeviceFunction",
    "no CUDA-capable device is detected": "cudaErrorNoDevice",
    "invalid device ordinal": "cudaErrorInvalidDevice",
    "integrity checks failed": "cudaErrorSoftwareValidityNotEstablished",
    "device kernel image is invalid": "cudaErrorInvalidKernelImage",
    "invalid device context": "cudaErrorDeviceUninitialized",
    "no kernel image is available for execution on the device": "cudaErrorNoKernelImageForDevice",
    "uncorrectable ECC error encountered": "cudaErrorECCUncorrectable",
    "exclusive-thread device already in use by a different thread": "cudaErrorDeviceAlreadyInUse",
    "peer access is not supported between these two devices": "cudaErrorPeerAccessUnsupported",
    "a PTX JIT compilation failed": "cudaErrorInvalidPtx",
    "invalid OpenGL or DirectX context": "cudaErrorInvalidGraphicsContext",
    "uncorrectable NVLink error detected during the execution": "cudaErrorNvlinkUncorrectable",
    "PTX JIT compiler library not found": "cudaErrorJitCompilerNotFound",
    "the provided PTX was compiled with an unsupported toolchain": "cudaErrorUnsupportedPtxVersion",
    "PTX JIT compilation was disabled": "cudaErrorJitCompilationDisabled",
    "file not found": "cudaErrorFileNotFound",
    "shared object symbol not found": "cudaErrorSharedObjectSymbolNotFound",
    "shared object initialization failed": "cudaErrorSharedObjectInitFailed",
    "OS call failed or operation not supported on this OS": "cudaErrorOperatingSystem",
    "invalid resource handle": "cudaErrorInvalidResourceHandle",
    "the operation cannot be performed in the present state": "cudaErrorIllegalState",
    "named symbol not found": "cudaErrorSymbolNotFound",
    "device not ready": "cudaErrorNotReady",
    "an illegal memory access was encountered": "cudaErrorIllegalAddress",
    "too many resources requested for launch": "cudaErrorLaunchOutOfResources",
    "the launch timed out and was terminated": "cudaErrorLaunchTimeout",
    "peer access is already enabled": "cudaErrorPeerAccessAlreadyEnabled",
    "peer access has not been enabled": "cudaErrorPeerAccessNotEnabled",
    "cannot set while device is active in this process": "cudaErrorSetOnActiveProcess",
    "context is destroyed": "cudaErrorContextIsDestroyed",
    "device-side assert triggered": "cudaErrorAssert",
    "peer mapping resources exhausted": "cudaErrorTooManyPeers",
    "part or all of the requested memory range is already mapped": "cudaErrorHostMemoryAlreadyRegistered",
    "pointer does not correspond to a registered memory region": "cudaErrorHostMemoryNotRegistered",
    "hardware stack error": "cudaErrorHardwareStackError",
    "an illegal instruction was encountered": "cudaErrorIllegalInstruction",
    "misaligned address": "cudaErrorMisalignedAddress",
    "operation not supported on global/shared address space": "cudaErrorInvalidAddressSpace",
    "invalid program counter": "cudaErrorInvalidPc",
    "unspecified launch failure": "cudaErrorLaunchFailure",
    "too many blocks in cooperative launch": "cudaErrorCooperativeLaunchTooLarge",
    "operation not permitted": "cudaErrorNotPermitted",
    "operation not supported": "cudaErrorNotSupported",
    "system not yet initialized": "cudaErrorSystemNotReady",
    "system has unsupported display driver / cuda driver combination": "cudaErrorSystemDriverMismatch",
    "forward compatibility was attempted on non supported HW": "cudaErrorCompatNotSupportedOnDevice",
    "MPS client failed to connect to the MPS control daemon or the MPS server": "cudaErrorMpsConnectionFailed",
    "operation not permitted when stream is capturing": "cudaErrorStreamCaptureUnsupported",
    "operation failed due to a previous error during capture": "cudaErrorStreamCaptureInvalidated",
    "operation would result in a merge of separate capture sequences": "cudaErrorStreamCaptureMerge",
    "capture was not ended in the same stream as it began": "cudaErrorStreamCaptureUnmatched",
    "capturing stream has unjoined work": "cudaErrorStreamCaptureUnjoined",
    "dependency created on uncaptured work in another stream": "cudaErrorStreamCaptureIsolation",
    "operation would make the legacy stream depend on a capturing blocking stream": "cudaErrorStreamCaptureImplicit",
    "operation not permitted on an event last recorded in a capturing stream": "cudaErrorCapturedEvent",
    "unknown error": "cudaErrorUnknown",
}
# What others say instead: ncclGetErrorString, compute-sanitizer, an assert in a kernel, PyTorch until 1.5 (THCGeneral.cpp), JAX
# (jaxlib/gpu/gpu_kernel_helpers.cc), programs with an own table of the driver's errors, shells, and people.
_OTHER_MESSAGES = {
    "no kernel image": "cudaErrorNoKernelImageForDevice",
    "unsupported PTX version": "cudaErrorUnsupportedPtxVersion",
    "all CUDA-capable devices are busy or unavailable": "cudaErrorDevicesUnavailable",
    "no CUDA-capable device is available": "cudaErrorNoDevice",
    "invalid handle": "CUDA_ERROR_INVALID_HANDLE",
    "illegal memory access": "cudaErrorIllegalAddress",
    "] assertion `": "cudaErrorAssert",
    "invalid __global__ read": "cudaErrorIllegalAddress",
    "invalid __global__ write": "cudaErrorIllegalAddress",
    "unhandled cuda error": "ncclUnhandledCudaError",
    "unhandled system error": "ncclSystemError",
    "internal error - please report this issue to the NCCL developers": "ncclInternalError",
    "remote process exited or there was a network error": "ncclRemoteError",
    "invalid usage (run with NCCL_DEBUG=WARN for details)": "ncclInvalidUsage",
    "cublas runtime error : library not initialized": "CUBLAS_STATUS_NOT_INITIALIZED",
    "cublas runtime error : resource allocation failed": "CUBLAS_STATUS_ALLOC_FAILED",
    "cublas runtime error : an invalid numeric value was used as an argument": "CUBLAS_STATUS_INVALID_VALUE",
    "cublas runtime error : an absent device architectural feature is required": "CUBLAS_STATUS_ARCH_MISMATCH",
    "cublas runtime error : an access to GPU memory space failed": "CUBLAS_STATUS_MAPPING_ERROR",
    "cublas runtime error : the GPU program failed to execute": "CUBLAS_STATUS_EXECUTION_FAILED",
    "cublas runtime error : an internal operation failed": "CUBLAS_STATUS_INTERNAL_ERROR",
    "cuSolver has not been initialized": "CUSOLVER_STATUS_NOT_INITIALIZED",
    "cuSolver allocation failed": "CUSOLVER_STATUS_ALLOC_FAILED",
    "cuSolver invalid value error": "CUSOLVER_STATUS_INVALID_VALUE",
    "cuSolver execution failed": "CUSOLVER_STATUS_EXECUTION_FAILED",
    "cuSolver internal error": "CUSOLVER_STATUS_INTERNAL_ERROR",
    "launch exceeded timeout": "CUDA_ERROR_LAUNCH_TIMEOUT",
    "launch exceeded resources": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "segmentation fault": "SIGSEGV",
    "segfault": "SIGSEGV",
    "access violation": "SIGSEGV",
    "bus error": "SIGBUS",
}
_OF_CUBLAS = {
    "the library was not initialized": "CUBLAS_STATUS_NOT_INITIALIZED",
    "the resource allocation failed": "CUBLAS_STATUS_ALLOC_FAILED",
    "an absent device architectural feature is required": "CUBLAS_STATUS_ARCH_MISMATCH",
    "the GPU program failed to execute": "CUBLAS_STATUS_EXECUTION_FAILED",
    "an internal operation failed": "CUBLAS_STATUS_INTERNAL_ERROR",
    "the requested functionality is not supported": "CUBLAS_STATUS_NOT_SUPPORTED",
}
"""What cublasGetStatusString answers; other libraries say the same of themselves."""
_OF_A_CALL = {
    "launch failed in cu": "CUDA_ERROR_LAUNCH_FAILED",
    "illegal address in cu": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "invalid value in cu": "CUDA_ERROR_INVALID_VALUE",
}
"""What Blender says of a function of the driver."""
_COMMON = {
    "invalid argument",
    "invalid handle",
    "out of memory",
    "file not found",
    "operation not permitted",
    "operation not supported",
    "unknown error",
    "initialization error",
    "bus error",
    "context is destroyed",
    "device not ready",
    "driver shutting down",
    "integrity checks failed",
    "invalid device context",
    "shared object initialization failed",
    "shared object symbol not found",
}
"""Messages that others than CUDA print too."""
_NOT_OF_CUBLAS = re.compile(r"\A(?!.*(cublas|cuda error: (the|an) ))", re.S)
_NOT_OF_A_CALL = re.compile(
    r"\A(?!.* in cu(?:init|ctx|mem|stream|event|module|launch|device|func|link|graph|tex|array))", re.S
)
_OTHERWISE = {
    "unknown error": re.compile(r"unknown error \(\d"),
    "invalid handle": re.compile("unable to load|cannot load symbol"),
    "initialization error": re.compile("nvidia-container-cli"),
    **dict.fromkeys((message.lower() for message in _OF_CUBLAS), _NOT_OF_CUBLAS),
    **dict.fromkeys(_OF_A_CALL, _NOT_OF_A_CALL),
}
"""Messages that are none in a text of this form: XLA's UNKNOWN ERROR (303), what cuDNN says of a library that it cannot load, and what the
NVIDIA Container Toolkit says of a driver that it does not find. cublasGetStatusString's are none where cuBLAS is not named,
nor are those of a call where none is."""
_OF_CUDA = re.compile(f"cuda|{'|'.join(PREFIXES)}|triton|nvidia|gpu|(?-i:cu[A-Z])", re.I)
_ORDINARY = (
    "CUDA_ERROR_NOT_READY",
    "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
    "ncclInProgress",
    "CUDNN_STATUS_RUNTIME_IN_PROGRESS",
)
"""What a program that works gets as well."""

_OF_GPUS = re.compile(f"cuda|{'|'.join(PREFIXES)}|triton|nvidia(?!\\.com)|(?<!/)gpu|(?-i:cu[A-Z])|kernel launch", re.I)
"""Not Kubernetes' nvidia.com/gpu, of which there are numbers that are no errors."""
_LISTED = re.compile(r"\W*\d{3}/")
"""How people list errors: 218/200 on cached PTX."""
_OF_NOBODY = frozenset(
    "a after an and api at by call called code codes context device driver err error errors exception fail failed failing fails "
    "failure from get got handle handles hex i in is it kernel launch memory my number of on or rc result return returned returning "
    "returns runtime runtimeerror status stream the to unhandled was with x".split()
)
"""Words that do not say whose error it is: a text of such words asks for CUDA's."""
_WORD = re.compile("[a-z]+")
_NAME = re.compile(
    rf"\b(?:CUDA_|{'|'.join(STATUSES)}|cudaErr(?:or)?|(?:{'|'.join(PREFIXES)})Status|SIG|ERROR_|Error)[A-Za-z0-9_]+"
)
_LEADING = re.compile(rf"(?:^[^\w-]*|/\s?){INTEGER}(?=$|[\s/,;)]|:(?!\d))", re.I)
_CODED = re.compile(
    rf"(?:\b(?<!exit )(?:error|code|failure|status|result|returned|returning|return value|err|rc"
    rf"|cuda_?error(?:_t)?|curesult)(?: code| number)?\W{{1,4}}?"
    rf"|\[(?=\d+\] call to)|unknown error \(|\b(?-i:cuda|cu)(?-i:[A-Z])\w+(?:\(.{{0,40}}\))? failed ?[:=] ?){INTEGER}",
    re.I,
)
_CODED_BY_CUDA = re.compile(
    rf"(?:\b(?:cuda|nccl|nvrtc|cu[a-z]+)[^\n]{{0,60}}?(?<!exit )(?<!\] )\b"
    rf"(?:error|code|failure|failed with|status|returned|returning|result)(?: code| number)?\W{{1,3}}?"
    rf"|\[(?=\d+\] call to)|unknown error \(){INTEGER}",
    re.I,
)
_EXIT = re.compile(
    rf"(?:\bexit(?:ed)?(?: with)?(?: code| status)|\bexitcode|\bsignal|\breturn ?code)\W{{1,3}}?{INTEGER}", re.I
)
_CALL = re.compile(rf"\b_*(?!(?:{'|'.join(TITLES)})\b)(?:cu|cuda|{'|'.join(PREFIXES)})[A-Z][A-Za-z0-9_]+")


@cache
def _messages() -> dict[str, tuple[tuple[str, str], ...]]:
    """First word of messages, in lower case like they, to (message, name)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for text, name in (_MESSAGES | _OTHER_MESSAGES | _OF_CUBLAS | _OF_A_CALL).items():
        lower = text.lower()
        found.setdefault(_WORD.findall(lower)[0], []).append((lower, name))
    return {word: tuple(rows) for word, rows in found.items()}


def _messages_in(lower: str) -> list[tuple[str, str]]:
    """Those that the words of a text may be, a message that is part of another behind it."""
    words = _messages().keys() & set(_WORD.findall(lower))
    return sorted((row for word in words for row in _messages()[word]), key=lambda row: (-len(row[0]), row[0]))


def calls_in(text: str) -> tuple[str, ...]:
    """The functions of CUDA's libraries that the text names, in order, each once."""
    return tuple(
        dict.fromkeys(word for word in _CALL.findall(text) if named(word) is None and not word.startswith("cudaError"))
    )


def errors_in(text: str) -> tuple[Error, ...]:
    """The errors that someone means by these words: names, messages, and numbers as the text begins with them or calls them errors."""
    of_gpus = bool(_OF_GPUS.search(text) or _LISTED.match(text))
    found = _said(text, everyday=of_gpus or _is_of_nobody(_without_messages(text)))
    if not (of_gpus or found or _is_of_nobody(text)):
        return tuple(dict.fromkeys(_exited(text)))
    for digits in _LEADING.findall(text):
        meant = _meant(value(digits), text)
        found += meant if not set(meant) & set(found) else []
    return tuple(dict.fromkeys(found or _coded(text, _CODED)))


def _is_of_nobody(text: str) -> bool:
    return _OF_NOBODY.issuperset(_WORD.findall(text.lower()))


def _without_messages(text: str) -> str:
    lower = text.lower()
    for message, _ in _messages_in(lower):
        lower = lower.replace(message, " ")
    return lower


@lru_cache(maxsize=1024)  # logs repeat themselves
def errors_on(line: str) -> tuple[Error, ...]:
    """The errors that a line of a log reports. What a working program gets too is none, nor is a message that need not be CUDA's."""
    found = _said(line, everyday=_OF_CUDA.search(line) is not None) or _coded(line, _CODED_BY_CUDA)
    return tuple(dict.fromkeys(error for error in found if not set(error.names) & set(_ORDINARY)))


def place_of(name: str, line: str) -> int:
    """Where the line says the error of this name; 0 if it says it by a number."""
    return next((position for position, error in _placed(line, everyday=True) if name in error.names), 0)


def _said(text: str, everyday: bool) -> list[Error]:
    """By name or message, in order; ``everyday``: also by messages that others than CUDA print."""
    return [error for _, error in _placed(text, everyday)]


def _placed(text: str, everyday: bool) -> list[tuple[int, Error]]:
    """The same with the place of each."""
    found = [(match.start(), named(match[0])) for match in _NAME.finditer(text)]
    lower = rest = text.lower()
    for message, name in _messages_in(lower):
        position = rest.find(message)
        if position < 0 or (message in _COMMON and not everyday):
            continue
        rest = rest.replace(message, " " * len(message))
        if message not in _OTHERWISE or not _OTHERWISE[message].search(lower):
            found.append((position, named(name)))
    found.sort(key=lambda pair: pair[0])
    return [
        (position, error)
        for position, error in found
        if error is not None and not error.names[0].lower().endswith("success")
    ]


def _coded(text: str, pattern: re.Pattern[str]) -> list[Error]:
    """By number, as the pattern finds it, or as the exit code of a process."""
    return [error for digits in pattern.findall(text) for error in _meant(value(digits), text)] or _exited(text)


def _exited(text: str) -> list[Error]:
    return [error for digits in _EXIT.findall(text) if (error := signalled(value(digits)))]


def _meant(number: int, text: str) -> list[Error]:
    """What the number is in the API that the text names, CUDA's if it names none; in old releases only if it is nothing in the newest."""
    lower = text.lower()
    api = next((api for api in APIS[2:] if api in lower), None)
    found = [error for error in numbered(number) if number and ((api in error.apis) if api else error.title == "CUDA")]
    return [error for error in found if error.number == number] or found
