"""Which calls are given of recordings made by hand: of unknown calls, of those that did not return, and of repetitions."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cuvet import catalog
from cuvet.catalog import Kind
from cuvet.recording import ordering as module
from cuvet.recording import reader
from cuvet.recording.ordering import SLACK_NS, EntryPoints, Ordering, is_notable
from cuvet.recording.reader import Recording
from cuvet.recording.records import CallRecord, Fork, decode
from cuvet.recording.repeats import Boundary

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

LIKE = "cuCtxGetDevice"
UNKNOWN = 9
"""Id of a call that the recording does not name."""


def with_id(record: bytes, number: int) -> bytes:
    return record[:8] + struct.pack("<I", number) + record[12:]


def ordering(directory: Path, *records: bytes, names: Sequence[str] | None = None, **fields: object) -> Ordering:
    """Of a recording with these names of calls (None: all), and the records in a chunk for each argument."""
    first = w.every_entry_point() if names is None else w.entry_points(names) if names else b""
    w.write(directory, [w.chunk(first, thread=99), *map(w.chunk, records)], **fields)
    return Ordering(Recording(directory / "1000-1.cuvet"))


def given(found: Iterable[object]) -> list[int]:
    """Numbers of calls; of forks those of the children, negative."""
    return [item.number if isinstance(item, CallRecord) else -item.child for item in found]  # type: ignore[attr-defined]


def calls(*each: tuple[int, str, dict[str, object]]) -> bytes:
    """Calls with that id in the recording; a name is needed only to write it."""
    return b"".join(
        with_id(w.call(name, number=number, **{"entered": 100 * number, **fields}), at)  # type: ignore[arg-type]
        for number, (at, name, fields) in enumerate(each, 1)
    )


def test_calls_have_the_names_of_the_recording(tmp_path: Path) -> None:
    found = ordering(tmp_path, names=["cuInit", "cuMadeUp", "cublasCreate"]).recording
    assert list(found.poll()) == []
    known = EntryPoints(found)
    assert [each and each.name for each in map(known.__getitem__, range(4))] == ["cuInit", None, "cublasCreate", None]
    assert [known.name(at) for at in range(4)] == ["cuInit", "cuMadeUp", "cublasCreate", "entry point 3"]


def test_without_names_calls_are_those_of_the_same_catalog(tmp_path: Path) -> None:
    driver = catalog.driver()
    recording = ordering(tmp_path, names=[]).recording
    known = EntryPoints(recording)
    assert {known[each.id] for each in driver.entry_points} == {*driver.entry_points}
    data = bytearray(recording.path.read_bytes())
    (identity,) = struct.unpack_from("<I", data, 124)
    assert identity == driver.identity
    struct.pack_into("<I", data, 124, identity + 1)
    recording.path.write_bytes(data)
    unknown = EntryPoints(Recording(recording.path))
    assert (unknown[1], unknown.name(1)) == (None, "entry point 1")


def test_names_with_numbers_that_no_recording_has_take_no_memory(tmp_path: Path) -> None:
    records = w.entry_points(["cuInit", "cuCtxGetDevice"], (1 << 16) - 1) + w.entry_points(["cuInit"], 1 << 31)
    found = ordering(tmp_path, records, names=[]).recording
    list(found.poll())
    known = EntryPoints(found)
    assert [known[at] is not None for at in ((1 << 16) - 1, 1 << 16, 1 << 31)] == [True, False, False]
    assert known.name(1 << 31) == "cuInit"
    unknown = 1 << 16
    assert len(known.makes) == unknown + 1
    assert known.numbers(np.array([unknown - 1, unknown, (1 << 32) - 1])).tolist() == [unknown - 1, unknown, unknown]
    assert [known.maps[unknown], known.makes[unknown], known.stream[unknown]] == [True, False, -1]


QUIET: dict[str, object] = {"flags": 0}


@pytest.mark.parametrize(
    ("names", "made", "expected"),
    [
        # What would make something has its entry, if it is not known.
        (["cuStreamCreate"], [(UNKNOWN, LIKE, {"returned": 900}), (0, LIKE, {"returned": 250})], [1, 2]),
        (["cuStreamCreate"], [(0, LIKE, {"returned": 900}), (0, LIKE, {"returned": 250})], [2, 1]),
        (["cuStreamCreate"], [(0, LIKE, {"returned": 0}), (0, LIKE, {"returned": 250})], [1, 2]),
        (["cuStreamCreate"], [(UNKNOWN, LIKE, {}), (0, LIKE, {"returned": 0}), (0, LIKE, {})], [1, 2, 3]),
        # The last of many arguments of a library's call.
        (["cublasSetStream"], [(0, LIKE, {"args": [*range(12), at], "flags": 0}) for at in (1, 2, 1)], [1, 2]),
        # An unknown call ends nothing.
        (["cuStreamDestroy", "cublasSetStream"], [(1, LIKE, QUIET), (UNKNOWN, LIKE, QUIET), (1, LIKE, QUIET)], [1]),
        (["cuStreamDestroy", "cublasSetStream"], [(1, LIKE, QUIET), (0, LIKE, {}), (1, LIKE, QUIET)], [1, 2, 3]),
        (["cublasDestroy", "cublasSetStream"], [(1, LIKE, QUIET), (0, LIKE, {}), (1, LIKE, QUIET)], [1, 2]),
        # It is of no library, and no work.
        (["cublasSetStream"], [(UNKNOWN, LIKE, QUIET), (UNKNOWN, LIKE, QUIET)], []),
        (["cuMemsetD8Async"], [(UNKNOWN, LIKE, {"args": [1, 2, 3, 4], "flags": 0})], []),
        (["cuMemsetD8Async"], [(0, LIKE, {"args": [1, 2, 3, 4], "flags": 0})], [1]),
        (["cuMemsetD8Async"], [(0, LIKE, {"args": [1, 2, 3], "flags": 0})], []),
        # The highest number that is known.
        (["cuInit", "cublasSetStream"], [(1, LIKE, QUIET), (1, LIKE, QUIET), (2, LIKE, QUIET)], [1]),
        # What is notable.
        (["cuInit"], [(0, LIKE, {"flags": flag}) for flag in (0, 1, 2, 4, 8, 16, 32)], [2, 3, 4, 5, 6]),
        (["cuInit"], [(0, LIKE, {"flags": 0, "status": status}) for status in (0, 1, 600, 601)], [2, 4]),
    ],
)
def test_only_known_calls_make_end_or_work(
    tmp_path: Path, names: list[str], made: list[tuple[int, str, dict[str, object]]], expected: list[int]
) -> None:
    found = ordering(tmp_path, calls(*made), names=names)
    assert given(found.poll()) == expected
    assert found.counted == len(made)


def test_what_is_notable_is_so_after_decoding() -> None:
    made = [w.call("cuInit", flags=flags, status=status) for flags in (0, 1, 2, 4, 8, 16, 32) for status in (0, 600, 1)]
    found = [is_notable(decode(each)) for each in made]
    assert found == [flags not in (0, 32) or status == 1 for flags in (0, 1, 2, 4, 8, 16, 32) for status in (0, 600, 1)]


@pytest.mark.parametrize("most", [1 << 17, 3])
def test_library_calls_that_were_seen_are_forgotten_after_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Chunk by chunk: they are forgotten when there are more than that."""
    assert module._MOST_ALIKE == 1 << 17
    monkeypatch.setattr(module, "_MOST_ALIKE", most)
    monkeypatch.setattr(reader, "GROUP", 1)
    chunks = [
        b"".join(
            w.call("cublasSetStream", [word, 7], number=10 * at + place, entered=1000 * at + place, flags=0)
            for place, word in enumerate(words)
        )
        for at, words in enumerate([[1, 2, 3], [1], [1, 4], [1], [4], [5]], 1)
    ]
    found = ordering(tmp_path, *chunks)
    expected = [10, 11, 12, 31, 60] if most > 3 else [10, 11, 12, 31, 50, 60]
    assert given(found.poll()) == expected
    assert len(found._alike) == (5 if most > 3 else 3)


