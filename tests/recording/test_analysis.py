"""Recordings made by hand, judged."""

from __future__ import annotations

import errno
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet import CuvetError, catalog
from cuvet.analysis import Analysis, Meta, ProcessAnalysis, analyze
from cuvet.analysis.crashes import Crashes
from cuvet.analysis.folding import Findings
from cuvet.catalog import Kind
from cuvet.findings import Report
from cuvet.recording import reader
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.ordering import Ordering
from cuvet.recording.reader import Recording
from cuvet.recording.records import Fault

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

CONTEXT, STREAM = 0xC000, 0x5000


class Thread:
    """Numbers the calls of one thread; each takes 10 ticks and the next begins 90 later, unless ``at`` says otherwise."""

    def __init__(self, number: int = 1, at: int = 1000) -> None:
        self.number, self.at, self.calls = number, at, 0

    def call(self, name: str, *args: int, at: int | None = None, **fields: object) -> bytes:
        self.at = at if at is not None else self.at + 100
        self.calls += 1
        return w.call(
            name, args, thread=self.number, number=self.calls, entered=self.at, **{"context": CONTEXT, **fields}
        )  # type: ignore[arg-type]

    def setup(self) -> bytes:
        return (
            self.call("cuInit", 0, context=0)
            + self.call("cuDevicePrimaryCtxRetain", 1, 0, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
            + self.call("cuCtxSetCurrent", CONTEXT, context=0, objects=[(0, Kind.CONTEXT, 3, 1, CONTEXT, 0)])
        )

    def create(self, handle: int = STREAM, generation: int = 1, **fields: object) -> bytes:
        return self.call("cuStreamCreate", 1, 0, outputs=[(0, Kind.STREAM, generation, handle)], **fields)

    def destroy(self, handle: int = STREAM, generation: int = 1, **fields: object) -> bytes:
        return self.call(
            "cuStreamDestroy", handle, objects=[(0, Kind.STREAM, 3, generation, handle, CONTEXT)], **fields
        )

    def synchronize(self, handle: int = STREAM, generation: int = 1, *, alive: bool = True, **fields: object) -> bytes:
        objects = [(0, Kind.STREAM, 2 + alive, generation, handle, CONTEXT)]
        flags = w.ORDER if alive else w.ORDER | w.SUSPECT
        return self.call("cuStreamSynchronize", handle, objects=objects, flags=flags, **fields)


def report(directory: Path, *chunks: bytes, signal: int | None = None, **fields: object) -> Report:
    w.write(directory, [w.chunk(records, thread=i) for i, records in enumerate(chunks, 1)], **fields)
    return Analysis(directory).report(Meta(pid=1000, signal=signal))


def rules(found: Report) -> list[str]:
    assert found.stats.get("internal_errors", 0) == 0, found.not_checked
    return [finding.name for finding in found.findings]


def test_use_after_destroy_has_its_sites_and_its_signal(tmp_path: Path) -> None:
    t = Thread()
    stacks = w.python_code(1, "/home/me/train.py", "main") + w.stack(1, (), [(1, 10)]) + w.stack(2, (), [(1, 20)])
    records = stacks + w.stack(3, (), [(1, 30)]) + t.setup() + t.create(stack=1) + t.destroy(stack=2)
    records += t.synchronize(alive=False, status=w.PENDING, stack=3) + w.fault(11, 1, ticks=t.at + 5)
    found = report(tmp_path, records, end=0)
    assert rules(found) == ["stream-use-after-destroy"]
    (finding,) = found.findings
    (stream,) = finding.objects
    assert finding.signal == 11
    assert finding.status is None
    assert finding.site.frames[0].line == 30
    assert stream.created is not None
    assert stream.destroyed is not None
    assert (stream.created.frames[0].line, stream.destroyed.frames[0].line) == (10, 20)
    assert found.stats["calls"] == t.calls


def test_a_correct_recording_has_no_finding(tmp_path: Path) -> None:
    t = Thread()
    found = report(tmp_path, t.setup() + t.create() + t.synchronize() + t.destroy())
    assert rules(found) == []
    assert found.not_checked == ()


def test_repeats_at_one_place_are_one_finding(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.destroy()
    records += b"".join(t.synchronize(alive=False, status=400, stack=9) for _ in range(5))
    found = report(tmp_path, records)
    assert [finding.repeats for finding in found.findings] == [5]


def test_a_call_that_breaks_a_rule_twice_counts_once(tmp_path: Path) -> None:
    t, to, source = Thread(), 0xA000_0000, 0xB000_0000
    records = t.setup()
    for memory in (to, source):
        records += t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, memory)]) + t.call("cuMemFree", memory)
    copies = (t.call("cuMemcpyDtoD", to, source, 64, status=1, flags=w.FAILED, stack=9) for _ in range(3))
    (found,) = report(tmp_path, records + b"".join(copies)).findings
    assert (found.name, found.repeats) == ("memory-use-after-free", 3)
    assert "device-memory#1" in found.message
    assert [each for each in found.because if each.startswith("likewise:")] == [
        "likewise: copy of 64 bytes from device-memory#2, which was freed before this call"
    ]


