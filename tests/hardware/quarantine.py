"""Measure on this machine's GPU what ``cuvet run --quarantine`` changes: how often values are issued again, the memory and time that is
taken, and whether a program can still allocate up to the limit. Usage: ``python tests/hardware/quarantine.py [RUNS]``, with nvcc and a GPU.

Runs ``quarantine.cu`` without cuvet, under it and with the option, in turns, and prints a line of JSON for each run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cu")
RUNS = 3
CUVET = [sys.executable, "-m", "cuvet", "run", "--device", "real", "--output", "/dev/null"]
WAYS = {
    "without": [],
    "off": [*CUVET, "--"],
    "handles": [*CUVET, "--quarantine", "0", "--"],
    "auto": [*CUVET, "--quarantine", "auto", "--"],
}


def main() -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is missing: add the CUDA toolkit's bin directory to PATH")
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "quarantine"
        subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=native", "-o", program, SOURCE, "-lcuda"], check=True)
        for number in range(runs):
            for way, before in WAYS.items():
                done = subprocess.run([*before, program], capture_output=True, text=True, check=False, timeout=300)
                found = (
                    json.loads(done.stdout)
                    if done.returncode == 0
                    else {"failed": done.returncode, "said": done.stderr}
                )
                print(json.dumps({"run": number, "way": way, **found}), flush=True)


if __name__ == "__main__":
    main()
