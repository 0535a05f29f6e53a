"""The rows of the bench: what is measured, in which unit, and the goal. A row's figures come from the same runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import commands
import on_gpu
import ranks
import recorded
from measuring import Limits, Round


class Goal(NamedTuple):
    """``of``: the key of the figure (`measuring.compared`); it is reached by ``limit`` or less, with ``least`` by that or more."""

    of: str
    limit: float
    least: bool = False


class Figure(NamedTuple):
    unit: str
    goal: Goal | None = None


class Row(NamedTuple):
    """``seconds``: after so many, no further round begins. ``gpus`` are needed. ``long``: only with --long."""

    part: str
    figures: dict[str, Figure]
    measure: Callable[[Limits], list[Round]]
    seconds: float = 15
    rounds: int = 7
    gpus: int = 0
    long: bool = False


def with_memory(what: str, seconds: float | None, memory_mb: float | None, of: str = "checked") -> dict[str, Figure]:
    return {
        what: Figure("s", Goal(of, seconds) if seconds else None),
        f"{what}, peak memory": Figure("MB", Goal(of, memory_mb) if memory_mb else None),
    }


def with_processor(what: str, goal: Goal) -> dict[str, Figure]:
    return {what: Figure("s", goal), f"{what}, processor time": Figure("s")}


QUERIES = "cudaStreamQuery cudaEventQuery cudaEventRecord cudaStreamWaitEvent".split()
OTHER_CALLS = ["kernel launch", "cudaMemsetAsync", "cudaMemcpyAsync", "cudaSetDevice"]
LIVES = ["cudaMallocAsync + cudaFreeAsync", "cudaEventCreate + cudaEventDestroy"]
NULL_LIVES = ["cuEventCreate + cuEventDestroy", "cuMemAllocAsync + cuMemFreeAsync"]
RATE = "calls a second"
HOT = "launches and copies, of a full recording"
WORK = "launches, copies, events and waits for them, of a full recording"
NULL_LAUNCH = "cuLaunchKernel, a driver that does nothing, with --races"
RACES = {
    "launches": "launches with other arguments each time, with --races",
    "work": "launches, copies, events and waits for them, with --races",
}

RANKS, RANKS_ALONE = "cuvet analyze of 1,000 ranks", "cuvet analyze of 1,000 ranks, one processor"

RANKS_ON_RAY = "cuvet analyze --on ray of 1,000 ranks"

ADDED = "PyTorch x.add_(1), 1,024 floats"
TIMED = "PyTorch two timing events and x.add_(1)"
STEPS = ["PyTorch transformer training step (cuBLAS)", "PyTorch convolutional training step (cuDNN)"]
SERVING = "PyTorch serving step, 20 pinned copies"
MODELS = [
    "torchvision ResNet-50 training step, 128 images, AMP",
    "transformers GPT-2 training step, 8 × 1,024 tokens, bfloat16",
]
CSAN = "with PyTorch's own sanitizer in cuvet's place"
OTHER_MODES = [
    ("races", "with --races", {ADDED: Goal("checked added", 2), **dict.fromkeys(STEPS, Goal("checked ratio", 1.3))}),
    ("kept", "with --protect --quarantine auto", dict.fromkeys(STEPS, Goal("checked ratio", 1.02))),
    ("csan", CSAN, dict[str, Goal]()),
]
"""A mode of PyTorch's rows, how they are then called, and their goals."""


def torch_with(mode: str, option: str, goals: Mapping[str, Goal]) -> Row:
    units = {ADDED: "µs", TIMED: "µs", **dict.fromkeys(STEPS, "ms")}
    figures = {f"{what}, {option}": Figure(unit, goals.get(what)) for what, unit in units.items()}
    return Row("programs", figures, partial(on_gpu.torch_with, mode=mode, option=option), seconds=60, rounds=6, gpus=1)


def serving_with(mode: str, option: str, goal: Goal | None = None) -> Row:
    measure = partial(on_gpu.torch_with, mode=mode, option=option, script="serve_step.py")
    return Row("programs", {f"{SERVING}, {option}": Figure("ms", goal)}, measure, seconds=30, rounds=6, gpus=1)


def models_with(mode: str, option: str = "") -> Row:
    """Of models that others wrote."""
    figures = {f"{model}{option}": Figure("ms", Goal("checked ratio", 1.02)) for model in MODELS}
    measure = partial(on_gpu.models, mode=mode, option=option)
    return Row("programs", figures, measure, seconds=90, rounds=12, gpus=1)