@pytest.mark.parametrize(("line", "expected"), [(10, [(10, 3)]), (11, [(5, 2), (5, 1)])])
def test_the_same_finding_in_several_processes_is_one(
    tmp_path: Path, line: int, expected: list[tuple[int, int]]
) -> None:
    for pid, at in ((1000, 10), (2000, 10), (3000, line)):
        t = Thread()
        records = w.python_code(1, "/home/me/worker.py", "work") + w.stack(9, (), [(1, at)]) + t.setup()
        records += t.create() + t.destroy()
        times = 5 if pid == 3000 else 3 if pid == 1000 else 2
        records += b"".join(t.synchronize(alive=False, status=400, stack=9) for _ in range(times))
        w.write(tmp_path, [w.chunk(records)], pid=pid, start=pid)
    found = Analysis(tmp_path).report(Meta(pid=1000)).findings
    assert [(finding.repeats, finding.processes) for finding in found] == expected


def test_the_same_finding_in_several_recordings_is_one(tmp_path: Path) -> None:
    for rank, at in ((0, 10), (1, 10), (2, 11)):
        t = Thread()
        records = w.python_code(1, "/home/me/worker.py", "work") + w.stack(9, (), [(1, at)]) + t.setup()
        records += t.create() + t.destroy() + t.synchronize(alive=False, status=400, stack=9)
        (tmp_path / str(rank)).mkdir()
        report(tmp_path / str(rank), records)
    found = analyze([tmp_path / str(rank) for rank in (0, 1, 2)])
    assert [(each.repeats, each.processes, each.site.frames[0].line) for each in found.findings] == [
        (2, 2, 10),
        (1, 1, 11),
    ]
    assert found.stats["processes"] == 3


def test_a_recording_that_is_named_twice_is_counted_once(tmp_path: Path) -> None:
    report(tmp_path, Thread().setup())
    (tmp_path / "link").symlink_to(tmp_path)
    assert analyze([tmp_path, tmp_path / "link", tmp_path / "."]) == analyze([tmp_path])


def test_of_several_recordings_the_program_that_failed_is_told(tmp_path: Path) -> None:
    for name, code in (("first", 0), ("second", 3)):
        (tmp_path / name).mkdir()
        report(tmp_path / name, Thread().setup())
        (tmp_path / name / "meta.json").write_bytes(msgspec.json.encode(Meta(pid=1000, exit_code=code)))
    assert analyze([tmp_path / "first", tmp_path / "second"]).program.exit_code == 3


def test_of_several_recordings_the_program_that_died_is_told(tmp_path: Path) -> None:
    for name, signal in (("first", None), ("second", 11)):
        (tmp_path / name).mkdir()
        report(tmp_path / name, Thread().setup())
        (tmp_path / name / "meta.json").write_bytes(msgspec.json.encode(Meta(pid=1000, signal=signal)))
    assert analyze([tmp_path / "first", tmp_path / "second"]).program.signal == 11


def test_a_rule_that_the_driver_contradicts_is_dropped_and_counted(tmp_path: Path) -> None:
    def destroy_nothing(status: int) -> bytes:
        t = Thread()
        return t.setup() + t.call("cuEventDestroy", 0, status=status, flags=w.LIFECYCLE)

    assert rules(report(tmp_path, destroy_nothing(400))) == ["event-null-handle"]
    (other := tmp_path / "other").mkdir()
    contradicted = report(other, destroy_nothing(0))
    assert rules(contradicted) == []
    assert contradicted.stats["contradicted"] == 1


