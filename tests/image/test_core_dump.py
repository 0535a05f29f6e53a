"""What is read of GPU core dumps, whole and broken."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.image.core_dumps import dump

from cuvet.image.core_dump import CoreDump, read
from cuvet.image.errors import ImageError
from cuvet.image.source import of_bytes

WHOLE = dump()


def test_the_kernel_its_arguments_and_where_it_stopped_are_known() -> None:
    found = read(of_bytes(WHOLE))
    (grid,) = found.grids
    assert (grid.kernel, grid.grid, grid.block, grid.thread) == ("_Z5scalePfi", (1, 1, 1), (32, 1, 1), 972)
    assert list(grid.words()) == [(0, 0, 0x7FC008800000)]
    (stop,) = found.stops
    assert (stop.name, stop.at, stop.block, stop.thread, stop.threads) == (
        "Warp Illegal Address", 0xB0, (2, 0, 0), (0, 0, 0), 32,
    )  # fmt: skip
    assert found.failed() == (grid,)


def test_words_of_structs_are_told_by_parameter_and_offset() -> None:
    given = struct.pack("<IIQQQ", 1, 0, 2, 3, 4)
    (grid,) = read(of_bytes(dump("k", given, (4, 4, 24)))).grids
    assert list(grid.words()) == [(2, 0, 2), (2, 8, 3), (2, 16, 4)]


def test_threads_that_have_exited_leave_the_exception_of_their_multiprocessor() -> None:
    found = read(of_bytes(dump(lanes=0)))
    assert [(each.exception, each.grid, each.at, each.block) for each in found.stops] == [(14, 0, 0xB0, None)]


def test_a_trap_leaves_no_exception_and_the_kernels_that_ran() -> None:
    found = read(of_bytes(dump(exception=0)))
    assert found.stops == ()
    assert [each.kernel for each in found.failed()] == ["_Z5scalePfi"]


def test_what_the_dump_has_too_few_arguments_for_is_not_known() -> None:
    (grid,) = read(of_bytes(dump(arguments=b"\1\2\3"))).grids
    assert list(grid.words()) == []


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"not a dump at all" * 9, WHOLE[:200], WHOLE[:-1]])
def test_what_is_no_whole_dump_is_an_error(data: bytes) -> None:
    with pytest.raises(ImageError):
        read(of_bytes(data))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=12))
def test_broken_dumps_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    try:
        found = read(of_bytes(bytes(data)))
    except ImageError:
        return
    assert isinstance(found, CoreDump)
    for grid in found.grids:
        assert len(list(grid.words())) <= len(grid.arguments)