def test_calls_are_given_while_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as a chunk was begun later than they are by the slack."""
    monkeypatch.setattr(reader, "GROUP", 2)
    assert SLACK_NS == 50_000_000
    far = 10 * SLACK_NS
    chunks = [
        w.call(LIKE, number=at, entered=far * at + 5) + w.call(LIKE, number=100 + at, entered=far * at + 6 + far // 2)
        for at in range(1, 8)
    ]
    found = ordering(tmp_path, *chunks)
    counted = [(item.number, found.counted) for item in found.poll() if isinstance(item, CallRecord)]
    # the chunk of names and one of calls are the first group, then there are two chunks in each
    assert counted == [
        *[(number, 6) for number in (1, 101, 2, 102)],
        *[(number, 10) for number in (3, 103, 4, 104)],
        *[(number, 14) for number in (5, 105, 6, 106, 7, 107)],
    ]
    assert found._batches == {}


def test_the_newest_chunk_of_a_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it has one call."""
    monkeypatch.setattr(reader, "GROUP", 2)
    found = ordering(tmp_path, *(w.call(LIKE, number=at, entered=10 * SLACK_NS * at) for at in range(1, 6)))
    counted = [(item.number, found.counted) for item in found.poll() if isinstance(item, CallRecord)]
    assert counted == [(1, 3), (2, 3), (3, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize("group", [1, 128])
def test_library_calls_count_anew_after_each_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    """In whatever chunks they are."""
    monkeypatch.setattr(reader, "GROUP", group)
    names = (
        ["cublasSetStream"] * 3 + ["cuStreamDestroy"] * 2 + ["cublasSetStream"] * 2 + ["cuMemFree", "cublasSetStream"]
    )
    chunks = [
        w.call(
            name,
            [7],
            number=at,
            entered=100 * at,
            flags=0 if "blas" in name else w.LIFECYCLE,
        )
        for at, name in enumerate(names, 1)
    ]
    assert given(ordering(tmp_path, *chunks).poll()) == [1, 4, 5, 6, 8, 9]


def test_a_fork_of_a_process_without_calls_is_given_at_once(tmp_path: Path) -> None:
    found = ordering(tmp_path, w.fork(50, ticks=SLACK_NS * 4))
    assert given(found.poll(running=True)) == [-50]
    assert given(found.poll()) == []


def test_calls_of_one_instant_are_given_by_their_numbers(tmp_path: Path) -> None:
    records = [w.call(LIKE, thread=at, number=number, entered=100) for at, number in ((1, 5), (2, 3), (3, 5), (4, 4))]
    found = [(call.thread, call.number) for call in ordering(tmp_path, *records).poll() if isinstance(call, CallRecord)]
    assert found == [(2, 3), (4, 4), (1, 5), (3, 5)]


def test_forks_keep_their_places_over_several_polls(tmp_path: Path) -> None:
    records = [w.call(LIKE, number=at, entered=100 * at) + w.fork(50 + at, ticks=100 * at + 50) for at in (1, 2, 3)]
    found = ordering(tmp_path, records[0])
    assert given(found.poll()) == [1, -51]
    ordering(tmp_path, *records)
    assert given(found.poll()) == [2, -52, 3, -53]


def test_a_pending_call_keeps_no_other_calls_in_memory(tmp_path: Path) -> None:
    pending = w.call(LIKE, number=3, entered=300, status=w.PENDING)
    records = b"".join(w.call(LIKE, number=at, entered=100 * at) for at in (1, 2))
    later = b"".join(w.call(LIKE, number=at, entered=400 + SLACK_NS * at, thread=2) for at in range(1, 6))
    found = ordering(tmp_path, records + pending, later)
    assert given(found.poll(running=True)) == [1, 2]
    ((_, batch),) = ((at, each) for at, each in found._batches.items() if len(each.calls) == 1)
    assert decode(batch.record(0)).number == 3
    assert sorted(len(each.calls) for each in found._batches.values()) == [1, 8]
    ordering(tmp_path, records + w.call(LIKE, number=3, entered=300), later)
    assert given(found.poll()) == [3, 1, 2, 3, 4, 5]
    assert found._batches == {}


def test_a_pending_call_that_makes_something_is_given_at_its_return(tmp_path: Path) -> None:
    """Another one, and one that never returned, at its entry."""
    for name, status, order in (
        ("cuStreamCreate", 0, [2, 1, 3]),
        (LIKE, 0, [1, 2, 3]),
        ("cuStreamCreate", w.PENDING, [1, 2, 3]),
    ):
        others = b"".join(w.call("cuInit", [0], number=at, entered=100 * at, thread=2) for at in (2, 3))
        found = ordering(tmp_path, w.call(name, number=1, entered=100, status=w.PENDING), others)
        assert given(found.poll(running=True)) == []
        returned = w.call(name, number=1, entered=100, returned=0 if status else 250, status=status)
        ordering(tmp_path, returned, others)
        items = {item.number: item.status for item in found.poll() if isinstance(item, CallRecord)}
        assert [*items] == order
        assert items[1] == (None if status else 0)


@pytest.mark.parametrize(
    ("there", "status"),
    [
        (w.call("cuStreamCreate", [1, 0], entered=100), 0),
        (w.call("cuStreamCreate", [1, 0], entered=100, stack=9), 0),
        (w.call("cuStreamCreate", [1, 0, 0], entered=100), None),
        (w.call("cuStreamCreate", [1, 0], entered=100, flags=w.LIFECYCLE | w.FAILED, status=2), 2),
        (w.call("cuStreamCreate", [1], entered=100, pointers=[1]), None),
        (w.record(5, struct.pack("<II", 1, 0).ljust(72, b"\0")), None),
        (w.call("cuStreamCreate", [1, 0], entered=100)[:-8], None),
    ],
)
def test_a_pending_call_becomes_what_stands_there_if_it_is_the_same(
    tmp_path: Path, there: bytes, status: int | None
) -> None:
    pending = w.call("cuStreamCreate", [1, 0], entered=100, status=w.PENDING)
    found = ordering(tmp_path, pending)
    assert list(found.poll(running=True)) == []
    path = found.recording.path
    data = path.read_bytes()
    at = w.HEADER_BYTES + w.CHUNK_BYTES + 64
    path.write_bytes(data[:at] + there + (data[at + len(there) :] if len(there) >= len(pending) else b""))
    (call,) = found.poll()
    assert isinstance(call, CallRecord)
    assert (call.status, call.args) == (status, (1, 0))


# With repetitions.

SEEN = {"objects": [(0, Kind.EVENT, 3, 1, 0xE0, 0xC0), (1, Kind.STREAM, 3, 1, 0x50, 0xC0)]}


def delivered(directory: Path, records: bytes) -> int:
    """Of calls in a loop whose state is always steady."""
    path = ordering(directory, records).recording.path
    found, count = Ordering(Recording(path), repeats=True), 0
    for item in found.poll():
        if isinstance(item, Boundary):
            found.after_period(True)
        count += isinstance(item, CallRecord)
    assert found._batches == {}
    return count


def loop(name: str, at: int | None = None, **fields: object) -> bytes:
    made = [w.call(name, [0xE0, 0x50], number=n, entered=100 * n, **{**SEEN, **fields}) for n in range(1, 301)]  # type: ignore[arg-type]
    return b"".join(made if at is None else [with_id(each, at) for each in made])


ALL, FEW = 300, 16 + 8
"""Calls that are given: the first before they are known to repeat, and the last eight."""


@pytest.mark.parametrize(
    ("records", "count"),
    [
        (loop("cuEventRecord", flags=w.ORDER), FEW),
        (loop("cuEventRecord", flags=w.LIFECYCLE), FEW),
        (loop("cuEventRecord", flags=w.ORDER | w.PER_THREAD), FEW),
        (loop("cuEventRecord", flags=w.ORDER | w.SUSPECT), ALL),
        (loop("cuEventRecord", flags=w.ORDER | w.FAILED), ALL),
        (loop("cuEventRecord", flags=w.ORDER, status=600), ALL),
        (loop("cuEventRecord", flags=w.ORDER, status=1), ALL),
        (loop("cuEventRecord", at=5000, flags=w.ORDER), ALL),
        (loop("cuStreamSynchronize", flags=w.ORDER), FEW),
        (loop("cuLaunchKernel", flags=w.ORDER), FEW),
        (loop("cuLaunchKernelEx", flags=w.ORDER), FEW),  # the struct in which it names its stream is compared
        (loop("cuMemPrefetchBatchAsync", flags=w.ORDER), ALL),  # its objects in an array
        (loop("cuStreamBeginCapture", flags=w.ORDER), ALL),
        (loop("cuGraphLaunch", flags=w.ORDER), ALL),
        (loop("cuCtxPushCurrent", flags=w.ORDER), ALL),
        (loop("cuDeviceGet", flags=w.ORDER), ALL),  # the catalog says nothing of it
        (loop("cublasSetStream", flags=w.ORDER), ALL),
        (loop("cublasSgemm", flags=w.WORK), FEW),
        (loop("ncclAllReduce", flags=w.WORK), FEW),
        (loop("ncclGroupEnd", flags=w.WORK), ALL),  # it may begin work that other calls told of
        (loop("cublasCreate", flags=w.WORK), ALL),
    ],
)
def test_calls_that_are_judged_once_may_be_left_out(tmp_path: Path, records: bytes, count: int) -> None:
    assert delivered(tmp_path, records) == count


@pytest.mark.parametrize(
    ("kind", "made", "count"),
    [
        (Kind.CUBLASLT_DESCRIPTOR, 10, FEW),
        (Kind.CUBLASLT_DESCRIPTOR, 1000, ALL),
        (Kind.CUBLASLT_HANDLE, 10, ALL),
    ],
)
def test_which_descriptor_of_a_handle_it_is_does_not_matter_if_none_of_them_was_recorded(
    tmp_path: Path, kind: Kind, made: int, count: int
) -> None:
    """As many as there were meanwhile are no repetition. ``made``: the generation of the last that was recorded."""
    outputs = [(0, Kind.CUBLASLT_DESCRIPTOR, made, 0xD0)]
    records = w.call("cublasLtMatmulDescCreate", [0x7FFE, 68, 0], number=1, entered=50, outputs=outputs)
    chosen = random.Random(1)
    for number, generation in enumerate(sorted(chosen.sample(range(100, 900), ALL)), 2):
        seen = [(1, kind, 3, generation, 0xD0, 0xC0)]
        records += w.call(
            "cublasLtMatmul", [0xA0, 0xD0], number=number, entered=100 * number, objects=seen, flags=w.WORK
        )
    assert delivered(tmp_path, records) == 1 + count


def test_where_the_driver_writes_to_does_not_matter(tmp_path: Path) -> None:
    def made(name: str, *words: int) -> bytes:
        return b"".join(
            w.call(name, [(n if word < 0 else word) for word in words], number=n, entered=100 * n)
            for n in range(1, 301)
        )

    assert delivered(tmp_path, made("cuStreamCreate", -1, 0)) == FEW
    assert delivered(tmp_path, made("cuStreamCreate", 1, -1)) == ALL
    assert delivered(tmp_path, made("cuEventElapsedTime", -1, 0xE0, 0xE1)) == FEW
    assert delivered(tmp_path, made("cuEventElapsedTime", 1, -1, 0xE1)) == ALL
    assert delivered(tmp_path, made("cuStreamGetPriority", 0x50, -1)) == FEW


def test_a_fork_or_a_pending_call_ends_a_repetition(tmp_path: Path) -> None:
    """What is held back comes before it, and the repetition is found again after it."""
    half = 150 * 100 + 50
    for between in (w.fork(50, ticks=half), w.call(LIKE, number=999, entered=half, status=w.PENDING)):
        records = loop("cuEventRecord", flags=w.ORDER)
        w.write(tmp_path, [w.chunk(w.every_entry_point(), thread=99), w.chunk(records), w.chunk(between, thread=2)])
        found, items = Ordering(Recording(tmp_path / "1000-1.cuvet"), repeats=True), []
        for item in found.poll():
            if isinstance(item, Boundary):
                found.after_period(True)
            elif isinstance(item, CallRecord | Fork):
                items.append(item)
        numbers = given(items)
        at = next(place for place, number in enumerate(numbers) if number in (-50, 999))
        assert numbers[:at] == [*range(1, 17), *range(143, 151)]
        assert numbers[at + 1 :] == [*range(151, 167), *range(293, 301)]


def test_without_repeats_all_calls_are_given(tmp_path: Path) -> None:
    path = ordering(tmp_path, loop("cuEventRecord", flags=w.ORDER)).recording.path
    assert given(Ordering(Recording(path)).poll()) == [*range(1, 301)]