def test_a_rule_about_failures_is_silent_when_the_call_succeeds(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.call("cuMemHostRegister", 0x7F0000001000, 0, 0, status=0, flags=w.LIFECYCLE)
    found = report(tmp_path, records)
    assert rules(found) == []
    assert "contradicted" not in found.stats


def test_a_creation_counts_from_its_return(tmp_path: Path) -> None:
    """The handle of a stream is re-issued by a creation that entered before the stream was destroyed by another thread."""
    one, two = Thread(1), Thread(2, at=3000)
    first = one.setup() + one.create(at=2000) + one.call("cuCtxGetDevice", 1, at=9000)
    first += one.synchronize(generation=2, at=9500)
    second = two.create(generation=2, at=4000, returned=8000)
    third = Thread(3).destroy(at=5000)
    assert rules(report(tmp_path, first, second, third)) == []


def test_a_wait_that_is_still_blocked_is_not_blamed_for_a_later_destroy(tmp_path: Path) -> None:
    one, two = Thread(1), Thread(2)
    first = one.setup() + one.create(at=2000) + one.synchronize(at=3000, status=w.PENDING)
    assert rules(report(tmp_path, first, two.destroy(at=4000), end=0)) == []


def test_a_use_that_enters_after_the_destroy_has_entered_is_after_it(tmp_path: Path) -> None:
    one, two = Thread(1), Thread(2)
    first = one.setup() + one.create(at=2000) + one.destroy(at=4000, returned=9000)
    second = two.synchronize(at=5000, alive=False, status=400)
    assert rules(report(tmp_path, first, second)) == ["stream-use-after-destroy"]


def test_threads_are_merged_by_time_not_by_place_in_the_file(tmp_path: Path) -> None:
    one, two = Thread(1), Thread(2)
    late = two.synchronize(at=5000) + two.destroy(at=6000)
    early = one.setup() + one.create(at=2000)
    assert rules(report(tmp_path, late, early)) == []


def test_live_reading_finds_the_same(tmp_path: Path) -> None:
    t = Thread()
    steps = [t.setup(), t.create(), t.destroy(), t.synchronize(alive=False, status=400)]
    analysis = Analysis(tmp_path)
    found = []
    for end in range(1, len(steps) + 1):
        w.write(tmp_path, [w.chunk(b"".join(steps[:end]))], end=0)
        found += analysis.advance(running=True)
    found += analysis.advance(running=True)
    assert [finding.name for finding in found] == ["stream-use-after-destroy"]
    assert analysis.report(Meta()).findings == tuple(found)


def test_a_recording_that_is_removed_after_the_first_look(tmp_path: Path) -> None:
    t = Thread()
    path = w.write(tmp_path, [w.chunk(t.setup()), w.flight({1: w.flight_slot("cuInit", 0, 1)})], end=0)
    analysis = Analysis(tmp_path)
    analysis.advance(running=True)
    path.unlink()
    (said,) = analysis.report(Meta()).not_checked
    assert said.startswith("the recording could not be read to its end") and "No such file" in said


def test_a_call_that_is_stored_late_is_judged_in_its_place(tmp_path: Path) -> None:
    """A thread can be interrupted between reading the clock and storing its call: another one's later call is there before it."""
    one, two = Thread(1), Thread(2)
    start = one.setup() + one.create(at=2000)
    late, destroyed = one.synchronize(at=4000), two.destroy(at=5000)
    w.write(tmp_path, [w.chunk(start), w.chunk(destroyed, thread=2)], end=0)
    analysis = Analysis(tmp_path)
    assert analysis.advance(running=True) == []
    w.write(tmp_path, [w.chunk(start + late), w.chunk(destroyed, thread=2)], end=0)
    assert analysis.advance(running=True) == []
    found = analysis.report(Meta())
    assert rules(found) == [] and "contradicted" not in found.stats


def test_a_call_that_returns_while_it_is_watched_is_judged_with_its_outcome(tmp_path: Path) -> None:
    t = Thread()
    start = t.setup()
    w.write(tmp_path, [w.chunk(start + t.create(at=2000, status=w.PENDING))], end=0)
    analysis = Analysis(tmp_path)
    analysis.advance(running=True)
    analysis.advance(running=True)
    t.calls -= 1
    records = start + t.create(at=2000) + t.synchronize(at=3000) + t.destroy(at=4000)
    w.write(tmp_path, [w.chunk(records)], end=0)
    found = analysis.report(Meta())
    assert rules(found) == []
    assert found.stats["streams"] == 1


def test_a_forked_child_has_its_parents_past(tmp_path: Path) -> None:
    parent, child = Thread(1), Thread(7, at=9000)
    w.write(tmp_path, [w.chunk(parent.setup() + w.fork(2000, ticks=5000))], pid=1000, start=1)
    records = w.note(3, "") + child.call("cuStreamCreate", 1, 0, status=3, flags=w.LIFECYCLE | w.FAILED, context=0)
    w.write(tmp_path, [w.chunk(records)], pid=2000, parent=1000, start=2)
    found = analyze([tmp_path])
    assert rules(found) == ["device-use-after-fork"]
    assert found.findings[0].site.process == 2000
    assert found.stats["processes"] == 2


def test_a_forked_child_gets_one_finding_whatever_it_calls(tmp_path: Path) -> None:
    parent, child = Thread(1), Thread(7, at=9000)
    w.write(tmp_path, [w.chunk(parent.setup() + w.fork(2000, ticks=5000))], pid=1000, start=1)
    refused = {"status": 3, "flags": w.LIFECYCLE | w.FAILED, "context": 0}
    records = (
        w.note(3, "") + child.call("cuStreamCreate", 1, 0, **refused) + child.call("cuStreamDestroy", 0, **refused)
    )
    w.write(tmp_path, [w.chunk(records)], pid=2000, parent=1000, start=2)
    found = analyze([tmp_path])
    assert rules(found) == ["device-use-after-fork"]
    assert (found.findings[0].api, found.findings[0].repeats) == ("cuStreamCreate", 2)


def test_a_forked_child_is_told_of_the_fork_and_not_of_what_it_calls(tmp_path: Path) -> None:
    """The stream was destroyed before: the child cannot use it for two reasons, and the fork is the first."""
    parent, child = Thread(1), Thread(7, at=9000)
    past = parent.setup() + parent.create() + parent.destroy() + w.fork(2000, ticks=5000)
    w.write(tmp_path, [w.chunk(past)], pid=1000, start=1)
    records = w.note(3, "") + child.synchronize(alive=False, status=3, context=0)
    w.write(tmp_path, [w.chunk(records)], pid=2000, parent=1000, start=2)
    assert rules(analyze([tmp_path])) == ["device-use-after-fork"]


def test_what_a_lost_context_refused_is_no_unchecked_error(tmp_path: Path) -> None:
    t = Thread()
    failed = {"flags": w.LIFECYCLE | w.FAILED, "context": 0xC000}
    records = t.setup() + t.call("cuCtxSynchronize", status=700, **failed)
    records += t.call("cuStreamCreate", 1, 0, status=700, **failed) + t.call(
        "cuStreamSynchronize", 0xBAD, status=400, **failed
    )
    assert "error-unchecked" not in rules(report(tmp_path, records))


def test_host_access_to_device_memory_is_told_from_the_fault(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)])
    found = report(tmp_path, records + w.fault(11, 1, address=0xD010, ticks=5000), end=0, signal=11)
    assert rules(found) == ["memory-dereferenced-on-host"]
    assert found.findings[0].signal == 11


