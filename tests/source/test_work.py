"""How much work a function is, counted in paths, steps and lines of Python that are run: it grows as the function does, and is limited."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from cuvet.rules import all_rules
from cuvet.rules.examples import Source, invalid, sources, valid
from cuvet.source import FileResult, check_project, check_source
from cuvet.source.paths import walk
from cuvet.source.paths.arms import Arms
from cuvet.source.textual import written

_PARAMETERS = "int *a, int n, float *p, cudaStream_t s"


def function(body: str) -> str:
    return (
        f"#include <cuda_runtime.h>\nvoid f(cudaStream_t);\nvoid g(cudaStream_t);\nvoid k({_PARAMETERS}) {{\n{body}}}\n"
    )


def repeated(line: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A function in which the line stands so often; ``@`` in it is its number."""
    return lambda count: function(before + "".join(line.replace("@", str(at)) + "\n" for at in range(count)) + after)


MADE, ENDED = "cudaStream_t t;\ncudaStreamCreate(&t);\n", "cudaStreamDestroy(t);\n"
EVENT = "cudaEventCreate(&e); cudaEventRecord(e, t); cudaEventDestroy(e);"
ALIKE = {
    "calls of others": repeated("if (a[@]) f(t); else g(t);", MADE, ENDED),
    "a call of others, or none": repeated("if (a[@]) f(t);", MADE, ENDED),
    "calls of CUDA": repeated("if (a[@]) cudaStreamSynchronize(t); else cudaStreamQuery(t);", MADE, ENDED),
    "conditions of two parts": repeated("if (a[@] && p[@] > 1) f(t);", MADE, ENDED),
    "a launch": repeated("if (a[@]) kernel<<<1, n, 0, t>>>(p);", MADE, ENDED),
    "parts of the build": repeated("#if A@\nf(t);\n#else\ng(t);\n#endif", MADE, ENDED),
    "in blocks": repeated("{ if (a[@]) { f(t); cudaStreamSynchronize(t); } }", MADE, ENDED),
    "an event of its own": repeated(
        f"if (a[@]) {{ cudaEvent_t e; {EVENT} }} else {{ cudaStreamQuery(t); }}", MADE, ENDED
    ),
    "an event for all": repeated(f"if (a[@]) {{ {EVENT} }}", MADE + "cudaEvent_t e;\n", ENDED),
    "several events": repeated(
        "cudaEvent_t e@; if (a[@]) { cudaEventCreate(&e@); cudaEventRecord(e@, t); cudaEventDestroy(e@); }", MADE, ENDED
    ),
    "an event in a loop": repeated(
        f"for (int i = 0; i < n; ++i) {{ if (a[@]) {{ cudaEvent_t e; {EVENT} }} }}", MADE, ENDED
    ),
    "a switch": lambda count: function(
        "switch (n) {\n" + "".join(f"case {at}: g(s); break;\n" for at in range(count)) + "}\n"
    ),
    "a switch of events": lambda count: function(
        "switch (n) {\n" + "".join(f"case {at}: {{ cudaEvent_t e; {EVENT} break; }}\n" for at in range(count)) + "}\n"
    ),
    "within one another": repeated(
        "if (a[@]) { f(t); if (p[@]) g(t); } else if (p[@] > 1) cudaStreamQuery(t);", MADE, ENDED
    ),
}
"""Branches after which all is as it was."""
OTHER = {
    "ended in a branch": repeated("if (a[@]) cudaStreamDestroy(t); else g(t);", MADE),
    "made in a branch": repeated("float *p@; if (a[@]) cudaMalloc(&p@, 4);"),
    "made or ended": repeated("cudaStream_t t@; if (a[@]) cudaStreamCreate(&t@); else cudaStreamDestroy(t@);"),
    "of the build": repeated("#if A@\ncudaFree(p);\n#else\nf(s);\n#endif"),
    "ways out": repeated("float *p@; if (cudaMalloc(&p@, 4) != cudaSuccess) return;"),
    "to one end": repeated("if (cudaMalloc(&p, @)) goto out;", "", "out:\ncudaFree(p);\n"),
    "loops": repeated("for (int i = 0; i < a[@]; ++i) { cudaStreamSynchronize(s); if (a[i]) break; }"),
    "a web": repeated("L@: if (a[@]) goto L@1; if (n) goto L0; cudaStreamSynchronize(s);"),
    "a switch": lambda count: function(
        "switch (n) {\n" + "".join(f"case {at}: f(s); cudaStreamQuery(s); break;\n" for at in range(count)) + "}\n"
    ),
    "nothing but calls": repeated("cudaFree(p);"),
    "calls with too many arguments": repeated("cudaFree(p, @); " * 6),
    "calls of many variables": repeated("float *p@; cudaMalloc(&p@, 4); cudaFree(p@); cudaFree(p@);"),
    "copies": repeated(
        "cudaMemcpyAsync(h, p, 4, cudaMemcpyDeviceToHost, s); n += h[@];", "float *h; cudaMallocHost(&h, 4);\n"
    ),
    "launches on managed memory": lambda count: (
        "__global__ void set(float *v) { v[threadIdx.x] = 1; }\n"
        + function("float *m; cudaMallocManaged(&m, 4);\n" + "set<<<1, n>>>(m);\n" * count)
    ),
}
NESTED = {
    "blocks": lambda depth: function("{" * depth + "cudaFree(p);" + "}" * depth),
    "branches": lambda depth: function("if (n) {" * depth + "cudaFree(p);" + "}" * depth),
    "loops": lambda depth: function("while (n--) {" * depth + "cudaFree(p);" + "}" * depth),
    "brackets": lambda depth: function("cudaFree(" + "(" * depth + "p" + ")" * depth + ");"),
    "sums": lambda depth: function("cudaMalloc(&p, " + "n + " * depth + "1);"),
    "calls": lambda depth: function("cudaFree(" + "h(" * depth + "p" + ")" * depth + ");"),
    "else": lambda depth: function("".join(f"if (a[{at}]) cudaFree(p); else " for at in range(depth)) + ";"),
}


