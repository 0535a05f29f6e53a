"""How the chunks and records of a file are found: damaged ones, those that are written meanwhile, and what is remembered of them."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuvet.catalog import Kind
from cuvet.recording import Recording, RecordingError, layout, reader
from cuvet.recording.chunks import MOST_SHAPES, Records, Shape, _walk, sizes_of, whole_records
from cuvet.recording.reader import Stop
from cuvet.recording.records import Fork, decode

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

FIRST = w.HEADER_BYTES + 64
"""Place of the first record."""


def init(number: int, **fields: object) -> bytes:
    return w.call("cuInit", [0], number=number, **fields)  # type: ignore[arg-type]


def read(path: Path, *, running: bool = False) -> tuple[list[int], list[str]]:
    """Numbers of calls, and problems."""
    recording = Recording(path)
    return numbers(recording, running=running), [f"{each.offset}: {each.what}" for each in recording.problems]


def numbers(recording: Recording, *, running: bool = False) -> list[int]:
    return [
        decode(batch.record(at)).number for batch in recording.poll(running=running) for at in range(len(batch.calls))
    ]


def with_field(path: Path, name: str, value: int, size: int = 4) -> Path:
    """The file with another number in its header."""
    data, offset = bytearray(path.read_bytes()), layout.HEADER.fields[name][1]
    data[offset : offset + size] = value.to_bytes(size, "little")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("field", "value"), [("header_bytes", 4104), ("chunk_bytes", 1 << 17)])
def test_sizes_of_another_format_are_refused(tmp_path: Path, field: str, value: int) -> None:
    with pytest.raises(RecordingError, match="byte 12: header or chunk size is not the one of format 2"):
        Recording(with_field(w.write(tmp_path, []), field, value))


def test_a_header_is_whole_or_said_not_to_be(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(w.header()[:-1])
    with pytest.raises(RecordingError, match="byte 4095: the file ends within its header"):
        Recording(tmp_path / "r")
    (tmp_path / "r").write_bytes(w.header())
    assert read(tmp_path / "r") == ([], [])


def test_no_descriptor_is_kept(tmp_path: Path) -> None:
    path = w.write(tmp_path, [w.chunk(init(1)), w.flight({1: w.flight_slot("cuInit", 0, 1)})])
    before = os.listdir("/proc/self/fd")
    recording = Recording(path)
    assert numbers(recording) == [1]
    recording.flight()
    with pytest.raises(RecordingError):
        Recording(tmp_path / "absent")
    assert os.listdir("/proc/self/fd") == before


def test_the_header_is_read(tmp_path: Path) -> None:
    gpus = [(1 << 30, 90), (3 << 30, 80), (2 << 30, 75)]
    path = w.write(tmp_path, [], pid=7, gpus=2, gpu=gpus, calls=9, executable="/bin/π", flags=2)
    recording = Recording(path)
    assert (recording.pid, recording.full, recording.executable, recording.calls_made) == (7, True, "/bin/π", 9)
    assert (recording.gpu_memory, recording.gpu_memories) == (3 << 30, (1 << 30, 3 << 30))
    assert (recording.capabilities, recording.stop) == ((90, 80), None)
    recording = Recording(with_field(path, "gpus", 1000))
    assert (len(recording.gpu_memories), len(recording.capabilities)) == (64, 64)


def test_when_and_why_a_recording_stopped_is_read(tmp_path: Path) -> None:
    path = w.write(tmp_path, [], clock=[(100, 0, 0), (200, 1000, 0)], newest=1, flags=1)
    assert (Recording(path).stop, Recording(path).full) == (None, False)
    with_field(path, "stopped", 150, 8)
    with_field(path, "stop_error", 27)
    assert Recording(path).stop == Stop(500, 27)


def test_a_process_that_ended_and_that_nobody_waited_for_is_not_running(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        assert fields[0] == "Z"
        path = with_field(w.write(tmp_path, [], pid=process.pid), "process_start", int(fields[19]), 8)
        assert not Recording(path).is_running


@pytest.mark.parametrize("group", [1, 2, 128])
def test_chunks_are_read_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    assert reader.GROUP == 128
    monkeypatch.setattr(reader, "GROUP", group)
    chunks = [w.chunk(init(number), thread=number) for number in range(1, 6)]
    chunks.insert(2, w.chunk(w.thread(9, "no call"), thread=9))
    recording = Recording(w.write(tmp_path, chunks))
    batches = list(recording.poll())
    assert [batch.calls["number"].tolist() for batch in batches] == {
        1: [[1], [2], [3], [4], [5]],
        2: [[1, 2], [3], [4, 5]],
        128: [[1, 2, 3, 4, 5]],
    }[group]
    places = [w.HEADER_BYTES + w.CHUNK_BYTES * at + 64 for at in (0, 1, 3, 4, 5)]
    assert [place for batch in batches for place in batch.offsets.tolist()] == places
    assert recording.calls_of_thread == {1: 5}


def test_a_batch_gives_one_call_or_one_word_of_each(tmp_path: Path) -> None:
    records = [w.call("cuStreamWaitEvent", [number, 10 + number, 0], number=number) for number in (1, 2, 3)]
    (batch,) = Recording(w.write(tmp_path, [w.chunk(b"".join(records))])).poll()
    assert [batch.record(at) for at in range(3)] == records
    assert batch.words(np.array([0, 2]), 9).tolist() == [11, 13]
    alone = batch.those(np.array([1]))
    assert (alone.record(0), alone.offsets.tolist(), len(alone.calls)) == (records[1], [FIRST + len(records[0])], 1)
    assert alone.words(np.array([0]), 9).tolist() == [12]
    assert alone._words.nbytes == len(records[1])


def test_a_child_says_its_number_later(tmp_path: Path) -> None:
    path = w.write(tmp_path, [w.chunk(init(1) + w.fork(0, ticks=5, stack=3))])
    recording = Recording(path)
    assert numbers(recording) == [1]
    (fork,) = recording.forks
    assert fork == Fork(0, 1, 5, 3, FIRST + len(init(1)))
    assert recording.child_of(fork) == 0
    w.write(tmp_path, [w.chunk(init(1) + w.fork(77, ticks=5, stack=3))])
    assert recording.child_of(fork) == 77
    assert recording.child_of(fork._replace(child=5)) == 5


def test_the_flight_recorder_counts_calls_that_are_not_stored(tmp_path: Path) -> None:
    slots = {number: w.flight_slot("cuInit", 0, number) for number in (300, 299, 7)}
    rings = [
        w.flight(slots, thread=3),
        w.flight({}, thread=4),
        w.flight({1 << 56: w.flight_slot("cuInit", 0, 1 << 56)}, thread=5),
    ]
    recording = Recording(w.write(tmp_path, [w.chunk(init(2, thread=3), thread=3), *rings], calls=1))
    assert numbers(recording) == [2]
    assert recording.calls_of_thread == {3: 2}
    assert {thread: ring["number"].tolist() for thread, ring in recording.flight().items()} == {
        3: [7, 299, 300],
        4: [],
        5: [1 << 56],
    }
    assert recording.calls_of_thread == {3: 300}
    assert recording.calls_made == 300


def test_a_flight_recorder_that_is_cut_off_has_what_is_there(tmp_path: Path) -> None:
    whole = w.recording([w.flight({number: w.flight_slot("cuInit", 0, number) for number in range(1, 9)})])
    path = tmp_path / "r"
    for size, found in ((FIRST + 3 * 64, {1: [1, 2]}), (FIRST + 3 * 64 - 1, {1: [1]}), (FIRST, {1: []})):
        path.write_bytes(whole[:size])
        recording = Recording(path)
        assert numbers(recording) == []
        assert {thread: ring["number"].tolist() for thread, ring in recording.flight().items()} == found
    path.write_bytes(whole)
    recording = Recording(path)
    assert numbers(recording) == []
    os.truncate(path, FIRST - 1)
    assert recording.flight() == {}


def test_the_first_twenty_problems_are_told(tmp_path: Path) -> None:
    records = b"".join(w.record(99, b"") for _ in range(30))
    found, problems = read(w.write(tmp_path, [w.chunk(records + init(1))]))
    assert found == [1]
    assert problems == [f"{FIRST + 8 * at}: a record of unknown type 99" for at in range(20)]


@pytest.mark.parametrize(
    ("fields", "missing", "said"),
    [
        ({"end": 1}, 1, True),
        ({"end": 2}, 1, True),
        ({"end": 1}, 0, False),
        ({"end": 0}, 64, False),
        ({"end": 0}, 65, True),
        ({"end": 1, "dropped": 1}, 1, False),
        ({"end": 0, "dropped": 1}, 65, False),
    ],
)
def test_chunks_that_are_missing_are_told_if_nothing_explains_it(
    tmp_path: Path, fields: dict[str, int], missing: int, said: bool
) -> None:
    data = w.header(chunks=1 + missing, **fields) + w.chunk(init(1))  # type: ignore[arg-type]
    (tmp_path / "r").write_bytes(data)
    problems = [f"{len(data)}: the file ends here, with 1 of its {1 + missing} chunks"] if said else []
    assert read(tmp_path / "r") == ([1], problems)
    assert read(tmp_path / "r", running=True) == ([1], [])


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        (struct.pack("<IIII", 0x4B4E4843, 0, 1, 0), True),
        (struct.pack("<IIII", 0x4B4E4843, 3, 1, 0), True),
        (struct.pack("<IIII", 0x4B4E4842, 1, 1, 0), True),
        (struct.pack("<IIII", 0, 1, 1, 0), True),
        (struct.pack("<IIII", 0, 0, 0, 0), False),
        (struct.pack("<IIII", 0, 0, 1, 0), False),
    ],
)
def test_what_does_not_begin_as_chunks_do_is_passed_over(tmp_path: Path, start: bytes, problem: bool) -> None:
    bad = start + w.chunk(init(1))[16:]
    path = w.write(tmp_path, [bad, w.chunk(init(2))])
    said = [f"{w.HEADER_BYTES}: a chunk does not begin as chunks do"] if problem else []
    assert read(path) == ([2], said)
    recording = Recording(path)
    assert (numbers(recording, running=True), recording.problems) == ([2], [])  # it may be written yet
    w.write(tmp_path, [w.chunk(init(1)), w.chunk(init(2))])
    assert numbers(recording, running=True) == [1]


def test_a_chunk_that_was_not_written_is_looked_at_once_after_the_end(tmp_path: Path) -> None:
    path = w.write(tmp_path, [b"\0" * w.CHUNK_BYTES, w.chunk(init(2))])
    recording = Recording(path)
    assert numbers(recording) == [2]
    w.write(tmp_path, [w.chunk(init(1)), w.chunk(init(2))])
    assert numbers(recording) == []


def test_chunks_that_were_never_written_are_counted_over_all_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to so many; flight recorders are none of them."""
    assert reader.MOST_ABSENT == 1 << 16
    monkeypatch.setattr(reader, "MOST_ABSENT", 3)
    empty, said = b"\0" * w.CHUNK_BYTES, "4 of the first {} chunks were never written; what follows is not read"
    rings = [w.flight({}, thread=at) for at in range(5)]
    for running in (True, False):
        recording = Recording(w.write(tmp_path, [empty, empty, *rings]))
        assert (numbers(recording, running=running), recording.problems) == ([], [])
        w.write(tmp_path, [empty, empty, *rings, empty, w.chunk(init(1))])
        assert (numbers(recording, running=running), recording.problems) == ([1], [])
        w.write(tmp_path, [empty, empty, *rings, empty, w.chunk(init(1)), empty, w.chunk(init(2))])
        assert numbers(recording, running=running) == []
        (problem,) = recording.problems
        assert (problem.offset, problem.what) == (w.HEADER_BYTES + 9 * w.CHUNK_BYTES, said.format(10))


