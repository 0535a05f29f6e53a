"""Print how many planted bugs ``cuvet check`` finds, and how many of their correct twins it accuses.

    python tools/measure_planted.py [--each] [FOLDER]

The programs are in tests/source/planted, or in the FOLDER; its ``planted.jsonl`` says on which lines a finding counts. Each file is
checked alone. A bug is found if anything is reported on one of its lines; a twin is accused if anything at all is reported in it.
Notes count for both alike: bugs are found by them, too. The last column says of how many twins nothing but notes. ``--each``
prints the rules behind the figures.
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
    """A finding of a file."""

    line: int
    severity: str
    rule: str


def said_of(path: Path) -> list[Said]:
    command = (sys.executable, "-m", "cuvet", "check", "--no-cache", "--format", "json", str(path))
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{path}: cuvet check ended with {run.returncode}: {run.stderr.strip()}")
    findings = json.loads(run.stdout)["findings"]
    return [Said(each["site"]["frames"][0]["line"], each["severity"], each["name"]) for each in findings]


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
    total, found, accused, noted = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for row, bug, twin in zip(rows, bugs, twins, strict=True):
        hits = [one for one in bug if one.line in row["lines"]]
        for name in (row["language"], "all"):
            total[name] += 1
            found[name] += bool(hits)
            accused[name] += bool(twin)
            noted[name] += bool(twin) and all(one.severity == "note" for one in twin)
        if each_one:
            print(f"{row['id']}: {row['kind']}: {_told(hits) or 'missed'}{f'; twin: {_told(twin)}' if twin else ''}")
    print("\tplanted\tfound\ttwins accused\tby notes alone")
    for name, count in total.items():
        print(f"{name}\t{count}\t{found[name]} ({100 * found[name] / count:.0f} %)\t{accused[name]}\t{noted[name]}")
    return 0


def _told(said: list[Said]) -> str:
    return ", ".join(f"{one.severity} {one.rule} ({one.line})" for one in said)


if __name__ == "__main__":
    sys.exit(main())
