"""A recording that is shortened while its program runs says the same as before."""

from __future__ import annotations

import os
import random
import shutil
import struct
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet.analysis import Analysis, Meta, process, shortening
from cuvet.analysis.shortening import shorten
from cuvet.catalog import Kind
from cuvet.recording import Recording, ordering, reader
from cuvet.recording.layout import CHUNK_BYTES, SHORTENED

sys.path.insert(0, str(Path(__file__).parent))
import test_repeats
import writing as w
from test_repeats import MAKES, STEPS, Program, at_random

EVER = 1 << 63
FEW = 6 * CHUNK_BYTES


def report(directory: Path) -> dict[str, Any]:
    """But for the hint that says how many calls were left out."""
    found = Analysis(directory).report(Meta(pid=1000), leaks=True, memory=True)
    assert found.stats.get("internal_errors", 0) == 0, found.not_checked
    told: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(found, hints=()))
    return told


def on_disk(directory: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in directory.iterdir())


def shorten_much(path: Path) -> None:
    """By two thirds, if it may be."""
    shorten(path, EVER, path.stat().st_size * 2 // 3)


def kept_of(path: Path) -> Path:
    return path.with_suffix(".kept")


def churning(steps: int, seed: int = 1, made: Program | None = None) -> Program:
    """Makes and ends objects; the first ones stay, and one was used by mistake."""
    made = made or Program()
    made.make("stream", 6)
    made.end("stream", 6)
    made.stale(0)
    for slot in (7, 8, 9):
        made.make("memory", slot)
    chosen = random.Random(seed)
    for _ in range(steps):
        getattr(made, chosen.choice(["make", "end"]))(
            chosen.choice(["event", "memory"]), chosen.randrange(5), chosen.randint(1, 2)
        )
    made.make("stream", 5)
    return made


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.integers(2, 9),
    st.fixed_dictionaries(
        {name: st.sampled_from([0, most]) for name, most in STEPS.items() if name not in ("make", "end")}
    ),
    st.lists(st.sampled_from(sorted(MAKES)), min_size=1, unique=True),
    st.booleans(),
    st.integers(1, 2),
)
def test_the_report_is_the_same(
    seed: int, slots: int, often: dict[str, int], kinds: list[str], complete: bool, contexts: int
) -> None:
    made = at_random(seed, 1500, slots, {"make": 8, "end": 8, **often}, kinds, contexts)
    for slot in range(3):
        made.stale(slot)
        made.make("stream", 20 + slot)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", 3)
        patch.setattr(ordering, "FEWEST", 20)
        patch.setattr(shortening, "LEAST_GAIN", -9)
        path = made.write(Path(folder), flags=2 if complete else 0, gpus=2)
        before = report(Path(folder))
        for until in (50_000, 90_000, EVER):
            shorten(path, until, FEW)
            assert report(Path(folder)) == before


def test_what_it_takes_on_disk_is_bounded_however_long_the_program_runs(tmp_path: Path) -> None:
    sizes = []
    for steps in (12_000, 24_000):
        (folder := tmp_path / str(steps)).mkdir()
        path = churning(steps).write(folder)
        before, most = report(folder), 24 * CHUNK_BYTES
        whole = on_disk(folder)
        while on_disk(folder) > most:
            size = on_disk(folder)
            shorten(path, EVER, most)
            assert on_disk(folder) < size
        assert report(folder) == before
        assert whole > 2 * most
        sizes.append(kept_of(path).stat().st_size)
    assert sizes[1] <= 1.2 * sizes[0]


def training(made: Program, steps: int) -> None:
    """Each makes an event and ends it, and launches kernels with a number that is another each time."""
    for _ in range(steps):
        made.make("event", 0)
        for slot in range(20):
            made.launch(slot)
        made.record(0)
        made.wait(0)
        made.wait_for(0)
        made.end("event", 0)


