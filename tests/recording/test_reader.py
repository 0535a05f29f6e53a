from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet import catalog
from cuvet.catalog import Kind
from cuvet.recording import Recording, RecordingError, layout, reader
from cuvet.recording.ordering import Ordering
from cuvet.recording.records import CallRecord, Image, PythonCode, Stack, decode

sys.path.insert(0, str(Path(__file__).parent))
import writing as w


def calls_of(recording: Recording, *, running: bool = False) -> list[int]:
    return [
        decode(batch.record(i)).number for batch in recording.poll(running=running) for i in range(len(batch.calls))
    ]


def everything() -> bytes:
    """A recording that has a record of every type."""
    records = (
        w.entry_points([entry.name for entry in catalog.driver().entry_points])
        + w.thread(1, "main")
        + w.module(0x1000, 0x2000, 0x1000, "/bin/true", b"\x12\x34")
        + w.python_code(5, "a.py", "Model.step")
        + w.stack(3, [0x1100, 0x1200], [(5, 17)])
        + w.call("cuStreamCreate", [0x7000, 1], number=1, entered=100, stack=3, outputs=[(0, Kind.STREAM, 1, 0xABC)])
        + w.call(
            "cuLaunchKernel", [9, 1, 1, 1, 1, 1, 1, 0, 0xABC, 0, 0], number=2, entered=200, status=w.PENDING, flags=w.SUSPECT,
            objects=[(8, Kind.STREAM, 3, 1, 0xABC, 0xC0)], pointers=[0xD000], inputs={4: b"abcde", 6: b"12345678"},
        )
        + w.maps(2, 1, "7f00-7f01 rw-p\n")
        + w.image(2, 1, 9, b".version 9", True)
        + w.fault(11, 1, stack=3, address=0xD000, ticks=250)
        + w.fork(1001, ticks=150)
        + w.note(1, "/usr/lib/libcuda.so.1")
    )  # fmt: skip
    ring = w.flight({n: w.flight_slot("cuEventRecord", 0 if n < 3 else w.PENDING, n) for n in (1, 2, 3)})
    return w.recording([w.chunk(records), ring], clock=[(100, 1000, 5), (300, 2000, 6)], newest=1)


