"""Run every program whose behaviour is known under ``cuvet run`` on this machine's GPUs and write ``docs/hardware.md``.

Three groups: the fact programs (what cuvet must say stands in ``tests/corpus/expected.py``), the programs of the rules (the marked
lines and no others), and programs of the frameworks (no finding, and the output that they have without cuvet). Needs nvcc and a GPU;
a framework that is not installed is said to be skipped. Exit code 1 if anything differs.

A program's outcome is appended to ``known.jsonl`` beside this file as soon as it is there, and replaces what stood for the same
program on the same GPU: a run that is cut loses nothing. ``--page`` runs nothing and writes the page.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path

import msgspec

from cuvet.catalog import libraries
from cuvet.findings import Finding, Report
from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, runnable, valid
from cuvet.rules.programs import opened

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "known.jsonl"
sys.path.insert(0, str(HERE.parent.parent))

from tests.consequences import with_consequences  # noqa: E402
from tests.corpus import cudnn  # noqa: E402
from tests.corpus.expected import CHANCE, EXPECTED, NOT_SEEN  # noqa: E402
from tests.corpus.facts import Fact, all_facts, calls_printed, compile_programs, source  # noqa: E402
from tests.hardware import others  # noqa: E402
from tests.rules.simulated import expected as marked  # noqa: E402
from tests.rules.test_emulated import KNOWS_BOTH_ENDS  # noqa: E402

TIMEOUT_S = 300


@dataclass
class Row:
    """One program: what the driver did, what cuvet said, and what is wrong with that (empty: nothing)."""

    group: str
    name: str
    did: str
    said: str
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    output: str
    exit_code: int
    report: Report


def run_checked(command: list[str], *options: str, gpus: str | None = None) -> Checked:
    """The program under cuvet. ``gpus``: those that it sees, as in CUDA_VISIBLE_DEVICES."""
    seen = {} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        cuvet = [sys.executable, "-m", "cuvet", "run", "--device", "real", "--trace", f"{folder}/trace", *options]
        done = subprocess.run(
            [*cuvet, "--format", "json", "--output", str(file), "--", *command],
            capture_output=True,
            text=True,
            errors="replace",
            env=os.environ | seen,
            timeout=TIMEOUT_S,
            check=False,
        )
        if not file.exists():
            raise RuntimeError(f"no report: {done.stderr[-2000:]}")
        return Checked(done.stdout, done.returncode, msgspec.json.decode(file.read_bytes(), type=Report))


def ends_are_known(finding: Finding) -> bool:
    """Whether the report says, as file and line, where the object at fault was created and destroyed."""
    sites = (finding.site, finding.objects[0].created, finding.objects[0].destroyed) if finding.objects else (None,)
    return all(site is not None and any(frame.line for frame in site.frames) for site in sites)


def said(report: Report) -> str:
    return ", ".join(sorted({finding.name for finding in with_consequences(report.findings)})) or "nothing"


def fact_row(fact: Fact, programs: Future[Path], gpus: str | None) -> Row:
    checked = run_checked([str(programs.result()), fact.id], gpus=gpus)
    statuses = [status for _, status in calls_printed(checked.output)]
    signal = f"signal {checked.exit_code - 128}" if checked.exit_code > 128 else ""
    did = " ".join([*map(str, statuses), signal]).strip()
    row = Row("facts", fact.id, did, said(checked.report))
    names = tuple(sorted({finding.name for finding in with_consequences(checked.report.findings)}))
    if names not in (EXPECTED[fact.id], *CHANCE.get(fact.id, ())):
        row.wrong.append(f"expected {', '.join(EXPECTED[fact.id]) or 'nothing'}")
    for finding in with_consequences(checked.report.findings):
        if finding.name in KNOWS_BOTH_ENDS and not ends_are_known(finding):
            row.wrong.append(f"{finding.name} does not say where the object was created and destroyed")
    return row


def missing_library(program: str) -> str:
    """Which library the program calls that this machine does not have; empty if none."""
    for api, catalog in libraries().items():
        if f"cu.{api}." in program:
            try:
                opened(catalog.sonames)
            except SystemExit as error:
                return str(error)
    return ""


def cudnn_row(fact: str, file: Path) -> Row:
    """A fact about cuDNN, as a program of a rule."""
    if missing := missing_library("cu.cudnn."):
        return Row("facts", fact, missing, "skipped")
    setup = [] if cudnn.example(fact).setup else ["--no-setup"]
    hidden = ["env", "CUDA_VISIBLE_DEVICES="] if fact == "cudnn_no_visible_device" else []
    command = [*hidden, sys.executable, "-m", "cuvet.rules.programs", *setup, str(file)]
    checked = run_checked(command, "--record", "full")
    statuses, signal = cudnn.measured(fact)
    did = [int(line.split()[1]) for line in checked.output.splitlines()]
    died = checked.exit_code - 128 if checked.exit_code > 128 else None
    row = Row("facts", fact, " ".join(map(str, did)) + (f" signal {died}" if died else ""), said(checked.report))
    if (did, died) != (statuses, signal):
        row.wrong.append(f"cuDNN did {statuses}, signal {signal} when it was measured")
    if {finding.name for finding in with_consequences(checked.report.findings)} != set(cudnn.PROGRAMS[fact][1]):
        row.wrong.append(f"expected {', '.join(cudnn.PROGRAMS[fact][1]) or 'nothing'}")
    return row


def rule_row(name: str, file: Path, example: Example, gpus: str | None) -> Row:
    if missing := missing_library(example.program):
        return Row("rules", name, missing, "skipped")
    options = ["--record", "full", *(["--leaks"] if name.startswith("exit-leak") else [])]
    setup = [] if example.setup else ["--no-setup"]
    checked = run_checked([sys.executable, "-m", "cuvet.rules.programs", *setup, str(file)], *options, gpus=gpus)
    reported = set()
    row = Row("rules", name, "", said(checked.report))
    for finding in with_consequences(checked.report.findings):
        line = next((frame.line for frame in finding.site.frames if frame.file == str(file)), None)
        reported.add((line, finding.severity, finding.name))
        if finding.name in KNOWS_BOTH_ENDS and not ends_are_known(finding):
            row.wrong.append(f"{finding.name} does not say where the object was created and destroyed")
        row.did = f"signal {finding.signal}" if finding.signal else str(finding.status)
    row.wrong += [f"missing {each}" for each in marked(example.program) - reported]
    row.wrong += [f"extra {each}" for each in reported - marked(example.program)]
    return row


def framework_row(file: Path, options: Sequence[str]) -> Row:
    bare = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if bare.returncode:
        why = (bare.stderr.strip().splitlines() or ["no message"])[-1]
        return Row(
            "frameworks", file.stem, "does not run on this machine without cuvet either", f"skipped: {why[:100]}"
        )
    checked = run_checked([sys.executable, str(file)], *options)
    row = Row("frameworks", file.stem, bare.stdout.strip().replace("\n", "; "), said(checked.report))
    if checked.report.findings:
        row.wrong.append("a finding")
    if (checked.output, checked.exit_code) != (bare.stdout, 0):
        row.wrong.append(f"other output: {checked.output!r}, exit code {checked.exit_code}")
    return row


@dataclass(frozen=True)
class Job:
    group: str
    name: str
    row: Callable[[], Row]

    def run(self) -> Row:
        """Its row; what goes wrong in judging is wrong with the row, so that one program costs no other its outcome."""
        try:
            return self.row()
        except Exception as error:
            return Row(self.group, self.name, "", "", [f"not judged: {type(error).__name__}: {error}"[:500]])


def jobs(folder: Path, gpus: int, options: Sequence[str]) -> list[Job]:
    known = [fact for fact in all_facts() if fact.devices <= gpus]
    turn = cycle(map(str, range(gpus)))

    def sees(devices: int) -> str | None:
        """A program that needs one device sees one: the GPUs take turns."""
        return next(turn) if devices == 1 else None

    flags = ["-g", "-std=c++17", "-arch=native", "-w", "-lcuda"]
    compiler = ThreadPoolExecutor(1)
    programs = compiler.submit(compile_programs, shutil.which("nvcc") or "nvcc", source(known), flags)

    frameworks = [
        *(HERE / "frameworks").glob("*.py"),
        *((HERE / "frameworks" / "two_gpus").glob("*.py") if gpus > 1 else ()),
    ]
    found = [Job("frameworks", file.stem, partial(framework_row, file, options)) for file in sorted(frameworks)]
    for rule in model_rules():
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule))):
            for number, example in enumerate(runnable(examples)):
                if example.devices > gpus:
                    continue
                file = folder / f"{rule.name}.{kind}-{number}.py"
                file.write_text(example.program)
                row = partial(rule_row, file.stem, file, example, sees(example.devices))
                found.append(Job("rules", file.stem, row))
    for fact in cudnn.PROGRAMS:
        file = folder / f"{fact}.py"
        file.write_text(cudnn.example(fact).program)
        found.append(Job("facts", fact, partial(cudnn_row, fact, file)))
    return found + [Job("facts", fact.id, partial(fact_row, fact, programs, sees(fact.devices))) for fact in known]


def stored() -> dict[tuple[str, str, str], dict[str, object]]:
    """The last outcome of each program on each GPU, by GPU, group and name."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    rows = (json.loads(line) for line in lines)
    return {(row["gpu"], row["group"], row["name"]): row for row in rows}


