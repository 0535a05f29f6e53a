from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.reports.source import Mark, excerpt, find_call


def marked(text: str, line: int, api: str, argument: int | None = None, comment: str = "//") -> str | None:
    """The text under the carets."""
    mark = find_call(text, line, api, argument, comment)
    return None if mark is None else text.split("\n")[mark.line - 1][mark.start : mark.end]


@pytest.mark.parametrize(
    ("text", "api", "argument", "expected"),
    [
        ("cudaEventRecord(event, stream);", "cudaEventRecord", 1, "stream"),
        ("cudaEventRecord(event, stream);", "cudaEventRecord", None, "cudaEventRecord"),
        ("cudaEventRecord(event);", "cudaEventRecord", 1, "cudaEventRecord"),
        ("CHECK(cudaEventRecord( e[at(i, j)] , pool.get(1, 2).s));", "cudaEventRecord", 1, "pool.get(1, 2).s"),
        (
            'f(g("a,b)", x), cudaFree(static_cast<std::pair<A, B>*>(p)));',
            "cudaFree",
            0,
            "static_cast<std::pair<A, B>*>(p)",
        ),
        ("cudaMemcpy(a /* dst, really */, b, n, k);", "cudaMemcpy", 1, "b"),
        ("cudaMemcpy(a, ',', n, k);", "cudaMemcpy", 2, "n"),
        ("my_cudaFree(q); cudaFreeHost(h); cudaFree(p);", "cudaFree", 0, "p"),
        ("scale<float><<<grid, dim3(8, 8), 0, stream>>>(x, n);", "cudaLaunchKernel", 5, "stream"),
        ("ns::scale<<<grid, block>>>(x, n);", "cudaLaunchKernel", 0, "ns::scale"),
        ("ns::scale<<<grid, block>>>(x, n);", "cudaLaunchKernel", 5, "ns::scale"),
        ("cu.cuMemFree_v2(m)", "cuMemFree", 0, "m"),
        ("launch(x);", "cudaLaunchKernel", 5, None),
        ("wrapper.record(e, s);", "cudaEventRecord", 1, None),
        ("cudaEventRecord(event, // first\n    stream", "cudaEventRecord", 0, "event"),
    ],
)
def test_argument(text: str, api: str, argument: int | None, expected: str | None) -> None:
    assert marked(text, 1, api, argument) == expected


def test_a_call_that_began_above_the_line() -> None:
    text = "cudaMemcpyAsync(host, tile,\n    bytes, kind,\n    stream_);\n"
    assert [marked(text, line, "cudaMemcpyAsync", 4) for line in (1, 2, 3, 4)] == [
        "stream_",
        "stream_",
        "stream_",
        None,
    ]


def test_a_call_in_a_comment_is_none() -> None:
    assert marked("/* cudaFree(old)\n*/ cudaFree(p);", 2, "cudaFree", 0) == "p"


def test_an_earlier_call_of_the_same_name_is_not_marked() -> None:
    text = "cudaFree(a);\ncudaFree(b);\n"
    assert marked(text, 2, "cudaFree", 0) == "b"


def test_python() -> None:
    text = "# cuEventRecord(x, y)\nerr, = driver.cuEventRecord(event, 'a)' and stream)\n"
    assert marked(text, 2, "cuEventRecord", 1, comment="#") == "'a)' and stream"


def test_excerpt_shows_the_line_and_the_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.cpp"
    file.write_text("int a;\n\tcudaEventRecord(e,\n\t\ts);\n")
    found = excerpt(str(file), 2, "cudaEventRecord", 1)
    assert found is not None
    assert (found.first, found.lines) == (2, ("    cudaEventRecord(e,", "        s);"))
    assert found.mark == Mark(3, 8, 9)


@pytest.mark.parametrize(("name", "line"), [("a.cpp", 9), ("a.cpp", 0), ("absent.cpp", 1), (".", 1)])
def test_no_excerpt_without_the_line(tmp_path: Path, name: str, line: int) -> None:
    (tmp_path / "a.cpp").write_text("int a;\n")
    assert excerpt(str(tmp_path / name), line, "cudaFree") is None


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ('/*"a' * 100_000 + "*/", True),
        ("/*a" * 100_000, False),
        ('"' + '\\"' * 100_000, True),
        ("cudaFree(" * 100_000, False),
    ],
    ids=["comment", "endless comment", "endless literal", "calls in calls"],
)
def test_a_text_that_is_slow_to_search(before: str, found: bool) -> None:
    """It ends, though the text is so long that starting over at each part would not."""
    text = f"{before}\ncudaFree(p);"
    assert (find_call(text, 2, "cudaFree") is not None) is found
