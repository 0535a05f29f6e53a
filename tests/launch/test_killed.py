"""A process that is killed at any instruction leaves a whole recording."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

from cuvet.analysis import analyze
from cuvet.launch import environment
from cuvet.recording import Recording
from cuvet.recording.layout import End

MOMENTS = 200
LONGEST_S = 0.008


def test_sigkill_at_200_moments(program, null_driver: Path, tmp_path: Path) -> None:
    moments = random.Random(580159)
    busy, calls = program("busy"), 0
    for number in range(MOMENTS):
        trace = tmp_path / str(number)
        trace.mkdir()
        run_and_kill(busy, trace, null_driver, moments.uniform(0, LONGEST_S))
        (path,) = trace.glob("*.cuvet")
        calls += check_whole(path)
        if number % 50 == 0:
            report = analyze([trace])
            assert report.findings == ()
            assert report.not_checked == ()
        shutil.rmtree(trace)
    assert calls > 100 * MOMENTS


def run_and_kill(busy: Path, trace: Path, null_driver: Path, after_s: float) -> None:
    variables = environment.for_program(
        {**os.environ, "LD_LIBRARY_PATH": str(null_driver)},
        trace,
        record="full",
        driver=str(null_driver / "libcuda.so.1"),
        device=None,
        links=trace,
    )
    process = subprocess.Popen([busy], env=variables, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after_s)
    process.kill()
    process.communicate()


def check_whole(path: Path) -> int:
    """Of every thread each call is there, but for one that had just begun; returns how many calls there are."""
    recording = Recording(path)
    calls = np.concatenate([batch.calls for batch in recording.poll()])
    flight = recording.flight()
    assert recording.problems == []
    assert int(recording.header["end"]) == End.NONE
    assert set(calls["stack"].tolist()) <= {0, *recording.stacks}
    for thread in np.unique(calls["thread"]).tolist():
        own = calls[calls["thread"] == thread]
        assert own["number"].tolist() == list(range(1, len(own) + 1))
        assert not own["status"][:-1].any()
        assert len(own) <= int(flight[thread]["number"].max()) <= len(own) + 1
    return len(calls)
