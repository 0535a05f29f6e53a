"""Names and numbers of arguments, by the release of CUDA that a project is built with."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import Options, check_source
from cuvet.source.textual.spellings import nearest

WAIT = "void wait() {\n    CHECK(cudaThreadSynchronize());\n}\n"
PREFETCH = """
void move(void *memory, size_t bytes, int device, cudaStream_t stream) {
    CHECK(cudaMemPrefetchAsync(memory, bytes, device, stream));
}
"""
MEMBER = "void end(Wrapper &api, float *memory) {\n    CHECK(api.cudaFreeAsync(memory));\n}\n"
MACRO = "void end(float *memory) {\n    CHECK(cudaFreeAsync(MEMORY_AND_STREAM));\n}\n"


def names(text: str, cuda: str | None = None) -> list[str]:
    result = check_source(Path("a.cu"), text.encode(), Options(cuda=cuda))
    return [finding.name for finding in result.findings]


@pytest.mark.parametrize(
    ("text", "cuda", "found"),
    [
        (WAIT, "12.9", []),
        (WAIT, "13.0", ["source-removed-entry-point"]),
        (WAIT, None, ["source-removed-entry-point"]),
        (PREFETCH, None, []),
        (PREFETCH, "12.4", []),
        (MEMBER, None, []),
        (MACRO, None, []),
    ],
)
def test_what_the_release_has(text: str, cuda: str | None, found: list[str]) -> None:
    assert names(text, cuda) == found


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cudaStreamDestory", "cudaStreamDestroy"),
        ("cudaDeviceSyncronize", "cudaDeviceSynchronize"),
        ("cuMemcpyDtoHAsnyc", "cuMemcpyDtoHAsync"),
        ("cudaMemory", ""),
        ("cudaCheckError", ""),
        ("cudaMallocAndCopy", ""),
        ("cuda" + "x" * 10_000, ""),
    ],
)
def test_a_slip_of_the_pen(written: str, meant: str) -> None:
    assert nearest(written) == meant
