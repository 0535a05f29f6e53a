"""Run CuSan's ``test/runtime`` under ``cuvet run --races --guard`` and compare what is found with ``races.json``.

``python tests/hardware/cusan.py CHECKOUT [--device emulated]``: a checkout of tudasc/cusan at the commit that ``races.json`` names. Each
program is built twice by plain nvcc, with and without its synchronisation. Exit code 1 if a program's findings are others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
_FLAGS = ("-x", "cu", "-std=c++17", "-O1", "-g", "-cudart", "shared", "-arch=sm_90", "--extended-lambda", "-w")
_TIMEOUT_S = 300
_WORKERS = 8


def built(sources: Path, name: str, folder: Path) -> Path:
    """``name``: the file's, then ``racy`` or ``sync``."""
    stem, kind = name.rsplit(".", 1)
    (source,) = sources.glob(f"{stem}.c*")
    program = folder / name
    waits = ["-DCUSAN_SYNC"] if kind == "sync" else []
    subprocess.run(["nvcc", *_FLAGS, *waits, "-o", str(program), str(source)], check=True, stdout=subprocess.DEVNULL)
    return program


def found_in(program: Path, device: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        options = ["--device", device, "--races", "--guard", "--trace", f"{folder}/trace"]
        command = [sys.executable, "-m", "cuvet", "run", *options, "--format", "json", "--output", str(report)]
        subprocess.run([*command, "--", str(program)], timeout=_TIMEOUT_S, check=False, stdout=subprocess.DEVNULL)
        return sorted({finding["name"] for finding in json.loads(report.read_text(encoding="utf-8"))["findings"]})


def differences(found: Mapping[str, Sequence[str]], known: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{name}: {found[name] or 'nothing'}, not {known[name] or 'nothing'}"
        for name in known
        if found[name] != known[name]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run CuSan's test/runtime under cuvet run --races --guard.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--device", default="real", choices=("real", "emulated"))
    args = parser.parse_args()
    known = json.loads((HERE / "races.json").read_text(encoding="utf-8"))["cusan"]["findings"]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_WORKERS) as workers:
        programs = workers.map(lambda name: built(args.checkout / "test/runtime", name, Path(folder)), known)
        found = dict(
            zip(known, workers.map(lambda program: found_in(program, args.device), list(programs)), strict=True)
        )
    other = differences(found, known)
    racy = [name for name in known if name.endswith(".racy")]
    print(*other, sep="\n", end="\n" if other else "")
    print(
        f"{sum(bool(found[name]) for name in racy)} of {len(racy)} racy programs have a finding, {len(other)} differ from races.json"
    )
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
