"""What cuvet costs, measured on this machine: paired, interleaved runs, medians with quartiles.

Every round runs each mode once, in shuffled order, so that drift of the machine meets all modes alike; differences are taken
within a round. PyTorch's processes live side by side and take turns.

Modes: ``bare`` (no shim), ``passing`` (the shim without a recording), ``checked`` (`--record lifecycle`), ``full``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import images

import cuvet
from cuvet.analysis import analyze
from cuvet.launch import driver as real_driver

HERE = Path(__file__).parent
NATIVE = Path(cuvet.__file__).parent / "_native"
MODES = ("bare", "passing", "checked", "full")
TURNS = 30


def environment(mode: str, driver: str, trace: str) -> dict[str, str]:
    env = dict(os.environ)
    if mode == "bare":
        return env
    env |= {"LD_PRELOAD": str(NATIVE / "libcuda.so.1"), "CUVET_DRIVER": driver}
    if mode != "passing":
        env |= {"CUVET_TRACE": trace, "CUVET_RECORD": "full" if mode == "full" else "lifecycle"}
    return env


def measure(command: list[str], mode: str, driver: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as trace:
        done = subprocess.run(command, env=environment(mode, driver, trace), capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def rounds(command: list[str], modes: tuple[str, ...], count: int, driver: str) -> list[dict[str, dict[str, float]]]:
    """One dictionary a round: mode → what → figure."""
    found = []
    for number in range(count):
        order = list(modes)
        random.Random(number).shuffle(order)
        found.append({mode: measure(command, mode, driver) for mode in order})
        print(f"  round {number + 1} of {count}", file=sys.stderr)
    return found


def pairs(command: list[str], processes: int, chunks: int, driver: str) -> list[dict[str, dict[str, float]]]:
    """As ``rounds``, bare and checked, with processes that live at the same time and take turns, ``chunks`` times each pair of them."""
    found = []
    for number in range(processes):
        with tempfile.TemporaryDirectory() as trace:
            running = {mode: start(command, environment(mode, driver, trace)) for mode in ("bare", "checked")}
            for chunk in range(chunks):
                order = list(running) if (chunk + number) % 2 else list(running)[::-1]
                found.append({mode: turn(running[mode]) for mode in order})
            for process in running.values():
                process.communicate()
        print(f"  processes {number + 1} of {processes}", file=sys.stderr)
    return found


def start(command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def turn(process: subprocess.Popen[str]) -> dict[str, float]:
    """Let a process that waits for a line measure once."""
    assert process.stdin and process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    figures: dict[str, float] = json.loads(process.stdout.readline())
    return figures


def spread(values: list[float], form: str) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:{form}} [{low:{form}}, {high:{form}}]"


def table(found: list[dict[str, dict[str, float]]], compare: Callable[[float, float], float], form: str) -> list[str]:
    """A row a figure: the bare one, then each mode compared with the bare run of its round."""
    modes = [mode for mode in MODES if mode in found[0] and mode != "bare"]
    lines = ["| | bare | " + " | ".join(modes) + " |", "|---|---" + "|---" * len(modes) + "|"]
    for what in found[0]["bare"]:
        bare = spread([row["bare"][what] for row in found], ".1f")
        cells = [spread([compare(row[mode][what], row["bare"][what]) for row in found], form) for mode in modes]
        lines.append(f"| {what} | {bare} | " + " | ".join(cells) + " |")
    return lines


def analysis_rate(command: list[str], driver: str, repeats: int) -> str:
    """Calls of a full recording judged in a second, by one process."""
    with tempfile.TemporaryDirectory() as trace:
        env = environment("full", driver, trace)
        subprocess.run(command, env=env, input=b"\n" * 20, capture_output=True, check=True)
        rates, calls = [], 0
        for _ in range(repeats):
            start = time.perf_counter()
            calls = analyze([Path(trace)]).stats["calls"]
            rates.append(calls / (time.perf_counter() - start))
    return f"Analysis of a full recording of it, {calls:,} calls: {spread(rates, ',.0f')} calls a second"


def report(calls_rounds: int, torch_processes: int) -> list[str]:
    driver = real_driver.find(dict(os.environ)).path or "libcuda.so.1"
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True
    ).stdout.splitlines()[0]
    lines = [f"{gpu}; {calls_rounds} paired rounds; median [quartiles]", ""]
    with tempfile.TemporaryDirectory() as folder:
        calls = str(Path(folder, "calls"))
        subprocess.run(["nvcc", "-O2", "-std=c++17", "-arch=sm_90", "-o", calls, str(HERE / "calls.cu")], check=True)
        lines += ["Nanoseconds per call; the modes as difference to bare:", ""]
        lines += table(rounds([calls], MODES, calls_rounds, driver), lambda a, b: a - b, "+.1f")
        lines += ["", "64 threads, nanoseconds per call of all together; the modes as difference to bare:", ""]
        lines += table(rounds([calls, "64"], MODES, calls_rounds, driver), lambda a, b: a - b, "+.1f")
    turns = f"{torch_processes} pairs of processes that take turns, {TURNS} each"
    lines += ["", f"PyTorch; the modes as ratio to bare ({turns}):", ""]
    found = pairs([sys.executable, str(HERE / "torch_step.py")], torch_processes, TURNS, driver)
    lines += table(found, lambda a, b: a / b, ".3f")
    return [*lines, "", analysis_rate([sys.executable, str(HERE / "torch_step.py")], driver, 5), "", *images.table()]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what cuvet costs on this machine's GPU.")
    parser.add_argument("--rounds", type=int, default=7, help="paired rounds of the single calls")
    parser.add_argument("--torch-processes", type=int, default=9, help="pairs of processes of PyTorch")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    args = parser.parse_args()
    if not shutil.which("nvcc") or not shutil.which("nvidia-smi"):
        print("make bench needs nvcc and an NVIDIA GPU: nothing was measured", file=sys.stderr)
        return 1
    text = "\n".join(report(args.rounds, args.torch_processes)) + "\n"
    print(text)
    if args.output:
        args.output.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