def test_a_damaged_chunk_is_told_of_once(tmp_path: Path) -> None:
    path = w.write(tmp_path, [w.chunk(init(1) + struct.pack("<IHH", 12, 1, 0)), w.chunk(init(2))])
    recording = Recording(path)
    assert [numbers(recording, running=running) for running in (True, True, False)] == [[1, 2], [], []]
    assert [problem.what for problem in recording.problems] == ["a record does not fit its chunk"]


def test_older_chunks_of_a_thread_are_left_alone_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the process runs they are read until they have nothing new; at its end once more."""
    reads, preadv = [], os.preadv

    def counted(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        reads.append((offset - w.HEADER_BYTES) // w.CHUNK_BYTES)
        return preadv(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", counted)
    chunks = [w.chunk(init(1)), w.chunk(init(5, thread=2), thread=2)]
    recording = Recording(w.write(tmp_path, chunks))
    found = []
    for more in ([], [], [w.chunk(init(2))], [], []):
        chunks += more
        w.write(tmp_path, chunks)
        reads.clear()
        found.append((numbers(recording, running=True), sorted({*reads})))
    assert found == [([1, 5], [0, 1]), ([], [0, 1]), ([2], [0, 1, 2]), ([], [1, 2]), ([], [1, 2])]
    w.write(tmp_path, [w.chunk(init(1) + init(3)), *chunks[1:]])
    assert numbers(recording, running=True) == []
    assert numbers(recording) == [3]
    reads.clear()
    assert (numbers(recording), reads) == ([], [])


def test_a_full_chunk_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = init(1) * ((w.CHUNK_BYTES - 64) // len(init(1)))
    records += w.record(5, struct.pack("<II", 1, 0).ljust(w.CHUNK_BYTES - 64 - len(records) - 8, b"\0"))
    recording = Recording(w.write(tmp_path, [w.chunk(records)]))
    assert set(numbers(recording, running=True)) == {1}
    monkeypatch.setattr(os, "preadv", None)
    assert numbers(recording, running=True) == []


def test_a_call_that_is_shorter_than_calls_are_is_told(tmp_path: Path) -> None:
    short = w.record(1, bytes(48))
    least = w.call("cuInit", [], number=3)
    assert (len(short), len(least)) == (56, 64)
    found, problems = read(w.write(tmp_path, [w.chunk(init(1) + short + init(2) + least)]))
    assert (found, problems) == ([1, 2, 3], [f"{FIRST + len(init(1))}: a call record of 56 bytes"])


@pytest.mark.parametrize("count", range(5))
def test_what_a_call_says_that_it_holds_fits_it(tmp_path: Path, count: int) -> None:
    """Arguments, objects, outputs, pointers and bytes of inputs."""
    exact = w.call(
        "cuStreamWaitEvent",
        [1, 2, 3],
        number=1,
        objects=[(0, Kind.STREAM, 3, 1, 0x50, 0xC0)] * 2,
        outputs=[(2, Kind.EVENT, 1, 0xE0)] * 2,
        pointers=[0xD0] * 3,
        inputs={1: b"12345678"},
    )
    more = bytearray(exact)
    more[56 + count] += 1
    following = init(2)
    found, problems = read(w.write(tmp_path, [w.chunk(exact + bytes(more) + following)]))
    what = f"{FIRST + len(exact)}: a call record says that it holds more than its size"
    assert (found, problems) == ([1, 2], [what])


def test_the_calls_of_threads_are_counted_by_their_highest_number(tmp_path: Path) -> None:
    """A thread may go on with the chunk of one that ended."""
    records = [init(4), init(9), init(3, thread=2), init(5, thread=2), init(6, thread=3), init(2, thread=2)]
    recording = Recording(w.write(tmp_path, [w.chunk(b"".join(records))], calls=7))
    assert recording.calls_made == 7
    assert numbers(recording) == [4, 9, 3, 5, 6, 2]
    assert recording.calls_of_thread == {1: 9, 2: 5, 3: 6}
    assert recording.calls_made == 20


# Records in chunks.


def plain_records(chunk: bytes, start: int, held: int) -> tuple[list[int], int, str | None]:
    """Places of the records, where they end, and what is wrong."""
    places = []
    at = start
    while at + 8 <= held:
        (size,) = struct.unpack_from("<I", chunk, at)
        if size % 8 or at + size > held:
            cut_off = held < w.CHUNK_BYTES and at + size <= w.CHUNK_BYTES
            return places, at, "the file ends within a record" if cut_off else "a record does not fit its chunk"
        if not size:
            break
        places.append(at)
        at += size
    return places, at, None


def made_up(chance: random.Random) -> tuple[bytes, int, int]:
    """A chunk, where its first new record is, and how much of it is there."""
    chunk, start = bytearray(w.CHUNK_BYTES), chance.choice([64, 64, 128, 640])
    at = start
    while at < w.CHUNK_BYTES - 8 and chance.random() < 0.97:
        size = 8 * chance.choice([1, 2, 9, 10, 40, 300])
        for _ in range(chance.choice([1, 1, 2, 5, 70, 200])):
            if at + 8 > w.CHUNK_BYTES:
                break
            odd = chance.random() < 0.001
            struct.pack_into("<I", chunk, at, chance.choice([4, size + 4, 1 << 20, 0]) if odd else size)
            at += size
    return (
        bytes(chunk),
        start,
        chance.choice([w.CHUNK_BYTES] * 3 + [chance.randrange(w.CHUNK_BYTES), start, start + 7, start + 8]),
    )


def assert_plain(found: Records, words: np.ndarray, expected: list[tuple[list[int], int, str | None]]) -> None:
    assert found.counts == [len(places) for places, _, _ in expected]
    assert found.places.tolist() == [place // 8 for places, _, _ in expected for place in places]
    firsts = [int(words[row, place // 8]) for row, (places, _, _) in enumerate(expected) for place in places]
    assert found.heads.tolist() == firsts
    assert sizes_of(found.heads).tolist() == [first & 0xFFFF for first in firsts]
    assert found.ends.tolist() == [end for _, end, _ in expected]
    assert found.broken == [(row, what) for row, (_, _, what) in enumerate(expected) if what]


@pytest.mark.parametrize("seed", range(40))
def test_records_follow_one_another(seed: int) -> None:
    chance = random.Random(seed)
    made = [made_up(chance) for _ in range(chance.choice([1, 5]))]
    words = np.frombuffer(b"".join(chunk for chunk, _, _ in made), "<u8").reshape(len(made), -1)
    starts, held = (np.array([each[at] for each in made], np.int64) for at in (1, 2))
    found = whole_records(words, starts, held, [])
    assert_plain(found, words, [plain_records(*each) for each in made])


def repeating(chance: random.Random, cycle: list[int]) -> tuple[bytes, int, int]:
    """A chunk of records of these sizes, from any of them on, a few of which are others, or are not there."""
    sizes = cycle[chance.randrange(len(cycle)) :] + cycle * 1000
    for _ in range(chance.choice([0, 0, 0, 1, 2])):
        sizes[chance.randrange(300)] = chance.choice([16, 24, 4, 1 << 20, 0])
    chunk = bytearray(64)
    for size in sizes:
        if len(chunk) + max(size, 8) > w.CHUNK_BYTES:
            break
        chunk += struct.pack("<I", size).ljust(max(size, 8), b"\0")
    return bytes(chunk.ljust(w.CHUNK_BYTES, b"\0")), 64, w.CHUNK_BYTES


@pytest.mark.parametrize("seed", range(20))
def test_records_of_chunks_that_are_alike_follow_one_another(seed: int) -> None:
    chance = random.Random(seed)
    cycle = chance.choices([80, 96, 168, 400], k=chance.choice([1, 3, 5]))
    shapes: list[Shape] = []
    for _ in range(3):  # shapes of the chunks that were read before are known
        made = [repeating(chance, cycle) for _ in range(12)]
        words = np.frombuffer(b"".join(chunk for chunk, _, _ in made), "<u8").reshape(len(made), -1)
        found = whole_records(words, np.full(12, 64), np.full(12, w.CHUNK_BYTES), shapes)
        assert_plain(found, words, [plain_records(*each) for each in made])


def test_chunks_with_the_sizes_of_another_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has another size in its place 20; the fourth begins otherwise, and the fifth like it."""
    walked = []
    monkeypatch.setattr("cuvet.recording.chunks._walk", lambda *given: (walked.append(_walk(*given)), walked[-1])[1])
    sizes = [80, 96, 104] * 200
    every = [sizes, [*sizes[:20], 88, *sizes[21:]], sizes, [88, *sizes], [88, *sizes]]
    chunks = [b"".join(struct.pack("<I", size).ljust(size, b"\0") for size in each) for each in every]
    words = np.frombuffer(b"".join(bytes(64) + chunk.ljust(w.CHUNK_BYTES - 64, b"\0") for chunk in chunks), "<u8")
    whole, shapes = (np.full(5, 64), np.full(5, w.CHUNK_BYTES)), list[Shape]()
    found = whole_records(words.reshape(5, -1), *whole, shapes)
    assert (len(found.places), found.counts) == (sum(map(len, every)), list(map(len, every)))
    assert [len(places) for places, _ in walked] == [600, 580, 601]
    walked.clear()
    again = whole_records(words.reshape(5, -1), *whole, shapes)
    assert again.places.tolist() == found.places.tolist()
    assert [len(places) for places, _ in walked] == [580]


