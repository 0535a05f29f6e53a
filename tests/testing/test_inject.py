"""``pytest --cuvet-inject``: what a test does when its calls fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HANGS_S, environment_of

TEST = """
from cuda.bindings import driver


def ok(result):
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(status)
    return values[0] if values else None


def test_it():
    ok(driver.cuInit(0))
    context = ok(driver.cuDevicePrimaryCtxRetain(0))
    ok(driver.cuCtxSetCurrent(context))
    stream = ok(driver.cuStreamCreate(0))
    driver.cuStreamSynchronize(stream)  # dropped
    ok(driver.cuStreamDestroy(stream))
    ok(driver.cuDevicePrimaryCtxRelease(0))


def test_another():
    raise AssertionError
"""


def run(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", *options, "test_it.py::test_it"]
    variables = environment_of(tmp_path)
    return subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=HANGS_S, check=False
    )


def test_each_call_of_a_test_fails_in_turn(tmp_path: Path) -> None:
    done = run(tmp_path, "--cuvet-inject", "--cuvet-device", "emulated")
    assert "warning[ignored]: cuStreamSynchronize: the program goes on as if nothing had happened" in done.stdout
    assert "--> test_it.py:17 in test_it" in done.stdout
    assert "cuvet: 6 of 7 failure sites are handled; 1 ignored" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("option", ["--cuvet", "--cuvet-leaks"])
def test_it_is_no_check_of_a_session(tmp_path: Path, option: str) -> None:
    done = run(tmp_path, "--cuvet-inject", option)
    assert "--cuvet-inject starts pytest itself: use it with no other option of cuvet but --cuvet-device" in done.stderr