def test_a_crash_that_no_rule_explains_is_said(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.synchronize(status=w.PENDING)
    found = report(tmp_path, records + w.fault(11, 1, ticks=t.at + 1), end=0)
    assert rules(found) == []
    assert found.not_checked == ("process 1000 died of SIGSEGV in cuStreamSynchronize (thread 1): no rule says why",)


def test_a_crash_is_said_with_the_line_of_the_call(tmp_path: Path) -> None:
    """Of the call, though the fault was in another place below it."""
    t = Thread()
    stacks = w.python_code(1, "/home/me/train.py", "main") + w.stack(1, (), [(1, 10)]) + w.stack(2, (), [(1, 20)])
    records = stacks + t.setup() + t.create() + t.synchronize(status=w.PENDING, stack=1)
    (sentence,) = report(tmp_path, records + w.fault(11, 1, stack=2, ticks=t.at + 1), end=0).not_checked
    assert "SIGSEGV in cuStreamSynchronize at /home/me/train.py:10 (thread 1)" in sentence


def test_what_could_not_be_made_is_the_cause_of_what_lacks_it(tmp_path: Path) -> None:
    """No event has such flags; the program goes on with the NULL that the failed call left."""
    t = Thread()
    failed = {"flags": w.LIFECYCLE | w.FAILED}
    records = t.setup() + t.call("cuEventCreate", 1, 0xFF0, status=1, stack=5, **failed)
    records += t.call("cuEventSynchronize", 0, status=400, stack=6, **failed)
    (finding,) = report(tmp_path, records).findings
    assert finding.api == "cuEventCreate"
    assert [each.name for each in finding.consequences] == ["event-null-handle", "error-unchecked"]


def test_a_crash_in_a_call_that_was_not_stored_is_known_from_the_flight_recorder(tmp_path: Path) -> None:
    t = Thread()
    ring = w.flight({4: w.flight_slot("cuLaunchKernel", w.PENDING, 4)})
    w.write(tmp_path, [w.chunk(t.setup() + w.fault(11, 1, ticks=9000)), ring], end=0)
    found = analyze([tmp_path])
    assert found.not_checked == ("process 1000 died of SIGSEGV in cuLaunchKernel (thread 1): no rule says why",)


def test_a_call_without_a_stack_that_crashed_is_where_the_fault_was(tmp_path: Path) -> None:
    t = Thread()
    stacks = w.python_code(1, "/home/me/train.py", "main") + w.stack(1, (), [(1, 10)])
    records = stacks + t.setup() + t.create() + t.destroy() + t.synchronize(alive=False, status=w.PENDING)
    found = report(tmp_path, records + w.fault(11, 1, stack=1, ticks=t.at + 1), end=0)
    assert rules(found) == ["stream-use-after-destroy"]
    assert found.findings[0].site.frames[0].file == "/home/me/train.py"


def test_what_goes_wrong_inside_a_library_is_told_with_the_librarys_call(tmp_path: Path) -> None:
    """cuBLAS launches on the stream that it was given: one mistake, one finding; after its return the next is told."""
    t = Thread()
    handle = (0, Kind.CUBLAS_HANDLE, 3, 1, 0x7000, CONTEXT)
    gone = [(8, Kind.STREAM, 2, 1, STREAM, CONTEXT)]
    records = w.every_entry_point() + t.setup() + t.create()
    records += t.call("cublasCreate", 1, outputs=[(0, Kind.CUBLAS_HANDLE, 1, 0x7000)])
    records += t.call("cublasSetStream", 0x7000, STREAM, objects=[handle, (1, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
    records += t.destroy()
    records += t.call(
        "cublasSscal", 0x7000, 4, 1, 0xD000, 1, objects=[handle], flags=w.SUSPECT, returned=t.at + 150, status=13
    )
    launch = (0xF000, 1, 1, 1, 1, 1, 1, 0, STREAM, 0, 0)
    records += t.call("cuLaunchKernel", *launch, at=t.at + 10, objects=gone, flags=w.SUSPECT, status=400)
    assert rules(report(tmp_path, records)) == ["library-handle-stream-destroyed"]
    records += t.synchronize(alive=False, status=400, at=t.at + 200)
    assert rules(report(tmp_path, records)) == ["library-handle-stream-destroyed", "stream-use-after-destroy"]


@pytest.mark.parametrize("seen", [True, False])
def test_an_object_that_the_shim_saw_made_was_made_though_the_recording_does_not_tell(
    tmp_path: Path, seen: bool
) -> None:
    """The record of the call that made it can be missing: of a generation above 0 the shim saw it."""
    t = Thread()
    records = t.setup() + t.create()
    unknown = [(0, Kind.STREAM, 3 if seen else 2, 1 if seen else 0, 0x6000, CONTEXT)]
    records += t.call("cuStreamSynchronize", 0x6000, objects=unknown, flags=w.ORDER | w.SUSPECT, status=400)
    assert rules(report(tmp_path, records)) == ([] if seen else ["stream-never-created"])


def test_what_goes_wrong_inside_a_library_that_has_not_returned_is_told_with_its_call(tmp_path: Path) -> None:
    t = Thread()
    handle = (0, Kind.CUBLAS_HANDLE, 3, 1, 0x7000, CONTEXT)
    records = w.every_entry_point() + t.setup() + t.create()
    records += t.call("cublasCreate", 1, outputs=[(0, Kind.CUBLAS_HANDLE, 1, 0x7000)])
    records += t.call("cublasSetStream", 0x7000, STREAM, objects=[handle, (1, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
    records += t.destroy()
    records += t.call("cublasSscal", 0x7000, 4, 1, 0xD000, 1, objects=[handle], flags=w.SUSPECT, status=w.PENDING)
    records += t.synchronize(alive=False, status=400)
    assert rules(report(tmp_path, records, end=0)) == ["library-handle-stream-destroyed"]


def test_what_was_not_seen_is_said(tmp_path: Path) -> None:
    records = Thread().setup() + w.note(1, "/opt/libcuda.so.1")
    broken = records + b"\x0c\0\0\0\x01\0\0\0\0\0\0\0"
    w.write(tmp_path, [w.chunk(broken)], dropped=17)
    (tmp_path / "9-9.cuvet").write_bytes(b"something else")
    said = "\n".join(analyze([tmp_path]).not_checked)
    assert "17 records of process 1000 were dropped" in said
    assert "loaded /opt/libcuda.so.1 past cuvet" in said
    assert "1000-1.cuvet: byte" in said
    assert "9-9.cuvet: byte 0: not a cuvet recording" in said


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (0, "its recording had reached its size limit"),
        (errno.ENOSPC, "its recording could not grow: the disk is full"),
        (errno.EFBIG, "its recording could not grow beyond the program's limit on the size of files (ulimit -f)"),
        (errno.EIO, "its recording could not grow (Input/output error)"),
        (0xFFFFFFFF, "its recording could not grow (error 4294967295)"),
        (
            errno.ENOENT,
            "the program closed its recording, which could not be opened again (No such file or directory)",
        ),
    ],
)
def test_where_and_why_a_recording_stopped_is_said(tmp_path: Path, error: int, why: str) -> None:
    clock = ((0, 0, 1), (2_000_000, 1_000_000, 1))
    w.write(tmp_path, [w.chunk(Thread().setup())], dropped=3, stop=(error, 1_500_000), clock=clock, newest=1)
    (sentence,) = analyze([tmp_path]).not_checked
    assert sentence == (f"3 records of process 1000 were dropped, from 0.001 s after its first call on: {why}")


def test_a_process_that_could_not_be_recorded_is_named(tmp_path: Path) -> None:
    (tmp_path / "77-9.cuvet").touch()
    (sentence,) = analyze([tmp_path]).not_checked
    assert "77-9.cuvet: empty: this process was not recorded" in sentence


def test_a_directory_without_a_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CuvetError, match="no recording here"):
        analyze([tmp_path])


@pytest.mark.parametrize("group", [1, reader.GROUP])
def test_of_library_calls_that_are_alike_the_first_counts_and_the_first_after_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    """A full recording: the workspace is memory in the middle of an allocation, whose end the shim does not see."""
    monkeypatch.setattr(reader, "GROUP", group)  # chunks that are read at once
    t = Thread()
    handle = (0, Kind.CUBLAS_HANDLE, 3, 1, 0x7000, CONTEXT)
    memory = (0, Kind.MEMORY, 3, 1, 0xD000, CONTEXT)

    def scale(n: int) -> bytes:
        return t.call("cublasSscal", 0x7000, n, 1, 0xE000, 1, objects=[handle], flags=0)

    records = w.every_entry_point() + t.setup()
    records += t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)])
    records += t.call("cublasCreate", 1, outputs=[(0, Kind.CUBLAS_HANDLE, 1, 0x7000)])
    records += t.call("cublasSetWorkspace", 0x7000, 0xD100, 1024, objects=[handle])
    chunks = [records + scale(1) + scale(1) + scale(2), scale(1) + scale(2)]
    before = t.at
    chunks += [t.call("cuMemFree", 0xD000, objects=[memory]), scale(1), scale(1)]
    w.write(tmp_path, [w.chunk(records) for records in chunks], flags=2)
    delivered = [
        call for call in Ordering(Recording(next(tmp_path.glob("*.cuvet")))).poll() if call.args[3:] == (0xE000, 1)
    ]
    assert [(call.args[1], call.entered > before) for call in delivered] == [(1, False), (2, False), (1, True)]
    assert rules(Analysis(tmp_path).report(Meta(pid=1000))) == ["library-handle-workspace-freed"]


@pytest.mark.parametrize(
    ("caller", "status", "nested", "times"),
    [(0x9100, 0, False, 1), (0x9100, 0, True, 1), (0x9100, 1, False, 2), (0x1100, 0, False, 2)],
    ids=["of a library", "with another call inside", "that fails", "of the program"],
)
def test_what_a_library_frees_after_the_shutdown_in_a_call_that_succeeds_is_its_own_business(
    tmp_path: Path, caller: int, status: int, nested: bool, times: int
) -> None:
    """As cuFFT does for PyTorch, whose plans end in a static destructor. The program's own call afterwards counts."""
    t = Thread()
    plan = (0, Kind.CUFFT_PLAN, 3, 1, 0x7000, CONTEXT)
    memory = [(0, Kind.MEMORY, 3, 1, 0xD000, CONTEXT)]
    records = w.module(0x1000, 0x2000, 0x1000, "/home/me/train")
    records += w.module(0x9000, 0xA000, 0x9000, "/opt/lib/libtorch_cuda.so") + w.stack(7, [caller])
    records += t.setup() + t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)])
    records += t.call("cufftCreate", 1, outputs=[(0, Kind.CUFFT_PLAN, 1, 0x7000)])
    records += t.call("cublasCreate", 1, outputs=[(0, Kind.CUBLAS_HANDLE, 1, 0x8000)])
    begun = t.at + 100
    records += t.call("cufftDestroy", 0x7000, objects=[plan], status=status, at=begun, returned=begun + 50, stack=7)
    if nested:
        handle = (0, Kind.CUBLAS_HANDLE, 3, 1, 0x8000, CONTEXT)
        records += t.call("cublasDestroy", 0x8000, objects=[handle], at=begun + 5, returned=begun + 8, stack=7)
    records += t.call("cuMemFree", 0xD000, objects=memory, status=4, at=begun + 10)
    records += t.call("cuMemFree", 0xD000, objects=memory, status=4)
    found = report(tmp_path, w.every_entry_point() + records, executable="/home/me/train")
    told = [each for each in found.findings if each.name == "exit-call-after-shutdown"]
    assert [(each.api, each.repeats) for each in told] == [("cuMemFree", times)]


