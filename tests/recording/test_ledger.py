"""Wants of memory and the ledger, in recordings made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.analysis import Analysis, Meta
from cuvet.catalog import Kind
from cuvet.findings import Finding, Report

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread, rules

GIB = 1 << 30
FAILED = w.LIFECYCLE | w.FAILED


class Process(Thread):
    def allocate(self, size: int, address: int, name: str = "cuMemAlloc", **fields: object) -> bytes:
        extra = (1,) if name == "cuMemAllocManaged" else ()
        outputs = [(0, Kind.MEMORY, 1, address)]
        return self.call(name, 1, size, *extra, outputs=outputs, **fields)

    def fail(self, name: str, *args: int, **fields: object) -> bytes:
        return self.call(name, *args, status=2, flags=FAILED, **fields)


def report(directory: Path, records: bytes, pid: int = 1000, memory: int = 80 * GIB) -> Report:
    w.write(directory, [w.chunk(records)], pid=pid, start=pid, gpu=[(memory, 90)])
    return Analysis(directory).report(Meta(pid=pid), memory=True)


def finding(directory: Path, records: bytes, memory: int = 80 * GIB) -> Finding:
    found = report(directory, records, memory=memory)
    assert rules(found) == ["memory-exhausted"]
    return found.findings[0]


def test_a_program_that_holds_little_is_told_who_may_hold_the_rest(tmp_path: Path) -> None:
    p = Process()
    found = finding(tmp_path, p.setup() + p.allocate(GIB, 0x10000000) + p.fail("cuMemAlloc", 1, GIB))
    assert found.because == (
        "this process held 1 GiB of the 80 GiB of GPU 0, in 1 allocation",
        "the other 79 GiB: contexts and modules, other processes, and what is free",
    )


def test_without_the_size_of_the_gpu_nothing_is_said_about_the_rest(tmp_path: Path) -> None:
    p = Process()
    found = finding(tmp_path, p.setup() + p.fail("cuMemAlloc", 1, GIB), memory=0)
    assert found.because == ("this process held 0 bytes on GPU 0",)
    assert found.memory == ()


def test_managed_memory_is_said_to_be_possibly_there(tmp_path: Path) -> None:
    p = Process()
    records = p.setup() + p.allocate(GIB, 0x10000000, "cuMemAllocManaged") + p.fail("cuMemAlloc", 1, GIB)
    assert (
        "1 GiB of managed memory, which can be on the GPU too, is not counted in this"
        in finding(tmp_path, records).because
    )


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("cuStreamCreate", (1, 0), "not enough memory left on GPU 0 for this call, or not enough of other resources"),
        ("cuMemAllocPitch", (1, 1, 1024, 2048, 4), "not enough memory left on GPU 0 for 2 MiB"),
        ("cuMemAllocManaged", (1, 1024, 1), "not enough memory left for 1 KiB of managed memory"),
        ("cuMemHostAlloc", (1, 1024, 0), "not enough host memory to pin 1 KiB"),
    ],
)
def test_the_message_says_what_was_wanted(tmp_path: Path, name: str, args: tuple[int, ...], message: str) -> None:
    p = Process()
    assert finding(tmp_path, p.setup() + p.fail(name, *args)).message == message


def test_a_context_that_cannot_be_made_wants_memory_of_its_device(tmp_path: Path) -> None:
    p = Process()
    records = p.call("cuInit", 0, context=0) + p.fail("cuDevicePrimaryCtxRetain", 1, 0, context=0)
    assert finding(tmp_path, records).because == (
        "this process held 0 bytes of the 80 GiB of GPU 0",
        "the other 80 GiB: contexts and modules, other processes, and what is free",
    )


def test_the_five_largest_places_are_named_the_largest_first(tmp_path: Path) -> None:
    p = Process()
    records = w.python_code(1, "/home/me/train.py", "train") + p.setup()
    for number in range(1, 8):
        records += w.stack(number, (), [(1, 10 * number)])
        records += p.allocate(number << 20, number << 28, stack=number)
    found = finding(tmp_path, records + p.fail("cuMemAlloc", 1, GIB))
    assert [place.site.frames[0].line for place in found.memory] == [70, 60, 50, 40, 30]


def test_failures_at_one_place_are_one_finding(tmp_path: Path) -> None:
    p = Process()
    failures = b"".join(p.fail("cuMemAlloc", 1, GIB, stack=3) for _ in range(4))
    assert finding(tmp_path, p.setup() + failures).repeats == 4


def test_a_host_registration_that_finds_no_memory_has_other_reasons(tmp_path: Path) -> None:
    p = Process()
    found = report(tmp_path, p.setup() + p.fail("cuMemHostRegister", 0x10000, 4096, 0))
    assert "memory-exhausted" not in rules(found)


def test_a_failure_for_another_reason_is_no_want_of_memory(tmp_path: Path) -> None:
    p = Process()
    found = report(tmp_path, p.setup() + p.call("cuMemAlloc", 1, GIB, status=801, flags=FAILED))
    assert rules(found) == []


def test_each_process_has_its_own_sums(tmp_path: Path) -> None:
    for pid in (1000, 2000):
        p = Process()
        found = report(tmp_path, p.setup() + p.allocate(pid, 0x10000000), pid=pid)
    assert found.memory is not None
    assert [(use.process, use.capacity, use.peak_bytes) for use in found.memory] == [
        (1000, 80 * GIB, 1000),
        (2000, 80 * GIB, 2000),
    ]


def test_memory_of_devices_comes_before_that_of_the_host(tmp_path: Path) -> None:
    t = Process()
    records = t.setup() + t.call("cuMemAllocHost", 1, 4096, outputs=[(0, Kind.HOST_MEMORY, 1, 0xA0000)])
    records += t.allocate(4096, 0xB0000, "cuMemAllocManaged") + t.allocate(4096, 0xC0000)
    memory = report(tmp_path, records).memory
    assert memory is not None
    assert [(use.memory, use.device) for use in memory] == [("device", 0), ("managed", None), ("host", None)]
