"""Compiled programs that use the runtime and the driver correctly, and check what they get."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..corpus.facts import compile_programs
from .support import NVCC, SHARED_RUNTIME, STATIC_RUNTIME, Device

SOURCE = (Path(__file__).parent / "programs.cu").read_text(encoding="utf-8")
ONE_DEVICE = """
    linear_copy pitched_copy box_copy array_copy managed_memory pinned_memory variables bad_host_pointers launches
    callbacks_in_order graphs built_graph many_threads fork_after_use fork_before_use waiting_does_not_block_others
    driver_pitfalls objects_outlive_their_thread exec_begins_anew captured_fork_and_join
""".split()


@pytest.fixture(scope="module")
def programs() -> Path:
    return compile_programs(NVCC, SOURCE, SHARED_RUNTIME)


@pytest.mark.parametrize("name", ONE_DEVICE)
def test_program_gets_what_it_expects(name: str, programs: Path, device: Device) -> None:
    ended = device.run(programs, name)
    assert ended.returncode == 0, ended.stderr


def test_two_devices(programs: Path, two_devices: Device) -> None:
    ended = two_devices.run(programs, "two_devices")
    assert ended.returncode == 0, ended.stderr


def test_device_says_that_it_is_emulated(programs: Path, device: Device) -> None:
    ended = device.run(programs, "properties")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "Emulated device (sm_90) 9.0 132 232448\n"


def test_what_is_not_emulated_is_named_once(programs: Path, device: Device) -> None:
    ended = device.run(programs, "not_emulated")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("cuGraphicsUnregisterResource is not emulated") == 1


def test_launches_write_nothing_into_the_output_of_the_program(programs: Path, device: Device) -> None:
    assert device.run(programs, "launches").stderr == ""


def test_static_runtime_is_refused_in_one_line(device: Device) -> None:
    programs = compile_programs(NVCC, SOURCE, STATIC_RUNTIME)
    assert device.run(programs, "linear_copy").returncode == 1
    note = device.trace / "unsupported"
    line = note.read_text(encoding="utf-8")
    note.unlink()
    assert "nvcc -cudart shared" in line
    assert "\n" not in line


def test_device_process_that_is_gone_is_named_once(programs: Path, device: Device) -> None:
    ended = device.run(programs, "driver_pitfalls", CUVET_DEVICE_SOCKET="/nonexistent/socket")
    assert ended.returncode == 1
    assert ended.stderr.count("cannot be reached") == 1
    assert "= 999" in ended.stderr
