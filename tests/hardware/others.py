"""Run programs that other people wrote with and without ``cuvet run`` on this machine's GPUs; the outcomes become rows of ``others.jsonl``.

``python tests/hardware/others.py PROGRAMS.jsonl --output OTHERS.jsonl``: a line of PROGRAMS says ``source`` (whose it is), ``name``,
``command`` (a list), and may say ``cwd`` and ``environment``. Each program is run bare, under cuvet, and, if the two differ, bare
again: what differs between two bare runs is the program's own. Numbers in the output do not count: programs print times.
Exit code 1 if cuvet raised an error or a warning, or the program behaved otherwise.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from cuvet.findings import Report


class Program(msgspec.Struct, kw_only=True):
    source: str
    name: str
    command: list[str]
    cwd: str | None = None
    environment: dict[str, str] = {}


@dataclass
class Row:
    """``outcome``: alike, flaky (two bare runs differ, too), differs, or why it was not judged. ``said``: names of findings, with their
    severity. ``bare`` and ``checked``: exit codes."""

    source: str
    name: str
    outcome: str
    said: list[str]
    bare: int | None = None
    checked: int | None = None
    remark: str = ""
    calls: int = 0


@dataclass(frozen=True)
class Ran:
    exit_code: int
    output: Counter[str]
    text: str


def run(program: Program, prefix: list[str], limit_s: float) -> Ran:
    done = subprocess.run(
        [*prefix, *program.command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=program.cwd,
        env=os.environ | program.environment,
        timeout=limit_s,
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    error = done.stderr.decode(errors="replace")
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ran(
        code, Counter(re.sub(r"[-+]?[\d.]+(?:e[-+]?\d+)?|\binf\b|\bnan\b", "#", text).splitlines()), text + error
    )


def judge(program: Program, limit_s: float, reports: Path) -> Row:
    row = Row(program.source, program.name, "", [])
    began = time.monotonic()
    try:
        bare = run(program, [], limit_s)
    except subprocess.TimeoutExpired:
        row.outcome = f"not judged: takes more than {limit_s:.0f} s without cuvet"
        return row
    except OSError as error:
        row.outcome = f"not judged: {error.strerror}"
        return row
    row.bare = bare.exit_code
    took = time.monotonic() - began
    file = reports / f"{program.source}-{program.name}.json".replace("/", "_")
    with tempfile.TemporaryDirectory() as folder:
        cuvet = [sys.executable, "-m", "cuvet", "run", "--device", "real", "--trace", f"{folder}/trace"]
        try:
            checked = run(program, [*cuvet, "--format", "json", "--output", str(file), "--"], 60 + 4 * took)
        except subprocess.TimeoutExpired:
            row.outcome = "differs"
            row.remark = f"{took:.1f} s without cuvet, more than {60 + 4 * took:.0f} s with it"
            return row
    row.checked = checked.exit_code
    if not file.exists():
        row.outcome, row.remark = "differs", f"no report: {checked.text[-300:]}"
        return row
    report = msgspec.json.decode(file.read_bytes(), type=Report)
    row.calls = report.stats.get("calls", 0)
    counted = Counter(f"{each.severity} {each.name}" for each in report.findings)
    row.said = [name if count == 1 else f"{count} × {name}" for name, count in sorted(counted.items())]
    if (bare.exit_code, bare.output) == (checked.exit_code, checked.output):
        row.outcome = "alike"
    else:
        row.outcome, row.remark = told_apart(program, bare, checked, limit_s)
    if row.calls == 0 and row.outcome == "alike":
        row.outcome = "not judged: made no CUDA call"
    return row


def told_apart(program: Program, bare: Ran, checked: Ran, limit_s: float) -> tuple[str, str]:
    """Whether the program differs from run to run by itself: three more runs tell."""
    only = list(((checked.output - bare.output) + (bare.output - checked.output)).elements())
    for _ in range(3):
        try:
            again = run(program, [], limit_s)
        except subprocess.TimeoutExpired:
            continue
        if (again.exit_code, again.output) == (checked.exit_code, checked.output):
            return "alike", ""
        if (again.exit_code, again.output) != (bare.exit_code, bare.output):
            return "flaky", f"two runs without cuvet differ: {bare.exit_code}, {again.exit_code}"
    return "differs", f"{bare.exit_code} without cuvet, {checked.exit_code} with it: {'; '.join(only)[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run other people's programs with and without cuvet.")
    parser.add_argument("programs", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--reports", type=Path, help="keep the reports of programs with findings there")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--limit", type=float, default=15, metavar="SECONDS", help="of a bare run")
    parser.add_argument("--until", type=float, default=1e12, metavar="SECONDS", help="start no program after so many")
    args = parser.parse_args()
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    gpu, driver = (part.strip() for part in gpus[0].split(","))
    programs = [msgspec.json.decode(line, type=Program) for line in args.programs.read_text().splitlines() if line]
    end = time.monotonic() + args.until

    def one(program: Program) -> Row:
        if time.monotonic() > end:
            return Row(program.source, program.name, "not judged: no time was left", [])
        return judge(program, args.limit, reports)

    with tempfile.TemporaryDirectory() as folder:
        reports = args.reports or Path(folder)
        reports.mkdir(parents=True, exist_ok=True)
        where = {"gpu": gpu, "gpus": len(gpus), "driver": driver, "date": datetime.date.today().isoformat()}
        with ThreadPoolExecutor(args.jobs) as pool, args.output.open("w") as out:
            rows = []
            for row in pool.map(one, programs):
                rows.append(row)
                out.write(json.dumps(where | asdict(row), ensure_ascii=False) + "\n")
                out.flush()
    judged = [row for row in rows if not row.outcome.startswith("not judged")]
    bad = [
        row
        for row in judged
        if row.outcome == "differs" or any(not each.split("× ")[-1].startswith("note") for each in row.said)
    ]
    for row in bad:
        print(json.dumps(asdict(row), ensure_ascii=False))
    print(f"{len(rows)} programs, {len(judged)} judged, {len(bad)} with an error, a warning or another behaviour")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