def page() -> str:
    """The tables that are checked in, from the outcomes that are checked in."""
    rows = sorted(stored().values(), key=lambda row: (str(row["name"]), str(row["gpu"])))
    runs = Counter((row["gpus"], row["gpu"], row["driver"], row["date"]) for row in rows)
    lines = ["# What cuvet says on real hardware", ""]
    lines += ["Written by `make hardware` from `tests/hardware/known.jsonl`:", ""]
    for (gpus, gpu, driver, date), count in sorted(runs.items(), key=str):
        where = (gpus, gpu, driver, date)
        wrong = sum(
            bool(row["wrong"]) for row in rows if (row["gpus"], row["gpu"], row["driver"], row["date"]) == where
        )
        lines.append(
            f"* {gpus} × {gpu}, driver {driver}, {date}: {count} programs, {wrong} judged otherwise than expected."
        )
    lines += ["", "Fact programs are compiled by plain `nvcc -g` with the static runtime."]
    for group, title in (("facts", "Fact programs"), ("rules", "Programs of the rules"), ("frameworks", "Frameworks")):
        lines += ["", f"## {title}", "", "| program | GPU | the driver | cuvet | |", "|---|---|---|---|---|"]
        for row in rows:
            if row["group"] == group:
                remark = "; ".join(row["wrong"]) or NOT_SEEN.get(row["name"], "")
                cells = (row["name"], row["gpu"].removeprefix("NVIDIA "), row["did"], row["said"], remark)
                lines.append(f"| {' | '.join(cells)} |".replace("\n", " "))
    return "\n".join(lines) + "\n\n" + others.section()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the known programs on this machine's GPUs under cuvet.")
    parser.add_argument("--output", type=Path, default=RESULTS, help="append outcomes to this file")
    parser.add_argument("--jobs", type=int, default=8, help="programs that run at a time")
    parser.add_argument("--only", choices=("facts", "rules", "frameworks"), help="only this group")
    parser.add_argument(
        "--options", type=shlex.split, default=[], help="more options of cuvet run for the frameworks, in one word"
    )
    parser.add_argument("--page", action="store_true", help="run nothing: write docs/hardware.md")
    args = parser.parse_args()
    wrong = 0 if args.page else run_all(args.output, args.jobs, args.only, args.options)
    if args.output == RESULTS:
        RESULTS.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for _, row in sorted(stored().items())))
        (HERE.parents[1] / "docs" / "hardware.md").write_text(page(), encoding="utf-8")
    return 1 if wrong else 0


def run_all(output: Path, at_a_time: int, only: str | None, options: Sequence[str]) -> int:
    """How many programs were judged otherwise than expected."""
    if not shutil.which("nvcc") or not shutil.which("nvidia-smi"):
        print("make hardware needs nvcc and an NVIDIA GPU: nothing was run", file=sys.stderr)
        return 1
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    gpu, driver = (part.strip() for part in gpus[0].split(","))
    where = {"gpu": gpu, "gpus": len(gpus), "driver": driver, "date": datetime.date.today().isoformat()}
    done = wrong = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(at_a_time) as pool, output.open("a") as out:
        chosen = [job for job in jobs(Path(folder), len(gpus), options) if only in (None, job.group)]
        for future in as_completed([pool.submit(job.run) for job in chosen]):
            row = asdict(future.result())
            out.write(json.dumps(where | row, ensure_ascii=False) + "\n")
            out.flush()
            done, wrong = done + 1, wrong + bool(row["wrong"])
            if row["wrong"]:
                print(json.dumps([row["group"], row["name"], row["did"], row["said"], row["wrong"]]))
    print(f"{done - wrong} passed, {wrong} failed")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
