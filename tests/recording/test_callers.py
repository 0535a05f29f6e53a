"""Who called CUDA on a stack: kernels and their stubs, packages of Python that pass calls on, and code without names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.recording.records import Module, PythonCode, SideTables, Stack
from cuvet.recording.sites import Sites, _kernel_of_stub, _runtime_api, _split, python_library
from cuvet.recording.symbols import STUB, NativeFrame, demangle

sys.path.insert(0, str(Path(__file__).parent))
from test_symbol_tables import FUNC, elf, table

PACKAGES = "/env/lib/python3.12/site-packages"
FILES = {
    name: 0x1000 * number
    for number, name in enumerate(
        (
            "/usr/bin/python3.12",
            "/usr/lib/libpython3.12.so.1.0",
            "/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so",
            "/usr/lib/libffi.so.8",
            f"{PACKAGES}/cuda/bindings/_driver.cpython-312-x86_64-linux-gnu.so",
            f"{PACKAGES}/cupy/_core.abi3.so",
            f"{PACKAGES}/torch/lib/libtorch_cuda.so",
            "/home/me/train",
            "/home/me/python",
            "/lib/libc.so.6",
            "/lib/libpthread.so.0",
            "/usr/lib/libcuda.so.1",
            "/x/libcudart.so.13",
            "/x/libother.so",
        ),
        1,
    )
}
PYTHON, LIBPYTHON, CTYPES, FFI, BINDINGS, CUPY, TORCH, OWN, CALLED_PYTHON, LIBC, PTHREAD, CUDA, CUDART, OTHER = (
    FILES.values()
)
CODES = {
    1: PythonCode("/home/me/train.py", "main"),
    2: PythonCode(f"{PACKAGES}/cuda/__init__.py", "call"),
    3: PythonCode(f"{PACKAGES}/cupy/x.py", "get"),
}


def sites(
    *native: int,
    python: tuple[tuple[int, int], ...] = (),
    executable: str = "/home/me/train",
    files: tuple[str, ...] = (),
) -> Sites:
    modules = [Module(at, at + 0x1000, 0, "", path) for path, at in FILES.items()]
    return Sites(
        SideTables(modules=modules, codes=CODES, stacks={1: Stack(tuple(at + 0x10 for at in native), python)}),
        executable,
    )


@pytest.mark.parametrize(
    ("native", "python", "library", "is_of_library"),
    [
        ((CUDA, BINDINGS, OWN), (), "cuda", False),
        ((CUDA, BINDINGS, LIBC, OWN), (), "cuda", False),
        ((CUDA, BINDINGS, TORCH, OWN), (), "cuda", True),
        ((CUDA, BINDINGS, LIBC, TORCH), (), "cuda", True),
        ((CUDA, BINDINGS, CUPY, OWN), (), "cuda", True),
        ((CUDA, BINDINGS), (), "cuda", False),
        ((CUDA, TORCH, OWN), (), "libtorch_cuda.so", True),  # in a package, but no extension module
        ((CUDA, CUPY, OWN), (), "cupy", True),
        ((CUDA, CUDART, PTHREAD, LIBC, OTHER, OWN), (), "libother.so", True),
        ((CUDA, FFI, CTYPES, LIBPYTHON, PYTHON), ((1, 5),), None, False),
        ((CUDA, FFI, CTYPES, LIBPYTHON, PYTHON), ((3, 5),), "cupy", True),
        ((CUDA, FFI, CTYPES, PYTHON), ((2, 5), (1, 5)), "cuda", False),
        ((CUDA, FFI, CTYPES, PYTHON), ((2, 5), (3, 5)), "cuda", True),
        ((CUDA, BINDINGS, PYTHON), ((2, 5), (3, 5)), "cuda", True),
        ((CUDA, BINDINGS, PYTHON), ((2, 5), (1, 5)), "cuda", False),
        ((CUDA, CALLED_PYTHON), ((1, 5),), "python", True),  # a program of that name, not the interpreter
        ((CUDA, PYTHON, OWN), (), "python3.12", True),  # Python did not call
    ],
)
def test_calls_that_are_passed_on_are_of_who_made_them(
    native: tuple[int, ...], python: tuple[tuple[int, int], ...], library: str | None, is_of_library: bool
) -> None:
    found = sites(*native, python=python)
    assert (found.library(1), found.is_of_library(1)) == (library, is_of_library)


def test_the_programs_own_python_code_comes_first() -> None:
    found = sites(CUDA, FFI, OWN, PYTHON, python=((2, 5), (3, 6), (1, 7), (1, 8)))
    shown = [(frame.function, frame.line, frame.language) for frame in found.of_stack(1)[1]]
    assert shown == [
        ("main", 7, "python"),
        ("call", 5, "python"),
        ("get", 6, "python"),
        ("main", 8, "python"),
        ("train+0x800f", None, "c++"),
    ]
    others = sites(python=((2, 5), (3, 6))).of_stack(1)[1]
    assert [frame.line for frame in others] == [5, 6]


@pytest.mark.parametrize(
    ("symbol", "kernel"),
    [
        ("_Z23__device_stub__Z4kernPiPi", "_Z4kernPi"),
        ("_ZL23__device_stub__Z4kernPiPi", "_Z4kernPi"),
        ("__device_stub__Z4kernPi", "_Z4kernPi"),
        ("_Z21__device_stub__Z2ckPiPi", "_Z2ckPi"),
        ("_Z16__device_stub_ckPi", "ck"),
        ("__device_stub_ck", "ck"),
        ("_Z4kernPi", ""),
        ("x__device_stub_ck", ""),
        ("", ""),
    ],
)
def test_a_stub_names_its_kernel(symbol: str, kernel: str) -> None:
    assert _kernel_of_stub(symbol) == kernel


@pytest.mark.parametrize(
    ("symbol", "api"),
    [
        ("cudaFree", "cudaFree"),
        ("cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"),
        ("cudaMemcpy_ptds", "cudaMemcpy"),
        ("cudaFree_ptxx", None),
        ("cudaMine", None),
        ("__cudaLaunchKernel", "cudaLaunchKernel"),
        ("__cudaLaunchKernel_ptsz", "cudaLaunchKernel"),
        ("__cudaRegisterFatBinary", None),
        ("main", None),
        ("", None),
    ],
)
def test_which_function_of_the_runtime_a_symbol_is(symbol: str, api: str | None) -> None:
    assert _runtime_api(symbol) == api


def frame(symbol: str, module: str = "/x/program", function: str | None = None) -> NativeFrame:
    return NativeFrame(symbol, demangle(symbol) if function is None else function, None, None, module)


@pytest.mark.parametrize(
    ("frames", "api", "user"),
    [
        ([frame("cudaLaunchKernel"), frame("_Z4kernPi"), frame("main")], "cudaLaunchKernel", "kern"),  # no stub called
        (
            [frame("cudaLaunchKernel"), frame("_Z23__device_stub__Z4kernPiPi"), frame("_Z5otherPi"), frame("main")],
            "cudaLaunchKernel",
            "other",
        ),
        (
            [
                frame("cudaLaunchKernel"),
                frame("_Z23__device_stub__Z4kernPiPi"),
                frame("__wrapper__device_stub_kern"),
                frame("_Z4kernPi"),
                frame("_Z4kernPi"),
                frame("main"),
            ],
            "cudaLaunchKernel",
            "main",
        ),
        ([frame(STUB, ""), frame("main")], None, "main"),
        (
            [frame("wrapper", "/x/libcuda.so.1"), frame("cudaFree"), frame("__cudart_x"), frame("main")],
            "cudaFree",
            "main",
        ),
        ([frame("x", "/x/libcudart.so.13"), frame("y", "/x/libpthread.so.0"), frame("main")], None, "main"),
        ([frame("cudaFree"), frame("cudaMalloc"), frame("main")], "cudaMalloc", "main"),
        ([frame("_ZN1A8cudaFreeEv"), frame("main")], None, "A::cudaFree"),
        ([frame("_ZL8cudaFreePv"), frame("main")], "cudaFree", "main"),
    ],
)
def test_what_is_outside_of_cuda(frames: list[NativeFrame], api: str | None, user: str) -> None:
    found, outside = _split(frames)
    assert (found, next(outside).function) == (api, user)


def test_a_stack_that_is_all_of_cuda_has_nothing_outside() -> None:
    found, outside = _split([frame("x", "/x/libcuda.so.1"), frame("cudaFree")])
    assert (found, list(outside)) == ("cudaFree", [])


def test_a_file_of_an_odd_name_is_no_code_without_a_name() -> None:
    modules = [Module(0x1000, 0x2000, 0, "", "/home/me/0xfile")]
    found = Sites(SideTables(modules=modules, stacks={1: Stack((0x1100, 0x1200, 0x5000, 0x6000, 0x1300), ())}))
    assert [each.function for each in found.of_stack(1)[1]] == [
        "0xfile+0x10ff",
        "0xfile+0x11ff",
        "0x4fff",
        "0xfile+0x12ff",
    ]
    assert found.nameless
    named = Sites(SideTables(modules=modules, stacks={1: Stack((0x1100,), ())}))
    assert (len(named.of_stack(1)[1]), named.nameless) == (1, False)


@pytest.mark.parametrize(
    ("file", "library"),
    [
        (f"{PACKAGES}/torch/x.py", "torch"),
        ("/usr/lib/python3/dist-packages/six.py", "six"),
        (f"{PACKAGES}/x.pyx/y.py", "x.pyx"),
        ("<frozen importlib._bootstrap>", "python"),
        ("/opt/lib/python3.11/x.py", "python"),
        ("/opt/lib64/python3.11/x.py", "python"),
        ("/opt/lib/python3/x.py", None),
        ("/home/frozen.py", None),
        ("", None),
    ],
)
def test_whose_a_python_file_is(file: str, library: str | None) -> None:
    assert python_library(file) == library


def test_the_interpreter_is_shown_where_python_did_not_call() -> None:
    assert [each.function for each in sites(OWN, PYTHON).of_stack(1)[1]] == ["train+0x800f", "python3.12+0x100f"]
    python = sites(OWN, PYTHON, python=((1, 5),)).of_stack(1)[1]
    assert [each.function for each in python] == ["main", "train+0x800f"]


def test_what_comes_before_main_is_not_shown(tmp_path: Path) -> None:
    """Return addresses are behind the calls: one that begins a function is of the function before."""
    path = tmp_path / "program"
    rows = [("cudaFree", 0x100), ("work", 0x110), ("main", 0x120), ("_start", 0x130)]
    path.write_bytes(elf(table(*[(name, FUNC, at, 0x10) for name, at in rows])))
    modules = [Module(0x1000, 0x2000, 0x1000, "", str(path)), Module(0x5000, 0x6000, 0, "", "/lib/libc.so.6")]
    stacks = {
        1: Stack((0x1110, 0x1120, 0x1130, 0x5010, 0x1140), ()),
        2: Stack((0x1110, 0x1111, 0x1121), ()),
        3: Stack((0x1110, 0x1140, 0x1130, 0x1140, 0x1140), ()),
        4: Stack((0x1111,), ()),
    }
    found = Sites(SideTables(modules=modules, stacks=stacks), str(path))
    shown = [(api, [each.function for each in frames]) for api, frames in map(found.of_stack, stacks)]
    assert shown == [
        ("cudaFree", ["work", "main"]),
        ("cudaFree", ["work", "main"]),
        ("cudaFree", ["_start", "main"]),
        (None, ["work"]),
    ]
    assert [found.api(stack) for stack in stacks] == ["cudaFree"] * 3 + [None]
    assert [found.library(stack) for stack in stacks] == ["program"] * 4
