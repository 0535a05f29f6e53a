"""What cuvet costs, measured on this machine: paired, interleaved runs, medians with quartiles.

Every round runs each mode once, in shuffled order, so that drift of the machine meets all modes alike; differences are taken
within a round. PyTorch's processes live side by side, some with cuvet and as many without, and take turns.

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
from contextlib import nullcontext, suppress
from pathlib import Path

import images

import cuvet
from cuvet.analysis import analyze
from cuvet.doctor import state

HERE = Path(__file__).parent
NATIVE = Path(cuvet.__file__).parent / "_native"
MODES = ("bare", "passing", "checked", "full")
PROCESSES = 6
"""With cuvet, and as many without it, in one set: two alike differ by more than cuvet makes."""
TURNS = 24
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


def in_turns(command: list[str], sets: int, driver: str) -> list[dict[str, list[dict[str, float]]]]:
    """One dictionary a set: mode → the figures of each process. The processes of a set live at the same time, on the same ``CORES``
    cores and with the same hashes of strings (their dictionaries would differ), and take ``TURNS`` turns. A figure is the geometric mean
    of the medians of a process's turns: from turn to turn a busy host changes more than processes differ."""
    modes = ["bare", "checked"] * PROCESSES
    found = []
    for number in range(sets):
        with tempfile.TemporaryDirectory() as trace:
            hashes = {"PYTHONHASHSEED": str(number + 1)}
            running = [start(command, environment(mode, driver, trace) | hashes) for mode in modes]
            for process in running:
                wait_until_warm(process)
            taken: list[dict[str, list[float]]] = [{} for _ in running]
            for chunk in range(TURNS):
                order = list(range(len(running)))
                random.Random(TURNS * number + chunk).shuffle(order)
                for each in order:
                    for what, values in turn(running[each]).items():
                        taken[each].setdefault(what, []).append(statistics.median(values))
            for process in running:
                process.communicate()
        figures = [{what: statistics.geometric_mean(values) for what, values in each.items()} for each in taken]
        found.append(
            {mode: [each for each, of in zip(figures, modes, strict=True) if of == mode] for mode in modes[:2]}
        )
        print(f"  set {number + 1} of {sets}: {json.dumps(taken)}", file=sys.stderr)
    return found


def start(command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_until_warm(process: subprocess.Popen[str]) -> None:
    """Then its threads share the cores that all are measured on."""
    assert process.stdout
    process.stdout.readline()
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), sorted(os.sched_getaffinity(0))[:CORES])


def turn(process: subprocess.Popen[str]) -> dict[str, list[float]]:
    """Let a process that waits for a line measure once."""
    assert process.stdin and process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    measured: dict[str, list[float]] = json.loads(process.stdout.readline())
    return measured


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


def ratios(found: list[dict[str, list[dict[str, float]]]]) -> list[str]:
    """A row a figure: without cuvet, by how much two processes differ by themselves, and the ratio of those with cuvet to those without,
    set by set."""
    lines = ["| | bare | one process to another | checked | mean, standard error |", "|---|---|---|---|---|"]
    for what in found[0]["bare"][0]:
        values = [{mode: [each[what] for each in figures] for mode, figures in row.items()} for row in found]
        bare = [statistics.mean(row["bare"]) for row in values]
        alike = [statistics.stdev(row["bare"]) / mean for row, mean in zip(values, bare, strict=True)]
        checked = [statistics.mean(row["checked"]) / mean for row, mean in zip(values, bare, strict=True)]
        error = statistics.stdev(checked) / len(checked) ** 0.5
        mean = f"{statistics.mean(checked):.3f} ± {error:.3f}"
        differ = f"± {100 * statistics.mean(alike):.1f}%"
        lines.append(f"| {what} | {spread(bare, '.1f')} | {differ} | {spread(checked, '.3f')} | {mean} |")
    return lines


def analysis_rate(command: list[str], driver: str, repeats: int) -> str:
    """Calls of a full recording judged in a second, by one process."""
    with tempfile.TemporaryDirectory() as trace:
        env = environment("full", driver, trace)
        subprocess.run(command, env=env, input=b"\n" * 40, capture_output=True, check=True)
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
    processes = f"{PROCESSES} processes with cuvet and {PROCESSES} without"
    yield f"PyTorch, {sets} sets of {processes}, which take {TURNS} turns each on the same {CORES} cores:\n"
    yield from ratios(in_turns(command, sets, driver))
    yield "\n" + analysis_rate(command, driver, 5)


def report(part: str, count: int, sets: int) -> Iterator[str]:
    """The lines, each as soon as it is known."""
    driver = state.read_cuda(os.environ, 120).path or "libcuda.so.1"
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
    parser.add_argument("--torch-sets", type=int, default=12, help="times that a set of PyTorch's processes is started")
    parser.add_argument("--only", choices=("calls", "torch", "images"), default="all", help="one part")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    args = parser.parse_args()
    if not shutil.which("nvcc") or not shutil.which("nvidia-smi"):
        print("make bench needs nvcc and an NVIDIA GPU: nothing was measured", file=sys.stderr)
        return 1
    with args.output.open("w") if args.output else nullcontext() as file:
        for line in report(args.only, args.rounds, args.torch_sets):
            print(line, flush=True)
            if file:
                print(line, file=file, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
