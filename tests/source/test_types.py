"""Types that CUDA does not have, and what tells them from a program's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import check_project, check_source
from cuvet.source.textual.spellings import nearest_type

USE = "void end(cudaContext_t context) {\n    CHECK(cuCtxDestroy(context));\n}\n"
OWN_CUDA = (
    "typedef struct context *cudaContext_t;\nvoid *allocate() { void *it; return cudaMalloc(&it, 4) ? nullptr : it; }\n"
)
PLAIN = "inline void wait() { CHECK(cudaDeviceSynchronize()); }\n"


def found(files: dict[str, str]) -> list[str]:
    """Names and lines of the types that the files have and CUDA has not."""
    results = [check_source(Path(name), text.encode()) for name, text in files.items()]
    return [
        f"{finding.site.frames[0].file}:{finding.site.frames[0].line} {finding.api}"
        for finding in check_project(results)
        if finding.name == "source-unknown-type"
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cudaContext_t", "CUcontext"),
        ("cudaModule_t", "CUmodule"),
        ("cudaDeviceptr_t", "CUdeviceptr"),
        ("CUstream_t", "CUstream"),
        ("cudaStream", "cudaStream_t"),
        ("cudaDeviceProp_t", "cudaDeviceProp"),
        ("cudaStraem_t", "cudaStream_t"),
        ("cublasHandel_t", "cublasHandle_t"),
        ("cudnnTensorDescripter_t", "cudnnTensorDescriptor_t"),
        ("cudaStream_t", ""),
        ("CUevent_st", ""),
        ("cudaLaunchParams", ""),
        ("cublasMpHandle_t", ""),
        ("cusparseLtHandle_t", ""),
        ("cusolverMpHandle_t", ""),
        ("cudssDataType_t", ""),
        ("CUdevResource_v1", ""),
        ("cudaSuccess", ""),
        ("cudaMallocs", ""),
        ("cuContext", ""),
        ("cuda" + "X" * 10_000 + "_t", ""),
    ],
)
def test_the_type_that_is_meant(written: str, meant: str) -> None:
    assert nearest_type(written) == meant


@pytest.mark.parametrize(
    "use",
    [
        "cudaContext_t context;",
        "static cudaContext_t *contexts[4];",
        "struct Device { cudaContext_t context; };",
        "void use(const cudaContext_t &context);",
        "cudaContext_t current();",
        "std::vector<cudaContext_t> contexts;",
        "typedef cudaContext_t Context;",
    ],
)
def test_as_the_type_of_something(use: str) -> None:
    assert found({"a.cu": f"#include <vector>\n{PLAIN}{use}\n"}) == ["a.cu:3 cudaContext_t"]


@pytest.mark.parametrize(
    "own",
    [
        "#define cudaContext_t CUcontext",
        "typedef CUcontext cudaContext_t;",
        "typedef CUcontext (*cudaContext_t)(int);",
        "using cudaContext_t = CUcontext;",
        "using somebody::cudaContext_t;",
        "struct cudaContext_t;",
        "struct cudaContext_t { int device; };",
        "class cudaContext_t : Base { };",
        "enum class cudaContext_t { none };",
        "template <typename cudaContext_t> struct Holder { };",
        "DEFINE_HANDLE(cudaContext_t)",
        "somebody::cudaContext_t first;",
        "int cudaContext_t;",
    ],
)
def test_the_files_own(own: str) -> None:
    assert found({"a.cu": f"{own}\n{USE}"}) == []


def test_nothing_but_a_word() -> None:
    assert found({"a.cu": f'// cudaContext_t\nconst char *text = "cudaContext_t";\n{PLAIN}'}) == []
    assert found({"a.cu": f"#if CUDA_VERSION < 3000\n{USE}#endif\n{PLAIN}"}) == []


@pytest.mark.parametrize(
    ("include", "seen"),
    [
        ("<cuda.h>", True),
        ('"cuda_runtime.h"', True),
        ("<thrust/device_vector.h>", True),
        ("<cstdio>", True),
        ("<sys/time.h>", True),
        ("<nvml.h>", False),
        ("<gpu/context.h>", False),
        ('"context.h"', False),
        ("CONTEXT_HEADER", False),
    ],
)
def test_what_is_included(include: str, seen: bool) -> None:
    assert found({"a.cu": f"#include {include}\n{USE}"}) == ["a.cu:2 cudaContext_t"] * seen


@pytest.mark.parametrize(
    ("header", "seen"),
    [
        (PLAIN, True),
        (f"#include <cuda.h>\n{PLAIN}", True),
        (f"#include <gpu/context.h>\n{PLAIN}", False),
        ("inline int nothing_of_cuda() { return 0; }\n", False),
        (OWN_CUDA, False),
    ],
    ids=["plain", "of CUDA", "includes what is out of sight", "not looked at", "declares it"],
)
@pytest.mark.parametrize("path", ["src/gpu/plain.h", "include/gpu/plain.h"])
def test_a_header_of_the_run(path: str, header: str, seen: bool) -> None:
    files = {path: header, "src/a.cu": f'#include "gpu/plain.h"\n{USE}'}
    assert found(files) == ["src/a.cu:2 cudaContext_t"] * seen


def test_declared_in_another_file_of_the_run() -> None:
    assert found({"a.cu": USE, "b.cu": PLAIN}) == ["a.cu:1 cudaContext_t"]
    assert found({"a.cu": USE, "b.cu": OWN_CUDA}) == []


def test_headers_that_include_each_other() -> None:
    files = {
        "a.h": f'#include "b.h"\n{PLAIN}',
        "b.h": f'#include "a.h"\n{PLAIN}',
        "c.cu": f'#include "a.h"\n{USE}',
    }
    assert found(files) == ["c.cu:2 cudaContext_t"]


def test_a_header_that_needs_others_before_it() -> None:
    assert found({"a.h": USE}) == []
    assert found({"a.h": f"#include <cuda.h>\n{USE}"}) == ["a.h:2 cudaContext_t"]