def test_what_is_kept_of_a_loop_does_not_grow_with_the_number_of_shortenings(tmp_path: Path) -> None:
    made = Program()
    made.make("memory", 0)
    training(made, 1500)
    made.stale(0)
    path = made.write(tmp_path, flags=4)
    before, sizes = report(tmp_path), []
    for part in range(1, 7):
        shorten(path, made.now * part // 6, FEW)
        sizes.append(kept_of(path).stat().st_size)
    assert report(tmp_path) == before
    assert max(sizes) < 1.2 * sizes[0]


def shuffling(made: Program, steps: int, blocks: int = 8) -> None:
    """Each step takes the same blocks of memory, and at times they change places. The host waits for each."""
    chosen, places = random.Random(1), [*range(blocks)]
    for step in range(steps):
        if step % 40 == 0:
            chosen.shuffle(places)
        for slot in places:
            made.fill(slot, 0)
        made.rest()


def by_place(report: dict[str, Any]) -> dict[str, Any]:
    """Of earlier calls at one place that did the same, any may be named."""
    for finding in report["findings"]:
        for earlier in finding["earlier"]:
            del earlier["site"]["call"], earlier["site"]["time_ns"]
    return report


RESTING = {"record": 4, "wait": 4, "wait_for": 1, "launch": 1}


def test_what_is_kept_of_a_loop_whose_memory_changes_places_does_not_grow(tmp_path: Path) -> None:
    made = Program()
    for slot in range(8):
        made.make("memory", slot)
    shuffling(made, 4000)
    made.stale(0)
    made.fill(0, 0)
    made.fill(0, 1)
    path = made.write(tmp_path, flags=4)
    before, sizes = report(tmp_path), []
    for part in range(1, 7):
        shorten(path, made.now * part // 6, FEW)
        sizes.append(kept_of(path).stat().st_size)
    assert report(tmp_path) == before
    assert {finding["rule"] for finding in before["findings"]} >= {"CV941"}
    assert max(sizes) < 1.2 * sizes[0]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.fixed_dictionaries({name: st.sampled_from([0, most]) for name, most in RESTING.items()}),
    st.sampled_from([2, 4]),
)
def test_the_report_of_a_program_that_comes_to_rest_is_the_same(seed: int, often: dict[str, int], flags: int) -> None:
    chosen, made = random.Random(seed), Program()
    for slot in range(3):
        made.make("memory", slot)
        made.make("event", slot)
    for _ in range(1500):
        for name in chosen.choices([*often, "fill"], [*often.values(), 8], k=chosen.randrange(5)):
            getattr(made, name)(chosen.randrange(3), *[chosen.randrange(2)] * (name == "fill"))
        if chosen.randrange(200) == 0:
            made.stale(0)
            made.make("stream", 6)
            made.end("stream", 6)
        made.rest()
    made.make("event", 7)
    made.stale(0)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", 3)
        patch.setattr(shortening, "LEAST_GAIN", -9)
        patch.setattr(process, "VALUES_A_CALL", 1 << 10)
        path = made.write(Path(folder), flags=flags)
        before = by_place(report(Path(folder)))
        for until in (made.now // 4, made.now // 2, EVER):
            shorten(path, until, CHUNK_BYTES)
            assert by_place(report(Path(folder))) == before


def test_what_was_left_out_is_told(tmp_path: Path) -> None:
    path = churning(4000).write(tmp_path)
    shorten_much(path)
    (hint,) = Analysis(tmp_path).report(Meta(pid=1000), leaks=True).hints
    left_out = Recording(path).left_out_so_far()
    assert set(left_out) == {1, 2}
    count = sum(each.calls for each in left_out.values())
    assert 1000 < count < 4000
    assert hint.startswith(
        f"{count:,} calls of process 1000 from 0.000 s to 0.000 s after its first call (threads 1, 2) "
    )


def test_chunks_that_are_still_written_stay(tmp_path: Path) -> None:
    path = churning(4000).write(tmp_path)
    untouched = path.read_bytes()
    shorten(path, 0, FEW)
    assert path.read_bytes() == untouched
    assert not kept_of(path).exists()
    shorten(path, 100_000, FEW)
    now = path.read_bytes()
    assert now[4096 + CHUNK_BYTES :][: 6 * CHUNK_BYTES] == bytes(6 * CHUNK_BYTES)
    assert now[4096:][:CHUNK_BYTES] == untouched[4096:][:CHUNK_BYTES]
    assert now[4096 + 7 * CHUNK_BYTES :] == untouched[4096 + 7 * CHUNK_BYTES :]


def needed(objects: int) -> Program:
    """Makes objects that stay."""
    made = Program()
    for slot in range(objects):
        made.make("pooled", 100 + slot)
    return made


@pytest.fixture
def full_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is gained by packing what stays."""
    monkeypatch.setattr(test_repeats, "CHUNK", 480)


@pytest.mark.usefixtures("full_chunks")
def test_a_recording_that_would_not_become_smaller_stays_as_it_is(tmp_path: Path) -> None:
    path = needed(6000).write(tmp_path)
    untouched, before = path.read_bytes(), report(tmp_path)
    assert len(untouched) > FEW
    assert not shorten(path, EVER, FEW)
    assert path.read_bytes() == untouched
    assert list(tmp_path.glob("*.kept*")) == []
    assert report(tmp_path) == before


@pytest.mark.usefixtures("full_chunks")
def test_chunks_of_which_little_is_needed_are_freed_with_more_of_them(tmp_path: Path) -> None:
    """The oldest need nearly all of their calls, and those behind them few."""
    path = churning(12_000, made=needed(3000)).write(tmp_path)
    before = report(tmp_path)
    assert not shorten(path, EVER, FEW)
    assert shorten(path, EVER, FEW, 4 * FEW)
    assert int(Recording(path).header["version"]) == SHORTENED
    assert report(tmp_path) == before


def test_it_can_be_read_at_any_instant(tmp_path: Path) -> None:
    """Whoever shortens it may be killed when the new file is there and the chunks are not freed, or some are."""
    path = churning(4000).write(tmp_path)
    before, untouched = report(tmp_path), path.read_bytes()
    shorten_much(path)
    shortened = path.read_bytes()
    for version in (2, SHORTENED):
        for freed in (0, 4096 + 5 * CHUNK_BYTES):
            path.write_bytes(shortened[:freed] + untouched[freed:])
            with path.open("rb+") as file:
                file.seek(8)
                file.write(struct.pack("<I", version))
            assert report(tmp_path) == before
    shorten_much(path)
    assert report(tmp_path) == before


def test_what_is_left_of_a_shortening_that_was_killed_is_passed_over(tmp_path: Path) -> None:
    path = churning(1000).write(tmp_path)
    before = report(tmp_path)
    path.with_suffix(".kept0").write_bytes(b"half")
    assert report(tmp_path) == before
    shorten_much(path)
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".cuvet", ".kept"]
    assert kept_of(path).stat().st_mode & 0o777 == 0o600


def test_without_its_other_half_a_recording_says_so(tmp_path: Path) -> None:
    path = churning(4000).write(tmp_path)
    shorten_much(path)
    kept_of(path).unlink()
    said = report(tmp_path)["not_checked"]
    assert f"{path.name}: byte 0: it was shortened, and 1000-1.kept, which has the rest, is not there" in said[0]


@pytest.mark.parametrize("data", [b"", b"CUVETREC", w.header(pid=7)])
def test_another_file_in_its_place_is_said(tmp_path: Path, data: bytes) -> None:
    path = churning(1000).write(tmp_path)
    kept_of(path).write_bytes(data)
    assert "the rest of it could not be read" in report(tmp_path)["not_checked"][0]


def test_a_child_that_was_forked_long_ago_has_its_parents_model(tmp_path: Path) -> None:
    made = churning(2000)
    made.records[1000:1000] = [(1, w.fork(2000, ticks=101_050))]
    path = made.write(tmp_path)
    child = w.note(3, "") + w.call("cuStreamCreate", [1, 0], status=3, flags=w.LIFECYCLE | w.FAILED, context=0)
    w.write(tmp_path, [w.chunk(child)], pid=2000, parent=1000, start=2)
    before = report(tmp_path)
    assert "device-use-after-fork" in [each["name"] for each in before["findings"]]
    shorten_much(path)
    assert report(tmp_path) == before


def test_a_chunk_in_which_a_child_may_write_keeps_its_room(tmp_path: Path) -> None:
    made = churning(2000)
    made.records[500:500] = [(1, w.fork(0, ticks=51_050))]
    path = made.write(tmp_path)
    shorten_much(path)
    chunks = [path.read_bytes()[4096 + at * CHUNK_BYTES :][:16] for at in range(path.stat().st_size // CHUNK_BYTES)]
    kept = [at for at, each in enumerate(chunks) if any(each)]
    assert kept == [0, 5, 9, 10, 11]


def test_more_chunks_than_can_be_looked_at_may_have_been_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a day is terabytes long, and all but its end is a hole."""
    count = 1 << 26
    records = b"".join(record for _, record in churning(10).records)
    path = tmp_path / "1000-1.cuvet"
    with path.open("wb") as file:
        file.write(w.header(chunks=count + 1, version=SHORTENED))
        os.truncate(path, 4096 + count * CHUNK_BYTES)
    freed = w.record(19, struct.pack("<QQ", 0, count))
    kept_of(path).write_bytes(w.header(chunks=1) + w.chunk(freed + records))
    reads: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *arguments: reads.append(0) or pread(*arguments))
    names = [each["name"] for each in report(tmp_path)["findings"]]
    assert "stream-use-after-destroy" in names
    assert len(reads) < 50


def test_objects_that_were_left_out_of_no_kind_are_passed_over(tmp_path: Path) -> None:
    t = churning(10)
    path = t.write(tmp_path)
    before = report(tmp_path)
    told = b"".join(w.record(20, struct.pack("<QIIQ", 0, kind, 0, 5)) for kind in (max(Kind) + 1, 0xFFFFFFFF))
    kept_of(path).write_bytes(w.header(chunks=1) + w.chunk(told))
    assert report(tmp_path) == before


def test_what_was_copied_is_no_longer_than_what_is_there(tmp_path: Path) -> None:
    """``cp`` and ``tar -S`` keep holes."""
    path = churning(4000).write(tmp_path)
    shorten_much(path)
    copy = tmp_path / "copy"
    copy.mkdir()
    for each in (path, kept_of(path)):
        shutil.copy2(each, copy)
    assert report(copy) == report(tmp_path)
