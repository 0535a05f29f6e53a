"""Programs with NVIDIA's own CUDA runtime on the emulated device: which file has it, and what the user can do."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from cuvet.launch import unsupported

EMULATED = ("--device", "emulated")
PROGRAM = """
#include <cuda_runtime_api.h>
int main() { void *memory; return cudaMalloc(&memory, 16) == cudaSuccess ? 0 : 7; }
"""
GPU = "or run on a machine with a GPU\n"
WHAT = "NVIDIA's CUDA runtime, which accepts only NVIDIA's driver"


@pytest.fixture(scope="module")
def toolkit() -> Path:
    found = importlib.util.find_spec("nvidia.cu13")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(next(iter(found.submodule_search_locations)))


def compiled(directory: Path, toolkit: Path, *link: str | Path) -> Path:
    (directory / "program.cpp").write_text(PROGRAM)
    path = directory / "program"
    subprocess.run(["c++", f"-I{toolkit}/include", "-o", path, directory / "program.cpp", *link], check=True)
    return path


def test_a_static_runtime_names_the_program_and_how_to_build_it(cuvet, toolkit: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, toolkit, f"-L{toolkit}/lib", "-lcudart_static", "-ldl", "-lrt", "-lpthread")
    ran = cuvet.run(EMULATED, [program])
    assert (ran.code, ran.stderr) == (
        2,
        f"cuvet: {program} contains {WHAT}: link it with `nvcc -cudart shared`"
        f" (CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared), {GPU}",
    )
    again = cuvet("analyze", ran.trace)
    assert (again.returncode, again.stderr) == (0, ran.stderr)


def test_a_static_runtime_in_a_library_names_the_library(cuvet, toolkit: Path, tmp_path: Path) -> None:
    (tmp_path / "part.cpp").write_text(PROGRAM.replace("main", "part"))
    part = tmp_path / "libpart.so"
    static = (f"-L{toolkit}/lib", "-lcudart_static", "-ldl", "-lrt", "-lpthread")
    subprocess.run(
        ["c++", "-shared", "-fPIC", f"-I{toolkit}/include", "-o", part, tmp_path / "part.cpp", *static], check=True
    )
    script = f"import ctypes; ctypes.CDLL({str(part)!r})._Z4partv()"
    assert f"cuvet: {part} contains {WHAT}" in cuvet.run(EMULATED, [sys.executable, "-c", script]).stderr


def test_cuda_bindings_runtime_names_what_a_python_program_can_use(cuvet) -> None:
    pytest.importorskip("cuda.bindings")
    ran = cuvet.run(EMULATED, [sys.executable, "-c", "from cuda.bindings import runtime; runtime.cudaMalloc(16)"])
    assert ran.code == 2
    assert ran.stderr.startswith("cuvet: cuda.bindings.runtime (/")
    assert ran.stderr.endswith(f"contains {WHAT}: use cuda.bindings.driver, cuda.core or Numba, {GPU}")
    assert ran.stderr.count("\n") == 1


def test_a_runtime_that_an_rpath_leads_to_is_named(cuvet, toolkit: Path, tmp_path: Path) -> None:
    library = toolkit / "lib/libcudart.so.13"
    program = compiled(tmp_path, toolkit, library, f"-Wl,--disable-new-dtags,-rpath,{library.parent}")
    assert f"cuvet: {library} is {WHAT}, and an RPATH leads to it before" in cuvet.run(EMULATED, [program]).stderr
    program = compiled(tmp_path, toolkit, library, f"-Wl,--enable-new-dtags,-rpath,{library.parent}")
    ran = cuvet.run(EMULATED, [program])
    assert (ran.code, ran.rules) == (0, [])


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "/v/lib/python3.12/site-packages/cupy/x.so",
            "the Python package cupy (/v/lib/python3.12/site-packages/cupy/x.so) contains",
        ),
        ("/usr/lib/libcudart.so.11.0", "build with CUDA 12 or 13"),
        ("", "the program contains"),
    ],
)
def test_other_files(tmp_path: Path, file: str, expected: str) -> None:
    (tmp_path / unsupported.FILE).write_text(f"{WHAT}\n{file}")
    assert expected in unsupported.sentence(tmp_path)


def test_a_program_that_works_has_no_sentence(tmp_path: Path) -> None:
    assert unsupported.sentence(tmp_path) == ""
