"""What kernels are found to do with memory that their parameters point to."""

from __future__ import annotations

import pytest

from cuvet.kernels import Program
from cuvet.kernels.extent import spans_of
from cuvet.kernels.thread import Span
from cuvet.kernels.use import ANY, KernelUse, Use, use_of

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
REGISTERS = ".reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p<9>;"
HELPER = f"""
.func put(.param .b64 where, .param .b32 what) {{ {REGISTERS}
    ld.param.u64 %rd1, [where]; ld.param.u32 %r1, [what]; st.u32 [%rd1], %r1; ret; }}
"""
CALL = """{ .param .b64 param0; st.param.b64 [param0+0], %rd1; .param .b32 param1; st.param.b32 [param1+0], %r1;
    call.uni put, (param0, param1); }"""


def kernel(parameters: str, body: str) -> Program:
    text = f"{HEAD}{HELPER}.visible .entry k({parameters}) {{ {REGISTERS} {body} ret; }}"
    return Program(lambda: text)


ONE, TWO = ".param .u64 a", ".param .u64 a, .param .u64 b"
STRUCT = ".param .align 8 .b8 s[16]"


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        (ONE, "", KernelUse()),
        (ONE, "ld.param.u64 %rd1, [a]; ld.global.f32 %f1, [%rd1];", KernelUse(frozenset({Use(0, 0, False)}))),
        (ONE, "ld.param.u64 %rd1, [a]; ld.global.nc.f32 %f1, [%rd1];", KernelUse(frozenset({Use(0, 0, False)}))),
        (ONE, "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], 1;", KernelUse(frozenset({Use(0, 0, True)}))),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; red.global.add.u32 [%rd1], 1;",
            KernelUse(frozenset({Use(0, 0, False, atomic=True), Use(0, 0, True, atomic=True)})),
        ),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; atom.global.cas.b32 %r2, [%rd1], %r1, 1;",
            KernelUse(frozenset({Use(0, 0, False, atomic=True), Use(0, 0, True, atomic=True)})),
        ),
        (
            TWO,
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.global.s32 %r1, [%rd2]; mad.wide.s32 %rd3, %r1, 4, %rd1;"
            "st.global.u32 [%rd3], 1;",
            KernelUse(frozenset({Use(0, 0, True, indexed=True), Use(1, 0, False)}), elsewhere=True),
        ),
        (
            f"{ONE}, .param .u32 n",
            "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mad.wide.s32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], 1;",
            KernelUse(frozenset({Use(0, 0, True, indexed=True), Use(1, 0, True, indexed=True)})),
        ),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; ld.volatile.global.u32 %r1, [%rd1];",
            KernelUse(frozenset({Use(0, 0, False)}), tells=True, waits=True),
        ),
        (
            ONE,
            ".shared .b8 tile[8]; ld.param.u64 %rd1, [a]; ld.volatile.shared.u32 %r1, [tile];",
            KernelUse(),
        ),
        (
            TWO,
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; cvta.to.global.u64 %rd3, %rd1; mov.u32 %r1, %tid.x;"
            "mul.wide.s32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4; cvta.to.global.u64 %rd6, %rd2; add.s64 %rd7, %rd6, %rd4;"
            "ld.global.f32 %f1, [%rd5]; st.global.f32 [%rd7], %f1;",
            KernelUse(frozenset({Use(0, 0, False), Use(1, 0, True)})),
        ),
        (STRUCT, "ld.param.u64 %rd1, [s+8]; st.global.u32 [%rd1], 1;", KernelUse(frozenset({Use(0, 8, True)}))),
        (
            STRUCT,
            "ld.param.v2.u64 {%rd1, %rd2}, [s]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], 1;",
            KernelUse(frozenset({Use(0, 0, False), Use(0, 8, True)})),
        ),
        (
            STRUCT,
            "mov.b64 %rd1, s; ld.param.u64 %rd2, [%rd1+8]; st.global.u32 [%rd2], 1;",
            KernelUse(frozenset({Use(0, ANY, True)})),
        ),
        (ONE, f"ld.param.u64 %rd1, [a]; {CALL}", KernelUse(frozenset({Use(0, 0, True)}))),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; ld.global.u64 %rd2, [%rd1]; st.global.u32 [%rd2], 1;",
            KernelUse(frozenset({Use(0, 0, False)}), elsewhere=True),
        ),
        (
            TWO,
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; selp.b64 %rd3, %rd1, %rd2, %p1; st.global.u32 [%rd3], 1;",
            KernelUse(frozenset({Use(0, 0, True, indexed=True), Use(1, 0, True, indexed=True)})),
        ),
        (
            ONE,
            ".local .b8 depot[8]; ld.param.u64 %rd1, [a]; st.local.u64 [depot], %rd1; ld.local.u64 %rd2, [depot];"
            "st.global.u32 [%rd2], 1;",
            KernelUse(frozenset({Use(0, 0, True)})),
        ),
        (
            ONE,
            ".shared .b8 tile[8]; ld.param.u64 %rd1, [a]; st.shared.u32 [tile], 1;",
            KernelUse(),
        ),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; cp.async.ca.shared.global [%r1], [%rd1], 16;",
            KernelUse(frozenset({Use(0, 0, False), Use(0, 0, True)}), elsewhere=True),
        ),
        (
            ONE,
            "ld.param.u64 %rd1, [a]; { .param .b64 param0; st.param.b64 [param0+0], %rd1; call.uni unknown, (param0); }",
            KernelUse(frozenset({Use(0, 0, False), Use(0, 0, True)}), elsewhere=True),
        ),
    ],
    ids=[
        "nothing", "read", "read-only", "written", "atomic", "compared and swapped",
        "at an index", "at an offset", "awaited", "volatile, but shared", "copied", "in a struct", "two at once", "address of a struct",
        "called", "found in memory", "one of two", "kept in local memory", "shared memory", "copied behind its back",
        "given away",
    ],
)  # fmt: skip
def test_use(parameters: str, body: str, expected: KernelUse) -> None:
    assert use_of(kernel(parameters, body), "k") == expected