def checked(text: str) -> FileResult:
    return check_source(Path("a.cu"), text.encode())


@pytest.mark.parametrize("shape", ALIKE.values(), ids=ALIKE)
def test_branches_that_change_nothing_are_checked_on_a_few_paths(shape: Callable[[int], str]) -> None:
    for count in (250, 500, 1000):
        result = checked(shape(count))
        assert result.not_checked == ()
        assert result.stats["paths"] <= 4
        assert result.stats["steps"] <= 4 * 6 * (count + 2)


def cleanup(count: int, between: str = "", free: str = "cudaFree(p@);", without: int = -1) -> str:
    """Calls that go to the end if they fail, which frees all but one; ``between`` stands amid them."""
    declared = "".join(f"float *p{at} = 0;\n" for at in range(count)) + "float *q = 0;\n"
    calls = [f"if (cudaMalloc(&p{at}, 4) != cudaSuccess) goto out;\n" for at in range(count)]
    calls.insert(count // 2, between)
    ends = "".join(free.replace("@", str(at)) + "\n" for at in range(count) if at != without)
    return function(declared + "".join(calls) + "out:\n" + ends)


@pytest.mark.parametrize("free", ["cudaFree(p@);", "if (p@) cudaFree(p@);"])
def test_calls_that_go_to_one_label_if_they_fail_are_checked_on_a_few_paths(free: str) -> None:
    for count in (50, 100, 250):
        result = checked(cleanup(count, free=free))
        assert result.not_checked == () and [each.name for each in result.findings if each.severity != "note"] == []
        assert result.stats["paths"] <= 3 and result.stats["steps"] <= 3 * 5 * count


@pytest.mark.parametrize("count", [8, 100])
@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("cudaMalloc(&q, 4); if (cudaMemset(q, 0, 4) != cudaSuccess) goto out; cudaFree(q);", "source-leak-on-failure"),
        ("cudaFree(p0); if (cudaMemset(p1, 0, 4) != cudaSuccess) goto out; p0 = 0;", "memory-free-twice"),
        ("q = p0; p0 = 0; if (cudaMemset(p1, 0, 4) != cudaSuccess) goto out; p0 = q;", "source-leak-on-failure"),
        ("q = p0; if (cudaMemset(p1, 0, 4) != cudaSuccess) goto out; q = 0;", ""),
    ],
)
def test_what_only_one_of_many_calls_does_wrong_is_found(count: int, between: str, found: str) -> None:
    names = {each.name for each in checked(cleanup(count, between)).findings}
    assert names - {"source-status-dropped"} == ({found} if found else set())


