"""Every enumerator of the APIs is there, and is found by name, number and message."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

import pytest
from clang.cindex import CursorKind, Index

from cuvet.catalog import driver, runtime
from cuvet.knowledge import APIS, mentions
from cuvet.knowledge.errors import all_errors, integer, named, numbered, tables
from cuvet.knowledge.mentions import calls_in, errors_in

NVIDIA = Path(next(iter(find_spec("nvidia").submodule_search_locations))) / "cu13"  # type: ignore[union-attr, arg-type]
HEADERS = {"driver": "cuda.h", "runtime": "driver_types.h", "nvrtc": "nvrtc.h", "nvjitlink": "nvJitLink.h"}
FIRST = {"driver": "CUDA_SUCCESS", "runtime": "cudaSuccess", "nvrtc": "NVRTC_SUCCESS", "nvjitlink": "NVJITLINK_SUCCESS"}


def names(word: str) -> list[str]:
    return [error.names[0] for error in errors_in(word)]


@pytest.mark.parametrize("api", HEADERS)
def test_every_enumerator_of_the_installed_header_is_there(api: str) -> None:
    unit = Index.create().parse(str(NVIDIA / "include" / HEADERS[api]), ["-x", "c", "-nostdinc"])
    types = [
        {member.spelling: member.enum_value for member in cursor.get_children()}
        for cursor in unit.cursor.get_children()
        if cursor.kind == CursorKind.ENUM_DECL
    ]
    (header,) = (members for members in types if FIRST[api] in members)
    ours = {row.name: row.values for row in tables()[api].enumerators}
    assert len(header) > 15
    assert header.keys() <= ours.keys()
    assert [name for name, value in header.items() if value not in ours[name]] == []


@pytest.mark.parametrize(
    ("api", "catalog", "type_name"), [("driver", driver, "CUresult"), ("runtime", runtime, "cudaError_t")]
)
def test_the_catalog_has_the_same(api: str, catalog: object, type_name: str) -> None:
    assert callable(catalog)
    assert catalog().enumerations[type_name] == {row.name: row.values[-1] for row in tables()[api].enumerators}


@pytest.mark.parametrize(
    ("api", "most", "least"),
    [
        ("cudnn", "CUDNN_STATUS_EXECUTION_FAILED_CURAND", 50),
        ("cublas", "CUBLAS_STATUS_LICENSE_ERROR", 10),
        ("nccl", "ncclTimeout", 9),
        ("cufft", "CUFFT_NVSHMEM_FAILURE", 20),
        ("cusparse", "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", 12),
        ("cusolver", "CUSOLVER_STATUS_INVALID_WORKSPACE", 25),
        ("curand", "CURAND_STATUS_ARCH_MISMATCH", 13),
    ],
)
def test_the_libraries_have_all_that_their_wheels_declare(api: str, most: str, least: int) -> None:
    found = [row.name for row in tables()[api].enumerators]
    assert len(found) == len(set(found)) >= least
    assert most in found


def test_every_api_is_there() -> None:
    assert tuple(tables()) == APIS
    for table in tables().values():
        assert all(len(row.values) == len(table.releases) and set(row.values) != {None} for row in table.enumerators)


def test_every_name_leads_to_its_error() -> None:
    for error in all_errors():
        for name in error.names:
            assert named(name) == named(name.lower()) == error


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (400, ["CUDA_ERROR_INVALID_HANDLE"]),
        (33, ["CUDA_ERROR_INVALID_HANDLE"]),
        (1001, ["CUDNN_STATUS_NOT_INITIALIZED"]),
        (8, ["CUDA_ERROR_PROFILER_ALREADY_STOPPED", "CUBLAS_STATUS_ARCH_MISMATCH"]),
        (139, ["SIGSEGV"]),
        (-11, ["SIGSEGV"]),
        (0xC0000005, ["SIGSEGV"]),
        (134, ["SIGABRT"]),
        (
            11,
            ["CUBLAS_STATUS_MAPPING_ERROR", "NVRTC_ERROR_INTERNAL_ERROR"],
        ),
        (123456, []),
        (-1, []),
    ],
)
def test_a_number_gives_all_its_errors(number: int, expected: list[str]) -> None:
    assert [error.names[0] for error in numbered(number)][:2] == expected


def test_errors_of_older_releases_come_last() -> None:
    assert [error.names[0] for error in numbered(8)][-2:] == [
        "cudaErrorInvalidDeviceFunction",
        "CUDNN_STATUS_EXECUTION_FAILED",
    ]


def test_one_is_something_else_in_every_api() -> None:
    assert {api for error in numbered(1) for api in error.apis} == {*APIS} - {"curand"}


@pytest.mark.parametrize(("word", "number"), [("400", 400), ("0x190", 400), ("-11", -11), (" 7 ", 7), ("0400", 400)])
def test_numbers_are_read(word: str, number: int) -> None:
    assert integer(word) == number


@pytest.mark.parametrize("word", ["", "4x", "0x", "1.5", "cuda", "9" * 5000, "²", "12%"])
def test_other_words_are_no_numbers(word: str) -> None:
    assert integer(word) is None


def test_messages_are_those_of_the_runtime() -> None:
    library = ctypes.CDLL(str(NVIDIA / "lib" / "libcudart.so.13"))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    for text, name in mentions._MESSAGES.items():
        error = named(name)
        assert error is not None
        assert library.cudaGetErrorString(error.number).decode().rstrip(".") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("400 cudaErrorInvalidResourceHandle", ["CUDA_ERROR_INVALID_HANDLE"]),
        ("Invalid Resource Handle", ["CUDA_ERROR_INVALID_HANDLE"]),
        ("ErrorInvalidPtx", ["CUDA_ERROR_INVALID_PTX"]),
        ("ERROR_INVALID_HANDLE", ["CUDA_ERROR_INVALID_HANDLE"]),
        ("218/200 on cached PTX", ["CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_INVALID_IMAGE"]),
        ("709/driver cleanup errors", ["CUDA_ERROR_CONTEXT_IS_DESTROYED"]),
        ("error code 209", ["CUDA_ERROR_NO_BINARY_FOR_GPU"]),
        ("error 0x190", ["CUDA_ERROR_INVALID_HANDLE"]),
        ("cudnnCreate returned 4", ["CUDNN_STATUS_INTERNAL_ERROR"]),
        ("CUDA error 48", ["CUDA_ERROR_NO_BINARY_FOR_GPU"]),
        ("segfault in cuModuleLoadData", ["SIGSEGV"]),
        ("exit code 139", ["SIGSEGV"]),
        ("./solver: exit code 139", ["SIGSEGV"]),
        ("RuntimeError: out of memory", ["CUDA_ERROR_OUT_OF_MEMORY"]),
        ("kernel launch failed with error 700", ["CUDA_ERROR_ILLEGAL_ADDRESS"]),
        ("shared object initialization failed", ["CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"]),
        ("cuCtxSynchronize: invalid device context", ["CUDA_ERROR_INVALID_CONTEXT"]),
        ("plugin: cuInit failed : 804", ["CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"]),
        ("cuIpcGetMemHandle return value:   1", ["CUDA_ERROR_INVALID_VALUE"]),
        ("CUDNN_STATUS_ALLOC_FAILED", ["CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"]),
        ("cublas runtime error : library not initialized at THCGeneral.cpp:216", ["CUBLAS_STATUS_NOT_INITIALIZED"]),
        ("CUDA error: the resource allocation failed", ["CUBLAS_STATUS_ALLOC_FAILED"]),
        ("gpusolverDnCreate(&handle) failed: cuSolver internal error", ["CUSOLVER_STATUS_INTERNAL_ERROR"]),
        ("Launch failed in cuCtxSynchronize(), line 1372", ["CUDA_ERROR_LAUNCH_FAILED"]),
        ("CUDA initialization failure with error 222. Please check", ["CUDA_ERROR_UNSUPPORTED_PTX_VERSION"]),
        ("CUDA error = 999at main.cu:196", ["CUDA_ERROR_UNKNOWN"]),
    ],
)
def test_errors_are_found_in_words(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cudaSuccess",
        "CUDA_LAUNCH_BLOCKING=1",
        "22 GB stay allocated",
        "CUresult -1",
        "error 126",
        "RTX 4080",
        "error 400.5",
        "returned 0",
        "Unable to load any of {libcudnn_ops.so.9} Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor",
        "0/5 nodes are available: 5 Insufficient nvidia.com/gpu",
        "the job failed with code 4",
        "HTTP error 700",
        "make: *** [Makefile:12: all] Error 2",
        "process exited with code 1",
        "ncurses initialization error",
        "chmod: changing permissions: Operation not permitted",
        "tar: out of memory",
        "java: javax.print: invalid device context for printer",
        "ld.so: plugin.so: shared object initialization failed",
        "sd 2:0:0:0: [sda] Device not ready",
        "pacman: integrity checks failed",
        "the resource allocation failed",
        "CUDA: an invalid value in custom field",
        "the plugin's launch failed in customer mode",
        "CUDA error in release 12.8",
    ],
)
def test_words_that_are_no_error(text: str) -> None:
    assert names(text) == []


def test_calls_are_found() -> None:
    text = "cudaEventRecord / cuStreamWaitEvent_ptsz failed: cudaErrorInvalidValue from cuDNN's cudnnCreate, not CUDNN_STATUS_SUCCESS"
    assert calls_in(text) == ("cudaEventRecord", "cuStreamWaitEvent_ptsz", "cudnnCreate")
    assert calls_in("in __cudaPushCallConfiguration ()") == ("__cudaPushCallConfiguration",)
