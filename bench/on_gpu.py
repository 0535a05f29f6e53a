"""What needs a GPU: single calls of the runtime, whole programs, and steps of frameworks."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path

from measuring import CUVET, Limits, NotHere, Round, Sample, environment, rounds, run
from recorded import FOLDER

from cuvet.doctor import state

HERE = Path(__file__).parent
PAIRS = 3
"""Processes with cuvet, and as many without it, that live side by side: two alike differ by more than cuvet makes."""
TURNS = 12
CORES = 4


@cache
def driver() -> str:
    """The real libcuda."""
    return state.read_cuda(os.environ, 120).path or "libcuda.so.1"


@cache
def compiled(name: str) -> str:
    """Compile bench/NAME.cu."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise NotHere("no nvcc here")
    FOLDER.mkdir(parents=True, exist_ok=True)
    built = str(FOLDER / name)
    subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=native", "-o", built, str(HERE / f"{name}.cu")], check=True)
    return built


def calls(limits: Limits, threads: int = 1) -> list[Round]:
    """Nanoseconds per call of bench/calls.cu."""
    command = [compiled("calls"), str(threads)]

    def measure(mode: str) -> Sample:
        with tempfile.TemporaryDirectory() as trace:
            env = environment(mode, driver(), trace)
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        found: Sample = json.loads(done.stdout.splitlines()[-1])
        return found

    return rounds({mode: partial(measure, mode) for mode in ("bare", "checked", "full")}, limits)


def whole_program(limits: Limits) -> list[Round]:
    """A small program from its start to its end, and with `cuvet run` to the end of the report."""
    program = compiled("vector_add")
    name = "a small program (vector_add), whole process"

    def measure(command: list[str]) -> Sample:
        with tempfile.TemporaryDirectory() as state_home:
            taken = run([*command, program], {**os.environ, "XDG_STATE_HOME": state_home})
        return {name: taken.wall_s, f"{name}, processor time": taken.processor_s}

    run([program])
    return rounds({"bare": lambda: measure([]), "checked": lambda: measure([*CUVET, "run", "--"])}, limits)


# Frameworks: processes that live side by side and take turns.


def torch(limits: Limits) -> list[Round]:
    return in_turns("torch_step.py", ("torch",), limits)


def torch_with(limits: Limits, mode: str, option: str, script: str = "torch_step.py") -> list[Round]:
    """The same, or another script, in another mode."""
    return named(in_turns(script, ("torch",), limits, checked=mode), f", {option}")


def models(limits: Limits, mode: str, option: str) -> list[Round]:
    """Steps of models that others wrote. ``option``: what the names of the figures end with."""
    return named(in_turns("model_step.py", ("torchvision", "transformers"), limits, checked=mode), option)


def named(found: list[Round], option: str) -> list[Round]:
    """The rounds, with names of figures that end with the option."""
    return [{mode: {f"{what}{option}": each[what] for what in each} for mode, each in one.items()} for one in found]


def cupy(limits: Limits) -> list[Round]:
    return in_turns("cupy_add.py", ("cupy",), limits)


def two_ranks(limits: Limits) -> list[Round]:
    return in_turns("ddp_step.py", ("torch",), limits, pairs=1)


def in_turns(
    script: str, modules: tuple[str, ...], limits: Limits, pairs: int = PAIRS, checked: str = "checked"
) -> list[Round]:
    """A round is a pair of processes, one with cuvet (in mode ``checked``) and one without; sets of ``pairs`` pairs live at the same
    time, on the same ``CORES`` cores and with the same hashes of strings (their dictionaries would differ), and take ``TURNS`` turns. A
    figure is the geometric mean of the medians of a process's turns: from turn to turn a busy host changes more than processes
    differ."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise NotHere(f"this Python has no {module}")
    command, end = [sys.executable, str(HERE / script)], time.monotonic() + limits.seconds
    found: list[Round] = []
    while len(found) < limits.rounds and (not found or time.monotonic() < end):
        found += one_set(command, ["bare", checked] * pairs, limits.count(TURNS), len(found))
    return found


def one_set(command: list[str], modes: list[str], turns: int, number: int) -> list[Round]:
    with ExitStack() as stack:
        hashes = {"PYTHONHASHSEED": str(number + 1)}
        running = [stack.enter_context(started(command, mode, hashes)) for mode in modes]
        for process in running:
            wait_until_warm(process)
        taken: list[dict[str, list[float]]] = [{} for _ in running]
        for chunk in range(turns):
            order = list(range(len(running)))
            for each in order if chunk % 2 else reversed(order):
                for what, values in turn(running[each]).items():
                    taken[each].setdefault(what, []).append(statistics.median(values))
    means = [{what: statistics.geometric_mean(values) for what, values in each.items()} for each in taken]
    return [{"bare": means[at], "checked": means[at + 1]} for at in range(0, len(means), 2)]


@contextmanager
def started(command: list[str], mode: str, variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with tempfile.TemporaryDirectory() as trace:
        env = environment(mode, driver(), trace) | variables
        process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        yield process
        process.communicate()


def wait_until_warm(process: subprocess.Popen[str]) -> None:
    """Then its threads share the cores that all are measured on."""
    assert process.stdout
    if process.stdout.readline() != "warm\n":
        raise NotHere("a process ended before it was warm")
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