def test_a_kernel_that_is_not_there() -> None:
    assert use_of(kernel(ONE, ""), "other") is None


OFFSET = (
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;"
    "mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4; add.s32 %r6, %r5, %r1; mul.wide.s32 %rd3, %r6, 4;"
    "add.s64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], 7;"
)


FIRST = 0x10000
NUMBERS = ".param .u64 a, .param .u32 n, .param .u32 rounds"


def spans(text: str, grid: tuple[int, int, int], block: tuple[int, int, int], n: int = 0, rounds: int = 1) -> set[Span]:
    """From the first byte that the parameter points to."""
    arguments = (FIRST.to_bytes(8, "little"), n.to_bytes(4, "little"), rounds.to_bytes(4, "little"))
    found = spans_of(kernel(NUMBERS, text), "k", arguments, grid, block)
    assert found is not None
    return {each._replace(start=each.start - FIRST, end=each.end - FIRST) for each in found}


def test_threads_that_follow_each_other_are_one_span() -> None:
    assert spans(OFFSET, (2, 1, 1), (32, 1, 1), n=256) == {Span(1024, 1024 + 256, True)}


STRIDED = OFFSET.replace("mul.wide.s32 %rd3, %r6, 4", "mul.wide.s32 %rd3, %r6, 8")


def test_between_threads_with_holes_only_what_they_access_counts() -> None:
    places = (8 * thread for thread in (0, 31, 32, 63))
    assert spans(STRIDED, (2, 1, 1), (32, 1, 1)) == {Span(place, place + 4, True, partly=True) for place in places}


ROWS = (
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mul.lo.s32 %r4, %r2, %r1;"
    "mad.lo.s32 %r5, %r3, 4, %r4; cvt.u64.u32 %rd2, %r5; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 7;"
)


def test_rows_one_after_the_other_have_no_holes() -> None:
    assert spans(ROWS, (4, 1, 1), (32, 1, 1), n=128) == {Span(0, 512, True)}


def test_rows_with_something_between_have_holes() -> None:
    assert Span(0, 4, True, partly=True) in spans(ROWS, (4, 1, 1), (32, 1, 1), n=256)


