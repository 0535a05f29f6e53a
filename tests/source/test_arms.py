"""Text that the grammar cannot read as it stands, because #if parts a statement or a block."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import FileResult, check_source

READ = {
    "two conditions before one block": """
        void f(int n, cudaStream_t s) {
        #ifdef DEBUG
            if (n > 1)
        #else
            if (n > 0)
        #endif
            {
                CHECK(cudaStreamSynchronize(s));
            }
            CHECK(cudaStreamDestroy(s));
            CHECK(cudaStreamSynchronize(s));
        }""",
    "a block that only one release has": """
        void f(int n, cudaStream_t s) {
        #if CUDART_VERSION >= 12010
            if (n) {
                CHECK(cudaStreamSynchronize(s));
            } else {
        #endif
                CHECK(cudaStreamQuery(s));
        #if CUDART_VERSION >= 12010
            }
        #endif
            CHECK(cudaStreamDestroy(s));
            CHECK(cudaStreamSynchronize(s));
        }""",
    "what is never compiled": """
        void f(int n, cudaStream_t s) {
        #if 0
            if (n) {
        #else
            if (!n) {
        #endif
                CHECK(cudaStreamDestroy(s));
                CHECK(cudaStreamSynchronize(s)); // with a brace in the comment: }
            }
        }""",
    "within another #if": """
        #ifdef WITH_CUDA
        void f(int n, cudaStream_t s) {
        #ifdef DEBUG
            if (n > 1)
        #else
            if (n > 0)
        #endif
            { CHECK(cudaStreamQuery(s)); }
            CHECK(cudaStreamDestroy(s));
            CHECK(cudaStreamSynchronize(s));
        }
        #else
        void f(int n, int s) {}
        #endif""",
}


def check(program: str) -> FileResult:
    return check_source(Path("example.cu"), program.encode())


@pytest.mark.parametrize("program", READ.values(), ids=READ)
def test_a_statement_in_arms_is_read(program: str) -> None:
    found = check(program)
    assert not found.not_checked
    (finding,) = found.findings
    assert finding.name == "stream-use-after-destroy"
    assert program.split("\n")[(finding.site.frames[0].line or 0) - 1].strip().startswith("CHECK(cudaStreamSynchronize")


def test_arms_that_are_whole_are_both_read() -> None:
    """Although something else in the file cannot be parsed."""
    arms = """
        #ifdef ONE
        void f(cudaStream_t s) { CHECK(cudaStreamDestroy(s)); CHECK(cudaStreamSynchronize(s)); }
        #else
        void f(cudaStream_t s) { CHECK(cudaStreamDestroy(s)); CHECK(cudaStreamQuery(s)); }
        #endif
        int x = = 1;"""
    assert [each.api for each in check(arms).findings] == ["cudaStreamSynchronize", "cudaStreamQuery"]
