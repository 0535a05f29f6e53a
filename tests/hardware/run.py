"""Run every program whose behaviour is known under ``cuvet run`` on this machine's GPUs and write ``docs/hardware.md``.

Three groups: the fact programs (what cuvet must say stands in ``tests/corpus/expected.py``), the programs of the rules (the marked
lines and no others), and programs of the frameworks (no finding, and the output that they have without cuvet). Needs nvcc and a GPU;
a framework that is not installed is said to be skipped. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cuvet.catalog import libraries
from cuvet.findings import Finding, Report, with_consequences
from cuvet.rules import model_rules
from cuvet.rules.programs import opened
from cuvet.rules.rule import Example
from cuvet.rules.sources import runnable

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

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
    driver: str
    said: str
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    output: str
    exit_code: int
    report: Report


def run_checked(command: list[str], *options: str) -> Checked:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        cuvet = [sys.executable, "-m", "cuvet", "run", "--device", "real", "--trace", f"{folder}/trace", *options]
        done = subprocess.run(
            [*cuvet, "--format", "json", "--output", str(file), "--", *command],
            capture_output=True,
            text=True,
            errors="replace",
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


def fact_row(fact: Fact, programs: Path) -> Row:
    checked = run_checked([str(programs), fact.id])
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


def rule_row(name: str, file: Path, example: Example) -> Row:
    if missing := missing_library(example.program):
        return Row("rules", name, missing, "skipped")
    options = ["--record", "full", *(["--leaks"] if name.startswith("exit-leak") else [])]
    setup = [] if example.setup else ["--no-setup"]
    checked = run_checked([sys.executable, "-m", "cuvet.rules.programs", *setup, str(file)], *options)
    reported = set()
    row = Row("rules", name, "", said(checked.report))
    for finding in with_consequences(checked.report.findings):
        line = next((frame.line for frame in finding.site.frames if frame.file == str(file)), None)
        reported.add((line, finding.severity, finding.name))
        if finding.name in KNOWS_BOTH_ENDS and not ends_are_known(finding):
            row.wrong.append(f"{finding.name} does not say where the object was created and destroyed")
        row.driver = f"signal {finding.signal}" if finding.signal else str(finding.status)
    row.wrong += [f"missing {each}" for each in marked(example.program) - reported]
    row.wrong += [f"extra {each}" for each in reported - marked(example.program)]
    return row


def framework_row(file: Path) -> Row:
    bare = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if bare.returncode:
        why = (bare.stderr.strip().splitlines() or ["no message"])[-1]
        return Row(
            "frameworks", file.stem, "does not run on this machine without cuvet either", f"skipped: {why[:100]}"
        )
    checked = run_checked([sys.executable, str(file)])
    row = Row("frameworks", file.stem, bare.stdout.strip().replace("\n", "; "), said(checked.report))
    if checked.report.findings:
        row.wrong.append("a finding")
    if (checked.output, checked.exit_code) != (bare.stdout, 0):
        row.wrong.append(f"other output: {checked.output!r}, exit code {checked.exit_code}")
    return row


def jobs(folder: Path, gpus: int) -> list[Callable[[], Row]]:
    known = [fact for fact in all_facts() if fact.devices <= gpus]
    options = ["-g", "-std=c++17", "-arch=native", "-w", "-lcuda"]
    programs = compile_programs(shutil.which("nvcc") or "nvcc", source(known), options)
    found: list[Callable[[], Row]] = [lambda fact=fact: fact_row(fact, programs) for fact in known]
    for rule in model_rules():
        for kind, examples in (("valid", rule.VALID), ("invalid", rule.INVALID)):
            for number, example in enumerate(runnable(examples)):
                if example.devices > gpus:
                    continue
                file = folder / f"{rule.name}.{kind}-{number}.py"
                file.write_text(example.program)
                found.append(lambda name=file.stem, file=file, example=example: rule_row(name, file, example))
    for fact in cudnn.PROGRAMS:
        file = folder / f"{fact}.py"
        file.write_text(cudnn.example(fact).program)
        found.append(lambda fact=fact, file=file: cudnn_row(fact, file))
    frameworks = [
        *(HERE / "frameworks").glob("*.py"),
        *((HERE / "frameworks" / "two_gpus").glob("*.py") if gpus > 1 else ()),
    ]
    found += [lambda file=file: framework_row(file) for file in sorted(frameworks)]
    return found


def page(rows: list[Row], gpu: str, gpus: int) -> str:
    """The table that is checked in."""
    wrong = sum(bool(row.wrong) for row in rows)
    lines = [
        "# What cuvet says on real hardware",
        "",
        f"Written by `make hardware` on {gpus} × {gpu}, {datetime.date.today().isoformat()}: "
        f"{len(rows)} programs, {wrong} of them judged otherwise than expected.",
        "Fact programs are compiled by plain `nvcc -g` with the static runtime.",
    ]
    for group, title in (("facts", "Fact programs"), ("rules", "Programs of the rules"), ("frameworks", "Frameworks")):
        lines += ["", f"## {title}", "", "| program | the driver | cuvet | |", "|---|---|---|---|"]
        for row in rows:
            if row.group == group:
                remark = "; ".join(row.wrong) or NOT_SEEN.get(row.name, "")
                lines.append(f"| {row.name} | {row.driver} | {row.said} | {remark} |".replace("\n", " "))
    return "\n".join(lines) + "\n\n" + others.section()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the known programs on this machine's GPUs under cuvet.")
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "docs" / "hardware.md")
    parser.add_argument("--jobs", type=int, default=8, help="programs that run at a time")
    args = parser.parse_args()
    if not shutil.which("nvcc") or not shutil.which("nvidia-smi"):
        print("make hardware needs nvcc and an NVIDIA GPU: nothing was run", file=sys.stderr)
        return 1
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda job: job(), jobs(Path(folder), len(gpus))))
    args.output.write_text(page(rows, gpus[0].replace(",", ", driver"), len(gpus)))
    for row in rows:
        if row.wrong:
            print(json.dumps([row.group, row.name, row.driver, row.said, row.wrong]))
    wrong = sum(bool(row.wrong) for row in rows)
    print(f"{len(rows) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
