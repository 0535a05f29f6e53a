"""What ``cuvet inspect`` takes to list a large library, and cuobjdump: a process each, cold start included.

``python bench/images.py [FILE]``; without FILE it is libcublasLt, where this Python or the toolkit has it.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROUNDS = 7
NAME = "libcublasLt.so.1?"
TOOLKIT = Path("/usr/local/cuda")


def library() -> Path | None:
    places = [Path(place) for place in sys.path if place.endswith("site-packages")]
    found = [file for place in places for file in place.glob(f"nvidia/**/{NAME}")]
    return next(iter([*found, *TOOLKIT.glob(f"lib64/{NAME}")]), None)


def cuobjdump() -> str | None:
    installed = Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*/bin/cuobjdump")
    return shutil.which("cuobjdump") or next(map(str, installed), None) or shutil.which(str(TOOLKIT / "bin/cuobjdump"))


def measure(command: list[str]) -> tuple[float, float]:
    """(seconds, peak resident MB) of a run: all of it, the pages of Python's own libraries too."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def rows(file: Path) -> Iterator[str]:
    tool = cuobjdump()
    commands = {"cuvet inspect": [sys.executable, "-m", "cuvet", "inspect", str(file)]}
    if tool:
        commands |= {f"cuobjdump {option}": [tool, option, str(file)] for option in ("--list-elf", "--list-ptx")}
    for name, command in commands.items():
        measure(command)  # the file is in the page cache from here on
        runs = [measure(command) for _ in range(ROUNDS)]
        low, middle, high = statistics.quantiles([seconds for seconds, _ in runs], n=4)
        yield f"| {name} | {middle:.2f} [{low:.2f}, {high:.2f}] | {max(memory for _, memory in runs):.0f} |"


def table(file: Path | None = None) -> list[str]:
    file = file or library()
    if file is None:
        return [f"cuvet inspect: no {NAME} here, nothing was measured"]
    size = file.stat().st_size / 1e6
    title = f"Listing {file.name} ({size:,.0f} MB), seconds of {ROUNDS} runs and peak resident memory:"
    return [title, "", "| | s | MB |", "|---|---|---|", *rows(file)]


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))
