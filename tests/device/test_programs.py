"""Compiled programs that use the runtime and the driver correctly, and check what they get."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..corpus.facts import compile_programs
from .support import NVCC, SHARED_RUNTIME, STATIC_RUNTIME, Device, running_device

SOURCE = (Path(__file__).parent / "programs.cu").read_text(encoding="utf-8")
ONE_DEVICE = """
    linear_copy pitched_copy box_copy array_copy managed_memory pinned_memory variables bad_host_pointers launches
    callbacks_in_order graphs built_graph many_threads fork_after_use fork_before_use waiting_does_not_block_others
    driver_pitfalls objects_outlive_their_thread exec_begins_anew captured_fork_and_join large_fills
    function_attributes small_questions graph_memory pool_statistics
    graph_edges event_nodes conditional_nodes captured_edges user_objects
    handles_that_come_of_captures managed_ranges nested_conditions
    node_parameters updates mipmap_levels
""".split()

HOLDS_40_MIB = """
import ctypes, sys
cuda, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(memory), 0) == 0 and cuda.cuCtxSetCurrent(memory) == 0
if status := cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_uint64(40 << 20)):
    sys.exit(status)
"""

ONCE_MORE = """
import subprocess
sys.exit(subprocess.run([*sys.orig_argv, "again"]).returncode if "again" not in sys.argv else 0)
"""


@pytest.fixture(scope="module")
def programs() -> Path:
    return compile_programs(NVCC, SOURCE, SHARED_RUNTIME)


@pytest.mark.parametrize("name", ONE_DEVICE)
def test_program_gets_what_it_expects(name: str, programs: Path, device: Device) -> None:
    ended = device.run(programs, name)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", ["two_devices", "memory_of_two_devices"])
def test_two_devices(name: str, programs: Path, two_devices: Device) -> None:
    ended = two_devices.run(programs, name)
    assert ended.returncode == 0, ended.stderr


def test_a_device_of_little_memory(programs: Path, tmp_path: Path) -> None:
    with running_device(tmp_path, memory=64 << 20) as small:
        ended = small.run(programs, "little_memory")
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("cuvet: ") == ended.stderr.count("the emulated device has 64 MiB of memory") == 1


def test_what_an_ended_process_held_is_free_again(programs: Path, tmp_path: Path) -> None:
    with running_device(tmp_path, memory=64 << 20) as small:
        assert small.python(HOLDS_40_MIB).returncode == 0
        assert small.python(HOLDS_40_MIB).returncode == 0


def test_processes_share_the_memory(programs: Path, tmp_path: Path) -> None:
    with running_device(tmp_path, memory=64 << 20) as small:
        two = small.python(HOLDS_40_MIB + ONCE_MORE)
        assert two.returncode == 2


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


def test_static_runtime_is_refused_and_its_program_named(device: Device) -> None:
    programs = compile_programs(NVCC, SOURCE, STATIC_RUNTIME)
    assert device.run(programs, "linear_copy").returncode == 1
    note = device.trace / "unsupported"
    what, file = note.read_text(encoding="utf-8").split("\n")
    note.unlink()
    assert what.startswith("NVIDIA's CUDA runtime")
    assert file == str(programs)


def test_device_process_that_is_gone_is_named_once(programs: Path, device: Device) -> None:
    ended = device.run(programs, "driver_pitfalls", CUVET_DEVICE_SOCKET="/nonexistent/socket", CUVET_DEVICE_KEY="")
    assert ended.returncode == 1
    assert ended.stderr.count("cannot be reached") == 1
    assert "= 999" in ended.stderr
