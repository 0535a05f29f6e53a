"""What cuvet costs, measured on this machine: paired, interleaved runs, medians with quartiles.

Every round runs each mode once, in shuffled order, so that drift of the machine meets all modes alike; differences are taken
within a round. PyTorch's processes live side by side and take turns; two of them are bare, to see what two processes differ by themselves.

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
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import images

import cuvet
from cuvet.analysis import analyze
from cuvet.launch import driver as real_driver

HERE = Path(__file__).parent
NATIVE = Path(cuvet.__file__).parent / "_native"
MODES = ("bare", "passing", "checked", "full")
TURNS = 8
"""Few: two processes differ by more than the turns of one."""
CORES = 4


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


def in_turns(command: list[str], sets: int, driver: str) -> list[dict[str, dict[str, float]]]:
    """As ``rounds``, but each round's processes live at the same time, on the same ``CORES`` cores and with the same hashes of strings
    (their dictionaries would differ), and take ``TURNS`` turns; a figure is its median over them. ``bare again`` is a second process
    without cuvet: what two processes differ by themselves."""
    modes = ["bare", "bare again", "checked"]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    found = []
    for number in range(sets):
        with tempfile.TemporaryDirectory() as trace:
            order = modes[number % 3 :] + modes[: number % 3]
            hashes = {"PYTHONHASHSEED": str(number + 1)}
            running = {mode: start(command, environment(mode.split()[0], driver, trace) | hashes) for mode in order}
            turns = []
            for chunk in range(TURNS):
                random.Random(TURNS * number + chunk).shuffle(order)
                turns.append({mode: turn(running[mode]) for mode in order})
            for process in running.values():
                process.communicate()
        medians = {
            mode: {what: statistics.median(each[mode][what] for each in turns) for what in turns[0][mode]}
            for mode in modes
        }
        found.append(medians)
        print(f"  processes {number + 1} of {sets}: {json.dumps(medians)}", file=sys.stderr)
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


def ratios(found: list[dict[str, dict[str, float]]]) -> list[str]:
    """A row a figure: without cuvet, the second process without it over the first, and with it over both."""
    lines = ["| | bare | bare again | checked | standard error |", "|---|---|---|---|---|"]
    for what in found[0]["bare"]:
        bare = spread([row["bare"][what] for row in found], ".1f")
        again = spread([row["bare again"][what] / row["bare"][what] for row in found], ".3f")
        checked = [2 * row["checked"][what] / (row["bare"][what] + row["bare again"][what]) for row in found]
        error = statistics.stdev(checked) / len(checked) ** 0.5
        lines.append(
            f"| {what} | {bare} | {again} | {spread(checked, '.3f')}, mean {statistics.mean(checked):.3f} | {error:.3f} |"
        )
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


def single_calls(count: int, driver: str) -> Iterator[str]:
    yield f"Nanoseconds per call, {count} paired rounds; the modes as difference to bare:\n"
    with tempfile.TemporaryDirectory() as folder:
        calls = str(Path(folder, "calls"))
        subprocess.run(["nvcc", "-O2", "-std=c++17", "-arch=sm_90", "-o", calls, str(HERE / "calls.cu")], check=True)
        yield from table(rounds([calls], MODES, count, driver), lambda a, b: a - b, "+.1f")
        yield "\n64 threads, nanoseconds per call of all together; the modes as difference to bare:\n"
        yield from table(rounds([calls, "64"], MODES, count, driver), lambda a, b: a - b, "+.1f")


def torch(sets: int, driver: str) -> Iterator[str]:
    command = [sys.executable, str(HERE / "torch_step.py")]
    yield f"PyTorch, {sets} times three processes that take {TURNS} turns each on the same {CORES} cores; as ratio to bare:\n"
    yield from ratios(in_turns(command, sets, driver))
    yield "\n" + analysis_rate(command, driver, 5)


def report(part: str, count: int, sets: int) -> Iterator[str]:
    """The lines, each as soon as it is known."""
    driver = real_driver.find(dict(os.environ)).path or "libcuda.so.1"
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    yield subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[0] + "; median [quartiles]\n"
    if part in ("all", "calls"):
        yield from single_calls(count, driver)
        yield ""
    if part in ("all", "torch"):
        yield from torch(sets, driver)
        yield ""
    if part in ("all", "images"):
        yield from images.table()


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what cuvet costs on this machine's GPU.")
    parser.add_argument("--rounds", type=int, default=7, help="paired rounds of the single calls")
    parser.add_argument(
        "--torch-processes", type=int, default=9, help="times that PyTorch's three processes are started"
    )
    parser.add_argument("--only", choices=("calls", "torch", "images"), default="all", help="one part")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    args = parser.parse_args()
    if not shutil.which("nvcc") or not shutil.which("nvidia-smi"):
        print("make bench needs nvcc and an NVIDIA GPU: nothing was measured", file=sys.stderr)
        return 1
    with args.output.open("w") if args.output else nullcontext() as file:
        for line in report(args.only, args.rounds, args.torch_processes):
            print(line, flush=True)
            if file:
                print(line, file=file, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
