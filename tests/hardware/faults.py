"""Run each program of ``faults.cu`` under ``cuvet run`` and print its verdict beside the truth. Exit code 1 if a verdict is wrong.

``python tests/hardware/faults.py [--device emulated] [--narrow]``. Needs nvcc and cuBLAS; with a GPU all of them, ``other_device``
with two.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
_TIMEOUT_S = 120
_WORKERS = 8
NOT_ON_EMULATED = frozenset(
    {
        "cublas_freed",
        "pointer_in_memory",
        "misaligned",
        "graph_replay",
        "other_device",
        "range_never_mapped",
        "range_unmapped",
    }
)
"""What the emulated device does not find, since it is not certain there."""


class Truth(NamedTuple):
    """The kernel at fault, and which of its arguments: a word as in the report, None if none is wrong in itself."""

    kernel: str
    argument: str | None = "0"


WILD = Truth("wild", None)
"""Of the programs in which another launch looks suspicious."""
TRUTH = {
    "null": Truth("fill"),
    "null_of_two": Truth("copy", "1"),
    "null_in_struct": Truth("by_view", "0, byte 8,"),
    "freed": Truth("scale"),
    "freed_small": Truth("scale"),
    "freed_large": Truth("scale"),
    "freed_read": Truth("copy"),
    "freed_in_struct": Truth("by_view", "0, byte 8,"),
    "freed_third_of_struct": Truth("by_three", "0, byte 16,"),
    "freed_inside": Truth("scale"),
    "freed_packed": Truth("fill"),
    "freed_by_config": Truth("fill"),
    "freed_by_thread": Truth("fill"),
    "freed_launched_by_thread": Truth("fill"),
    "freed_after_others": Truth("fill"),
    "one_of_five": Truth("scale"),
    "one_of_five_beyond": Truth("scale", None),
    "beyond_by_index": Truth("at", None),
    "beyond_by_last_thread": Truth("scale", None),
    "host_static": Truth("scale"),
    "host_stack": Truth("scale"),
    "host_heap": Truth("scale"),
    "range_never_mapped": Truth("fill"),
    "range_unmapped": Truth("fill"),
    "other_device": Truth("fill"),
    "trap": Truth("traps", None),
    "assert": Truth("asserts", None),
    "misaligned": Truth("misaligned", None),
    "pointer_in_memory": Truth("by_table", None),
    "graph_replay": Truth("fill", None),
    "cublas_freed": Truth(r"\S+"),
    "two_bad": Truth("fill"),
    **dict.fromkeys(
        (
            "unused_freed",
            "flagged_freed",
            "guarded_null",
            "number_like_address",
            "issued_again",
            "end_of_memory",
            "no_thread_passes",
            "stream_ordered_freed",
            "shares_a_page",
            "waited_for",
            "captured_null",
            "wild_beside_graph",
        ),
        WILD,
    ),
}


NARROWED = {"stream_ordered_freed": Truth("good")}
"""With ``--narrow`` another launch is at fault: to wait returns the freed memory to the system."""


def verdict_of(because: Sequence[str]) -> str | None:
    """The verdict's line; None if there is none."""
    return next((line for line in because if line.startswith("verdict: ")), None)


def judged(truth: Truth, because: Sequence[str], *, narrowed: bool = False) -> str:
    """``right``, ``named`` if the launch is among the candidates, ``not named``, or ``WRONG``. ``narrowed``: each launch was waited for, so
    that a verdict may know the launch alone."""
    verdict = verdict_of(because)
    if verdict is None or (narrowed and verdict.startswith("verdict: a kernel of executable-graph#")):
        named = any(re.match(rf"{truth.kernel}\b", line) for line in because)
        return "named" if named else "not named"
    if not re.match(rf"verdict: {truth.kernel}\b", verdict):
        return "WRONG"
    right = (
        truth.argument is None or f"argument {truth.argument} =" in verdict or (narrowed and "argument " not in verdict)
    )
    return "right" if right else "WRONG"


def because_of(program: Path, name: str, device: str, options: Sequence[str]) -> list[str] | None:
    """What the report says of the lost context; None if the program had none."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.json"
        run = ["run", "--device", device, "--trace", f"{folder}/trace", "--format", "json", "--output", str(output)]
        command = [sys.executable, "-m", "cuvet", *run, *options, "--", str(program), name]
        subprocess.run(command, timeout=_TIMEOUT_S, check=False, stdout=subprocess.DEVNULL)
        findings = json.loads(output.read_text(encoding="utf-8"))["findings"]
    return next((each["because"] for each in findings if each["name"] == "error-sticky"), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="real", choices=("real", "emulated"))
    parser.add_argument("--narrow", action="store_true", help="wait for each launch")
    parser.add_argument("--program", type=Path, help="already compiled")
    args = parser.parse_args()
    program = args.program or HERE / "faults"
    if args.program is None:
        shared = ["-arch=sm_90", "-cudart", "shared", "-lcuda", "-DWITH_CUBLAS", "-lcublas"]
        subprocess.run(["nvcc", "-g", "-std=c++17", *shared, "-o", str(program), str(HERE / "faults.cu")], check=True)
    wrong = 0
    with ThreadPoolExecutor(_WORKERS) as workers:
        said_of = list(
            workers.map(
                partial(because_of, program, device=args.device, options=["--narrow"] if args.narrow else []), TRUTH
            )
        )
    for (name, truth), because in zip(TRUTH.items(), said_of, strict=True):
        if args.narrow:
            truth = NARROWED.get(name, truth)
        said = "no fault" if because is None else judged(truth, because, narrowed=args.narrow)
        wrong += said == "WRONG"
        print(f"{said:9} {name}: {truth.kernel}, argument {truth.argument}")
        for line in (because or ())[1:3]:
            print(f"            {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
