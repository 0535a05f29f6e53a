"""The facts about cuDNN on the emulated device: what the calls return, and what cuvet says."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.corpus.cudnn import PROGRAMS, example, measured

from cuvet.analysis import analyze
from cuvet.findings import Report

from .support import ROOT, running_device

NO_DEVICE = "cudnn_no_visible_device"


@dataclass
class Ran:
    """By fact: what the calls of cuDNN returned, and the rules that were broken."""

    statuses: dict[str, list[int]]
    rules: dict[str, set[str]]


def written(folder: Path, fact: str) -> Path:
    program = example(fact)
    file = folder / f"{fact}{'' if program.setup else '.no-setup'}.py"
    file.write_text(program.program)
    return file


def judged(printed: str, report: Report) -> Ran:
    ran = Ran(defaultdict(list), defaultdict(set))
    processes = {}
    for line in printed.splitlines():
        fact, status, process = line.split()
        ran.statuses[fact].append(int(status))
        processes[int(process)] = fact
    for finding in report.findings:
        ran.rules[processes[finding.site.process]].add(finding.name)
    return ran


def with_a_device(folder: Path) -> Ran:
    """Each program runs in a process of its own."""
    files = [str(written(folder, fact)) for fact in PROGRAMS if fact != NO_DEVICE]
    report = folder / "report.json"
    command = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--emulate-crashes", "--record", "full"]
    command += ["--format", "json", "--output", str(report), "--", sys.executable]
    command += [str(ROOT / "tests" / "rules" / "batch.py"), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return judged(done.stdout, msgspec.json.decode(report.read_bytes(), type=Report))


def without_a_device(folder: Path) -> Ran:
    file = written(folder, NO_DEVICE)
    with running_device(folder / "none", devices=0) as device:
        done = device.run(sys.executable, "-m", "cuvet.rules.programs", "--no-setup", file)
    assert not done.returncode, done.stderr
    return judged(done.stdout, analyze([device.trace]))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("cudnn")
    (folder / "none").mkdir()
    some, none = with_a_device(folder), without_a_device(folder)
    return Ran(some.statuses | none.statuses, some.rules | none.rules)


@pytest.mark.parametrize("fact", PROGRAMS)
def test_cudnn_answers_as_on_hardware_and_cuvet_says_why(fact: str, ran: Ran) -> None:
    statuses, _ = measured(fact)
    assert ran.statuses[fact] == statuses
    assert ran.rules[fact] == set(PROGRAMS[fact][1])
