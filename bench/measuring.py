"""What all rows of the bench share: rounds, figures with quartiles, and on which machine they were taken."""

from __future__ import annotations

import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import NamedTuple

import cuvet

ROOT = Path(__file__).parents[1]
NATIVE = Path(cuvet.__file__).parent / "_native"
SHIM = NATIVE / "libcuda.so.1"
CUVET = [sys.executable, "-m", "cuvet"]

Sample = dict[str, float]
"""What one run measured, by the name of the figure."""
Round = dict[str, Sample]
"""One run of each mode: ``bare`` (without cuvet), ``checked`` (`--record lifecycle`), ``full``. What a row with another option
says of itself stands under ``checked``, and also what PyTorch's sanitizer (``csan``) costs without cuvet."""
MODES = {
    "checked": {"CUVET_RECORD": "lifecycle"},
    "full": {"CUVET_RECORD": "full"},
    "races": {"CUVET_RECORD": "accesses"},
    "guard": {"CUVET_RECORD": "accesses", "CUVET_GUARD": "1"},
    "kept": {"CUVET_RECORD": "lifecycle", "CUVET_PROTECT": "refuse", "CUVET_QUARANTINE": str(256 << 20)},
}


class Limits(NamedTuple):
    """A row is measured ``rounds`` times, or less often if that takes more than ``seconds``; but at least once."""

    rounds: int
    seconds: float
    scale: float = 1
    """How much of its usual work a run does: a test of the bench itself has less."""

    def count(self, usual: int) -> int:
        return max(1, int(usual * self.scale))


class NotHere(Exception):
    """A row cannot be measured on this machine, and why."""


def rounds(runs: Mapping[str, Callable[[], Sample]], limits: Limits) -> list[Round]:
    """In each round every mode runs once, in shuffled order, so that drift of the machine meets all modes alike."""
    end = time.monotonic() + limits.seconds
    found: list[Round] = []
    while len(found) < limits.rounds and (not found or time.monotonic() < end):
        order = list(runs)
        random.Random(len(found)).shuffle(order)
        found.append({mode: runs[mode]() for mode in order})
    return found


def quartiles(values: list[float]) -> list[float]:
    """[lower quartile, median, upper quartile], four digits each."""
    cut = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return [float(f"{value:.4g}") for value in cut]


def compared(found: list[Round], what: str) -> dict[str, object]:
    """The quartiles of a figure in each mode, and of what a mode adds to the bare run of its round."""
    modes = [mode for mode in ("bare", "checked", "full") if what in found[0].get(mode, {})]
    result: dict[str, object] = {mode: quartiles([each[mode][what] for each in found]) for mode in modes}
    for mode in modes[1:] if modes[0] == "bare" else ():
        pairs = [(each["bare"][what], each[mode][what]) for each in found]
        result[f"{mode} added"] = quartiles([value - bare for bare, value in pairs])
        result[f"{mode} ratio"] = quartiles([value / bare for bare, value in pairs])
    return result | {"rounds": len(found)}


class Run(NamedTuple):
    """A process that ended, with all that it started and waited for."""

    wall_s: float
    processor_s: float
    memory_mb: float
    """The resident memory of the largest of them."""


def keeping_compiled(env: Mapping[str, str]) -> dict[str, str]:
    """With these variables Python keeps what it compiles, as that of an installed cuvet is kept."""
    return {name: text for name, text in env.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: list[str], env: Mapping[str, str] | None = None, codes: tuple[int, ...] = (0,)) -> Run:
    """Run a command; if it ends otherwise than with ``codes``, that is an error with what it said."""
    env = keeping_compiled(env or os.environ)
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            raise subprocess.SubprocessError(f"{' '.join(command)} ended with {process.returncode}: {text}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def environment(mode: str, driver: str, trace: str) -> dict[str, str]:
    """Of a program that runs in this mode, over this driver."""
    if mode not in MODES:
        return {**os.environ, **({"TORCH_CUDA_SANITIZER": "1"} if mode == "csan" else {})}
    return {**os.environ, "LD_PRELOAD": str(SHIM), "CUVET_DRIVER": driver, "CUVET_TRACE": trace, **MODES[mode]}


def gpus() -> list[tuple[str, str]]:
    """(name, version of the driver) of each GPU here."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    found = [line.split(", ") for line in lines]
    return [(name, version) for name, version in found]


@cache
def where() -> dict[str, str]:
    """The machine, the day and the commit, as every figure keeps them."""
    cores = len(os.sched_getaffinity(0))
    found = gpus()
    return {
        "machine": f"{cores} cores, {processor()}, Python {platform.python_version()}",
        "gpu": f"{len(found)} × {found[0][0]}" if found else "none",
        "driver": found[0][1] if found else "none",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": os.environ.get("COMMIT") or commit(),
    }


def commit() -> str:
    with suppress(OSError):
        command = ["git", "rev-parse", "--short=9", "HEAD"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        if found:
            return found
    return "unknown"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
