"""What is said once a context is lost, and what several recordings say together."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from cuvet.analysis import Analysis, Meta, analyze
from cuvet.analysis.crashes import Crashes
from cuvet.catalog import Kind
from cuvet.recording import Recording

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread, report, rules

FAILED = w.LIFECYCLE | w.FAILED


@pytest.mark.parametrize(("status", "told"), [(700, False), (719, True), (400, True)])
def test_calls_that_fail_with_their_context_are_not_blamed(tmp_path: Path, status: int, told: bool) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.destroy() + t.call("cuCtxSynchronize", status=700, flags=FAILED)
    found = rules(report(tmp_path, records + t.synchronize(alive=False, status=status)))
    assert ("stream-use-after-destroy" in found) is told


def test_the_memory_of_several_recordings_is_listed(tmp_path: Path) -> None:
    folders = []
    for pid in (1000, 2000):
        t = Thread()
        records = t.setup() + t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)])
        folders.append(tmp_path / str(pid))
        folders[-1].mkdir()
        w.write(folders[-1], [w.chunk(records)], pid=pid)
        (folders[-1] / "meta.json").write_bytes(msgspec.json.encode(Meta(pid=pid)))
    found = analyze(folders, memory=True)
    assert [(each.process, each.bytes) for each in found.memory or ()] == [(1000, 4096), (2000, 4096)]
    assert analyze(folders).memory is None
    assert analyze([folders[0], folders[0]], memory=True).stats["processes"] == 1


def test_the_report_is_of_the_program_that_failed(tmp_path: Path) -> None:
    folders = []
    metas = [Meta(pid=1, exit_code=0), Meta(pid=2, exit_code=3), Meta(pid=3, exit_code=0, signal=11)]
    for meta in metas:
        folders.append(tmp_path / str(meta.pid))
        folders[-1].mkdir()
        w.write(folders[-1], [w.chunk(Thread().setup())], pid=meta.pid or 0)
        (folders[-1] / "meta.json").write_bytes(msgspec.json.encode(meta))
    assert analyze(folders).program.exit_code == 3
    assert analyze([folders[0], folders[2], folders[1]]).program.signal == 11
    assert analyze(folders[:1] * 2).program.exit_code == 0
    assert analyze(folders).stats["processes"] == 3


def test_the_fault_in_a_call_is_the_first_since_it_was_entered(tmp_path: Path) -> None:
    faults = [(11, 1, 50), (11, 1, 200), (6, 1, 300), (10, 1, 150), (7, 2, 120), (11, 3, 100)]
    path = w.write(tmp_path, [w.chunk(b"".join(w.fault(number, thread, ticks=at) for number, thread, at in faults))])
    recording = Recording(path)
    list(recording.poll())
    crashes = Crashes(recording)
    found = [
        crashes.in_call(thread, since) for thread, since in ((1, 100), (1, 201), (1, 301), (2, 120), (2, 121), (4, 0))
    ]
    assert [each and each.ticks for each in found] == [200, 300, None, 120, None, None]
    assert [fault.ticks for fault in crashes.outside_calls()] == [50, 100]  # 10 is a signal that programs use


def test_faults_are_looked_at_as_they_come(tmp_path: Path) -> None:
    recording = Recording(w.write(tmp_path, [w.chunk(w.fault(11, 1, ticks=100))]))
    list(recording.poll(running=True))
    crashes = Crashes(recording)
    assert crashes.in_call(2, 0) is None
    w.write(tmp_path, [w.chunk(w.fault(11, 1, ticks=100) + w.fault(11, 2, ticks=90))])
    list(recording.poll())
    first, second = crashes.in_call(1, 0), crashes.in_call(2, 0)
    assert (first and first.ticks, second and second.ticks) == (100, 90)
    assert crashes.outside_calls() == []


def test_processes_are_listed_by_their_start(tmp_path: Path) -> None:
    for pid, start in ((5, 30), (6, 4), (7, 200)):
        w.write(tmp_path, [w.chunk(Thread().setup())], pid=pid, start=start)
    odd = tmp_path / "other-x.cuvet"
    odd.write_bytes(w.recording([], pid=8))
    (tmp_path / "9-1.cuvet").write_bytes(b"damaged" * 1000)
    analysis = Analysis(tmp_path)
    analysis.advance(running=True)
    assert analysis.unreadable == {}  # its header may not be written yet
    assert [process.recording.pid for process in analysis.processes()] == [8, 6, 5, 7]
    found = analysis.report(Meta(pid=5))
    assert [*analysis.unreadable] == [tmp_path / "9-1.cuvet"]
    assert found.not_checked == (f"{tmp_path / '9-1.cuvet'}: byte 0: not a cuvet recording",)
    assert analysis.still_running() == []
