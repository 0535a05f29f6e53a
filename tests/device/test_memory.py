"""Where the emulated device puts allocations and which handle values it issues."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.catalog import Kind
from cuvet.device.arena import ALIGNMENT, RANGE_BYTES, Arena
from cuvet.device.handles import MOST_DEAD, Handles
from cuvet.device.protocol import Answer, Op, Result, Steps
from cuvet.device.work import Timeline

FIRST = 0x7000_0000_0000


class Client:
    """Carries out RESERVE and RELEASE: ranges one behind the other, with a gap. ``kept``: what is released, but not its addresses."""

    def __init__(self, room: int = 1 << 40) -> None:
        self.reserved: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self._room = room
        self._next = FIRST

    def run(self, steps: Steps[Result]) -> Result:
        answer = None
        while True:
            try:
                command = next(steps) if answer is None else steps.send(answer)
            except StopIteration as finished:
                return finished.value
            answer = (
                self._release(*command.operands) if command.op is Op.RELEASE else self._reserve(command.operands[1])
            )

    def _release(self, address: int, size: int, keep_addresses: int = 0) -> Answer:
        ranges = self.reserved if address in self.reserved else self.kept
        assert ranges.pop(address) == size
        if keep_addresses:
            self.kept[address] = size
        return Answer(0)

    def _reserve(self, size: int) -> Answer:
        if sum(self.reserved.values()) + sum(self.kept.values()) + size > self._room:
            return Answer(errno.ENOMEM)
        start, self._next = self._next, self._next + size + RANGE_BYTES
        self.reserved[start] = size
        return Answer(0, start.to_bytes(8, "little"))


def test_small_blocks_share_a_range_and_large_ones_do_not() -> None:
    client, arena = Client(), Arena(host=False)
    small = [client.run(arena.allocate(1)) for _ in range(3)]
    large = client.run(arena.allocate(RANGE_BYTES))
    assert small == [FIRST, FIRST + ALIGNMENT, FIRST + 2 * ALIGNMENT]
    assert client.reserved == {FIRST: RANGE_BYTES, large: RANGE_BYTES}
    assert client.run(arena.free(large))
    assert (large in client.reserved, large in client.kept) == (False, True)


def test_a_freed_block_is_given_out_again_last() -> None:
    client, arena = Client(), Arena(host=False)
    first = client.run(arena.allocate(5000))
    client.run(arena.allocate(5000))
    assert client.run(arena.free(first))
    assert not client.run(arena.free(first))
    assert client.run(arena.allocate(5000)) != first


@pytest.mark.parametrize("size", [4096, 1 << 20, 4 << 20])
def test_addresses_are_given_again_rather_than_none(size: int) -> None:
    room = 8 << 20
    client, arena, seen = Client(room), Arena(host=False), set[int]()
    for _ in range(2 * room // size + 1):
        address = client.run(arena.allocate(size))
        assert address
        seen.add(address)
        assert client.run(arena.free(address))
    assert len(seen) >= room // size


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3 * RANGE_BYTES)), max_size=60))
def test_blocks_never_overlap(steps: list[tuple[bool, int]]) -> None:
    client, arena = Client(), Arena(host=False)
    blocks: dict[int, int] = {}
    for allocate, size in steps:
        if allocate or not blocks:
            blocks[client.run(arena.allocate(size))] = size
        else:
            address = sorted(blocks)[size % len(blocks)]
            del blocks[address]
            assert client.run(arena.free(address))
        ends = [0, *(address + size for address, size in sorted(blocks.items()))]
        assert all(end <= start for end, start in zip(ends, sorted(blocks), strict=False))
        assert all(
            any(start <= address and address + size <= start + length for start, length in client.reserved.items())
            for address, size in blocks.items()
        )


def test_the_oldest_value_is_issued_again_when_many_others_are_free() -> None:
    handles = Handles(0)
    values = [handles.issue(Kind.STREAM) for _ in range(MOST_DEAD + 1)]
    assert len({*values}) == len(values)
    for value in values:
        assert handles.issue(Kind.STREAM) not in values
        handles.retire(Kind.STREAM, value)
        handles.retire(Kind.STREAM, value)
    assert handles.issue(Kind.STREAM) == values[0]
    assert handles.issue(Kind.STREAM) not in values


def test_handles_of_processes_and_kinds_differ() -> None:
    issued = {Handles(process).issue(kind) for process in range(3) for kind in (Kind.STREAM, Kind.EVENT, Kind.GRAPH)}
    assert len(issued) == 9


def test_a_launch_is_running_for_two_questions() -> None:
    timeline = Timeline()
    timeline.record(1, stream=7)
    timeline.launch(7)
    timeline.record(2, stream=7)
    assert not timeline.event_running(1)
    assert timeline.stream_running(7)
    assert timeline.event_running(2)
    assert not timeline.stream_running(7)
    timeline.launch(7)
    timeline.finish()
    assert not timeline.stream_running(7)
