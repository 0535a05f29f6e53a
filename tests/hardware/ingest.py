"""Take what another machine measured into the facts and the recordings, and say where it differs from what was known.

``python tests/hardware/ingest.py FOLDER``: rows of ``measure.py --again`` and ``images.py --facts`` (``*.jsonl``) become a facts file,
recordings of ``cuvet-conformance record`` (``*.jsonl.zst``) lie beside the others of seeds that nobody looked at. Nothing is overwritten.
Then ``make generate`` writes the pages.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from cuvet.conformance.recording import read
from cuvet.knowledge.facts import FOLDER, Fact, facts

UNSEEN = Path(__file__).parents[1] / "conformance" / "unseen"


def name_of(row: dict[str, str], prefix: str) -> str:
    """``h100-driver580-cuda13-2026-11-22.jsonl``."""
    gpu = re.sub(r"^nvidia ", "", row["gpu"].lower()).split()[0]
    parts = (
        f"{prefix}{gpu}",
        f"driver{row['driver'].split('.')[0]}",
        f"cuda{row['toolkit'].split('.')[0]}",
        row["date"],
    )
    return "-".join(parts) + ".jsonl"


def take_facts(file: Path) -> None:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    target = FOLDER / name_of(rows[0], "images-" if rows[0].get("image") else "")
    if target.exists():
        raise SystemExit(f"{target} exists")
    known = facts()
    rows = [{**row, "program": None} if row["id"] in known else row for row in rows]
    target.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    facts.cache_clear()
    where = rows[0]["gpu"], rows[0]["date"]
    new = {row["id"]: next(fact for fact in facts()[row["id"]] if (fact.gpu, fact.date) == where) for row in rows}
    verdicts = Counter(_verdict(known.get(name, ()), fact) for name, fact in new.items())
    print(f"{target.name}: {dict(verdicts)}")
    for name, fact in new.items():
        if _verdict(known.get(name, ()), fact) == "differs":
            print(f"  {name}: {sorted(map(str, known[name][0].outcomes))} but {sorted(map(str, fact.outcomes))}")


def _verdict(before: tuple[Fact, ...], fact: Fact) -> str:
    return "new" if not before else "alike" if before[0].outcomes & fact.outcomes else "differs"


def take_recording(file: Path) -> None:
    target = UNSEEN / file.name
    if target.exists():
        raise SystemExit(f"{target} exists")
    header, sessions = read(file)
    calls = sum(len(session.rows) for session in sessions)
    shutil.copyfile(file, target)
    print(f"{target.name}: {', '.join(header.gpus)}, driver {header.driver_release}, {header.date}, {calls} calls")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for found in sorted(folder.glob("*.jsonl")):
        take_facts(found)
    for found in sorted(folder.glob("*.jsonl.zst")):
        take_recording(found)
