"""Kernels that certainly fail make the context fail as on hardware; of all others nothing is said."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuvet.analysis import analyze
from cuvet.kernels import Program, Way, follow

from ..corpus.facts import compile_programs
from .support import NVCC, SHARED_RUNTIME, Device

SOURCE = (Path(__file__).parent / "kernels.cu").read_text(encoding="utf-8")
ILLEGAL_ADDRESS, ASSERT, LAUNCH_FAILED = 700, 710, 719
FAIL = {
    "null": ILLEGAL_ADDRESS, "null_member": ILLEGAL_ADDRESS, "freed": ILLEGAL_ADDRESS, "freed_large": ILLEGAL_ADDRESS,
    "freed_by_call": ILLEGAL_ADDRESS, "freed_by_struct": ILLEGAL_ADDRESS, "freed_read": ILLEGAL_ADDRESS, "freed_atomic": ILLEGAL_ADDRESS,
    "freed_packed": ILLEGAL_ADDRESS,
    "freed_while_waiting": ILLEGAL_ADDRESS, "host": ILLEGAL_ADDRESS, "host_stack": ILLEGAL_ADDRESS, "last_block": ILLEGAL_ADDRESS,
    "trap_first": LAUNCH_FAILED, "trap_last": LAUNCH_FAILED, "assert": ASSERT,
}  # fmt: skip
SHOW = ["shows_stream", "shows_event", "shows_query", "shows_waiting", "shows_free", "shows_copy"]


@pytest.fixture(scope="module", params=["optimised", "debug"])
def programs(request: pytest.FixtureRequest) -> Path:
    options = ("-G",) if request.param == "debug" else ()
    return compile_programs(NVCC, SOURCE, (*SHARED_RUNTIME, *options))


def said(device: Device, programs: Path, name: str) -> list[str]:
    ended = device.run(programs, name)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize("name", FAIL)
def test_what_must_fail_fails_when_the_host_waits(name: str, programs: Path, device: Device) -> None:
    assert said(device, programs, name) == ["launch 0", f"end {FAIL[name]}"]


@pytest.mark.parametrize("name", SHOW)
def test_the_error_shows_where_the_work_is_waited_for(name: str, programs: Path, device: Device) -> None:
    assert said(device, programs, name) == ["launch 0", "record 0", "other stream 0", "end 700", "after 700"]


def test_nothing_else_fails(programs: Path, device: Device) -> None:
    assert set(said(device, programs, "right")) == {"launch 0", "end 0"}
    assert said(device, programs, "variables") == ["launch 0", "end 0"]
    assert said(device, programs, "free_in_time") == ["launch 0", "end 0"] * 3


def test_memory_of_another_device(programs: Path, two_devices: Device) -> None:
    assert said(two_devices, programs, "stranger") == ["set up 0", "launch 0", "end 700"]
    assert said(two_devices, programs, "peer") == ["set up 0", "launch 0", "end 0"]


FREED = r"argument {} = 0x\w+ points into device-memory#1 \(.* by cudaMalloc .*\), which was freed before by cudaFree .*; its code uses it"
NAMED = {
    "freed": r"verdict: store<<<1, 32>>> at \S+:88.*: " + FREED.format("0"),
    "freed_large": r"verdict: store<<<1, 32>>> at \S+:89.*: " + FREED.format("0"),
    "freed_by_struct": r"verdict: by_struct<<<1, 32>>> at \S+:91.*: " + FREED.format("0, byte 8,"),
    "freed_read": r"verdict: vectors<<<1, 32>>> at \S+:92.*: " + FREED.format("0"),
    "freed_packed": r"verdict: store_first<<<1, 1>>> at \S+:81 \(called at \S+:94\): " + FREED.format("0"),
    "host": r"(verdict: )?store<<<1, 32>>> at \S+:95.*: argument 0 = 0x\w+ points into memory of the host that CUDA does not know.*",
    "null": r"verdict: store<<<4, 32>>> at \S+:86.*: argument 0 = 0x0 is a null pointer; its code uses it",
    "null_member": r"verdict: store_first<<<1, 1>>> at \S+:87.*: its code accesses 0x40",
    "freed_while_waiting": r"store_first<<<1, 1>>> on stream#1 at \S+:104.* was launched before; .*",
    "trap_first": r"verdict: traps_at<<<2, 64>>> at \S+ .*: its code leads to a trap with these arguments",
}  # fmt: skip
"""By program, the first sentence about a launch: the kernel, its line and, if that is wrong, its argument."""


@pytest.mark.parametrize("name", NAMED)
def test_the_launch_is_named(name: str, programs: Path, device: Device, tmp_path: Path) -> None:
    before = set(device.trace.glob("*.cuvet"))
    said(device, programs, name)
    (recording,) = set(device.trace.glob("*.cuvet")) - before
    shutil.copy(recording, tmp_path)
    (finding,) = (each for each in analyze([tmp_path]).findings if each.name == "error-sticky")
    assert re.fullmatch(NAMED[name], finding.because[1]), finding.because


# What is followed, instruction by instruction.

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;"
BASE = 0x7F0000000000
STORE = "st.global.u32 [%d1], 0; ret;"


def ways(body: str, *arguments: int, more: str = "", threads: int = 1) -> tuple[Way, ...]:
    parameters = ", ".join(f".param .u64 a{number}" for number in range(len(arguments)))
    text = f"{HEAD}{more}.visible .entry k({parameters}) {{ {REGISTERS} {body} }}"
    data = tuple(struct.pack("<Q", argument & 0xFFFFFFFFFFFFFFFF) for argument in arguments)
    return follow(Program(lambda: text), "k", data, (1, 1, 1), (threads, 1, 1))


def reaches(body: str, *arguments: int, more: str = "") -> list[int]:
    """Offsets from BASE that one thread, given BASE first, accesses."""
    (way,) = ways(f"ld.param.u64 %d1, [a0]; {body}", BASE, *arguments, more=more)
    return [address - BASE for address in way.addresses]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r1, -3; mul.wide.s32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;", -12),
        ("mov.u32 %r1, -3; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;", 4 * (2**32 - 3)),
        ("mov.u32 %r1, 7; mad.lo.s32 %r2, %r1, %r1, -1; cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2;", 48),
        ("mov.u32 %r1, -8; shr.s32 %r2, %r1, 1; cvt.s64.s32 %d2, %r2; add.s64 %d1, %d1, %d2;", -4),
        ("mov.u32 %r1, 0x80000000; shr.u32 %r2, %r1, 29; cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2;", 4),
        ("mov.u32 %r1, 1; shl.b32 %r2, %r1, 40; cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2;", 0),
        ("mov.b64 {%r1, %r2}, %d1; mov.b64 %d1, {%r1, %r2};", 0),
        ("mov.u32 %r1, -7; div.s32 %r2, %r1, 2; rem.s32 %r3, %r1, 2; sub.s32 %r2, %r3, %r2; shl.b32 %r2, %r2, 2;"
         " cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2;", 8),
        ("setp.lt.s32 %p1, -1, 1; @%p1 bra L; add.s64 %d1, %d1, 4; L:", 0),
        ("setp.lt.u32 %p1, -1, 1; @!%p1 bra L; add.s64 %d1, %d1, 4; L:", 0),
        ("setp.lt.u32 %p1, -1, 1; @%p1 bra L; add.s64 %d1, %d1, 4; L:", 4),
        ("setp.eq.s32 %p1, 1, 1; selp.b64 %d2, 8, 16, %p1; add.s64 %d1, %d1, %d2;", 8),
        ("{ .reg .u64 %d1; mov.u64 %d1, 8; } ", 0),
        (".local .b8 depot[16]; mov.u64 %d2, depot; cvta.local.u64 %d2, %d2; st.u64 [%d2+8], %d1; ld.u64 %d1, [%d2+8];", 0),
        ("{ .param .b64 p; st.param.b64 [p+0], %d1; .param .b64 r; call (r), eight, (p); ld.param.b64 %d1, [r+0]; }", 8),
        ("mov.u32 %r1, 0; N: add.s64 %d1, %d1, 4; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5; @%p1 bra N;", 20),
    ],
)  # fmt: skip
def test_arithmetic_is_that_of_the_gpu(body: str, expected: int) -> None:
    eight = """.func (.param .b64 out) eight(.param .b64 in)
        { .reg .b64 %d<3>; ld.param.u64 %d1, [in]; add.s64 %d2, %d1, 8; st.param.b64 [out+0], %d2; ret; }\n"""
    assert reaches(f"{body} {STORE}", more=eight) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.u64 %d1, [%d1+4096];",  # a pointer from memory
        "ld.global.u32 %r1, [%d1+4096]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; ret; L:",
        "ld.global.u32 %r1, [%d1+4096]; setp.eq.s32 %p1, %r1, 0; @%p1 trap;",
        "mov.u64 %d2, %clock64; and.b64 %d2, %d2, 1; add.s64 %d1, %d1, %d2;",
        "mov.u64 %d2, variable; add.s64 %d1, %d1, %d2;",
        "unheard.of.u32 %r1, %r2;",
        "brx.idx %r1, targets;",
        "call unknown, ();",
        "mov.u64 %d2, k; call (%d1), %d2, (), prototype;",
        "exit;",
        "cvt.rn.f32.u64 %f1, %d1; cvt.rzi.u64.f32 %d1, %f1;",
        "div.u64 %d2, %d1, 0; add.s64 %d1, %d1, %d2;",
        "{ .reg .u64 %d5; mov.u64 %d5, 8; } add.s64 %d1, %d1, %d5;",  # the outer %d5 was never written
        ".local .b8 depot[16]; mov.u64 %d2, depot; st.local.u64 [%d2], %d1; st.u32 [%d7], 1; ld.local.u64 %d1, [%d2];",
        ".local .b8 depot[16]; mov.u64 %d2, depot; st.local.u64 [%d2], %d1; st.local.u8 [%d2+3], %h1; ld.local.u64 %d1, [%d2];",
        "L: bra L;",
        "L: bra L; { L: ret; }",
        "bra nowhere;",
    ],
)
def test_what_is_not_known_ends_it(body: str) -> None:
    assert [offset for offset in reaches(f"{body} {STORE}", more=".global .u32 variable;\n") if offset != 4096] == []


def test_a_load_that_nothing_depends_on_may_be_left_out_by_the_assembler() -> None:
    assert reaches("ld.global.u32 %r1, [%d1]; add.u32 %r2, %r1, 1; ret;") == []
    assert reaches("ld.volatile.global.u32 %r1, [%d1]; ret;") == [0]
    assert reaches("ld.global.u32 %r1, [%d1]; add.u32 %r2, %r1, 1; red.global.add.u32 [%d1+8], %r2; ret;") == [0]


def test_memory_that_is_not_judged() -> None:
    for access in (
        "ld.shared.u32 %r1, [0]; st.shared.u32 [0], %r1;",
        "st.local.u32 [0], 1;",
        "ld.const.u32 %r1, [0]; st.shared.u32 [0], %r1;",
        "prefetch.global.L2 [0];",
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];",
        "st.global.u32 [2], 1;",  # not aligned: another error
    ):
        assert reaches(f"{access} ret;") == []


def test_corner_threads_are_followed() -> None:
    body = (
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 0x400000; ld.param.u64 %d1, [a0]; add.s64 %d1, %d1, %d2; " + STORE
    )
    assert [way.addresses for way in ways(body, 0, threads=5)] == [(0,), (4 * 0x400000,)]


def test_long_ways_are_given_up() -> None:
    assert ways("L: bra L;") == (Way(whole=False),)
    assert ways("call k, ();") == (Way(),)


PIECES = st.sampled_from(
    [*"{}[]()<>;:,.@!|+-\"'\\\n\t%$_ 0x1", ".entry k", ".func", "//", "/*", "*/", ".reg .b32 %r<", ".param .u64 a", "ld.param.u64",
     "st.global.v4.u32", "mov.u32 %r1", "call (r), k, (p)", "setp", "setp.lt.u32", "@%p1", "bra", "L:", "trap;", "ret;", "mad.lo.u32",
     "cvt.u64", "cvta.to", "0f3F800000", "9" * 70, "%tid.x", "atom.global", "red", "ld", "st", "selp.b32", "mov.b64 {",
     "shl.b32 %r1, -1, -1",
     ".local .b8 d[", "cvt.u8.u32 %r1, %r1"]
)  # fmt: skip


@given(
    st.one_of(
        st.text(max_size=200),
        st.binary(max_size=200).map(lambda data: data.decode("latin-1")),
        st.lists(PIECES).map(" ".join),
    )
)
@example("{" * 5000)
@example("}" * 50 + "a" * 5000 + "[" * 5000)
@example("L: " * 2000)
@example("mov.u32 " + "{" * 3000 + "}" * 3000 + ";")
def test_any_text_is_followed(text: str) -> None:
    for wrapped in (
        text,
        f"{HEAD}.entry k(.param .u64 a) {{ {text} }}",
        f".entry k(.param .u64 a) {{ ld {text}; st {text}",
    ):
        follow(Program(lambda wrapped=wrapped: wrapped), "k", (bytes(8),), (1, 1, 1), (2, 1, 1), 200)  # type: ignore[misc]