GUARDED = OFFSET.replace("st.global", "ld.param.u32 %r7, [rounds]; setp.lt.s32 %p1, %r5, %r7; @%p1 st.global")


ONE_BLOCK, BLOCKS = (1, 1, 1), (4, 1, 1)


@pytest.mark.parametrize(
    ("grid", "n"),
    [(BLOCKS, 100), (BLOCKS, 97), (BLOCKS, 127), (BLOCKS, 20), (BLOCKS, 2), (ONE_BLOCK, 20), (ONE_BLOCK, 31)],
)
def test_threads_at_the_end_that_do_nothing_end_the_span_before_them(grid: tuple[int, int, int], n: int) -> None:
    assert spans(GUARDED, grid, (32, 1, 1), rounds=n) == {Span(0, 4 * n, True)}


def test_the_last_thread_that_does_something_is_found_among_many() -> None:
    assert spans(GUARDED, (4096, 1, 1), (256, 1, 1), rounds=700) == {Span(0, 2800, True)}


def test_what_one_thread_does_others_far_from_it_may_do_too() -> None:
    assert spans(GUARDED, BLOCKS, (32, 1, 1), rounds=1) == {Span(0, 4, True, partly=True)}


def test_one_thread_of_each_block_leaves_holes() -> None:
    text = GUARDED.replace("setp.lt.s32 %p1, %r5, %r7", "setp.lt.s32 %p1, %r4, %r7")
    places = (4 * 32 * block for block in (0, 3))
    assert spans(text, BLOCKS, (32, 1, 1), rounds=20) == {Span(at, at + 4, True, partly=True) for at in places}


def test_half_of_each_warp_leaves_holes() -> None:
    text = GUARDED.replace("setp.lt.s32 %p1, %r5, %r7", "and.b32 %r8, %r5, 31; setp.lt.s32 %p1, %r8, %r7")
    assert spans(text, ONE_BLOCK, (256, 1, 1), rounds=16) == {Span(0, 4, True, partly=True)}


def test_threads_that_a_remainder_chooses_leave_holes_though_the_last_is_one() -> None:
    third = GUARDED.replace("setp.lt.s32 %p1, %r5, %r7", "rem.u32 %r8, %r5, 3; setp.lt.s32 %p1, %r8, %r7")
    assert spans(third, ONE_BLOCK, (256, 1, 1)) == {Span(4 * at, 4 * at + 4, True, partly=True) for at in (0, 255)}
    even = GUARDED.replace("setp.lt.s32 %p1, %r5, %r7", "and.b32 %r8, %r2, 1; setp.lt.s32 %p1, %r8, %r7")
    places = (128 * at for at in (0, 2))
    assert spans(even, (3, 1, 1), (32, 1, 1)) == {
        each
        for at in places
        for each in (Span(at, at + 4, True, partly=True), Span(at + 124, at + 128, True, partly=True))
    }
    all_three = GUARDED.replace("setp.lt.s32 %p1, %r5, %r7", "rem.u32 %r8, %r5, 3; setp.lt.s32 %p1, %r8, %r7")
    assert spans(all_three, ONE_BLOCK, (256, 1, 1), rounds=3) == {Span(0, 1024, True)}


def test_threads_that_are_not_in_line_are_not_between() -> None:
    swapped = GUARDED.replace("add.s32 %r6, %r5, %r1;", "xor.b32 %r6, %r5, 2;")
    assert spans(swapped, ONE_BLOCK, (32, 1, 1), rounds=20) == {Span(8, 12, True, partly=True)}


def test_at_the_end_there_may_be_holes_too() -> None:
    text = GUARDED.replace("mul.wide.s32 %rd3, %r6, 4", "mul.wide.s32 %rd3, %r6, 8")
    found = spans(text, BLOCKS, (32, 1, 1), rounds=100)
    assert found == {Span(8 * at, 8 * at + 4, True, partly=True) for at in (0, 31, 96)}