def test_every_record_type_is_read(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(everything())
    recording = Recording(tmp_path / "r")
    (batch,) = recording.poll()
    created, launched = (decode(batch.record(i)) for i in range(2))
    assert created.args == (0x7000, 1)
    assert created.outputs[0].value == 0xABC
    assert created.stack == 3
    assert launched.status is None
    assert launched.objects[0][:7] == (8, Kind.STREAM, True, True, False, False, 1)
    assert launched.pointers == (0xD000,)
    assert launched.inputs == {4: b"abcde", 6: b"12345678"}
    assert recording.stacks == {3: Stack((0x1100, 0x1200), ((5, 17),))}
    assert recording.codes == {5: PythonCode("a.py", "Model.step")}
    assert recording.modules[0].build_id == "1234"
    assert recording.threads == {1: "main"}
    assert recording.maps == {(1, 2): "7f00-7f01 rw-p\n"}
    assert recording.images == {(1, 2): Image(9, b".version 9", True)}
    assert recording.faults[0].address == 0xD000
    assert recording.forks[0].child == 1001
    assert [note.text for note in recording.notes] == ["/usr/lib/libcuda.so.1"]
    assert recording.entry_points[catalog.driver()["cuInit"].id] == "cuInit"
    assert [int(slot["status"]) for slot in recording.flight()[1]] == [0, 0, w.PENDING]
    assert recording.problems == []


def test_all_parts_of_a_call_are_read(tmp_path: Path) -> None:
    """Of each part there are several, and inputs of lengths that are no multiple of 8."""
    inputs = {1: b"", 2: b"a", 3: b"1234567", 4: b"12345678", 5: b"123456789"}
    record = w.call(
        "cuLaunchKernel", [1, 2, 3], number=7, thread=5, entered=100, returned=107, status=400, context=0xC0, stack=9,
        flags=w.FAILED | w.PER_THREAD, objects=[(0, Kind.STREAM, 1, 4, 0x50, 0xC0), (2, Kind.EVENT, 14, 5, 0x60, 0xC1)],
        outputs=[(1, Kind.MEMORY, 2, 0xD0), (2, Kind.EVENT, 3, 0xE0)], pointers=[8, 9, 10], inputs=inputs,
    )  # fmt: skip
    (tmp_path / "r").write_bytes(w.recording([w.chunk(record)]))
    (batch,) = Recording(tmp_path / "r").poll()
    call = decode(batch.record(0))
    assert (call.args, call.pointers, call.inputs) == ((1, 2, 3), (8, 9, 10), inputs)
    assert [tuple(each) for each in call.objects] == [
        (0, Kind.STREAM, True, False, False, False, 4, 0x50, 0xC0),
        (2, Kind.EVENT, False, True, True, True, 5, 0x60, 0xC1),
    ]
    assert [tuple(each) for each in call.outputs] == [(1, Kind.MEMORY, 2, 0xD0), (2, Kind.EVENT, 3, 0xE0)]
    assert (call.entered, call.returned, call.status, call.thread, call.stack) == (100, 107, 400, 5, 9)
    assert (call.number, call.context, call.per_thread) == (7, 0xC0, True)


@pytest.mark.parametrize(
    ("clock", "newest", "ns"),
    [
        ([(100, 1000, 0), (300, 2000, 0)], 1, 1000),
        ([(100, 1000, 0), (300, 2000, 0)], 0, 200),
        ([(100, 1000, 0), (300, 1000, 0)], 1, 200),
        ([(100, 1000, 0), (100, 2000, 0)], 1, 200),
        ([(100, 1000, 0), (101, 1500, 0)], 1, 100_000),
        ([(100, 1000, 0), (300, 2000, 0)], 3, 200),
    ],
)
def test_without_two_samples_a_tick_is_a_nanosecond(
    tmp_path: Path, clock: list[tuple[int, int, int]], newest: int, ns: int
) -> None:
    (tmp_path / "r").write_bytes(w.recording([], clock=clock, newest=newest))
    found = Recording(tmp_path / "r").clock
    assert (found.ns(300), found.ns(0)) == (ns, 0)


def test_clock_maps_ticks_through_the_newest_sample(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(w.recording([], clock=[(100, 1000, 5), (300, 2000, 6), (500, 5000, 7)], newest=2))
    assert Recording(tmp_path / "r").clock.ns(300) == 2000


def test_flight_recorder_keeps_the_last_calls_in_order(tmp_path: Path) -> None:
    ring = w.flight({n: w.flight_slot("cuEventRecord", 0, n) for n in range(1000, 1256)})
    (tmp_path / "r").write_bytes(w.recording([ring]))
    recording = Recording(tmp_path / "r")
    list(recording.poll())
    assert recording.flight()[1]["number"].tolist() == list(range(1000, 1256))
    assert recording.calls_made == 1255


def test_a_growing_file_is_read_once_and_completely(tmp_path: Path) -> None:
    path = tmp_path / "r"
    first = w.call("cuInit", [0], number=1)
    second = w.call("cuStreamCreate", [0, 0], number=2)
    path.write_bytes(w.recording([w.chunk(first)]))
    recording = Recording(path)
    assert calls_of(recording, running=True) == [1]
    assert calls_of(recording, running=True) == []
    path.write_bytes(w.recording([w.chunk(first + second), w.chunk(w.call("cuInit", [0], number=3))]))
    assert calls_of(recording, running=True) == [2, 3]
    late = w.call("cuInit", [0], number=4)
    assert calls_of(recording, running=True) == []
    path.write_bytes(w.recording([w.chunk(first + second + late), w.chunk(w.call("cuInit", [0], number=3))]))
    assert calls_of(recording) == [4]


def changing(monkeypatch: pytest.MonkeyPatch, path: Path, name: str, size: int, after: bytes) -> None:
    """The file becomes ``after`` when ``os.<name>`` has read ``size`` bytes of it: what a running process writes meanwhile."""
    read = getattr(os, name)

    def then_change(*args: object) -> object:
        found = read(*args)
        if (found if isinstance(found, int) else len(found)) == size:
            path.write_bytes(after)
        return found

    monkeypatch.setattr(os, name, then_change)


def test_a_record_whose_size_is_read_before_its_content_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r"
    whole = w.call("cuInit", [0], number=7)
    torn = whole[:8] + b"\0" * (len(whole) - 8)
    path.write_bytes(w.recording([w.chunk(torn)]))
    changing(monkeypatch, path, "preadv", w.CHUNK_BYTES - 64, w.recording([w.chunk(whole)]))
    assert calls_of(Recording(path), running=True) == [7]


def test_a_call_whose_status_is_read_before_its_outputs_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r"
    pending, torn, whole = (
        w.call("cuStreamCreate", [1, 0], status=status, returned=5, outputs=[(0, Kind.STREAM, 1, handle)])
        for status, handle in ((w.PENDING, 0), (0, 0), (0, 0xABC))
    )
    path.write_bytes(w.recording([w.chunk(w.entry_points(["cuInit"]) + pending)]))
    ordering = Ordering(Recording(path))
    assert list(ordering.poll(running=True)) == []
    path.write_bytes(w.recording([w.chunk(w.entry_points(["cuInit"]) + torn)]))
    changing(monkeypatch, path, "pread", len(whole), w.recording([w.chunk(w.entry_points(["cuInit"]) + whole)]))
    (call,) = ordering.poll()
    assert isinstance(call, CallRecord)
    assert (call.status, call.outputs[0].value) == (0, 0xABC)


def test_a_claimed_chunk_that_was_not_written_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(w.recording([b"\0" * w.CHUNK_BYTES, w.chunk(w.call("cuInit", [0], number=7))]))
    recording = Recording(path)
    assert calls_of(recording) == [7]
    assert recording.problems == []


def test_a_sparse_file_takes_no_more_reading_than_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_ABSENT", 100)
    reads, pread = [], os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        reads.append(offset)
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    path = tmp_path / "r"
    path.write_bytes(w.header(chunks=1 << 14) + w.chunk(w.call("cuInit", [0])))
    os.truncate(path, 1 << 30)
    recording = Recording(path)
    assert calls_of(recording) == [1]
    assert [str(problem) for problem in recording.problems] == [
        "r: byte 6623232: 101 of the first 102 chunks were never written; what follows is not read"
    ]
    assert calls_of(recording) == []
    assert len(reads) < 200


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty: this process was not recorded"),
        (b"\x7fELF" + b"\0" * 5000, "byte 0: not a cuvet recording"),
        (w.header()[:100], "byte 100: the file ends within its header"),
        (w.header(version=6), "byte 8: recording format 6; this cuvet reads format 5"),
    ],
)
def test_foreign_files_are_refused_in_one_line(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "r").write_bytes(data)
    with pytest.raises(RecordingError, match=what):
        Recording(tmp_path / "r")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "absent"):
        with pytest.raises(RecordingError):
            Recording(path)