ROWS = [
    Row(
        "calls",
        {name: Figure("ns") for name in (*QUERIES, *OTHER_CALLS)}
        | {name: Figure("ns", Goal("checked added", 600)) for name in LIVES},
        on_gpu.calls,
        seconds=30,
        gpus=1,
    ),
    Row(
        "calls",
        {"64 threads, cudaEventQuery and cudaStreamQuery": Figure("ns")},
        partial(on_gpu.calls, threads=64),
        seconds=10,
        rounds=3,
        gpus=1,
    ),
    Row(
        "calls",
        {f"{name}, a driver that does nothing": Figure("ns", Goal("checked added", 600)) for name in NULL_LIVES},
        recorded.pairs,
    ),
    Row("calls", {NULL_LAUNCH: Figure("ns", Goal("checked added", 500))}, partial(recorded.launches, name=NULL_LAUNCH)),
    Row(
        "programs",
        {"CuPy a + b, 1,024 floats, MemoryAsyncPool": Figure("µs", Goal("checked ratio", 1.10))},
        on_gpu.cupy,
        seconds=20,
        rounds=6,
        gpus=1,
    ),
    Row(
        "programs",
        {
            ADDED: Figure("µs", Goal("checked ratio", 1.02)),
            TIMED: Figure("µs", Goal("checked ratio", 1.08)),
            **{step: Figure("ms", Goal("checked ratio", 1.02)) for step in STEPS},
        },
        on_gpu.torch,
        seconds=60,
        rounds=6,
        gpus=1,
    ),
    *(torch_with(*each) for each in OTHER_MODES),
    models_with("checked"),
    models_with("kept", ", with --protect --quarantine auto"),
    serving_with("races", "with --races"),
    serving_with("guard", "with --races --guard", Goal("checked ratio", 2)),
    serving_with("csan", CSAN),
    Row(
        "programs",
        {"DDP training step, 2 ranks, NCCL": Figure("ms", Goal("checked ratio", 1.02))},
        on_gpu.two_ranks,
        seconds=90,
        rounds=6,
        gpus=2,
    ),
    Row(
        "programs",
        with_processor("a small program (vector_add), whole process", Goal("checked added", 0.30)),
        on_gpu.whole_program,
        seconds=20,
        gpus=1,
    ),
    Row(
        "emulated",
        with_processor("cuvet run --device emulated -- true", Goal("checked", 0.30)),
        recorded.emulated_start,
    ),
    Row(
        "emulated",
        {"emulated device: a driver call": Figure("µs", Goal("checked", 30))},
        recorded.emulated_calls,
        rounds=3,
    ),
    Row(
        "analysis",
        {"calls that make or end an object": Figure(RATE, Goal("checked", 400_000, least=True))},
        recorded.lifecycle,
        rounds=5,
    ),
    Row(
        "analysis",
        {HOT: Figure(RATE, Goal("full", 4e6, least=True))},
        partial(recorded.full, what="hot", name=HOT, turns=250_000),
        rounds=5,
    ),
    Row("analysis", {WORK: Figure(RATE)}, partial(recorded.full, what="work", name=WORK, turns=25_000), rounds=3),
    Row(
        "analysis",
        {name: Figure(RATE) for name in RACES.values()},
        partial(recorded.races, names=RACES, turns=25_000),
        rounds=3,
    ),
    Row("analysis", with_memory("300,000 live objects with --leaks", 2, 200), recorded.live, rounds=3),
    Row(
        "analysis",
        with_memory("a full recording of 2 million calls", None, None, "full"),
        partial(recorded.whole, millions=2),
        rounds=3,
    ),
    Row(
        "analysis",
        with_memory("a full recording of 50 million calls", 45, None, "full"),
        partial(recorded.whole, millions=50),
        rounds=1,
        long=True,
    ),
    Row(
        "analysis",
        with_memory(RANKS, None, 200) | with_memory(RANKS_ALONE, None, None),
        partial(ranks.merged, ranks=1000, name=RANKS, alone=RANKS_ALONE),
        seconds=300,
        rounds=3,
        long=True,
    ),
    Row(
        "analysis",
        {RANKS_ON_RAY: Figure("s"), f"{RANKS_ON_RAY}, peak memory of a worker": Figure("MB")},
        partial(ranks.on_ray, ranks=1000, name=RANKS_ON_RAY),
        seconds=300,
        rounds=3,
        long=True,
    ),
    Row(
        "check",
        {f"cuvet check, {count} if/else {arm}": Figure("s") for arm in commands.ARMS for count in (50, 100, 250)},
        commands.check_branches,
        seconds=25,
        rounds=3,
    ),
    Row(
        "check",
        {
            f"cuvet check of the corpus, {name}": Figure("s")
            for name in ("without the cache", "first run", "second run")
        },
        commands.check_corpus,
        rounds=3,
    ),
    Row(
        "commands",
        {f"cuvet {words}": Figure("s", Goal("checked", 0.3)) for words in commands.QUESTIONS},
        commands.start,
        rounds=5,
    ),
    Row(
        "commands",
        with_memory("cuvet inspect libcublasLt.so", None, None)
        | with_memory("cuobjdump --list-elf libcublasLt.so", None, None),
        commands.inspect,
    ),
]
