"""The ground truth of fault injection is what it says: mutants differ in one place, and all programs behave while no call fails."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from tests.inject.ground_truth import GROUND, PROGRAMS, Mutant, command, mutants, sealed

from cuvet.findings import Report

VERDICTS = "ignored leak crash hang use-of-unmade double-destroy use-after-destroy wrong-blame".split()
SOURCE = Path(__file__).parents[2] / "src"


def run(argv: list[str], folder: Path) -> tuple[int, str, Report]:
    """Exit code and output of ``cuvet run --leaks`` on the emulated device, and its report."""
    report = folder / "report.json"
    options = ["--device", "emulated", "--leaks", "--trace", str(folder / "trace"), "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "cuvet", "run", *options, "--output", str(report), "--", *argv],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, msgspec.json.decode(report.read_bytes(), type=Report)


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.id)
def test_a_mutant_differs_in_one_place_and_keeps_its_lines(mutant: Mutant) -> None:
    original = (GROUND / mutant.program).read_text()
    changed = mutant.source()
    assert changed != original
    assert changed.count("\n") == original.count("\n")
    assert re.search(r"\b(cu[a-z]*[A-Z]\w+|destroy)\(", original.splitlines()[mutant.line - 1])
    assert mutant.verdicts and set(mutant.verdicts) <= set(VERDICTS)
    assert mutant.why.endswith(".")


def test_there_are_five_mutants_of_each_of_twelve_programs() -> None:
    assert len(PROGRAMS) == 12
    assert Counter(mutant.program for mutant in mutants()) == dict.fromkeys(PROGRAMS, 5)
    assert len({mutant.id for mutant in mutants()}) == 60
    assert {verdict for mutant in mutants() for verdict in mutant.verdicts} == set(VERDICTS)


def test_four_programs_are_sealed() -> None:
    assert len(set(sealed())) == 4 and set(sealed()) < set(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_does_its_work_and_leaves_nothing(program: str, tmp_path: Path) -> None:
    code, output, report = run(command(GROUND / program, tmp_path), tmp_path)
    assert (code, report.findings) == (0, ()), output
    assert output.count("\n") == 1, output


def test_mutants_behave_like_their_programs_while_no_call_fails(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        commands = list(threads.map(lambda mutant: command(mutant.write(tmp_path), tmp_path), mutants()))
    each = "; ".join(f"{shlex.join(argv)} || exit 1" for argv in commands)
    code, output, report = run(["sh", "-c", each], tmp_path)
    assert (code, report.findings) == (0, ()), output
    assert output.count("\n") == len(commands), output
