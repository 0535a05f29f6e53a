"""What one recording, or several, make of a report: which findings are one, what is counted, and what is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from cuvet import CuvetError
from cuvet.analysis import Analysis, Meta, analyze
from cuvet.analysis.folding import MOST_OTHERS
from cuvet.analysis.unexplained import MOST_TOLD
from cuvet.catalog import Kind

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import CONTEXT, Thread, report, rules

FAILED = w.LIFECYCLE | w.FAILED


def stale(t: Thread, **fields: object) -> bytes:
    return t.setup() + t.create() + t.destroy() + t.synchronize(alive=False, status=400, **fields)


def several(directory: Path, *recordings: bytes) -> list[Path]:
    folders = [directory / str(number) for number in range(len(recordings))]
    for folder, records in zip(folders, recordings, strict=True):
        folder.mkdir()
        w.write(folder, [w.chunk(records)])
    return folders


def test_findings_without_stacks_in_several_recordings_are_not_one(tmp_path: Path) -> None:
    """Nothing shows that they are of the same place."""
    assert len(analyze(several(tmp_path, stale(Thread()), stale(Thread()))).findings) == 2


def test_findings_without_stacks_in_several_processes_are_not_one(tmp_path: Path) -> None:
    for pid in (1000, 2000):
        w.write(tmp_path, [w.chunk(stale(Thread()))], pid=pid, start=pid)
    assert [each.processes for each in analyze([tmp_path]).findings] == [1, 1]


def test_failures_without_stacks_in_several_recordings_are_not_one(tmp_path: Path) -> None:
    failures = [Thread() for _ in range(2)]
    records = [t.setup() + t.call("cuCtxGetLimit", 1, 0, status=999, flags=w.FAILED) for t in failures]
    assert [each.count for each in analyze(several(tmp_path, *records)).unexplained] == [1, 1]


def test_of_what_else_a_rule_says_about_a_call_a_number_is_told(tmp_path: Path) -> None:
    t = Thread()
    events = [0x6000 + 0x100 * number for number in range(MOST_OTHERS + 3)]
    records = t.setup()
    for event in events:
        records += t.call("cuEventCreate", 1, 0, outputs=[(0, Kind.EVENT, 1, event)])
        records += t.call("cuEventDestroy", event, objects=[(0, Kind.EVENT, 3, 1, event, CONTEXT)])
    for _ in range(2):
        for event in events:
            records += t.call("cuEventSynchronize", event, status=400, flags=FAILED, stack=9)
    (found,) = report(tmp_path, records).findings
    assert found.repeats == 2 * len(events)
    assert [each for each in found.because if each.startswith("likewise")] == []


def test_of_failures_at_many_places_a_number_is_listed(tmp_path: Path) -> None:
    t = Thread()
    lines = range(1, MOST_TOLD + 3)
    stacks = w.python_code(1, "/home/me/train.py", "main") + b"".join(w.stack(line, (), [(1, line)]) for line in lines)
    failed = (t.call("cuCtxGetLimit", 1, 0, status=999, flags=w.FAILED, stack=line) for line in lines)
    found = report(tmp_path, stacks + t.setup() + b"".join(failed))
    assert len(found.unexplained) == MOST_TOLD == 20
    assert found.stats["unexplained_failures"] == len(lines)


@pytest.mark.parametrize("signal", [9, 15])
def test_a_process_that_was_killed_died_of_no_call(tmp_path: Path, signal: int) -> None:
    t = Thread()
    found = report(tmp_path, t.setup() + t.create() + t.synchronize(status=w.PENDING), end=0, signal=signal)
    assert (rules(found), found.not_checked) == ([], ())


def test_a_fault_of_another_thread_is_not_of_the_call_that_waits(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.synchronize(status=w.PENDING) + w.fault(11, 2, ticks=t.at + 5)
    found = report(tmp_path, records, end=0, signal=11)
    assert (rules(found), found.not_checked) == ([], ())


def test_how_one_process_died_says_nothing_about_another(tmp_path: Path) -> None:
    one, two = Thread(), Thread(at=20000)
    w.write(tmp_path, [w.chunk(one.setup())], pid=1000, start=1, end=0)
    w.write(
        tmp_path, [w.chunk(two.setup() + two.create() + two.synchronize(status=w.PENDING))], pid=2000, start=2, end=0
    )
    assert Analysis(tmp_path).report(Meta(pid=1000, signal=11)).not_checked == ()


def test_processes_are_told_by_their_start_and_not_by_their_number(tmp_path: Path) -> None:
    for pid, start in ((3000, 1), (1000, 2), (2000, 10)):
        w.write(tmp_path, [w.chunk(stale(Thread()))], pid=pid, start=start)
    assert [each.site.process for each in analyze([tmp_path]).findings] == [3000, 1000, 2000]


def test_a_recording_that_lost_records_claims_nothing_that_they_could_show(tmp_path: Path) -> None:
    """A handle that was never made may have been, by a call that is missing."""

    def never_made(directory: Path, **fields: int) -> list[str]:
        t = Thread()
        directory.mkdir()
        used = t.setup() + t.call("cudnnSetStream", 0x7000, 0, status=3000, flags=FAILED)
        w.write(directory, [w.chunk(w.every_entry_point()), w.chunk(used)], **fields)
        return rules(analyze([directory]))

    assert never_made(tmp_path / "whole", flags=2) == ["library-handle-never-created"]
    assert never_made(tmp_path / "part", flags=2, dropped=1) == []
    assert never_made(tmp_path / "lifecycle", flags=0) == []


def test_without_the_number_of_gpus_there_is_one(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.call("cuDeviceGet", 1, 1, status=101, flags=w.FAILED)
    assert rules(report(tmp_path, records, gpus=0)) == ["device-ordinal-out-of-range"]


def test_counts_are_named_in_the_plural(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.call("cuLibraryLoadData", 1, 2, outputs=[(0, Kind.CULIBRARY, 1, 0xE000)])
    stats = report(tmp_path, records + t.create()).stats
    assert (stats["streams"], stats["libraries"], stats["contexts"]) == (1, 1, 1)


def test_memory_of_a_gpu_whose_size_is_not_known_has_no_capacity(tmp_path: Path) -> None:
    t = Thread()
    w.write(tmp_path, [w.chunk(t.setup() + t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)]))])
    (use,) = Analysis(tmp_path).report(Meta(), memory=True).memory or ()
    assert (use.memory, use.device, use.capacity, use.bytes) == ("device", 0, None, 4096)
    w.write(
        tmp_path,
        [w.chunk(Thread().setup() + t.call("cuMemAlloc", 1, 64, outputs=[(0, Kind.MEMORY, 1, 0xD000)]))],
        gpu=[(1 << 30, 90)],
    )
    (use,) = Analysis(tmp_path).report(Meta(), memory=True).memory or ()
    assert use.capacity == 1 << 30


@pytest.mark.parametrize(("name", "what"), [("none", "no such directory"), ("file", "not a directory")])
def test_what_is_no_directory_is_a_mistake(tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CuvetError, match=f"{name}: {what}"):
        analyze([tmp_path / name])


def test_findings_are_ignored_only_where_that_is_asked(tmp_path: Path) -> None:
    w.write(tmp_path, [w.chunk(stale(Thread()))])
    (tmp_path / "meta.json").write_bytes(msgspec.json.encode(Meta(pid=1000)))
    assert rules(analyze([tmp_path])) == ["stream-use-after-destroy"]
    assert rules(Analysis(tmp_path).report(Meta())) == ["stream-use-after-destroy"]


def test_a_library_that_answers_4_has_not_shut_the_driver_down(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.call("cudnnCreate", 1, status=4, flags=FAILED)
    records += t.create() + t.destroy() + t.synchronize(alive=False, status=400)
    w.write(tmp_path, [w.chunk(w.every_entry_point()), w.chunk(records)])
    assert "stream-use-after-destroy" in rules(analyze([tmp_path]))


def test_in_a_lost_context_another_failure_is_still_judged(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.destroy() + t.call("cuCtxSynchronize", status=700, flags=FAILED)
    records += t.synchronize(alive=False, status=400)
    assert "stream-use-after-destroy" in rules(report(tmp_path, records))


def test_the_calls_of_a_child_wait_until_its_parent_is_followed_to_the_fork(tmp_path: Path) -> None:
    parent, child = Thread(1), Thread(7, at=9000)
    records = w.note(3, "") + child.call("cuStreamCreate", 1, 0, status=3, flags=FAILED, context=0)
    records += child.call("cuDeviceGetCount", 1, at=1 << 40, context=0)
    w.write(tmp_path, [w.chunk(records)], pid=2000, parent=1000, start=2, end=0)
    analysis = Analysis(tmp_path)
    assert analysis.advance(running=True) == []
    past = parent.setup() + w.fork(2000, ticks=5000)
    w.write(tmp_path, [w.chunk(past + parent.call("cuCtxSynchronize", at=1 << 40))], pid=1000, start=1, end=0)
    assert analysis.advance(running=True) == []
    assert analysis.advance(running=True) == []
    found = analysis.report(Meta()).findings
    assert [(each.name, each.site.process) for each in found] == [("device-use-after-fork", 2000)]


@pytest.mark.parametrize(
    ("caller", "status", "named"),
    [
        ("/usr/lib/libcuda.so.1", 800, ["stream-call-in-host-function"]),
        ("/home/me/libother.so", 800, []),
        ("/usr/lib/libcuda.so.1", 999, []),
    ],
)
def test_a_call_that_is_refused_in_a_host_function(tmp_path: Path, caller: str, status: int, named: list[str]) -> None:
    """The driver calls the function: it is on the stack."""
    t = Thread()
    modules = w.module(0x400000, 0x500000, 0x400000, "/home/me/train") + w.module(0x700000, 0x800000, 0x700000, caller)
    records = modules + w.stack(1, [0x400100, 0x700100, 0x700200]) + t.setup() + t.create()
    records += t.synchronize(status=status, stack=1)
    assert rules(report(tmp_path, records, executable="/home/me/train")) == named


def test_another_failure_on_the_emulated_device_is_not_for_want_of_the_call(tmp_path: Path) -> None:
    t = Thread()
    failed = t.setup() + t.call("cuCoredumpGetAttribute", 1, 0, 0, status=999, flags=w.FAILED)
    w.write(tmp_path, [w.chunk(failed)])
    (failure,) = Analysis(tmp_path).report(Meta(pid=1000, device="emulated")).unexplained
    assert (failure.status, failure.reason) == (999, "")
