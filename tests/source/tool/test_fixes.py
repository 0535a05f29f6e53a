from __future__ import annotations

import stat
from collections.abc import Callable

import pytest

from cuvet.source.tool import fixes

from .conftest import CORRECT, Done, Project

Check = Callable[..., Done]


def function(*lines: str, before: str = "", signature: str = "void f(int n)") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{before}{signature} {{\n    float *p;\n    cudaMalloc(&p, n);\n{body}}}\n"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (("cudaFree(p);", "cudaFree(p);"), ("cudaFree(p);",)),
        (("cudaFree(p);", "n = 1;", "cudaFree(p);  ", "g();"), ("cudaFree(p);", "n = 1;", "g();")),
        (("CHECK(cudaFree(p));", "CHECK(cudaFree(p));"), ("CHECK(cudaFree(p));",)),
        (("cudaFree(p); cudaFree(p);",), ("cudaFree(p); ",)),
        (("cudaFree(p);", "cudaFree(p);  // again"), ("cudaFree(p);", "  // again")),
        (("cudaFree(p);", "cudaFree(p);", "cudaFree(p);"), ("cudaFree(p);",)),
        (("cudaFree(", "    p);", "cudaFree(", "    p);"), ("cudaFree(", "    p);")),
    ],
)
def test_a_second_destroy_is_removed(
    project: Project, check: Check, lines: tuple[str, ...], left: tuple[str, ...]
) -> None:
    project.write({"a.cu": function(*lines)})
    done = check("--fix", "--select", "*-twice", "a.cu")
    assert (done.code, project.read("a.cu")) == (0, function(*left))
    assert "; 1 fix made" in done.out or "; 2 fixes made" in done.out


@pytest.mark.parametrize(
    "lines",
    [
        ("if (n) cudaFree(p);", "cudaFree(p);"),
        ("cudaFree(p);", "if (n) cudaFree(p);"),
        ("cudaFree(p);", "if (n) cudaMalloc(&p, n);", "cudaFree(p);"),
        ("cudaFree(p);", "again:", "cudaFree(p);", "if (n--) goto again;"),
        ("cudaFree(p);", "if (cudaFree(p) != cudaSuccess) g();"),
        ("cudaFree(p);", "n = cudaFree(p);"),
        ("{ cudaFree(p); }", "cudaFree(p);"),
        ("for (int i = 0; i < 2; ++i) {", "    cudaFree(p);", "}"),
    ],
)
def test_where_it_is_not_certain_nothing_is_removed(project: Project, check: Check, lines: tuple[str, ...]) -> None:
    text = function(*lines)
    project.write({"a.cu": text})
    check("--fix", "--select", "*-twice", "a.cu")
    assert project.read("a.cu") == text


def test_a_finding_that_is_ignored_or_known_is_not_mended(project: Project, check: Check) -> None:
    marked = function("cudaFree(p);", "cudaFree(p);  // cuvet: ignore[memory-free-twice] a test")
    project.write({"a.cu": marked})
    check("--fix", "a.cu")
    assert project.read("a.cu") == marked
    plain = function("cudaFree(p);", "cudaFree(p);")
    project.write({"a.cu": plain})
    check("--baseline", "known.json", "--write-baseline", ".")
    check("--fix", "--baseline", "known.json", ".")
    check("--fix", "--ignore", "memory-free-twice", ".")
    assert project.read("a.cu") == plain


def test_the_rest_of_the_file_stays_as_it_is(project: Project, check: Check) -> None:
    before, after = b"// \xff\xfe \xe4\r\n", b"\r\n// no line end"
    text = function("cudaFree(p);", "cudaFree(p);").replace("\n", "\r\n").encode()
    fixed = function("cudaFree(p);").replace("\n", "\r\n").encode()
    project.write({"real.cu": before + text + after})
    (project.root / "real.cu").chmod(0o750)
    (project.root / "a.cu").symlink_to("real.cu")
    check("--fix", "a.cu")
    assert (project.root / "real.cu").read_bytes() == before + fixed + after
    assert stat.S_IMODE((project.root / "real.cu").stat().st_mode) == 0o750
    assert (project.root / "a.cu").is_symlink()
    assert sorted(path.name for path in project.root.iterdir()) == ["a.cu", "real.cu"]