TABLE = (
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [rounds]; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;"
    "mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5; setp.ge.s32 %p1, %r6, %r2; @%p1 ret; mov.u32 %r7, %ctaid.y;"
    "mad.lo.s32 %r8, %r7, %r1, %r6; mul.wide.u32 %rd2, %r8, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;"
)


def test_rows_of_which_the_last_threads_do_nothing() -> None:
    assert spans(TABLE, (2, 5, 1), (32, 1, 1), n=40, rounds=40) == {Span(0, 4 * 5 * 40, True)}


def test_of_rows_with_something_between_only_followed_threads_count() -> None:
    found = spans(TABLE, (2, 5, 1), (32, 1, 1), n=64, rounds=40)
    assert found == {Span(4 * at, 4 * at + 4, True, partly=True) for at in (0, 4 * 64)} | {
        Span(4 * 31, 4 * 33, True, partly=True)
    }


def test_no_bytes_count_that_threads_in_the_middle_leave_out() -> None:
    """Each row has 64 numbers, as many as there are threads for it; the last 24 are of somebody else."""
    assert not any(each.start < 4 * 50 < each.end for each in spans(TABLE, (2, 5, 1), (32, 1, 1), n=64, rounds=40))


IMAGE = TABLE.replace(
    "mov.u32 %r7, %ctaid.y;", "mov.u32 %r7, %tid.y; mov.u32 %r10, %ctaid.y; mad.lo.s32 %r7, %r10, 4, %r7;"
).replace("mul.wide", "setp.ge.s32 %p1, %r7, 10; @%p1 ret; mul.wide")


def test_an_image_of_which_both_edges_are_within_blocks() -> None:
    assert spans(IMAGE, (2, 3, 1), (32, 4, 1), n=40, rounds=40) == {Span(0, 4 * 10 * 40, True)}
    assert all(each.partly for each in spans(IMAGE, (2, 3, 1), (32, 4, 1), n=48, rounds=40))


STRIDING = (
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [rounds]; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r9, %nctaid.x;"
    "mul.lo.s32 %r9, %r9, %r4; mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5; AGAIN: setp.ge.s32 %p1, %r6, %r2; @%p1 ret;"
    "mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1; add.s32 %r6, %r6, %r9; bra AGAIN;"
)


@pytest.mark.parametrize("n", [128, 131, 200, 500])
def test_the_last_round_of_a_loop_may_be_that_of_a_few_threads(n: int) -> None:
    assert spans(STRIDING, BLOCKS, (32, 1, 1), rounds=n) == {Span(0, 4 * n, True)}


def test_where_one_thread_makes_a_round_more_there_may_be_others() -> None:
    assert spans(STRIDING, BLOCKS, (32, 1, 1), rounds=129) == {Span(0, 4 * 129, True, partly=True)}


LOOP = (
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [rounds]; mov.u32 %r3, %tid.x; mov.u32 %r4, 0; AGAIN:"
    "mad.lo.s32 %r5, %r4, %r1, %r3; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2; red.global.add.u32 [%rd3], 1;"
    "add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r2; @%p1 bra AGAIN;"
)


def test_rounds_of_a_loop_that_follow_each_other_are_one_span() -> None:
    assert spans(LOOP, (1, 1, 1), (32, 1, 1), n=32, rounds=5) == {Span(0, 4 * 32 * 5, True, True)}


def test_rounds_of_a_loop_may_have_something_between() -> None:
    expected = {Span(256 * number, 256 * number + 128, True, True) for number in range(5)}
    assert spans(LOOP, (1, 1, 1), (32, 1, 1), n=64, rounds=5) == expected


def test_of_too_many_spans_it_is_said_that_there_are_more() -> None:
    found = spans(LOOP, (1, 1, 1), (32, 1, 1), n=64, rounds=80)
    assert len(found) < 80
    assert all(each.partly for each in found)


def test_no_spans_where_a_thread_cannot_be_followed() -> None:
    body = "ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra DONE; st.global.u32 [%rd1], 1; DONE:"
    program = kernel(ONE, body)
    assert spans_of(program, "k", ((0x10000).to_bytes(8, "little"),), (1, 1, 1), (1, 1, 1)) is None
