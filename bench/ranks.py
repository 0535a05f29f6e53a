"""What one report of many ranks takes: simulated ranks, each a recording of its own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from measuring import CUVET, Limits, Round, Sample, rounds, run
from recorded import call

EVENTS = 500
"""Made and ended by each rank."""


def merged(limits: Limits, ranks: int, name: str, alone: str) -> list[Round]:
    """``cuvet analyze`` of so many ranks, on all processors, and as ``alone`` on one. The memory is that of its largest process: there is a
    process for each processor."""
    count = limits.count(ranks)
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder)
        _simulate(job, count)

        def measure(processors: set[int], what: str) -> Sample:
            command = ["taskset", "--cpu-list", ",".join(map(str, sorted(processors))), *CUVET, "analyze"]
            taken = run([*command, "--output", os.devnull, str(job)])
            return {what: taken.wall_s, f"{what}, peak memory": taken.memory_mb}

        every = os.sched_getaffinity(0)

        def both() -> Sample:
            return measure(every, name) | measure({min(every)}, alone)

        return rounds({"checked": both}, limits)


def _simulate(job: Path, ranks: int) -> None:
    """Copies of one recording, each with the rank in its meta.json."""
    with tempfile.TemporaryDirectory() as trace:
        call("events", EVENTS, "checked", trace)
        (file,) = Path(trace).glob("*.cuvet")
        for rank in range(ranks):
            directory = job / f"rec.{rank}"
            directory.mkdir()
            shutil.copyfile(file, directory / file.name)
            told = {"rank": rank, "size": ranks, "host": f"node{rank // 8}"}
            meta = {"argv": ["simulated"], "exit_code": 0, "host": told["host"], "boot": told["host"], "rank": told}
            (directory / "meta.json").write_text(json.dumps(meta))
