"""``cuvet run --memory`` and wants of memory, with programs of the CUDA runtime over the emulated device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.device.facts import TOTAL_MEMORY
from cuvet.findings import MemoryPlace, MemoryUse

MIB = 1 << 20
EMULATED = ("--device", "emulated", "--device-memory", str(TOTAL_MEMORY))


@pytest.fixture
def used(cuvet, runtime_program):
    """Runs ``memory.cpp``; what its one process used."""

    def run(what: str) -> tuple[MemoryUse, ...]:
        ran = cuvet.run((*EMULATED, "--memory"), [runtime_program("memory"), what])
        assert ran.rules == []
        assert {use.process for use in ran.report.memory} == {ran.report.memory[0].process}
        return ran.report.memory

    return run


def called(place: MemoryPlace) -> tuple[str, ...]:
    """The API, and the functions from the inside out, without main."""
    return place.site.api, *(
        frame.function.partition("(")[0] for frame in place.site.frames if frame.function != "main"
    )


def test_each_kind_of_memory_has_its_own_total(used) -> None:
    device, managed, host = used("every-kind")
    assert [(use.memory, use.device, use.capacity) for use in (device, managed, host)] == [
        ("device", 0, TOTAL_MEMORY),
        ("managed", None, None),
        ("host", None, None),
    ]
    assert [(use.peak_bytes, use.peak_count) for use in (device, managed, host)] == [
        (10 * MIB, 3),
        (3 * MIB, 1),
        (7 * MIB, 1),
    ]
    assert [(use.bytes, use.count) for use in (device, managed, host)] == [(5 * MIB, 2), (3 * MIB, 1), (0, 0)]
    held = {place.site.api: (place.peak_bytes, place.bytes) for place in device.places}
    assert held == {
        "cudaMallocAsync": (5 * MIB, 0),
        "cudaMallocArray": (4 * MIB, 4 * MIB),
        "cudaMallocPitch": (MIB, MIB),
    }


def test_the_peak_has_its_places_and_not_those_of_the_end(used) -> None:
    (device,) = used("rise-and-fall")
    assert (device.peak_bytes, device.peak_count, device.bytes, device.count) == (128 * MIB, 8, MIB, 1)
    assert [(called(place), place.peak_bytes, place.peak_count, place.bytes) for place in device.places] == [
        (("cudaMalloc", "take", "rise_and_fall"), 128 * MIB, 8, 0),
        (("cudaMalloc", "take", "rise_and_fall"), 0, 0, MIB),
    ]
    assert device.places[0].site.frames[1].line < device.places[1].site.frames[1].line


def test_mapped_memory_counts_once_and_until_it_is_unmapped(used) -> None:
    (device,) = used("unmap-last")
    assert (device.peak_bytes, device.peak_count, device.bytes) == (33 * MIB, 2, 2 * MIB)
    assert called(device.places[0]) == ("cuMemCreate", "back", "unmap_last")


def test_a_reset_gives_everything_back(used) -> None:
    (device,) = used("reset")
    assert (device.peak_bytes, device.bytes, device.count) == (64 * MIB, 0, 0)


def test_a_want_of_memory_has_the_places_that_hold_most(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("memory"), "exhaust"])
    assert ran.rules == ["memory-exhausted"] * 2
    finding = ran.report.findings[0]
    assert (finding.severity, finding.api, finding.status) == ("note", "cudaMalloc", 2)
    assert finding.message == "not enough memory left on GPU 0 for 4 GiB"
    assert finding.because == (
        "this process held 136 GiB of the 139.8 GiB of GPU 0, in 35 allocations",
        "with 4 GiB more that would be more than there is",
    )
    assert [(called(place), place.count) for place in finding.memory] == [
        (("cudaMalloc", "exhaust"), 34),
        (("cudaMalloc", "take", "exhaust"), 1),
    ]
    assert ran.report.memory is None


def test_nothing_is_said_unless_asked(cuvet, runtime_program, tmp_path: Path) -> None:
    done = cuvet("run", *EMULATED, "--trace", tmp_path / "trace", "--", runtime_program("memory"), "every-kind")
    assert "memory" not in done.stderr.replace(str(tmp_path), "")
    assert "0 errors, 0 warnings in" in done.stderr


def test_the_terminal_says_who_held_what(cuvet, runtime_program, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert cuvet("run", *EMULATED, "--trace", trace, "--", runtime_program("memory"), "exhaust").returncode == 0
    shown = cuvet("analyze", "--memory", trace).stdout
    rows = [" ".join(line.split()) for line in shown.splitlines() if "memory.cpp" in line]
    assert any(row.startswith("= held: 136 GiB in 34 allocations: ") for row in rows)
    assert any(row.startswith("136 GiB in 34 136 GiB in 34 ") and "in exhaust, from main:" in row for row in rows)
    assert any(row.startswith("1 MiB in 1 1 MiB in 1 ") and "in take, from exhaust:" in row for row in rows)
    assert "memory of GPU 0: 136 GiB of 139.8 GiB at the peak, in 35 allocations" in shown
    assert "memory not counted: contexts" in shown


def test_a_program_without_memory_is_said_to_have_none(cuvet, tmp_path: Path) -> None:
    done = cuvet("run", *EMULATED, "--memory", "--trace", tmp_path / "trace", "--", "true")
    assert "memory: the program allocated none that cuvet could see" in done.stderr


def test_places_of_python_have_their_callers(cuvet, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "from cuda.bindings import driver as cu\n"
        "def allocate(size):\n"
        "    return cu.cuMemAlloc(size)[1]\n"
        "cu.cuInit(0)\n"
        "cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0)[1])\n"
        "weights = [allocate(1 << 20) for _ in range(3)]\n"
        "for _ in range(50):\n"
        "    cu.cuMemFree(allocate(1 << 21))\n"
    )
    ran = cuvet.run((*EMULATED, "--memory"), [sys.executable, program])
    (device,) = ran.report.memory
    places = {place.site.frames[1].line: place for place in device.places}
    assert {line: (place.peak_count, place.count) for line, place in places.items()} == {6: (3, 3), 8: (1, 0)}
    assert all(place.site.frames[0].function == "allocate" for place in device.places)
    assert {place.library for place in device.places} == {"cuda"}
