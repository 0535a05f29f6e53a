"""What comments and texts say changes no finding: they are no code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuvet.rules import all_rules
from cuvet.rules.examples import Source, invalid, sources, valid
from cuvet.source import Options, check_project, check_source
from cuvet.source.syntax.lexing import cpp_code

_MARK = re.compile(r" *//[^\n]*")
_NOISE = (
    "// wait for all work",
    "// CHECK(all of it); check(); checkLaunch(); fork(); exit(1); int main() TEST(a, b)",
    "/* take(p) adopt(stream) using namespace cuda; it.reset(); err = 0; const int err; #include <other.h> #define X */",
    "// }  { ' \" */ /* (",
)
"""What used to be read as code, in one rule or another."""


def found(text: str) -> list[tuple[int, str, str]]:
    file = check_source(Path("example.cu"), text.encode())
    findings = (*file.findings, *check_project([file]))
    return sorted((finding.site.frames[0].line or 0, finding.severity, finding.name) for finding in findings)


def commented(program: str, noise: str) -> str:
    """With a comment at the end of each line, but those of directives and those that go on in the next."""
    return "\n".join(
        line if line.lstrip().startswith("#") or line.endswith("\\") else f"{line}  {noise}"
        for line in program.split("\n")
    )


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=f"{rule.name}: {example.name}")
        for rule in all_rules()
        for example in sources((*valid(rule), *invalid(rule)))
        if example.language == "cuda" and rule.name.startswith("source-") and 'R"' not in example.program
    ],
)
def test_a_comment_changes_no_finding(example: Source) -> None:
    plain = _MARK.sub("", example.program)
    bare = found(plain)
    assert [noise for noise in _NOISE if found(commented(plain, noise)) != bare] == []


CONTEXT = "#include <cuda.h>\n#include <cuda_runtime.h>\n"


@pytest.mark.parametrize(
    ("before", "call", "rule"),
    [
        ("// wait for all work", "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("/* wait for all work */", "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("// give it back", "cudaFreeAsync(p)", "source-wrong-argument-count"),
        ("cudaFreeAsync(p /* NOT OURS */) ||", "0", "source-wrong-argument-count"),
        ("// as before", "cudaStreamDestory(s)", "source-unknown-entry-point"),
        ("// make one", "cudaCreateContext(&c)", "source-unknown-entry-point"),
        ("// long ago:" + "\n    // " + "word " * 300, "cudaThreadSynchronize()", "source-removed-entry-point"),
        ('printf("then cudaThreadSynchronize (");', "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("// using cudaThreadSynchronize", "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("// #define cudaThreadSynchronize", "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("#pragma unroll", "cudaThreadSynchronize()", "source-removed-entry-point"),
        ("#if 1\n#endif", "cudaThreadSynchronize()", "source-removed-entry-point"),
    ],
)
def test_a_call_after_something_that_is_no_code(before: str, call: str, rule: str) -> None:
    text = f"{CONTEXT}int f(float *p, cudaStream_t s, CUcontext c) {{\n    g();\n    {before}\n    {call};\n    return 0;\n}}\n"
    assert rule in [name for _, _, name in found(text)]


@pytest.mark.parametrize(
    "own",
    [
        "cudaError_t cudaThreadSynchronize();",
        "cudaError_t // what it returns\ncudaThreadSynchronize();",
        "extern cudaError_t cudaThreadSynchronize /* ours */ ();",
        "#define cudaThreadSynchronize() cudaDeviceSynchronize()",
        "using ours::cudaThreadSynchronize;",
        "EXPORTED(cudaError_t) cudaThreadSynchronize();\ncudaError_t *cudaThreadSynchronize ( int );",
    ],
)
def test_what_the_file_declares_is_its_own(own: str) -> None:
    text = f"{CONTEXT}{own}\nvoid f() {{\n    if (cudaThreadSynchronize()) g();\n}}\n"
    assert found(text) == []


@pytest.mark.parametrize(
    ("call", "found_there"),
    [
        ("cudaCreateContext(&c, 0, 0)", True),
        ("cudaCtxCreate(&c, 0, 0)", True),
        ("cudaInit(0)", True),
        ("cuGetDevice(&d, 0)", True),
        ("ours::cudaCreateContext(&c)", False),
        ("it.cudaCreateContext(&c)", False),
        ("cudaCreateContexts(&c)", False),
        ("cudaPrintContext(c)", False),
        ("cuCtxCreate(&c, 0, 0)", False),
    ],
)
def test_the_words_of_a_function_in_another_order(call: str, found_there: bool) -> None:
    text = f"{CONTEXT}void f(CUcontext c, CUdevice d) {{\n    if ({call}) g();\n}}\n"
    assert ("source-unknown-entry-point" in [name for _, _, name in found(text)]) is found_there


@pytest.mark.parametrize(
    "more",
    [
        "int cudaInit(int flags);",
        "#define cudaInit cuInit",
        "DECLARE(cudaInit)",
        "struct Gpu { void cudaInit(int flags); };",
        '#include "helpers.h"',
        "#ifdef OLD\n#include <helpers.h>\n#endif",
    ],
)
def test_a_function_that_may_be_declared_out_of_sight_is_not_reported(more: str) -> None:
    assert found(f"{CONTEXT}{more}\nvoid f() {{\n    if (cudaInit(0)) g();\n}}\n") == []


def test_a_function_that_another_file_of_the_run_declares() -> None:
    use = f'{CONTEXT}#include "helpers.h"\nvoid f() {{\n    if (cudaInit(0)) g();\n}}\n'
    unknown = [
        check_source(Path("a.cu"), use.encode()),
        check_source(Path("helpers.h"), b"int cudaStart(int flags);\n"),
    ]
    assert [finding.name for finding in check_project(unknown)] == ["source-unknown-entry-point"]
    known = [unknown[0], check_source(Path("helpers.h"), b"int cudaInit(int flags);\n")]
    assert check_project(known) == ()


def test_by_release() -> None:
    text = f"{CONTEXT}void f() {{\n    // wait\n    if (cudaThreadSynchronize()) g();\n}}\n"
    assert check_source(Path("a.cu"), text.encode(), Options(cuda="12.9")).findings == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('a("b // c"); // d', 'a("      ");     '),
        ("a /* b\nc */ d", "a     \n     d"),
        ("// a \\\nb\nc", "      \n \nc"),
        ('R"(" // )" + a', 'R"       " + a'),
        ('LR"x(")" // )x" + a', 'LR"           " + a'),
        ("1'000'000 // a", "1'000'000     "),
        ("'\"' + \"'\"", "' ' + \" \""),
        ('"a\\"b" c', '"    " c'),
        ('"open\nnext', '"    \nnext'),
        ("/* open", "       "),
        ("// \xe4\r\na", "    \r\na"),
    ],
)
def test_code_without_comments_and_texts(text: str, code: str) -> None:
    assert cpp_code(text.encode("latin-1")).decode() == code
    assert len(cpp_code(text.encode("latin-1"))) == len(text)
