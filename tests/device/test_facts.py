"""Each fact program, compiled with the shared runtime, is answered as the H200 answered it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ..corpus.facts import FACTS, MORE_FACTS, Fact, calls_printed, compile_programs, facts, source
from .support import NVCC, SHARED_RUNTIME, Device

KERNEL_MUST_RUN = {
    "sticky_error", "oob_write", "launch_freed_malloc", "launch_host_pointer", "launch_null_pointer", "sticky_then_calls",
    "sticky_with_objects", "trap_kernel", "destroy_default_stream_memory_pending", "launch_memory_of_other_device",
}  # fmt: skip
"""The error comes of what a kernel does; kernels do not run here."""
OTHER_OUTCOMES = {
    "freeasync_stream_reset_destroy": (("cudaStreamDestroy(s)", 400),),
    "register_freed": (("cudaHostRegister(p,1<<20,0)", 1),),
}
"""Undefined cases: the H200 gave another status at other times (facts/README.md); memory that was unmapped can be registered
there because the context that the call makes maps something else at its address."""
HOST_DEREFERENCES = {"host_deref_freed", "host_deref_live"}

FILES = (FACTS, MORE_FACTS)
ALL = [fact for file in FILES for fact in facts(file) if not fact.varied and fact.id not in KERNEL_MUST_RUN]
ANSWERED = [fact for fact in ALL if fact.signal is None]
CRASHED = [fact for fact in ALL if fact.signal == signal.SIGSEGV and fact.id not in HOST_DEREFERENCES]


def by_id(fact: Fact) -> str:
    return fact.id


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    """The executable that has each program."""
    compiled = {file: compile_programs(NVCC, source(facts(file)), SHARED_RUNTIME) for file in FILES}
    return {fact.id: compiled[file] for file in reversed(FILES) for fact in facts(file)}


@pytest.mark.parametrize("fact", ANSWERED, ids=by_id)
def test_statuses_of_the_hardware(fact: Fact, programs: dict[str, Path], device: Device, two_devices: Device) -> None:
    ended = (two_devices if fact.devices == 2 else device).run(programs[fact.id], fact.id)
    assert ended.returncode == 0, ended.stderr
    others = OTHER_OUTCOMES.get(fact.id, ())
    assert calls_printed(ended.stdout) in (fact.calls, fact.calls[: len(fact.calls) - len(others)] + others)


@pytest.mark.parametrize("fact", CRASHED, ids=by_id)
def test_where_the_hardware_crashes_the_call_fails(fact: Fact, programs: dict[str, Path], two_devices: Device) -> None:
    ended = two_devices.run(programs[fact.id], fact.id)
    printed = calls_printed(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert printed[: len(fact.calls)] == fact.calls
    assert printed[len(fact.calls)][1] != 0


@pytest.mark.parametrize("fact", CRASHED, ids=by_id)
def test_crashes_are_real_on_request(fact: Fact, programs: dict[str, Path], crashing_device: Device) -> None:
    ended = crashing_device.run(programs[fact.id], fact.id)
    assert ended.returncode == -signal.SIGSEGV
    assert calls_printed(ended.stdout) == fact.calls


@pytest.mark.parametrize("name", sorted(HOST_DEREFERENCES))
def test_the_host_cannot_touch_device_memory(name: str, programs: dict[str, Path], device: Device) -> None:
    ended = device.run(programs[name], name)
    assert ended.returncode == -signal.SIGSEGV
    assert "deref ok" not in ended.stdout
