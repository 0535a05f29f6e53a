"""Errors are found in the logs of the programs that people use, and nothing in what works."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.knowledge import errors, logs
from cuvet.knowledge.errors import numbered
from cuvet.knowledge.explanation import explain_log, explain_text
from cuvet.knowledge.mentions import errors_on

LINES = {
    "PyTorch": (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    "PyTorch's cuDNN": ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED"),
    "PyTorch's accelerator": (
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    "PyTorch's memory": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "CUDA_ERROR_OUT_OF_MEMORY",
    ),
    "PyTorch's cuBLAS": (
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        "CUBLAS_STATUS_NOT_INITIALIZED",
    ),
    "PyTorch's NCCL": (
        "torch.distributed.DistBackendError: NCCL error in: ../x.cpp:1333, unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "ncclUnhandledCudaError",
    ),
    "NCCL": ("host:1:2 [0] init.cc:10 NCCL WARN Cuda failure 'out of memory'", "CUDA_ERROR_OUT_OF_MEMORY"),
    "TensorFlow": (
        "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
        "CUDNN_STATUS_INTERNAL_ERROR",
    ),
    "XLA's cuInit": (
        "E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to cuInit: UNKNOWN ERROR (303)",
        "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
    ),
    "JAX": (
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    "CuPy": (
        "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_INVALID_HANDLE: invalid resource handle",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    "Numba": (
        "numba.cuda.cudadrv.driver.CudaAPIError: [400] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_HANDLE",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    "Numba's linker": (
        "numba.cuda.cudadrv.driver.LinkerError: [222] Call to cuLinkAddData results in UNKNOWN_CUDA_ERROR",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    ),
    "Triton": ("RuntimeError: Triton Error [CUDA]: device kernel image is invalid", "CUDA_ERROR_INVALID_IMAGE"),
    "ONNX Runtime": (
        "[ONNXRuntimeError] : 1 : FAIL : CUDA failure 400: x ; GPU=0 ; line=123 ; expr=cudaEventRecord(event)",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    "ONNX Runtime's cuDNN": (
        "[E:onnxruntime:Default] CUDNN failure 1002: x ; GPU=0",
        "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    ),
    "TensorRT": (
        "[TRT] [E] 1: [runner.cpp::execute::416] Error Code 1: Cuda Runtime (invalid resource handle)",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    "managedCuda": (
        "ManagedCuda.CudaException: ErrorInvalidPtx: This indicates that a PTX JIT compilation failed.",
        "CUDA_ERROR_INVALID_PTX",
    ),
    "CUDA.NET": ("CUDA.NET exception: ErrorInvalidPtx.", "CUDA_ERROR_INVALID_PTX"),
    "CUDA.jl": (
        "ERROR: CUDA error: invalid resource handle (code 400, ERROR_INVALID_HANDLE)",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    "cudarc": (
        'DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX …")',
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    ),
    "CUDA samples": (
        'CUDA error at main.cu:52 code=209(cudaErrorNoKernelImageForDevice) "f()"',
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    "GPUassert": ("GPUassert: invalid device function kernel.cu 52", "cudaErrorInvalidDeviceFunction"),
    "llama.cpp": ("CUDA error 400 at ggml-cuda.cu:5207: invalid resource handle", "CUDA_ERROR_INVALID_HANDLE"),
    "plain C++": ("cudaMalloc failed: error 2", "CUDA_ERROR_OUT_OF_MEMORY"),
    "plain driver API": ("cuInit returned 100", "CUDA_ERROR_NO_DEVICE"),
    "Thrust": (
        "parallel_for failed: cudaErrorNoKernelImageForDevice: no kernel image is available",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    "CUDA_LOG_FILE": (
        "[12:01:02.123][1][CUDA][E] Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuEventDestroy_v2",
        "CUDA_ERROR_INVALID_CONTEXT",
    ),
    "cuDNN's log": ("e! Error: CUDNN_STATUS_NOT_SUPPORTED_SHAPE; Reason: rank", "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"),
    "compute-sanitizer": (
        '========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to cudaFree.',
        "CUDA_ERROR_INVALID_VALUE",
    ),
    "memcheck": ("========= Invalid __global__ write of size 4 bytes", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "an assert in a kernel": (
        "../aten/src/ATen/native/cuda/Indexing.cu:1290: f: block: [12,0,0], thread: [64,0,0] Assertion `i < n` failed.",
        "CUDA_ERROR_ASSERT",
    ),
    "shell": ("Segmentation fault (core dumped)", "SIGSEGV"),
    "IDE": ("Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)", "SIGSEGV"),
    "Python's multiprocessing": ("ProcessExitedException: process 0 terminated with exitcode -11", "SIGSEGV"),
}

HARMLESS = """\
I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary is optimized to use available CPU instructions
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
cudaGetLastError() returned cudaSuccess
cuEventQuery: cudaErrorNotReady
cudaDeviceEnablePeerAccess: peer access is already enabled
make: *** [kernels.cu.o] Error 1
subprocess.CalledProcessError: Command '['nvcc', '-c', 'a.cu']' returned non-zero exit status 1.
ninja: build stopped: CUDA subcommand failed with exit code 1
OSError: [Errno 22] Invalid argument
tar: out of memory
PermissionError: operation not permitted
java: javax.print: invalid device context for printer
ld.so: plugin.so: shared object initialization failed
sd 2:0:0:0: [sda] Device not ready
test_cuda.py::test_returned_value PASSED [ 12%]
main: cuda.c:12: main: Assertion `argc > 1' failed.
GPU 0: 8.00 GiB total, 2 free
  File "cuda_error.py", line 209, in error_of_two
"""


@pytest.mark.parametrize("program", LINES)
def test_a_program_s_error_is_found(program: str) -> None:
    line, error = LINES[program]
    log = logs.read(f"starting\n{line}\ndone\n".encode())
    assert [(sighting.error, sighting.line, sighting.text) for sighting in log.sightings] == [(error, 2, line)]
    assert [error.names[0] for error in log.errors] == [error]


@pytest.mark.parametrize("line", HARMLESS.splitlines())
def test_a_harmless_line_is_none(line: str) -> None:
    assert errors_on(line) == ()


def test_the_first_error_is_the_one_to_explain() -> None:
    lines = [
        "loading",
        "CUDA error: an illegal memory access was encountered",
        *["cudaFree failed: CUDA_ERROR_ILLEGAL_ADDRESS"] * 3,
    ]
    log = logs.read("\n".join([*lines, "cublasDestroy: CUBLAS_STATUS_INTERNAL_ERROR", "Segmentation fault"]).encode())
    assert [(one.error, one.line, one.times) for one in log.sightings] == [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", 2, 4),
        ("CUBLAS_STATUS_INTERNAL_ERROR", 6, 1),
        ("SIGSEGV", 7, 1),
    ]
    assert [error.names[0] for error in log.errors] == ["CUDA_ERROR_ILLEGAL_ADDRESS"]


def test_the_calls_are_those_of_the_first_error() -> None:
    log = logs.read(b"cudaMalloc ok\ncudaEventRecord: invalid resource handle\ncudaFree: invalid argument\n")
    assert log.calls == ("cudaEventRecord",)


def test_signs_far_from_the_error_are_seen_in_a_long_log() -> None:
    noise = "step 1: loss 0.5\n" * 100_000
    log = logs.read(
        f"{noise}Could not load library libcudnn_ops.so\n{noise}CUDA error: out of memory\n{noise}".encode()
    )
    assert "libcudnn_ops" in log.text
    assert "CUDA error" in log.text
    assert len(log.text) < 100_000
    assert [sighting.line for sighting in log.sightings] == [200_002]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n" * 1000,
        b"\xff\xfe\x00CUDA error 400\x00",
        b"\0" * 100_000,
        b"cuda" * 1_000_000,
        b"CUDA error 4" * 200_000,
    ],
    ids=["empty", "newlines", "binary", "zeros", "one long line", "one long line of errors"],
)
def test_any_bytes_are_read(data: bytes) -> None:
    logs.read(data)


def test_the_log_of_a_program_that_works_says_nothing() -> None:
    text = (
        HARMLESS
        + "docker run --gpus all: a container of 8 GiB on WSL, MIG off, K80\nfork of 4 workers, pinned memory, cudnn 9.1\n"
    )
    log = logs.read(text.encode())
    assert log.sightings == ()
    found = explain_log("-", log)
    assert found is None or (not found.known and not found.causes)


def test_a_library_that_does_not_load_is_explained_without_an_error() -> None:
    log = logs.read(
        b"step 1\nCould not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared object file\n"
    )
    found = explain_log("-", log)
    assert log.errors == () and found is not None and found.causes


@given(st.binary(max_size=300))
def test_fuzzed_bytes_are_read(data: bytes) -> None:
    logs.read(data + b"\nCUDA error " + data)


@given(st.text(max_size=60))
def test_fuzzed_words_are_explained_or_not(text: str) -> None:
    explain_text(text)
    explain_text(f"cuda error {text}", "driver")


def test_of_many_lines_that_may_matter_the_first_are_read() -> None:
    line = b"cudaMalloc failed: error 2 in a line of some ordinary length, as programs print them\n"
    lines = logs.read(line * 30_000)
    assert [(sighting.error, sighting.times) for sighting in lines.sightings] == [("CUDA_ERROR_OUT_OF_MEMORY", 20_000)]


@pytest.mark.parametrize("long", [False, True], ids=["fits", "too long"])
def test_of_a_huge_log_beginning_and_end_are_read(long: bool) -> None:
    first, last = b"cudaMalloc failed: error 2\n", b"cudaEventRecord failed: error 400\n"
    room = logs.MOST_BYTES - len(first) - len(last)
    steps = room // 17 + 100_000 * long
    excerpt = logs.excerpt(io.BytesIO(first + b"step 1: loss 0.5\n" * steps + last))
    assert [(one.error, excerpt.line(one.line)) for one in logs.read(excerpt.data).sightings] == [
        ("CUDA_ERROR_OUT_OF_MEMORY", 1),
        ("CUDA_ERROR_INVALID_HANDLE", steps + 2),
    ]
    assert len(excerpt.data) <= logs.MOST_BYTES
    assert set(excerpt.data.splitlines(keepends=True)) == {first, b"step 1: loss 0.5\n", last}
    assert (excerpt.size > 0) == long
    assert excerpt.size + len(excerpt.data) == len(first) + 17 * steps + len(last)


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n"]), max_size=60).map(b"".join))
def test_each_line_of_an_excerpt_has_its_number(log: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "MOST_BYTES", 16)
        excerpt = logs.excerpt(io.BytesIO(log))
    lines = log.split(b"\n")
    for number, line in enumerate(excerpt.data.split(b"\n"), 1):
        assert line in lines[excerpt.line(number) - 1]


def test_a_number_is_looked_up_and_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a log asks for as many numbers as it has lines; all errors are gone through once."""
    numbered(2)
    monkeypatch.setattr(errors, "all_errors", lambda: pytest.fail("all errors were gone through again"))
    assert numbered(2)[0].names[0] == "CUDA_ERROR_OUT_OF_MEMORY"
    assert numbered(139)[0].names[0] == "SIGSEGV"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("half", [1 << 20, 64])
def test_a_log_in_utf_16_is_read(encoding: str, half: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """PowerShell redirects in UTF-16, with a byte order mark."""
    monkeypatch.setattr(logs, "MOST_BYTES", 2 * half)
    text = "Größe: é\n" * 100 + "RuntimeError: CUDA error: invalid device ordinal\n"
    excerpt = logs.excerpt(io.BytesIO(("\ufeff" + text).encode(encoding)))
    assert [(one.error, excerpt.line(one.line)) for one in logs.read(excerpt.data).sightings] == [
        ("CUDA_ERROR_INVALID_DEVICE", 101)
    ]
    assert excerpt.size + len(excerpt.data) == len(text.encode())


def test_a_log_that_only_looks_like_utf_16_in_its_middle_stays_as_it_is() -> None:
    data = b"step 1 \xff\xfe\nCUDA error 400\n"
    assert logs.excerpt(io.BytesIO(data)).data == data


@pytest.mark.parametrize("size", [5_000, 3 << 20])
def test_the_end_of_a_long_line_is_read(size: int) -> None:
    line = "cuda step 1 ".ljust(size, ".") + " RuntimeError: CUDA error: an illegal memory access was encountered"
    log = logs.read(f"starting\n{line}\nCUDA error 400\nand what stands behind it\n".encode())
    assert [(one.error, one.line) for one in log.sightings] == [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", 2),
        ("CUDA_ERROR_INVALID_HANDLE", 3),
    ]
    assert "illegal memory access" in log.text and "behind it" in log.text


@pytest.mark.parametrize(("size", "cut"), [(100, 0), (4096, 0), (8192, 0), (8193, 2), (1 << 20, 2)])
def test_a_line_is_cut_where_it_is_too_long(size: int, cut: int) -> None:
    assert logs.read(b"starting\n" + b"cuda".ljust(size, b".") + b"\ndone\n").cut == cut
