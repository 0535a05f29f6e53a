"""How long a command takes to answer, in processor time, which other programs hardly lengthen: ``python bench/start.py``. No GPU.

The goal for ``cuvet explain`` is 0.3 s. Modules are compiled before the first run, as an installation has them.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

COMMANDS = ["--version", "explain 400", "explain CV201", "rules"]


def processor_s(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long a command takes to answer.")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    print("| command | processor s, median | fastest | slowest |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as compiled:
        environment["PYTHONPYCACHEPREFIX"] = compiled
        for words in COMMANDS:
            command = [sys.executable, "-m", "cuvet", *words.split()]
            processor_s(command, environment)
            times_s = [processor_s(command, environment) for _ in range(args.rounds)]
            print(f"| `cuvet {words}` | {statistics.median(times_s):.2f} | {min(times_s):.2f} | {max(times_s):.2f} |")


if __name__ == "__main__":
    main()
