"""Where the H200 dies of SIGSEGV, the emulated device lets the call fail; a host access to device memory is a real SIGSEGV."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ..corpus.facts import Fact, all_facts, calls_printed, compile_programs, source
from .support import NVCC, SHARED_RUNTIME, Device

FACTS = all_facts()
HOST_DEREFERENCES = {"host_deref_freed", "host_deref_live"}
EXCEPT = {
    "stream_handle_of_event": "the device refuses a stream that is given as a context",
    "sticky_then_calls": "the event is a variable that was never written, which may be NULL",
}
CRASHED = [fact for fact in FACTS if fact.signal == signal.SIGSEGV and fact.id not in HOST_DEREFERENCES | EXCEPT.keys()]


@pytest.fixture(scope="module")
def programs() -> Path:
    return compile_programs(NVCC, source(FACTS), (*SHARED_RUNTIME, "-w"))


@pytest.mark.parametrize("fact", CRASHED, ids=lambda fact: fact.id)
def test_where_the_hardware_crashes_the_call_fails(fact: Fact, programs: Path, two_devices: Device) -> None:
    ended = two_devices.run(programs, fact.id)
    printed = calls_printed(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert printed[: len(fact.calls)] == fact.calls
    assert printed[len(fact.calls)][1] != 0


@pytest.mark.parametrize("name", sorted(HOST_DEREFERENCES))
def test_the_host_cannot_touch_device_memory(name: str, programs: Path, device: Device) -> None:
    ended = device.run(programs, name)
    assert ended.returncode == -signal.SIGSEGV
    assert "deref ok" not in ended.stdout
