"""What needs no GPU: the shim over a driver that does nothing, and the analysis of the recordings that it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

from measuring import CUVET, ROOT, SHIM, Limits, NotHere, Round, Sample, environment, keeping_compiled, rounds, run

HERE = Path(__file__).parent
FOLDER = ROOT / "build" / "bench"


@cache
def program(name: str) -> str:
    """Compile bench/native/NAME.cpp."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, built = HERE / "native" / f"{name}.cpp", FOLDER / name
    compiler = os.environ.get("CXX", "c++").split()
    subprocess.run([*compiler, "-std=c++17", "-O2", "-o", str(built), str(source), "-ldl"], check=True)
    return str(built)


@cache
def null_driver() -> str:
    """A driver whose calls return success and do nothing else."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    built = str(FOLDER / "libnull.so")
    subprocess.run([sys.executable, "-m", "tests.native.null_driver", built], cwd=ROOT, check=True)
    return built


def call(what: str, count: int, mode: str, trace: str) -> float:
    """Nanoseconds of a turn of bench/native/driver_calls.cpp."""
    library = null_driver() if mode == "bare" else str(SHIM)
    env = {name: text for name, text in environment(mode, null_driver(), trace).items() if name != "LD_PRELOAD"}
    command = [program("driver_calls"), library, what, str(count)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout)["ns"])


def pairs(limits: Limits) -> list[Round]:
    """What the shim adds to calls that make and end an object."""

    def measure(mode: str) -> Sample:
        found = {}
        for name, what in {
            "cuEventCreate + cuEventDestroy": "events",
            "cuMemAllocAsync + cuMemFreeAsync": "memory",
        }.items():
            with tempfile.TemporaryDirectory() as trace:
                found[f"{name}, a driver that does nothing"] = call(what, limits.count(100_000), mode, trace)
        return found

    return rounds({mode: partial(measure, mode) for mode in ("bare", "checked")}, limits)


def launches(limits: Limits, name: str) -> list[Round]:
    """What `--races` adds to a launch."""

    def measure(mode: str) -> Sample:
        with tempfile.TemporaryDirectory() as trace:
            return {name: call("launches", limits.count(100_000), mode, trace)}

    return rounds({"bare": partial(measure, "bare"), "checked": partial(measure, "races")}, limits)


@contextmanager
def recording(what: str, count: int, mode: str = "checked") -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=FOLDER if FOLDER.is_dir() else None) as trace:
        call(what, count, mode, trace)
        yield trace


ANALYSE = """
import json, resource, sys, time
from pathlib import Path
from cuvet.analysis import analyze
begun, before = time.perf_counter(), time.process_time()
calls = analyze([Path(sys.argv[1])]).stats["calls"]
wall, processor = time.perf_counter() - begun, time.process_time() - before
print(json.dumps([calls, wall, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def analysed(trace: str) -> tuple[float, float, float, float]:
    """(calls, wall seconds, processor seconds, MB at the peak) of an analysis, without the start of its process."""
    command = [sys.executable, "-c", ANALYSE, trace]
    done = subprocess.run(command, env=keeping_compiled(os.environ), stdout=subprocess.PIPE, text=True, check=True)
    calls, wall_s, processor_s, memory_mb = json.loads(done.stdout)
    return calls, wall_s, processor_s, memory_mb


def lifecycle(limits: Limits) -> list[Round]:
    with recording("events", limits.count(30_000)) as events, recording("memory", limits.count(30_000)) as memory:

        def measure() -> Sample:
            found = [analysed(events), analysed(memory)]
            rate = sum(each[0] for each in found) / sum(each[1] for each in found)
            return {"calls that make or end an object": rate}

        return rounds({"checked": measure}, limits)


def full(limits: Limits, what: str, name: str, turns: int) -> list[Round]:
    """The rate of a full recording; each turn is four calls."""
    with recording(what, limits.count(turns), "full") as trace:

        def measure() -> Sample:
            calls, wall_s, _, _ = analysed(trace)
            return {name: calls / wall_s}

        return rounds({"full": measure}, limits)


def races(limits: Limits, names: dict[str, str], turns: int) -> list[Round]:
    """The rates of recordings of `--races`; ``names`` by what is done in each turn."""
    with ExitStack() as stack:
        kept = {
            name: stack.enter_context(recording(what, limits.count(turns), "races")) for what, name in names.items()
        }

        def measure() -> Sample:
            found = {name: analysed(trace) for name, trace in kept.items()}
            return {name: calls / wall_s for name, (calls, wall_s, _, _) in found.items()}

        return rounds({"checked": measure}, limits)


def live(limits: Limits) -> list[Round]:
    count = limits.count(300_000)
    with recording("live", count) as trace:

        def measure() -> Sample:
            taken = run([*CUVET, "analyze", "--leaks", "--format", "json", trace], codes=(0, 1))
            name = "300,000 live objects with --leaks"
            return {name: taken.wall_s, f"{name}, peak memory": taken.memory_mb}

        return rounds({"checked": measure}, limits)


def whole(limits: Limits, millions: int) -> list[Round]:
    with recording("hot", limits.count(millions * 250_000), "full") as trace:

        def measure() -> Sample:
            taken = run([*CUVET, "analyze", "--format", "json", trace], codes=(0, 1))
            name = f"a full recording of {millions} million calls"
            return {name: taken.wall_s, f"{name}, peak memory": taken.memory_mb}

        return rounds({"full": measure}, limits)


def emulated_start(limits: Limits) -> list[Round]:
    name = "cuvet run --device emulated -- true"

    def measure(command: list[str]) -> Sample:
        with tempfile.TemporaryDirectory() as state:
            taken = run(command, {**os.environ, "XDG_STATE_HOME": state})
        return {name: taken.wall_s, f"{name}, processor time": taken.processor_s}

    checked = [*CUVET, "run", "--device", "emulated", "--", "true"]
    return rounds({"bare": lambda: measure(["true"]), "checked": lambda: measure(checked)}, limits)


def emulated_calls(limits: Limits) -> list[Round]:
    """Six runtime calls make the same driver calls in each turn; a recording of everything tells how many."""

    def emulated(turns: int, *options: str) -> tuple[float, int]:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            kept = ["--trace", str(Path(folder, "trace")), "--format", "json", "--output", str(report), *options]
            command = [*CUVET, "run", "--device", "emulated", *kept, "--", program("runtime_calls"), str(turns)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            if done.returncode:
                raise NotHere(f"runtime_calls ended with {done.returncode} on the emulated device")
            calls: int = json.loads(report.read_text())["stats"]["calls"]
        return float(json.loads(done.stdout)["us"]), calls

    calls_of_a_turn = emulated(2, "--record", "full")[1] - emulated(1, "--record", "full")[1]

    def measure() -> Sample:
        turn_us, _ = emulated(limits.count(3000))
        return {"emulated device: a driver call": turn_us / calls_of_a_turn}

    return rounds({"checked": measure}, limits)