def test_a_truncated_file_says_so_and_gives_its_whole_records(tmp_path: Path) -> None:
    one = w.call("cuInit", [0], number=1)
    whole = w.recording([w.chunk(one), w.chunk(one + w.call("cuInit", [0], number=2)), w.chunk(one)])
    (tmp_path / "r").write_bytes(whole[: w.HEADER_BYTES + w.CHUNK_BYTES + 64 + len(one) + 40])
    recording = Recording(tmp_path / "r")
    assert calls_of(recording) == [1, 1]
    assert [str(problem) for problem in recording.problems] == [
        f"r: byte {w.HEADER_BYTES + w.CHUNK_BYTES + 64 + len(one) + 40}: the file ends here, with 2 of its 3 chunks",
        f"r: byte {w.HEADER_BYTES + w.CHUNK_BYTES + 64 + len(one)}: the file ends within a record",
    ]


def test_a_corrupt_record_ends_its_chunk_only(tmp_path: Path) -> None:
    one, two = w.call("cuInit", [0], number=1), w.call("cuInit", [0], number=2)
    broken = one + struct.pack("<IHH", 1 << 20, 1, 0) + two
    (tmp_path / "r").write_bytes(w.recording([w.chunk(broken), w.chunk(two)]))
    recording = Recording(tmp_path / "r")
    assert calls_of(recording) == [1, 2]
    assert [problem.what for problem in recording.problems] == ["a record does not fit its chunk"]
    assert recording.problems[0].offset == w.HEADER_BYTES + 64 + len(one)


def test_a_call_that_holds_more_than_its_size_is_left_out(tmp_path: Path) -> None:
    bad = bytearray(w.call("cuInit", [0], number=1))
    bad[56] = 200
    (tmp_path / "r").write_bytes(w.recording([w.chunk(bytes(bad) + w.call("cuInit", [0], number=2))]))
    recording = Recording(tmp_path / "r")
    assert calls_of(recording) == [2]
    assert len(recording.problems) == 1


@settings(max_examples=300)
@given(data=st.data())
def test_mutated_recordings_never_break_the_reader(tmp_path: Path, data: st.DataObject) -> None:
    recording = bytearray(everything())
    used = w.HEADER_BYTES + 64 + 16000
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.one_of(st.integers(0, 200), st.integers(w.HEADER_BYTES, used)))
        new = data.draw(
            st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from([b"\xff" * 4, b"\xff" * 8, b"\0" * 8]))
        )
        recording[at : at + len(new)] = new
    path = tmp_path / "r"
    path.write_bytes(bytes(recording[: data.draw(st.one_of(st.just(len(recording)), st.integers(0, len(recording))))]))
    try:
        read = Recording(path)
    except RecordingError:
        return
    try:
        for batch in read.poll():
            for index in range(len(batch.calls)):
                decode(batch.record(index))
        read.flight()
    except RecordingError:
        pass
    assert all("\n" not in str(problem) for problem in read.problems)


def test_a_process_runs_if_it_has_the_number_and_the_start_of_the_recording(tmp_path: Path) -> None:
    start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    path = w.write(tmp_path, [], pid=os.getpid())
    offset = layout.HEADER.fields["process_start"][1]
    running = []
    for each in (start, start + 1):
        data = bytearray(path.read_bytes())
        data[offset : offset + 8] = each.to_bytes(8, "little")
        path.write_bytes(data)
        running.append(Recording(path).is_running)
    assert running == [True, False]
    assert not Recording(w.write(tmp_path, [], pid=1 << 30)).is_running
