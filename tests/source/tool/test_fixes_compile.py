"""What ``--fix`` edits still compiles, means what was meant, and is left alone by a second run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuvet.source.tool import cache

from .conftest import Done, Project

Check = Callable[..., Done]

HEAD = "#include <cstdio>\n#include <cstdlib>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
STAYS = """\
#define CHECK(call) \\
    do { \\
        cudaError_t err = (call); \\
        if (err != cudaSuccess) { fprintf(stderr, "%s\\n", cudaGetErrorString(err)); abort(); } \\
    } while (0)
"""
REPORTS = """\
#define CHECK(call) report((call), __FILE__, __LINE__)
"""
REPORT = """\
static void report(cudaError_t status, const char *file, int line) {
    if (status != cudaSuccess) {
        fprintf(stderr, "%s:%d\\n", file, line);
        cudaDeviceReset();
        exit(1);
    }
}
"""
USE = "void use() {\n    CHECK(cudaSetDevice(0));\n}\n"
BARE = "void bare() {\n    cudaDeviceSynchronize();\n}\n"
FIXED = "void bare() {\n    CHECK(cudaDeviceSynchronize());\n}\n"


@pytest.fixture(scope="session")
def headers() -> Path:
    """Of CUDA's runtime and driver."""
    nvidia = find_spec("nvidia")
    folders = list(nvidia.submodule_search_locations or ()) if nvidia is not None else []
    found = next((path for each in folders for path in Path(each).glob("*/include/cuda_runtime.h")), None)
    if found is None:
        pytest.skip("the headers of CUDA's runtime are not installed")
    return found.parent


@pytest.fixture
def compiles(project: Project, headers: Path) -> Callable[[str], bool]:
    def tried(name: str) -> bool:
        command = [*os.environ.get("CXX", "c++").split(), "-std=c++17", "-fsyntax-only", f"-I{headers}", name]
        return subprocess.run(command, cwd=project.root, capture_output=True, check=False).returncode == 0

    return tried


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(STAYS + USE + BARE, STAYS + USE + FIXED, id="a macro above"),
        pytest.param(STAYS + BARE + USE, STAYS + FIXED + USE, id="used further down only"),
        pytest.param(REPORT + REPORTS + USE + BARE, REPORT + REPORTS + USE + FIXED, id="a macro around a function"),
        pytest.param(
            "#ifdef NDEBUG\n#define CHECK(call) (call)\n#else\n" + STAYS + "#endif\n" + USE + BARE,
            "#ifdef NDEBUG\n#define CHECK(call) (call)\n#else\n" + STAYS + "#endif\n" + USE + FIXED,
            id="defined in each build",
        ),
        pytest.param(
            "namespace ours {\n" + REPORT + REPORTS + USE + BARE + "}\n",
            "namespace ours {\n" + REPORT + REPORTS + USE + FIXED + "}\n",
            id="all in one namespace",
        ),
        pytest.param(
            "namespace {\n" + REPORT + "}\n" + REPORTS + USE + BARE,
            "namespace {\n" + REPORT + "}\n" + REPORTS + USE + FIXED,
            id="an unnamed namespace",
        ),
    ],
)
def test_a_check_is_put_where_it_can_stand(
    project: Project, check: Check, compiles: Callable[[str], bool], before: str, after: str
) -> None:
    project.write({"a.cpp": HEAD + before})
    assert compiles("a.cpp")
    check("--fix", "--select", "source-status-dropped", "a.cpp")
    assert project.read("a.cpp") == HEAD + after
    assert compiles("a.cpp")
    assert "0 fix" not in check("--fix", "a.cpp").out
    assert project.read("a.cpp") == HEAD + after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(REPORT + REPORTS + USE, id="in the function that the macro calls"),
        pytest.param(
            "static void end() {\n    cudaDeviceSynchronize();\n    exit(1);\n}\n"
            + REPORT.replace("cudaDeviceReset()", "end()")
            + REPORTS
            + USE,
            id="in a function that the macro's function calls",
        ),
        pytest.param(
            REPORTS + REPORT.replace("cudaDeviceReset", "CHECK(cudaSetDevice(0)); cudaDeviceReset"), id="twice"
        ),
        pytest.param(BARE + STAYS + USE, id="defined further down"),
        pytest.param(REPORTS + BARE + REPORT + USE, id="what it calls is declared further down"),
        pytest.param(
            "#define CHECK(call) OURS(call)\n" + BARE + "#define OURS(call) (void)(call)\n" + USE,
            id="a macro of a macro",
        ),
        pytest.param(
            "#define CHECK(call) status = (call)\n"
            "int use() {\n    cudaError_t status;\n    CHECK(cudaSetDevice(0));\n    return status;\n}\n" + BARE,
            id="a variable of the other function",
        ),
        pytest.param("#ifdef OURS\n" + STAYS + USE + "#endif\n" + BARE, id="defined in another build"),
        pytest.param(STAYS + USE + "#undef CHECK\n" + BARE, id="undefined"),
        pytest.param(
            "namespace ours {\n"
            + REPORT
            + "}\n#define CHECK(call) report((call), __FILE__, __LINE__)\nnamespace ours {\n"
            + USE
            + "}\n"
            + BARE,
            id="what it calls is in a namespace",
        ),
        pytest.param(
            "#define CHECK(call) if ((call) != cudaSuccess) goto out\n"
            "void f() {\n    cudaDeviceSynchronize();\n    int n = 1;\n    CHECK(cudaSetDevice(n));\nout:\n    return;\n}\n",
            id="it would jump over a variable",
        ),
        pytest.param(
            "#define CHECK(call) if ((call) != cudaSuccess) break\n"
            "void f(int n) {\n    while (n--) {\n        CHECK(cudaSetDevice(n));\n    }\n    cudaDeviceSynchronize();\n}\n",
            id="it would leave a loop where none is",
        ),
        pytest.param(
            "void f(int n) {\n    if (n) {\n        auto check = [](cudaError_t status) { if (status) abort(); };\n"
            "        check(cudaSetDevice(n));\n    }\n    cudaDeviceSynchronize();\n}\n",
            id="a variable of another block",
        ),
        pytest.param(
            "struct A {\n    void check(cudaError_t status) { if (status) abort(); }\n    void f() { check(cudaSetDevice(0)); }\n};\n"
            + BARE,
            id="a member of another class",
        ),
        pytest.param(
            "#define IGNORE_STATUS(call) (void)(call)\n"
            "void use() {\n    IGNORE_STATUS(cudaSetDevice(0));\n    cudaDeviceSynchronize();\n}\n",
            id="what does not look at it",
        ),
        pytest.param(
            STAYS + USE + "void f(int n, float *p) {\n    if (n) {\n        CHECK(cudaFree(p));\n    }\n"
            "    cudaFree(p);\n    cudaDeviceSynchronize();\n}\n",
            id="FREED",
        ),
    ],
)
def test_where_it_cannot_stand_it_is_not_put(
    project: Project, check: Check, compiles: Callable[[str], bool], text: str, request: pytest.FixtureRequest
) -> None:
    project.write({"a.cpp": HEAD + text})
    assert compiles("a.cpp")
    check("--fix", "--select", "source-status-dropped", "a.cpp")
    expected = text
    if "FREED" in request.node.name:
        expected = text.replace("    cudaDeviceSynchronize()", "    CHECK(cudaDeviceSynchronize())")
    assert project.read("a.cpp") == HEAD + expected
    assert compiles("a.cpp")