@pytest.mark.parametrize("without", [0, 50, 98])
def test_what_is_not_freed_after_one_of_many_calls_is_found(without: int) -> None:
    found = checked(cleanup(100, without=without)).findings
    assert [each.objects[0].name for each in found if each.name.startswith("source-l")] == [f"p{without}"]


@pytest.mark.parametrize("shape", (ALIKE | OTHER).values(), ids=ALIKE | OTHER)
def test_steps_are_limited_by_the_size_of_the_function(
    shape: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MOST_STEPS", 2000)
    for count in (50, 200):
        result = checked(shape(count))
        assert result.stats["steps"] <= 2 * (2000 + 20 * walk.STEPS_OF_OPERATION * count)
        assert [part.why.partition(", ")[0] for part in result.not_checked] in ([], ["function k: too many paths"])


@pytest.mark.parametrize("shape", (ALIKE | OTHER).values(), ids=ALIKE | OTHER)
def test_the_work_grows_as_the_function_does(shape: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MOST_STEPS", 200)  # so that the bound is reached by what is small enough to be counted
    for count in (10, 20, 40, 80):
        checked(shape(count))  # names are looked up
    small, large, larger = (lines_run(shape(count)) for count in (20, 40, 80))
    assert larger - large < 2.7 * (large - small)


def test_the_work_grows_as_the_number_of_functions_does() -> None:
    def file(count: int) -> str:
        one = "constexpr int N@ = 256;\nvoid f@(float *p) {\n  scale<<<1, N@>>>(p);\n  cudaDeviceSynchronize();\n}\n"
        head = "#include <cuda_runtime.h>\nvoid all() { f0(0); CHECK(cudaGetLastError()); }\n"
        return head + "".join(one.replace("@", str(at)) for at in range(count))

    lines_run(file(50))  # what is computed once for all files is known then
    small, large, larger = (lines_run(file(count)) for count in (50, 100, 200))
    assert larger - large < 2.1 * (large - small)


def test_a_function_of_many_variables_is_searched_for_a_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = repeated("float *p@; cudaMalloc(&p@, 4); cudaFree(p@);")
    searched: list[bytes] = []

    def positions(text: bytes, word: bytes) -> Iterator[int]:
        searched.append(word)
        return positions_before(text, word)

    positions_before = written.positions
    monkeypatch.setattr(written, "positions", positions)
    checked(text(40))
    assert 40 <= len(set(searched)) < 80
    searched.clear()
    checked(text(500))
    assert len(searched) < 80


def test_words_are_found_alike_however_many_are_asked_for() -> None:
    """Each of the variables is kept by another thread only where its name stands as a word."""
    body = "float *p@; cudaMalloc(&p@, 4); keep(q@p@, p@1); cudaFree(p@); cudaFree(p@);"
    for count in (30, 300):
        found = [each for each in checked(repeated(body)(count)).findings if each.severity == "error"]
        assert len(found) == count


@pytest.mark.parametrize("count", [1, 3])
def test_calls_below_conditions_of_the_build_are_told_from_the_others(count: int) -> None:
    wrong = "cudaFree(p, 1);\n"
    guarded = f"#if A\n{wrong}#ifdef B\n{wrong}#endif\n#else\n{wrong}#endif\n#ifdef C\n{wrong}#endif\n"
    text = function((wrong + guarded) * count + wrong)
    for whole in (text, f"#ifndef HEADER\n#define HEADER\n{text}#endif\n"):
        found = [each for each in checked(whole).findings if each.name == "source-wrong-argument-count"]
        assert len(found) == count + 1


def lines_run(text: str) -> int:
    """How many lines of Python are run to check it, those of comprehensions once for each element."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        checked(text)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("depth", [100, 3000])
def test_what_is_nested_deeply_is_checked_or_named(shape: Callable[[int], str], depth: int) -> None:
    result = checked(shape(depth))
    assert result.stats["steps"] <= 2 * walk.MOST_STEPS
    assert all(part.first == 4 for part in result.not_checked)


def test_a_function_of_ten_thousand_lines_is_checked() -> None:
    text = repeated("cudaStreamSynchronize(t);", MADE, ENDED + "cudaStreamDestroy(t);\n")(10_000)
    result = checked(text)
    assert result.not_checked == ()
    assert "stream-destroy-twice" in [finding.name for finding in result.findings]


def test_a_mistake_behind_many_branches_is_found() -> None:
    text = repeated("if (a[@]) f(t); else g(t);", MADE, "if (n) cudaStreamDestroy(t);\ncudaStreamDestroy(t);\n")(300)
    assert [finding.name for finding in checked(text).findings if finding.severity == "error"] == [
        "stream-destroy-twice"
    ]


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=f"{rule.name}: {example.name}")
        for rule in all_rules()
        for example in sources((*valid(rule), *invalid(rule)))
    ],
)
def test_one_path_for_several_branches_finds_what_one_for_each_finds(
    example: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"cuda": "a.cu", "c++": "a.cpp", "python": "a.py", "c#": "a.cs"}[example.language]
    monkeypatch.setattr(walk, "FEW", 0)
    together = check_source(Path(name), example.program.encode())
    monkeypatch.setattr(Arms, "asks_alone", lambda self, block, condition: False)
    alone = check_source(Path(name), example.program.encode())
    assert together.findings == alone.findings
    assert check_project([together]) == check_project([alone])


LINES = (
    "if (a[@]) f(t); else g(t);",
    "if (a[@]) f(t);",
    "if (a[@]) cudaStreamSynchronize(t);",
    "if (a[@]) cudaStreamDestroy(t);",
    "if (n) cudaStreamDestroy(t); else f(u);",
    "if (a[@]) t = u;",
    "if (a[@]) { cudaStreamCreate(&t); f(t); }",
    "if (a[@]) h(&t); else h(&u);",
    "if (n == 1) f(u); else n = 2;",
    "if (cudaStreamCreate(&u) != cudaSuccess) return;",
    "if (a[@]) { if (n) f(t); else cudaStreamDestroy(u); }",
    "if (a[@]) cudaSetDevice(1);",
    "for (int i = 0; i < n; ++i) { if (a[@]) f(t); }",
    "if (a[@]) return;",
    "if (a[@]) goto out;",
    "#if A@ || B\nf(t);\n#endif",
    "cudaStreamSynchronize(t);",
    "cudaStreamDestroy(u);",
    "if (a[@]) { cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e, u); cudaEventDestroy(e); }",
    "if (a[@]) { cudaEventCreate(&v); cudaEventRecord(v, t); }",
    "if (a[@]) cudaEventDestroy(v); else cudaEventSynchronize(v);",
    "if (a[@]) { cudaEventCreate(&v); if (n) { cudaEventDestroy(v); } else f(v); }",
    "switch (n) { case @: cudaStreamDestroy(u); case 9: cudaStreamQuery(u); break; default: f(u); }",
    "switch (a[@]) { case 0: cudaEventRecord(v, t); break; case 1: { cudaEventDestroy(v); break; } default: f(t); }",
    "if (a[@]) { u = t; f(u); u = 0; }",
    "while (a[@]) { if (n) break; cudaEventCreate(&v); cudaEventDestroy(v); }",
)


@pytest.mark.parametrize("seed", range(120))
def test_it_finds_the_same_in_any_order_of_branches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [each.replace("@", str(at)) for at, each in enumerate(Random(seed).choices(LINES, k=8))]
    text = function(MADE + "cudaStream_t u; cudaEvent_t v;\n" + "\n".join(lines) + "\nout:\n" + ENDED)
    monkeypatch.setattr(walk, "FEW", 0)
    together = checked(text)
    monkeypatch.setattr(Arms, "asks_alone", lambda self, block, condition: False)
    alone = checked(text)
    assert {(each.name, each.message) for each in together.findings} == {
        (each.name, each.message) for each in alone.findings
    }
    assert together.stats["paths"] <= alone.stats["paths"]
