"""What ``cuvet check`` takes for the public code of tools/fetch_corpus.py: ``python bench/check.py FOLDER``. Needs no GPU.

Three runs a round over the whole folder, each a process of its own: without the cache, with an empty one, and with the one that
this filled. A core's time is what all processes computed together, so that other programs on the machine matter little.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SAMPLE_S = 0.05
RUNS = {"without the cache": ("--no-cache",), "first run": (), "second run": ()}


class Run(NamedTuple):
    seconds: float
    core_seconds: float
    """User and system time of all processes."""
    memory: int
    """Bytes of all processes together at their peak, shared pages counted once."""
    lines: int


def measure(folder: Path, jobs: int, options: tuple[str, ...], environment: dict[str, str]) -> Run:
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.json")
        command = [sys.executable, "-m", "cuvet", "check", "--format", "json", "--output", str(report)]
        begun = time.perf_counter()
        process = subprocess.Popen([*command, "--jobs", str(jobs), *options, str(folder)], env=environment)
        peak = 0
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            peak = max(peak, memory(process.pid))
            time.sleep(SAMPLE_S)
        seconds = time.perf_counter() - begun
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not report.exists():
            raise SystemExit(f"{' '.join(command)} failed")
        lines = json.loads(report.read_bytes())["stats"]["lines"]
    return Run(seconds, usage.ru_utime + usage.ru_stime, peak, lines)


def memory(process: int) -> int:
    """Bytes of a process and those it started."""
    total = 0
    with suppress(OSError):  # it ended
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        total += sum(memory(int(child)) for child in children)
    return total


def table(folder: Path, jobs: int, rounds: int) -> list[str]:
    found: dict[str, list[Run]] = {name: [] for name in RUNS}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name, options in RUNS.items():
                found[name].append(measure(folder, jobs, options, {**os.environ, "XDG_CACHE_HOME": cache}))
        print(f"  round {number + 1} of {rounds}", file=sys.stderr)
    first = middle(found["first run"])
    lines = [
        f"{first.lines:,} lines, {jobs} processes; medians of {rounds} rounds",
        "",
        "| | seconds | core seconds | million lines a minute a core | MB |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, runs in found.items():
        run = middle(runs)
        rate = run.lines / run.core_seconds * 60 / 1e6
        lines.append(f"| {name} | {run.seconds:.1f} | {run.core_seconds:.1f} | {rate:.1f} | {run.memory / 1e6:.0f} |")
    second = middle(found["second run"])
    ratio = first.seconds / second.seconds
    return [*lines, "", f"The first run takes {ratio:.0f} times as long as the second."]


def middle(runs: list[Run]) -> Run:
    return Run(*(type(figures[0])(statistics.median(figures)) for figures in zip(*runs, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what cuvet check takes.")
    parser.add_argument("folder", type=Path, help="what tools/fetch_corpus.py fetched, or any folder with CUDA code")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if not args.folder.is_dir():
        print(
            f"no {args.folder} here, nothing was measured: python tools/fetch_corpus.py {args.folder}", file=sys.stderr
        )
        return 1
    print("\n".join(table(args.folder, args.jobs, args.rounds)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
