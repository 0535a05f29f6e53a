"""What bytes are taken for which image, and what is found in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuvet.image import cubin, fatbin, ptx
from cuvet.image.cubin import KernelParameter
from cuvet.image.describe import describe
from cuvet.image.errors import ImageError

from .support import NVCC

KERNELS = """
extern "C" __global__ void first(char a, double b, int* c, short d) { c[0] = a + b + d; }
extern "C" __global__ void second() {}
__device__ int table[100];
extern "C" __global__ void third(float* out) { out[0] = table[threadIdx.x]; }
extern "C" __global__ void __launch_bounds__(128) fourth(int* x) {
    __shared__ int s[100];
    int a[500];
    for (int i = 0; i < 500; ++i) a[i] = x[i];
    s[threadIdx.x] = a[x[threadIdx.x]];
    __syncthreads();
    x[0] = s[threadIdx.x ^ 1];
}
__constant__ int constants[30];
extern "C" __global__ void __cluster_dims__(2, 3, 1) fifth(int* x) { x[0] = constants[threadIdx.x]; }
"""
PTX = ".version 8.0\n.target sm_90\n.address_size 64\n"
PARAMETERS = (KernelParameter(0, 1), KernelParameter(8, 8), KernelParameter(16, 8), KernelParameter(24, 2))


def compiled(directory: Path, kind: str, *options: str) -> bytes:
    source, output = directory / "k.cu", directory / f"k.{kind}"
    source.write_text(KERNELS, encoding="utf-8")
    subprocess.run([NVCC, f"-{kind}", *options, "-o", output, source], check=True, capture_output=True)
    return output.read_bytes()


def test_cubin(tmp_path: Path) -> None:
    data = compiled(tmp_path, "cubin", "-arch=sm_90")
    code = cubin.parse(data)
    assert code.arch == 90
    assert set(code.kernels) == {"first", "second", "third", "fourth", "fifth"}
    assert code.kernels["first"].parameters == PARAMETERS
    assert code.kernels["second"].parameters == ()
    assert code.kernels["first"].registers > 0
    fourth, fifth = code.kernels["fourth"], code.kernels["fifth"]
    assert (fourth.static_shared, fourth.local, fourth.max_threads, fourth.cluster) == (400, 2000, 128, (0, 0, 0))
    assert (fifth.static_shared, fifth.local, fifth.max_threads, fifth.cluster) == (0, 0, 1024, (2, 3, 1))
    assert code.constant == 120
    assert code.variables["table"] == 400
    assert describe(data).target == "sm_90"
    assert describe(data[:4096]) == describe(data)
    with pytest.raises(ImageError, match="truncated"):
        cubin.parse(data[:-100])


def test_ptx(tmp_path: Path) -> None:
    data = compiled(tmp_path, "ptx", "-arch=compute_90")
    code = ptx.parse(data.decode())
    assert code.arch == 90
    assert code.kernels["first"].parameters == PARAMETERS
    assert code.variables["table"] == 400
    fourth = code.kernels["fourth"]
    assert (fourth.static_shared, fourth.local, fourth.max_threads) == (400, 2000, 128)
    assert (code.kernels["first"].static_shared, code.kernels["first"].local, code.constant) == (0, 0, 120)
    described = describe(data)
    assert (described.kind, described.target) == ("ptx", "sm_90")


@pytest.mark.parametrize("compression", ["none", "size", "speed"])
def test_fatbin(compression: str, tmp_path: Path) -> None:
    modes = ["-no-compress"] if compression == "none" else [f"-compress-mode={compression}"]
    data = compiled(tmp_path, "fatbin", "-gencode=arch=compute_90,code=[sm_90,compute_90]", *modes)
    found = {entry.kind: entry for entry in fatbin.entries(data)}
    assert set(found) == {"cubin", "ptx"}
    assert cubin.parse(found["cubin"].data()).kernels["first"].parameters == PARAMETERS
    assert "first" in ptx.parse(found["ptx"].data().split(b"\0")[0].decode()).kernels
    assert describe(data).arch == 90


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "other"),
        (bytes(64), "other"),
        (b"hello\0", "other"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "cubin"),
        (b".version 8.0\n", "ptx"),
        (Path("/proc/self/exe").read_bytes()[:4096], "other"),
    ],
)
def test_what_bytes_are_taken_for(data: bytes, kind: str) -> None:
    assert describe(data).kind == kind


@pytest.mark.parametrize(
    ("text", "wrong"),
    [(".visible .entry k(){ bogus; }", "no instruction bogus"), (".visible .entry k(){ ret;", "ends within")],
)
def test_what_is_wrong_with_ptx_is_said(text: str, wrong: str) -> None:
    with pytest.raises(ImageError, match=wrong):
        ptx.parse(PTX + text)


def test_ptx_that_is_right_is_not_doubted() -> None:
    body = """
        .reg .pred %p<2>; .reg .b32 %r<4>; .shared .align 4 .b8 cache[128];
    $L: @!%p1 bra.uni $L; // a comment; with a semicolon
        { .param .b64 p0; call.uni (p1), f, (p0); }
        mov.u32 %r1, %tid.x; wgmma.fence.sync.aligned; .pragma "nounroll; really";
        ret;
    """
    code = ptx.parse(
        f"{PTX}.visible .entry k(.param .align 8 .b8 s[24], .param .u64 .ptr .align 1 p)\n.maxntid 64, 2\n{{{body}}}"
    )
    assert code.kernels["k"].parameters == (KernelParameter(0, 24), KernelParameter(24, 8))
    assert code.kernels["k"].max_threads == 128


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x7fELF\x02\x01\x01", b"\x50\xed\x55\xba\x01\0\x10\0", PTX.encode()]),
)
@example(b"", b"\x7fELF\x02\x01\x01")
def test_any_bytes_are_described(rest: bytes, start: bytes) -> None:
    describe(start + rest)
    for parse in (cubin.parse, lambda data: list(fatbin.entries(data)), lambda data: ptx.parse(data.decode("latin-1"))):
        try:
            parse(start + rest)
        except ImageError:
            pass
