"""The programs of tests/hardware/faults.cu: the report names the launch at fault, and never another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.hardware.faults import NOT_ON_EMULATED, TRUTH, judged

from cuvet.analysis import analyze

from ..corpus.facts import compile_programs
from .support import NVCC, SHARED_RUNTIME, Device

ONLY_NAMED = frozenset(
    {"one_of_five_beyond", "flagged_freed", "guarded_null", "no_thread_passes", "stream_ordered_freed", "shares_a_page"}
)
"""Of which the host cannot know more: another launch has an argument that cannot be used, or nothing tells where an address comes from."""


@pytest.fixture(scope="module")
def program() -> Path:
    source = (Path(__file__).parents[1] / "hardware/faults.cu").read_text(encoding="utf-8")
    return compile_programs(NVCC, source, SHARED_RUNTIME)


@pytest.fixture
def because(program: Path, device: Device, tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """What the report says of the lost context of the case of that name."""

    def said(name: str, **more: str) -> tuple[str, ...]:
        before = set(device.trace.glob("*.cuvet"))
        ended = device.run(program, name, **more)
        assert ended.returncode == 0, ended.stderr
        (recording,) = set(device.trace.glob("*.cuvet")) - before
        shutil.copy(recording, tmp_path)
        (finding,) = (each for each in analyze([tmp_path]).findings if each.name == "error-sticky")
        return finding.because

    return said


@pytest.mark.parametrize("name", [name for name in TRUTH if name not in NOT_ON_EMULATED])
def test_the_launch_at_fault_is_named(name: str, because: Callable[..., tuple[str, ...]]) -> None:
    found = because(name)
    assert judged(TRUTH[name], found) == ("named" if name in ONLY_NAMED else "right"), found


@pytest.mark.parametrize("name", [name for name in TRUTH if name not in NOT_ON_EMULATED])
def test_a_launch_that_is_waited_for_is_the_one(name: str, because: Callable[..., tuple[str, ...]]) -> None:
    found = because(name, CUVET_NARROW="1")
    assert judged(TRUTH[name], found, narrowed=True) == "right", found
    assert found[0].startswith("cuvet waited for the work of this launch")


def test_a_launch_by_the_runtime_s_template_is_at_the_user_s_line(because: Callable[..., tuple[str, ...]]) -> None:
    found = because("freed_by_config")[1]
    assert "fill<<<(2, 3, 1), (8, 4, 1)>>>" in found
    assert "cuda_runtime.h" not in found