WRONG = """\
void f(float *p, cudaStream_t s) {
    CHECK(cudaSetDevice(0));
    cudaFreeAsync(p);
    cudaThreadSynchronize();
    cudaThreadSynchronize();
    CHECK(cudaStreamDestroy(s));
    cudaStreamSynchronize(s);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("options", [(), ("--select", "source-status-dropped")])
def test_a_call_that_is_called_wrong_is_not_only_checked(
    project: Project, check: Check, options: tuple[str, ...]
) -> None:
    project.write({"a.cpp": HEAD + STAYS + WRONG})
    check("--fix", *options, "a.cpp")
    after = WRONG.replace("    cudaDeviceSynchronize()", "    CHECK(cudaDeviceSynchronize())")
    assert project.read("a.cpp") == HEAD + STAYS + after


def test_a_call_that_is_wrong_on_purpose_is_not_checked(project: Project, check: Check) -> None:
    text = WRONG.replace(
        "synchronize(s);", "synchronize(s);  // cuvet: ignore[stream-use-after-destroy] a test of the driver"
    )
    project.write({"a.cpp": HEAD + STAYS + text})
    check("--fix", "a.cpp")
    assert "\n    cudaStreamSynchronize(s);" in project.read("a.cpp")


def test_what_is_fixed_is_not_reported_again_though_results_are_kept(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_UNSETTLED_NS", -1)
    project.write({"a.cpp": HEAD + STAYS + USE + BARE})
    assert "source-status-dropped" in check("a.cpp").out
    done = check("--fix", "a.cpp")
    assert "source-status-dropped" not in done.out
    assert "1 fix made" in done.out
    assert project.read("a.cpp") == HEAD + STAYS + USE + FIXED