def test_unflagged_calls_are_counted_and_their_last_work_is_known(tmp_path: Path) -> None:
    """Of a full recording, only what the model needs is decoded; the device is reset while the last copy is pending."""
    t = Thread()
    start = t.setup() + t.create()
    chunks = [start]
    copies = [t.call("cuMemcpyHtoDAsync", 0xD000, 1, 64, STREAM, flags=0) for _ in range(5000)]
    chunks += [b"".join(copies[i : i + 500]) for i in range(0, 5000, 500)]
    chunks.append(t.call("cuDevicePrimaryCtxReset", 0))
    w.write(tmp_path, [w.chunk(records) for records in chunks], flags=2)
    analysis = Analysis(tmp_path)
    found = analysis.report(Meta())
    assert found.stats["calls"] == t.calls
    assert rules(found) == ["device-reset-pending"]


def test_work_before_a_call_of_a_library_is_not_delivered_for_it(tmp_path: Path) -> None:
    """Nothing that a library does changes what is pending on a stream: of the copies the last before the driver's next notable call
    is delivered, and of the library's own work on a stream what is new."""
    t = Thread()
    handle = (0, Kind.CUBLAS_HANDLE, 3, 1, 0x7000, CONTEXT)
    records = w.every_entry_point() + t.setup() + t.create()
    records += t.call("cublasCreate", 1, outputs=[(0, Kind.CUBLAS_HANDLE, 1, 0x7000)])
    for _ in range(10):
        records += t.call("cuMemcpyHtoDAsync", 0xD000, 1, 64, STREAM, flags=0)
        records += t.call("cublasSetStream", 0x7000, STREAM, objects=[handle])
    records += t.synchronize()
    w.write(tmp_path, [w.chunk(records)], flags=2)
    ordering = Ordering(Recording(next(tmp_path.glob("*.cuvet"))))
    names = Counter(ordering.entry_points.name(call.entry_point) for call in ordering.poll())
    assert (names["cuMemcpyHtoDAsync"], names["cublasSetStream"]) == (1, 10)


