from __future__ import annotations

from collections.abc import Callable

import pytest

from cuvet.source.tool.ignores import ignore_comments

from .conftest import MISTAKE, Done, Project

Check = Callable[..., Done]


def covered(text: str, language: str = "c++") -> list[tuple[tuple[str, ...], tuple[int, int]]]:
    return [(comment.names, comment.lines) for comment in ignore_comments(text.encode(), language)]


@pytest.mark.parametrize(
    ("language", "text", "lines"),
    [
        ("c++", "f();  // cuvet: ignore[x] why", (1, 1)),
        ("c++", "f();  /* cuvet: ignore[x] */", (1, 1)),
        ("c++", "f();  // NOLINT // cuvet:ignore [x]", (1, 1)),
        ("c++", "//! cuvet: ignore[x]\n\n// and why\nf();\ng();", (4, 4)),
        ("c++", "// cuvet: ignore[x]\nf(a,\n  b(1,\n    2));\ng();", (2, 4)),
        ("c++", "f(a,\n  b);  // cuvet: ignore[x]", (1, 2)),
        ("c++", "each([&] {\n  f();  // cuvet: ignore[x]\n});", (2, 2)),
        ("c++", "const char *s = \"(\"; char c = '(';  // cuvet: ignore[x]\ng();", (1, 1)),
        ("c++", "int n = 1'000'000;  // cuvet: ignore[x]", (1, 1)),
        ("c++", 'auto s = R"x( )" // )x";  // cuvet: ignore[x]', (1, 1)),
        ("c++", "f();\n// cuvet: ignore[x]", (2, 2)),
        ("c#", 'var s = @"\\"; // cuvet: ignore[x]', (1, 1)),
        ("c#", 'var s = """\n "// " """; // cuvet: ignore[x]', (2, 2)),
        ("python", "f()  # cuvet: ignore[x] why", (1, 1)),
        ("python", "f({1:\n   2})  # noqa # cuvet: ignore[x]", (1, 2)),
        ("python", "'''\n\" '''  # cuvet: ignore[x]", (2, 2)),
    ],
)
def test_what_a_comment_covers(language: str, text: str, lines: tuple[int, int]) -> None:
    assert covered(text, language) == [(("x",), lines)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("c++", 'f("// cuvet: ignore[x]");'),
        ("c++", 'auto s = R"(\n// cuvet: ignore[x]\n)";'),
        ("c++", "// see `cuvet: ignore[x]`"),
        ("c++", "// cuvet: ignored[x]"),
        ("c++", "// cuvet: run"),
        ("python", '"""\n# cuvet: ignore[x]\n"""'),
        ("python", "x = '# cuvet: ignore[x]'"),
        ("python", "x = 1 // cuvet"),
        ("c#", 'var s = @"\n// cuvet: ignore[x]\n";'),
    ],
)
def test_what_is_no_such_comment(language: str, text: str) -> None:
    assert covered(text, language) == []


def test_several_names_and_none() -> None:
    text = "f(); // cuvet: ignore[a, CV201 ,] reason\ng(); // cuvet: ignore\nh(); // cuvet: ignore[]"
    assert [names for names, _ in covered(text)] == [("a", "CV201"), (), ()]


def test_columns_count_characters() -> None:
    (comment,) = ignore_comments('\tf("ä");  // cuvet: ignore[x] y'.encode(), "c++")
    assert (comment.line, comment.column, comment.end_column) == (1, 11, 30)


@pytest.mark.parametrize("language", ["c++", "c#", "python"])
@pytest.mark.parametrize(
    "part", ['R"(', "/*", '"', "'", "f(", "{", '"""', '@"', "\\", "// cuvet: ignore[x] ", "f( // cuvet: ignore[x]\n"]
)
def test_a_long_text_is_read_to_its_end(part: str, language: str) -> None:
    """The text is long enough that a lexer that starts over at each part does not end. Which comments it holds, a short one tells."""

    def lines(parts: int) -> list[int]:
        found = ignore_comments((part * parts + "\n// cuvet: ignore[y]").encode(), language)
        return [comment.line - part.count("\n") * parts for comment in found[-1:]]

    assert lines(4 * (100_000 // len(part))) == lines(4 * (1000 // len(part)))


def test_a_comment_takes_its_findings_back(project: Project, check: Check) -> None:
    marked = MISTAKE.replace("Synchronize(stream));", "Synchronize(stream));  // cuvet: ignore[CV201] a test")
    above = MISTAKE.replace(
        "    CHECK(cudaStreamSync", "    // cuvet: ignore[stream-use-after-destroy]\n    CHECK(cudaStreamSync"
    )
    project.write({"a.cu": marked, "b.cu": above})
    done = check(".")
    assert (done.code, done.out) == (
        0,
        "0 errors, 0 warnings in 2 files (2 functions with CUDA); not shown: 2 ignored by comments\n",
    )


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("ignore[stream-destroy-twice] x", "nothing to ignore: no finding of stream-destroy-twice here"),
        ("ignore[CV202]", "nothing to ignore: no finding of stream-destroy-twice here"),
        ("ignore[stream-gone]", "no rule is called stream-gone (see cuvet rules)"),
        ("ignore", "the comment names no rule: write cuvet: ignore[RULE] reason"),
    ],
)
def test_a_comment_that_ignores_nothing_is_reported(project: Project, check: Check, comment: str, why: str) -> None:
    project.write({"a.cu": MISTAKE.replace("Synchronize(stream));", f"Synchronize(stream));  // cuvet: {comment}")})
    done = check("a.cu")
    assert done.code == 1
    assert f"a.cu:5:44: warning: {why}\n" in done.out


def test_a_comment_about_a_rule_that_only_a_run_can_show_is_not_reported(project: Project, check: Check) -> None:
    comment = "// cuvet: ignore[capture-wait, memory-use-unordered, CV804] the test of a capture"
    project.write(
        {"a.cu": f"void f(cudaStream_t stream) {{\n    if (cudaStreamSynchronize(stream)) abort();  {comment}\n}}\n"}
    )
    done = check("a.cu")
    assert (done.code, done.out) == (0, "0 errors, 0 warnings in 1 file (1 function with CUDA)\n")


def test_one_name_of_several_can_be_unused(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE.replace("(stream));\n}", "(stream));  // cuvet: ignore[CV201, CV202]\n}")})
    done = check("a.cu")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if "warning: " in line] == [
        "a.cu:5:44: warning: nothing to ignore: no finding of stream-destroy-twice here"
    ]


def test_of_a_rule_that_was_not_asked_for_nothing_is_said(project: Project, check: Check) -> None:
    project.write(
        {"a.cu": MISTAKE.replace("(stream));\n}", "(stream));  // cuvet: ignore[stream-use-after-destroy]\n}")}
    )
    assert "warning: " not in check("--ignore", "CV201", "a.cu").out


def test_where_nothing_was_checked_nothing_is_said(project: Project, check: Check) -> None:
    project.write({"a.cu": "void f() {\n  cudaFree(p);  // cuvet: ignore[CV201]\n  if (a {\n} } }\n"})
    done = check("a.cu")
    assert "not checked: a.cu:" in done.out
    assert "warning: " not in done.out
