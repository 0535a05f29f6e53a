"""Run programs that other people wrote with and without ``cuvet run`` on this machine's GPUs; the outcomes become rows of ``others.jsonl``.

``python tests/hardware/others.py PROGRAMS.jsonl --output OTHERS.jsonl``: a line of PROGRAMS says ``source`` (whose it is), ``name``,
``command`` (a list), and may say ``cwd``, ``environment``, ``limit_s`` (of a bare run) and ``expected`` (findings that are right about
it, with the mistake that it makes on purpose). Each program is run bare, under cuvet, and, if the two differ, bare
again: what differs between two bare runs is the program's own. Numbers in the output do not count: programs print times.
Exit code 1 if cuvet raised another error or warning, or the program behaved otherwise.

``python tests/hardware/others.py --page`` writes the rows of ``others.jsonl`` beside this file into ``docs/hardware.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from cuvet.findings import Report

RESULTS = Path(__file__).resolve().parent / "others.jsonl"
HEADING = "## Programs of others"
_NUMBERS = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?|\binf\b|\bnan\b|=====+")
"""And the lines of ``=`` that pytest draws, which are as long as the time that it prints leaves room."""


class Program(msgspec.Struct, kw_only=True):
    source: str
    name: str
    command: list[str]
    cwd: str | None = None
    environment: dict[str, str] = {}
    limit_s: float = 15
    expected: dict[str, str] = {}


@dataclass
class Row:
    """One line of ``others.jsonl``. ``outcome``: alike, flaky (two bare runs differ, too), differs, or why it was not judged. ``said``:
    findings by severity and name, with how many, and calls of its own that are listed as failed. ``bare`` and ``checked``: exit codes.
    ``expected``: as in PROGRAMS."""

    source: str
    name: str
    outcome: str
    said: list[str]
    bare: int | None = None
    checked: int | None = None
    remark: str = ""
    calls: int = 0
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> bool:
        return not self.outcome.startswith("not judged")

    @property
    def alarms(self) -> list[str]:
        """Errors and warnings that are not expected."""
        names = [each.rpartition("× ")[2].split() for each in self.said]
        return [name for severity, name, *_ in names if severity in ("error", "warning") and name not in self.expected]

    @property
    def tells(self) -> bool:
        """Whether cuvet says more than notes."""
        return any(not each.rpartition("× ")[2].startswith("note ") for each in self.said)

    @property
    def wrong(self) -> bool:
        return bool(self.alarms) or self.outcome == "differs"


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
    return Ran(code, Counter(_NUMBERS.sub("#", text).splitlines()), text + error)


def judge(program: Program, reports: Path, options: list[str]) -> Row:
    row, limit_s = Row(program.source, program.name, "", [], expected=program.expected), program.limit_s
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
        cuvet = [sys.executable, "-m", "cuvet", "run", "--device", "real", *options, "--trace", f"{folder}/trace"]
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
    counted.update(f"failed {each.api} ({each.status})" for each in report.unexplained if each.library is None)
    row.said = [name if count == 1 else f"{count} × {name}" for name, count in sorted(counted.items())]
    if (bare.exit_code, bare.output) == (checked.exit_code, checked.output):
        row.outcome = "alike"
    else:
        row.outcome, row.remark = told_apart(program, bare, checked)
    if row.calls == 0 and row.outcome == "alike":
        row.outcome = "not judged: made no CUDA call"
    return row


def told_apart(program: Program, bare: Ran, checked: Ran) -> tuple[str, str]:
    """Whether the program differs from run to run by itself: three more runs tell."""
    only = list(((checked.output - bare.output) + (bare.output - checked.output)).elements())
    for _ in range(3):
        try:
            again = run(program, [], program.limit_s)
        except subprocess.TimeoutExpired:
            continue
        if (again.exit_code, again.output) == (checked.exit_code, checked.output):
            return "alike", ""
        if (again.exit_code, again.output) != (bare.exit_code, bare.output):
            return "flaky", f"two runs without cuvet differ: {bare.exit_code}, {again.exit_code}"
    return "differs", f"{bare.exit_code} without cuvet, {checked.exit_code} with it: {'; '.join(only)[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run other people's programs with and without cuvet.")
    parser.add_argument("programs", type=Path, nargs="?", default=Path("programs.jsonl"))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="run nothing: write the rows into docs/hardware.md")
    parser.add_argument("--reports", type=Path, help="keep the reports of programs with findings there")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--options", type=shlex.split, default=[], help="more options of cuvet run, in one word")
    parser.add_argument("--until", type=float, default=1e12, metavar="SECONDS", help="start no program after so many")
    args = parser.parse_args()
    if args.page:
        write_page()
        return 0
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    gpu, driver = (part.strip() for part in gpus[0].split(","))
    programs = [msgspec.json.decode(line, type=Program) for line in args.programs.read_text().splitlines() if line]
    end = time.monotonic() + args.until

    def one(program: Program) -> Row:
        if time.monotonic() > end:
            return Row(program.source, program.name, "not judged: no time was left", [])
        return judge(program, reports, args.options)

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
    for row in rows:
        if row.wrong:
            print(json.dumps(asdict(row), ensure_ascii=False))
    wrong = sum(row.wrong for row in rows)
    print(
        f"{len(rows)} programs, {sum(row.judged for row in rows)} judged, {wrong} with a false word or another behaviour"
    )
    return 1 if wrong else 0


def section() -> str:
    """The part of ``docs/hardware.md`` about ``others.jsonl``."""
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    where = sorted({f"{line['gpus']} × {line['gpu']}, driver {line['driver']}, {line['date']}" for line in lines})
    rows = [Row(**{key: line[key] for key in Row.__dataclass_fields__}) for line in lines]
    judged = [row for row in rows if row.judged]
    wrong = sum(row.wrong for row in judged)
    text = [
        HEADING,
        "",
        f"{len(judged)} programs and test modules that nobody of this project wrote, bare and under `cuvet run`: "
        f"{len(judged) - wrong} with the same exit code and output (or, if flaky, with other output without cuvet too) "
        f"and no false error or warning, {wrong} otherwise.",
        f"Run by `tests/hardware/others.py` on {'; '.join(where)}. Numbers in the output are not compared: programs print "
        "times. What is called sealed was not looked at while cuvet was changed; of the repositories that are named in full "
        "nothing had been run before.",
    ]
    for source in dict.fromkeys(row.source for row in judged):
        text += ["", f"### {source}", "", *of_source([row for row in judged if row.source == source])]
    left = Counter(re.sub(r"more than .* s", "too long", row.outcome) for row in rows if not row.judged)
    text += [
        "",
        "Not counted: " + "; ".join(f"{count} {why.removeprefix('not judged: ')}" for why, count in left.items()),
    ]
    return "\n".join(text) + ".\n"


def of_source(rows: list[Row]) -> list[str]:
    plain = [row for row in rows if row.outcome == "alike" and not (row.tells or row.bare)]
    table = ["", "| program | behaviour | cuvet | |", "|---|---|---|---|"] if len(plain) < len(rows) else []
    for row in rows:
        if row not in plain:
            behaviour = f"{row.outcome}, exit code {row.bare}" if row.bare else row.outcome
            table.append(f"| {row.name} | {behaviour} | {', '.join(row.said) or 'nothing'} | {said_of(row)} |")
    names = ", ".join(row.name for row in plain)
    return [f"{len(plain)} of {len(rows)} ran to exit code 0, alike, with no error and no warning: {names}.", *table]


def said_of(row: Row) -> str:
    why = [*dict.fromkeys(row.expected.values()), *(f"**{name} is wrong**" for name in row.alarms)]
    return "; ".join([*why, row.remark] if row.remark else why)


def write_page() -> None:
    page = (RESULTS.parents[2] / "docs" / "hardware.md").read_text(encoding="utf-8")
    (RESULTS.parents[2] / "docs" / "hardware.md").write_text(
        page.partition(HEADING)[0].rstrip() + "\n\n" + section(), encoding="utf-8"
    )


if __name__ == "__main__":
    raise SystemExit(main())