def test_not_more_shapes_of_chunks_are_remembered_than_some() -> None:
    cycles = [[8 * size] * 20 for size in range(2, 2 + 2 * MOST_SHAPES)]
    chunks = [b"".join(struct.pack("<I", size).ljust(size, b"\0") for size in cycle) for cycle in cycles]
    words = np.frombuffer(b"".join(bytes(64) + chunk.ljust(w.CHUNK_BYTES - 64, b"\0") for chunk in chunks), "<u8")
    shapes: list[Shape] = []
    for row in words.reshape(len(chunks), 1, -1):
        assert whole_records(row, np.full(1, 64), np.full(1, w.CHUNK_BYTES), shapes).counts == [20]
    assert [int(shape.heads[0]) for shape in shapes] == [cycle[0] for cycle in cycles[MOST_SHAPES:]]


def test_a_call_that_is_made_again_is_as_long_as_the_lower_half_of_its_size() -> None:
    """The upper half differs from record to record, also where a chunk is like another."""

    def chunk(odd: int) -> bytes:
        again = [struct.pack("<HBBHHQQ", 24, 1, number % 256, 16, odd, number, 0) for number in range(odd, odd + 100)]
        return (bytes(64) + struct.pack("<II", 80, 1).ljust(80, b"\0") + b"".join(again)).ljust(w.CHUNK_BYTES, b"\0")

    words = np.frombuffer(chunk(1) + chunk(7), "<u8").reshape(2, -1)
    shapes: list[Shape] = []
    for _ in range(2):
        found = whole_records(words, np.full(2, 64), np.full(2, w.CHUNK_BYTES), shapes)
        assert sizes_of(found.heads).tolist() == [80, *[24] * 100] * 2
        assert (found.counts, found.ends.tolist(), found.broken) == ([101] * 2, [64 + 80 + 2400] * 2, [])
    assert len(shapes) == 1
