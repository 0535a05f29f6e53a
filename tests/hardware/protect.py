"""Run the fact programs with and without ``cuvet run --protect`` and print what became of them.

``python tests/hardware/protect.py [NAME…]`` on a machine with a GPU and nvcc; all programs in which a driver died, and as many others, if
no name is given. A program is run alone, under ``cuvet run``, and under ``cuvet run --protect``. Exit code 1 if one dies under
``--protect`` that docs/protect.md does not name (``DIES``), is not reported once with its three places, or if a program
that lived notices. ``--emulated`` runs them on the emulated device instead, which raises the signals.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from cuvet.findings import Finding, Report

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.consequences import with_consequences  # noqa: E402
from tests.corpus.facts import Fact, all_facts, calls_printed, compile_programs, source  # noqa: E402
from tests.device.support import NVCC, SHARED_RUNTIME  # noqa: E402
from tests.device.test_protect import DIES, NO_CRASH  # noqa: E402

ON_GPU = ("-g", "-std=c++17", "-arch=native", "-w", "-lcuda")
TIMEOUT_S = 120
WORKERS = 8


@dataclass(frozen=True)
class Ended:
    """How a program ended: what its calls returned, the signal it died of, and its findings."""

    statuses: tuple[int, ...]
    signal: int
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        died = f" signal {self.signal}" if self.signal else ""
        return " ".join(map(str, self.statuses[-6:])) + died


def alone(program: Path, name: str) -> Ended:
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return ended(done.stdout, -done.returncode if done.returncode < 0 else 0)


def checked(program: Path, name: str, options: Sequence[str]) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        cuvet = [sys.executable, "-m", "cuvet", "run", *options, "--trace", f"{folder}/trace", "--format", "json"]
        command = [*cuvet, "--output", str(report), "--", str(program), name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        found = msgspec.json.decode(report.read_bytes(), type=Report)
    return ended(done.stdout, max(done.returncode - 128, 0), tuple(with_consequences(found.findings)))


def ended(output: str, signal: int, findings: tuple[Finding, ...] = ()) -> Ended:
    return Ended(tuple(status for _, status in calls_printed(output)), signal, findings)


def wrong(fact: Fact, before: Ended, after: Ended) -> Iterator[str]:
    """What is not as docs/protect.md promises."""
    refused = [finding for finding in after.findings if finding.refused]
    if after.signal and fact.id not in DIES:
        yield "dies"
    if not before.signal and not refused and after.statuses != before.statuses:
        yield "notices"
    if before.signal and not after.signal and not refused and fact.id not in NO_CRASH:
        yield "not reported"
    for finding in refused:
        places = [finding.site, *(site for each in finding.objects[:1] for site in (each.created, each.destroyed))]
        if not finding.name.endswith(("never-created", "not-terminated")) and not all(
            site and site.frames for site in places
        ):
            yield f"{finding.name} lacks a place"
        if finding.repeats > 1:
            yield f"{finding.name} is reported {finding.repeats} times"


def tried(program: Path, device: Sequence[str], emulated: bool, fact: Fact) -> tuple[str, str]:
    """The program's row of the table, and what is wrong with it."""
    before = checked(program, fact.id, device)
    first = before if emulated else alone(program, fact.id)
    after = checked(program, fact.id, [*device, "--protect"])
    names = ", ".join(finding.name for finding in after.findings if finding.refused)
    mistakes = ", ".join(wrong(fact, first, after))
    return f"| {fact.id} | {first} | {before} | {after} | {names} | {mistakes} |", mistakes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--emulated", action="store_true", help="on the emulated device")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="programs; those in which a driver has died, and as many others"
    )
    arguments = parser.parse_args()
    facts = all_facts()
    if unknown := {*arguments.names} - {fact.id for fact in facts}:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    died = [fact for fact in facts if fact.signal or any(signal for _, signal in fact.varied)]
    lived = [fact for fact in facts if fact not in died and fact.devices == 1][: len(died)]
    chosen = [fact for fact in facts if fact.id in arguments.names] or [*died, *lived]
    device = (
        ["--device", "emulated", "--devices", "2", "--emulate-crashes"] if arguments.emulated else ["--device", "real"]
    )
    compiler, options = (
        (NVCC, (*SHARED_RUNTIME, "-w")) if arguments.emulated else (shutil.which("nvcc") or "nvcc", ON_GPU)
    )
    program = compile_programs(compiler, source(facts), options)
    failures = 0
    print("| program | alone | under cuvet | with --protect | refused | wrong |\n|---|---|---|---|---|---|")
    rows = partial(tried, program, device, arguments.emulated)
    with ThreadPoolExecutor(WORKERS) as workers:
        for row, mistakes in workers.map(rows, chosen):
            failures += bool(mistakes)
            print(row, flush=True)
    print(f"{len(chosen)} programs, {failures} not as promised")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
