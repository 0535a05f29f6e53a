"""Measure ``cuvet inject`` by programs that handle every error, and by mutants of them that do not (tests/inject/ground).

Usage: ``python tools/measure_inject.py [--sealed] [--each] [NAME…]``: of the programs that may be looked at, or of the sealed ones; NAMEs
are programs or ids of mutants. A mutant is found if a place on its line has a verdict that the line deserves. A program is accused if one
of its places has a verdict that is a defect.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.inject.ground_truth import GROUND, PROGRAMS, Mutant, command, mutants, sealed  # noqa: E402

from cuvet.inject.outcome import HARMLESS  # noqa: E402


def inject(argv: list[str], folder: Path) -> dict[str, Any]:
    """The report."""
    tool = [sys.executable, "-m", "cuvet", "inject", "--device", "emulated", "--format", "json", "--", *argv]
    variables = {
        **os.environ,
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run(tool, env=variables, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{argv}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line_of(place: dict[str, Any]) -> int | None:
    """Of the program's own innermost frame."""
    return next((frame["line"] for frame in place["frames"] if frame["file"] and frame["line"]), None)


def defects(report: dict[str, Any]) -> list[tuple[int | None, str, str]]:
    """Line, verdict and function of each place that is accused."""
    return [
        (line_of(site["trials"][0]["at"] or site), site["verdict"], site["api"])
        for site in report["sites"]
        if site["verdict"] not in HARMLESS
    ]


def try_program(name: str, folder: Path) -> bool:
    report = inject(command(GROUND / name, folder), folder)
    found = defects(report)
    print(f"{'accused' if found else 'silent '} {name} ({report['runs']} runs, {report['seconds']} s)")
    for line, verdict, api in found:
        print(f"    {verdict} at line {line}: {api}")
    return not found


def try_mutant(mutant: Mutant, folder: Path, *, each: bool) -> bool:
    report = inject(command(mutant.write(folder), folder), folder)
    found = defects(report)
    at_line = [verdict for line, verdict, _ in found if line == mutant.line]
    good = any(verdict in mutant.verdicts for verdict in at_line)
    if each or not good:
        others = sorted({f"{verdict}@{line}" for line, verdict, _ in found if line != mutant.line})
        print(
            f"{'found ' if good else 'MISSED'} {mutant.id} line {mutant.line}: {at_line} for {mutant.verdicts}; others {others}"
        )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    chosen = [name for name in PROGRAMS if (name in sealed()) == args.sealed]
    trials = [each for each in mutants() if each.program in chosen]
    if args.names:
        trials = [each for each in trials if each.id in args.names or each.program in args.names]
        chosen = [name for name in chosen if name in args.names]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        silent = sum(try_program(name, Path(place)) for name in chosen)
        found = sum(try_mutant(mutant, Path(place), each=args.each) for mutant in trials)
    accused, seconds = len(chosen) - silent, time.monotonic() - began
    print(f"mutants found {found} of {len(trials)}; programs accused {accused} of {len(chosen)}; {seconds:.0f} s")


if __name__ == "__main__":
    main()