def test_failures_after_a_sticky_error_are_one_finding(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.synchronize(status=700, stack=5)
    records += b"".join(t.synchronize(status=700, stack=6 + i) for i in range(4))
    found = report(tmp_path, records)
    assert rules(found) == ["error-sticky"]
    assert found.findings[0].repeats == 5
    assert found.findings[0].site.call == 5


def test_a_lost_context_refuses_what_could_not_be_made(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.synchronize(status=700, stack=5)
    garbage = [(0, Kind.STREAM, 0, 0, 0xFFFF, 0)]
    destroyed = t.call("cuStreamDestroy", 0xFFFF, objects=garbage, flags=w.LIFECYCLE | w.SUSPECT, status=400)
    assert rules(report(tmp_path, records + destroyed)) == ["error-sticky"]


def test_the_driver_that_died_of_text_without_an_end(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + w.image(4, 1, 60, b".version 8.0\n.target sm_90\n.address_size 64\n// made by hand ", False)
    records += t.call("cuModuleLoadData", 1, 0x2000, status=w.PENDING)
    found = report(tmp_path, records, signal=11, end=0)
    assert rules(found) == ["image-ptx-not-terminated"]
    assert found.findings[0].signal == 11


@pytest.mark.parametrize(
    ("maps", "expected"),
    [
        ("", []),
        ("10000-11000 rw-p 0 0 0\n20000-21000 rw-p 0 0 0\n", ["host-memory-unmapped-while-registered"]),
        ("10000-12000 rw-p 0 0 0\n20000-21000 rw-p 0 0 0\n", []),
        ("10000-11000 rw-p 0 0 0\n", []),  # cut short
    ],
)
def test_memory_that_was_unmapped_before_it_is_unregistered(tmp_path: Path, maps: str, expected: list[str]) -> None:
    t = Thread()
    registered = [(0, Kind.HOST_MEMORY, 1, 0x10000)]
    records = t.setup() + t.call("cuMemHostRegister", 0x10000, 0x2000, 0, outputs=registered)
    records += w.maps(5, 1, maps) if maps else b""
    records += t.call("cuMemHostUnregister", 0x10000, objects=[(0, Kind.HOST_MEMORY, 3, 1, 0x10000, CONTEXT)])
    assert rules(report(tmp_path, records)) == expected


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ([], ["memory-exhausted"]),
        ([(139 << 30, 90)], ["memory-larger-than-device"]),
        ([(139 << 30, 90), (288 << 30, 103)], ["memory-exhausted"]),
    ],
)
def test_an_allocation_is_compared_to_the_largest_gpu(
    tmp_path: Path, gpu: list[tuple[int, int]], expected: list[str]
) -> None:
    t = Thread()
    records = t.setup() + t.call("cuMemAlloc", 1, 200 << 30, status=2, flags=w.FAILED)
    assert rules(report(tmp_path, records, gpus=max(1, len(gpu)), gpu=gpu)) == expected


def process_of(path: Path) -> ProcessAnalysis:
    recording = Recording(path)
    return ProcessAnalysis(recording, Findings(), lambda recording: None, GeneratedCode(recording, None))


def test_the_fault_of_a_call_is_the_first_of_its_thread_after_it(tmp_path: Path) -> None:
    calls = b"".join(
        w.call("cuStreamSynchronize", [0], number=1, thread=n, entered=100, status=w.PENDING, flags=w.ORDER)
        for n in (1, 2, 3)
    )
    faults = w.fault(7, 1, ticks=300) + w.fault(11, 1, ticks=200) + w.fault(6, 1, ticks=50) + w.fault(17, 2, ticks=200)
    path = w.write(tmp_path, [w.chunk(faults + calls)], end=0)
    process = process_of(path)
    process.advance(running=False)
    crashes = Crashes(process.recording)
    assert [crashes.in_call(thread, 100) for thread in (1, 2, 3)] == [process.recording.faults[1], None, None]
    assert crashes.outside_calls() == [process.recording.faults[0], process.recording.faults[2]]
    process.finish(leaks=False)
    assert [said for said in process.not_checked if "died of" in said] == [
        "process 1000 died of SIGSEGV in cuStreamSynchronize (thread 1): no rule says why"
    ]


def test_a_fault_at_the_instant_of_the_call_is_of_the_call(tmp_path: Path) -> None:
    recording = Recording(w.write(tmp_path, [w.chunk(b"")]))
    recording.faults = [Fault(11, 1, 0, 0, 0, 0, 5)]
    assert Crashes(recording).in_call(1, 6) is None
    assert Crashes(recording).in_call(1, 5) is recording.faults[0]


def test_faults_that_come_later_are_looked_at(tmp_path: Path) -> None:
    recording = Recording(w.write(tmp_path, [w.chunk(b"")]))
    recording.faults = [Fault(11, 1, 0, 0, 0, 0, 9)]
    crashes = Crashes(recording)
    assert crashes.in_call(2, 0) is None
    recording.faults = [recording.faults[0], Fault(6, 1, 0, 0, 0, 0, 5), Fault(7, 2, 0, 0, 0, 0, 5)]
    assert crashes.in_call(1, 0) is recording.faults[1]
    assert crashes.in_call(2, 0) is recording.faults[2]
    assert crashes.outside_calls() == [recording.faults[0]]


def test_calls_that_this_catalog_does_not_know_are_counted(tmp_path: Path) -> None:
    t = Thread()
    calls = t.setup() + t.call("cuStreamCreate", 1, 0) + t.call("cuStreamCreate", 1, 0) + t.call("cuEventCreate", 1, 0)
    names = {
        catalog.driver()[name].id: new for name, new in (("cuStreamCreate", "cuNewer"), ("cuEventCreate", "cuNewest"))
    }
    named = [names.get(each.id, each.name) for each in catalog.recorded()]
    first = b"".join(w.entry_points(named[at : at + 500], at) for at in range(0, len(named), 500))
    found = report(tmp_path, first, calls)
    assert [each for each in found.not_checked if "does not know" in each] == [
        "2 calls of cuNewer were not judged: this cuvet does not know it",
        "1 call of cuNewest was not judged: this cuvet does not know it",
    ]


def test_many_faults_are_looked_at_once(tmp_path: Path) -> None:
    looks = 0

    class Counted(list[Fault]):
        def __iter__(self) -> Iterator[Fault]:
            nonlocal looks
            for fault in super().__iter__():
                looks += 1
                yield fault

    path = w.write(tmp_path, [w.chunk(b"")])
    recording = Recording(path)
    faults = recording.faults = Counted(Fault(11, thread, 0, 0, 0, 0, 5) for thread in range(300))
    crashes = Crashes(recording)
    assert all(crashes.in_call(thread, 1) is faults[thread] for thread in range(300))
    assert looks == 300


@settings(max_examples=100)
@given(data=st.data())
def test_mutated_recordings_never_break_the_analysis(tmp_path: Path, data: st.DataObject) -> None:
    t = Thread()
    records = (
        w.stack(3, [0x1100], [(5, 17)]) + w.module(0x1000, 0x2000, 0x1000, "/bin/true") + t.setup() + t.create(stack=3)
    )
    records += t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0xD000)]) + w.fork(1001, ticks=1500)
    records += t.call("cuMemcpyHtoDAsync", 0xD000, 1, 64, STREAM) + t.call("cuMemHostRegister", 0x1000, 64, 0, status=1)
    records += w.maps(6, 1, "1000-2000 rw-p 0 0 0") + t.destroy() + t.synchronize(alive=False, status=w.PENDING)
    mutated = bytearray(w.recording([w.chunk(records)], end=0))
    for _ in range(data.draw(st.integers(1, 8))):
        at = w.HEADER_BYTES + 64 + data.draw(st.integers(0, len(records)))
        new = data.draw(st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from([b"\xff" * 8, b"\0" * 8])))
        mutated[at : at + len(new)] = new
    (tmp_path / "1000-1.cuvet").write_bytes(mutated)
    analyze([tmp_path])
