"""Print how many planted bugs ``cuvet check`` finds, and how many of their correct twins it accuses.

    python tools/measure_planted.py [--each] [FOLDER]

The programs are in tests/source/planted, or in the FOLDER; its ``planted.jsonl`` says on which lines a finding counts. Each file, or
folder of the files of one program, is checked alone. A bug is found if anything is reported on one of its lines, or on a path
through it, and the twin has no finding of that text; a twin is accused if anything at all is reported in it. Notes count for both
alike: bugs are found by them, too. The columns ``warned`` and ``twins warned`` leave them out. ``--each`` prints the rules behind
the figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

PLANTED = Path(__file__).parents[1] / "tests/source/planted"


class Said(NamedTuple):
    """A finding of a program, with the file names and lines of its place and its path."""

    places: frozenset[tuple[str, int]]
    severity: str
    rule: str
    message: str


def said_of(path: Path) -> list[Said]:
    command = (sys.executable, "-m", "cuvet", "check", "--no-cache", "--format", "json", str(path))
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{path}: cuvet check ended with {run.returncode}: {run.stderr.strip()}")
    return [_said(each) for each in json.loads(run.stdout)["findings"]]


def _said(finding: dict[str, Any]) -> Said:
    frames = [*finding["site"]["frames"][:1], *(step["frame"] for step in finding.get("path", ()))]
    places = frozenset((Path(frame["file"]).name, frame["line"]) for frame in frames)
    return Said(places, finding["severity"], finding["name"], finding["message"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--each", action="store_true", help="name the programs, and what is said of them")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=PLANTED, metavar="FOLDER", help="where the programs are"
    )
    arguments = parser.parse_args()
    each_one: bool = arguments.each
    folder: Path = arguments.folder
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in (folder / "planted.jsonl").read_text("utf-8").splitlines()
    ]
    with ThreadPoolExecutor(2) as pool:
        bugs = list(pool.map(lambda row: said_of(folder / row["bug"]), rows))
        twins = list(pool.map(lambda row: said_of(folder / row["twin"]), rows))
    counts: dict[str, Counter[str]] = {}
    for row, bug, twin in zip(rows, bugs, twins, strict=True):
        hits = _hits(row, bug, twin)
        warned, accused = ([one for one in each if one.severity != "note"] for each in (hits, twin))
        for name in (row["language"], "all"):
            told = {"planted": True, "found": hits, "warned": warned, "twins accused": twin, "twins warned": accused}
            counts.setdefault(name, Counter()).update({what: bool(which) for what, which in told.items()})
        if each_one:
            print(f"{row['id']}: {row['kind']}: {_told(hits) or 'missed'}{f'; twin: {_told(twin)}' if twin else ''}")
    print("", *counts["all"], sep="\t")
    for name, count in counts.items():
        print(name, *(f"{n} ({n / count['planted']:.0%})" for n in count.values()), sep="\t")
    return 0


def _hits(row: dict[str, Any], bug: list[Said], twin: list[Said]) -> list[Said]:
    file = row.get("file", Path(row["bug"]).name)
    there = {(file, line) for line in row["lines"]}
    also = {(one.rule, one.message) for one in twin}
    return [one for one in bug if one.places & there and (one.rule, one.message) not in also]


def _told(said: list[Said]) -> str:
    return ", ".join(f"{one.severity} {one.rule}" for one in said)


if __name__ == "__main__":
    sys.exit(main())
