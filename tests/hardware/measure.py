"""Run the small programs of ``programs.txt`` on this machine's GPUs and write what each call returned.

``python tests/hardware/measure.py --output FACTS.jsonl [--repeats 5] [--again]`` needs nvcc and a GPU. With ``--again`` it runs the
programs that were measured before, on another GPU or driver: rows of the same ids, without the program. Each program runs
in a process of its own, ``repeats`` times. A row has the shape of ``src/cuvet/knowledge/facts/*.jsonl``: the statuses of the
first run, its signal, and in ``varied`` every other outcome that was seen, with how often.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.corpus.facts import FACTS, Fact, calls_printed, compile_programs, facts, source  # noqa: E402

TIMEOUT_S = 10
STOPPED = 9
"""Signal of a run that had to be stopped."""


def programs(text: str) -> list[Fact]:
    """Every section of ``programs.txt``, with nothing known of its calls."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, body = section.split("\n", 1)
        name, *options = heading.split()
        devices = int(options[0].removeprefix("devices=")) if options else 1
        found.append(Fact(name, "", body.strip(), (), None, devices))
    return found


def measured_before() -> list[Fact]:
    """The programs of all facts files, each once; but those with a ``main`` of their own, of which no row tells how they were built."""
    found = {fact.id: fact for file in sorted(FACTS.parent.glob("*.jsonl")) for fact in facts(file)}
    return [fact for fact in found.values() if "int main(" not in fact.program]


def toolkit() -> str:
    """The release of nvcc, ``13.0``."""
    told = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return next(iter(re.findall(r"release (\d+\.\d+)", told)), "")


def run(binary: Path, name: str) -> tuple[str, int | None]:
    """Output and signal of one run."""
    try:
        done = subprocess.run([binary, name], capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as stopped:
        return (stopped.stdout or b"").decode(errors="replace"), STOPPED
    return done.stdout.decode(errors="replace"), -done.returncode if done.returncode < 0 else None


def measure(binary: Path, name: str, repeats: int) -> dict[str, object]:
    runs = [run(binary, name) for _ in range(repeats)]
    outcomes = Counter(json.dumps([[status for _, status in calls_printed(out)], signal]) for out, signal in runs)
    output, signal = runs[0]
    calls = calls_printed(output)
    first = json.dumps([[status for _, status in calls], signal])
    return {
        "calls": [{"call": call, "status": status} for call, status in calls],
        "signal": signal,
        "notes": [line.strip() for line in output.splitlines() if line and not line.startswith(">")],
        "runs": repeats,
        "varied": [[json.loads(outcome), times] for outcome, times in outcomes.items() if outcome != first],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what the driver does in the programs of programs.txt.")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="the programs of the facts files instead")
    parser.add_argument("--from", dest="first", metavar="NAME", help="leave out the programs before this one")
    args = parser.parse_args()
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    gpu, driver = (part.strip() for part in gpus[0].split(","))
    known = measured_before() if args.again else programs((HERE / "programs.txt").read_text())
    start = next((i for i, program in enumerate(known) if program.id == args.first), 0)
    chosen = [program for program in known[start:] if program.devices <= len(gpus)]
    binary = compile_programs("nvcc", source(chosen), ["-std=c++17", "-arch=native", "-w", "-lcuda"])
    release = toolkit()
    with ThreadPoolExecutor(8) as pool, args.output.open("x") as out:
        results = pool.map(lambda program: measure(binary, program.id, args.repeats), chosen)
        for program, result in zip(chosen, results, strict=True):
            where = {"id": program.id, "gpu": gpu, "devices": program.devices, "driver": driver, "toolkit": release}
            text = None if args.again else program.program
            row = {**where, "date": datetime.date.today().isoformat(), "program": text, **result}
            out.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
