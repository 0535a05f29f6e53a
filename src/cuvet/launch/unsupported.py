"""Says why a program cannot work on the emulated device: it contains NVIDIA's own CUDA runtime."""

import os
from pathlib import Path

from cuvet.regular import read_regular
from cuvet.sonames import RUNTIMES

FILE = "unsupported"
"""In the directory of a recording: what the program has that does not work here, and in the next line the file that has it."""
_MOST_BYTES = 8192
_GPU = "or run on a machine with a GPU"
_SHARED = "`nvcc -cudart shared` (CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared)"


def sentence(directory: Path) -> str:
    """Which file it is and what to do, in a line; empty if the program could work."""
    try:
        what, _, file = os.fsdecode(read_regular(directory / FILE, _MOST_BYTES, follow=False)).partition("\n")
    except OSError:
        return ""
    from cuvet.recording.sites import python_library  # start: only for a program that cannot work

    name = os.path.basename(file)
    package = python_library(file)
    if name in RUNTIMES:
        return f"{file} is {what}, and an RPATH leads to it before cuvet's own: build without RPATH (RUNPATH may stay), {_GPU}"
    if name.startswith("libcudart.so"):
        return f"{file} is {what}, and cuvet has none of that version: build with CUDA 12 or 13, {_GPU}"
    if "/cuda/bindings/" in file:
        return f"cuda.bindings.runtime ({file}) contains {what}: use cuda.bindings.driver, cuda.core or Numba, {_GPU}"
    if package is not None:
        return f"the Python package {package} ({file}) contains {what}: run on a machine with a GPU"
    return f"{file or 'the program'} contains {what}: link it with {_SHARED}, {_GPU}"
