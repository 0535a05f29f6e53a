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
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    target = FOLDER / name_of(rows[0], "images-" if rows[0].get("image") else "")
    if target.exists():
        raise SystemExit(f"{target} exists")
    known = facts()
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    facts.cache_clear()
    new = {row["id"]: [fact for fact in facts()[row["id"]] if fact.date == row["date"]][-1] for row in rows}
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