def test_nothing_to_mend(project: Project, check: Check) -> None:
    project.write({"a.cu": CORRECT})
    assert "fix" not in check("--fix", "a.cu").out


CHECK = "#define CHECK(call) \\\n    do { \\\n        if ((call) != cudaSuccess) abort(); \\\n    } while (0)\n"
LEAVES = "#define CHECK(call) \\\n    if ((call) != cudaSuccess) \\\n        return\n"
USE = "void g() {\n    CHECK(cudaSetDevice(0));\n}\n"
BARE = "void f() {\n    cudaDeviceSynchronize();\n}\n"


@pytest.mark.parametrize(
    ("before", "text", "check_name"),
    [
        (CHECK + USE, BARE, "CHECK"),
        ("", "void f() {\n    CHECK(cudaSetDevice(0));\n    cudaDeviceSynchronize();\n}\n", "CHECK"),
        (LEAVES, "void f() {\n    CHECK(cudaSetDevice(0));\n    cudaDeviceSynchronize();\n}\n", "CHECK"),
        (
            "",
            "void f() {\n    OK(cudaSetDevice(0));\n    OK(cudaSetDevice(1));\n    cudaDeviceSynchronize();\n}\n" + USE,
            "OK",
        ),
        ("", "A::~A() {\n    CHECK(cudaSetDevice(0));\n    cudaDeviceSynchronize();\n}\n", "CHECK"),
    ],
)
def test_a_call_is_put_into_the_check_of_its_file(
    project: Project, check: Check, before: str, text: str, check_name: str
) -> None:
    project.write({"a.cu": before + text})
    assert "; 1 fix made" in check("--fix", "a.cu").out
    expected = text.replace("    cudaDeviceSynchronize();", f"    {check_name}(cudaDeviceSynchronize());")
    assert project.read("a.cu") == before + expected


def test_all_calls_that_the_finding_names_are_put_into_it(project: Project, check: Check) -> None:
    calls = ("cudaStreamCreate(&s)", "cudaStreamSynchronize(s)", "(void)cudaStreamQuery(s)", "cudaStreamDestroy(s)")
    body = "".join(f"    {call};\n" for call in calls)
    project.write({"a.cu": f"{CHECK}{USE}void f() {{\n    cudaStream_t s;\n{body}}}\n"})
    assert "; 1 fix made" in check("--fix", "a.cu").out
    after = "".join(f"    {call};\n" if call.startswith("(void)") else f"    CHECK({call});\n" for call in calls)
    assert after in project.read("a.cu")


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        USE + BARE,  # what CHECK does in f is not known
        LEAVES + USE + BARE,  # it would leave f
        CHECK + USE + BARE.replace("void f", "A::~A"),  # it may throw
        CHECK + USE + "void f() {\n    if (n)\n        cudaDeviceSynchronize();\n    else\n        g();\n}\n",
        "void f() {\n    assert(cudaSetDevice(0));\n    cudaDeviceSynchronize();\n}\n",
        "void f() {\n    CHECK(cuInit(0));\n    cudaDeviceSynchronize();\n}\n",  # it checks another kind of status
        "void f() {\n    CHECK(cudaSetDevice(0), __LINE__);\n    cudaDeviceSynchronize();\n}\n",
        "void f() {\n    auto g = [] {\n        CHECK(cudaSetDevice(0));\n    };\n    cudaDeviceSynchronize();\n}\n",
        "void f() {\n    puts(cudaGetErrorString(e));\n    cudaDeviceSynchronize();\n}\n",
    ],
)
def test_where_no_check_fits_nothing_is_changed(project: Project, check: Check, text: str) -> None:
    project.write({"a.cu": text})
    assert "source-status-dropped" in check("--fix", "a.cu").out
    assert project.read("a.cu") == text


def test_an_edit_that_breaks_the_syntax_is_not_made(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = function("cudaFree(p);", "cudaFree(p);")
    project.write({"a.cu": text})
    monkeypatch.setattr(fixes, "edits_for", lambda finding, code, checks: [fixes.Edit(0, 4, b"((")])
    check("--fix", "a.cu")
    assert project.read("a.cu") == text
