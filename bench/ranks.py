"""What one report of many ranks takes: simulated ranks, each a recording of its own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from measuring import CUVET, Limits, NotHere, Round, Sample, rounds, run
from recorded import call

EVENTS = 500
"""Made and ended by each rank."""
_LOOKS_S = 0.1


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


def on_ray(limits: Limits, ranks: int, name: str) -> list[Round]:
    """``cuvet analyze --on ray`` of so many ranks, on a cluster that the command starts on all processors and ends. The memory is that of
    the largest worker. ValueError if the report is another than without Ray."""
    if find_spec("ray") is None:
        raise NotHere("ray is not installed")
    count = limits.count(ranks)
    with tempfile.TemporaryDirectory() as folder:
        job, local, report = Path(folder) / "job", Path(folder) / "local.json", Path(folder) / "report.json"
        job.mkdir()
        _simulate(job, count)
        command = [*CUVET, "analyze", "--format", "json"]
        run([*command, "--output", str(local), str(job)])

        def measure() -> Sample:
            with _largest_worker() as peak:
                taken = run([*command, "--on", "ray", "--output", str(report), str(job)])
            if report.read_bytes() != local.read_bytes():
                raise ValueError("the report of --on ray is another one")
            return {name: taken.wall_s, f"{name}, peak memory of a worker": max(peak, default=0) / 1024}

        return rounds({"checked": measure}, limits)


@contextmanager
def _largest_worker() -> Iterator[list[int]]:
    """The largest resident memory of each of Ray's processes that judge, in KiB, as long as the block runs."""
    found: list[int] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOKS_S):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):  # it has ended
                    if (process / "cmdline").read_bytes().startswith(b"ray::_judge"):
                        status = (process / "status").read_text()
                        found.append(int(status.partition("VmHWM:")[2].split()[0]))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


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
