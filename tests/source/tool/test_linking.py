"""Functions that one file defines and another calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Done, Project

Check = Callable[..., Done]

MAKES = "inline cudaStream_t make() { cudaStream_t s; CHECK(cudaStreamCreate(&s)); return s; }\n"
BORROWS = "inline cudaStream_t make() { CHECK(cudaGetLastError()); return known_stream; }\n"
USES = "void f() { cudaStream_t s = make(); CHECK(cudaStreamSynchronize(s)); }\n"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_files_are_checked_together(project: Project, check: Check, processes: str) -> None:
    project.write({"pool.h": MAKES, "use.cu": USES, "more.cu": "// " + "x" * (1 << 20)})
    assert "use.cu:1:29: warning[CV851]" in check(".", "--format", "concise", "--no-cache", "--jobs", processes).out


def test_what_another_file_does_is_kept(project: Project, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"pool.h": MAKES, "use.cu": USES})
    first = check(".", "--format", "concise")
    with monkeypatch.context() as patched:
        patched.delattr("cuvet.source.tool.workers.check_source")
        assert check(".", "--format", "concise") == first
    project.write({"pool.h": BORROWS})
    assert "use.cu" in first.out
    assert "use.cu" not in check(".", "--format", "concise").out


def test_what_makes_several_objects_is_kept_too(project: Project, check: Check) -> None:
    makes = (
        "inline void make(cudaStream_t *s, cudaEvent_t *e) { CHECK(cudaStreamCreate(s)); CHECK(cudaEventCreate(e)); }\n"
    )
    uses = "void f() { cudaStream_t s; cudaEvent_t e; make(&s, &e); CHECK(cudaEventRecord(e, s)); }\n"
    project.write({"pool.h": makes, "use.cu": uses})
    first = check(".", "--format", "concise")
    assert "use.cu:1:43: warning[CV851]" in first.out
    assert check(".", "--format", "concise") == first


def test_what_files_declare_is_kept(project: Project, check: Check) -> None:
    uses = '#include "own.h"\nvoid f(cudaContext_t context) { CHECK(cuCtxSetCurrent(context)); }\n'
    project.write({"own.h": MAKES, "use.cu": uses})
    first = check(".", "--format", "concise")
    assert "use.cu:2:8: warning[CV873]" in first.out
    assert check(".", "--format", "concise") == first
    project.write({"own.h": "typedef struct context *cudaContext_t;\n" + MAKES})
    assert "CV873" not in check(".", "--format", "concise").out


OWN = [
    (
        "CV865",
        "#include <cuda.h>\nconst char *cuGetErrorString(CUresult);\n",
        "void f(CUresult e) { puts(cuGetErrorString(e)); }\n",
    ),
    (
        "CV865",
        "class Store {\n  void *allocate(size_t size);\n  uintptr_t cudaMalloc(size_t size);\n};\n",
        "void *Store::allocate(size_t size) { return (void *)cudaMalloc(size); }\n",
    ),
    (
        "CV863",
        "#include <cuda.h>\ntemplate <typename... A> void cudaLaunch(int n, void (*f)(A...), A... a) { f<<<n, 1>>>(a...); }\n",
        "void f(int *p) { cudaLaunch(3, k, p); }\n",
    ),
]


@pytest.mark.parametrize(("rule", "header", "source"), OWN)
def test_a_function_of_another_file_is_the_programs_own(
    project: Project, check: Check, rule: str, header: str, source: str
) -> None:
    project.write({"own.h": header, "use.cu": f'#include "own.h"\n{source}'})
    assert rule in check("use.cu", "--format", "concise").out
    assert rule not in check(".", "--format", "concise").out
