"""Run CuPy's own tests of CUDA in turns, alone and under ``pytest --cuvet``, on this machine's GPU; write times and outcomes.

``python tests/hardware/cupy_tests.py CUPY OUT [--pairs N] [--cold]`` needs a GPU, CuPy, the sources of the same version of CuPy, and cuvet
with its plugin in the environment of CuPy. Left out are tests of several GPUs, of managed memory (on the machine of ``cupy_tests.json``
the run without cuvet stands still at one of them, and cannot be killed), and slow ones. ``--cold``: each run has an empty cache of
kernels, as on a machine of CI, so that CuPy compiles them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Literal, cast

import msgspec

TESTS = "cupy_tests/cuda_tests"
LEFT_OUT = ("test_cutensor.py", "test_nccl.py")
"""Of libraries that need not be there."""
CHOSEN = ("-m", "not multi_gpu and not slow", "-k", "not managed and not Managed and not multi and not callback_error")
_LONGEST_S = 300
Kind = Literal["alone", "cuvet"]


class Run(msgspec.Struct):
    """``wall_s``: of the whole command; ``tests_s``: from the beginning to the end of pytest's session, as it says. ``differ``: tests that
    ended otherwise than in the first run without cuvet, with both outcomes."""

    what: str
    kind: Kind
    at: int
    wall_s: float
    tests_s: float
    outcomes: dict[str, int]
    differ: dict[str, tuple[str, str]] = {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cupy", type=Path, help="CuPy's sources")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--cold", action="store_true")
    args = parser.parse_args()
    runs: list[Run] = []
    first: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as warm:
        if not args.cold:
            _run(args.cupy, "alone", warm)
        for at in range(args.pairs):
            for kind in cast("list[Kind]", ["alone", "cuvet"][:: 1 if at % 2 == 0 else -1]):
                with tempfile.TemporaryDirectory() as cold:
                    wall_s, tests_s, cases = _run(args.cupy, kind, cold if args.cold else warm)
                first = first or cases
                differ = {
                    name: (first.get(name, "none"), cases.get(name, "none"))
                    for name in {**first, **cases}
                    if first.get(name) != cases.get(name)
                }
                what = "cold" if args.cold else "warm"
                runs.append(Run(what, kind, at, wall_s, tests_s, dict(Counter(cases.values())), differ))
                args.out.write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=1))
    return 0


def _run(cupy: Path, kind: Kind, cache: str) -> tuple[float, float, dict[str, str]]:
    """Seconds of the command and of the session, and how each test ended."""
    tests = sorted(path for path in (cupy / "tests" / TESTS).glob("test_*.py") if path.name not in LEFT_OUT)
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder, "junit.xml")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            "../pyproject.toml",
            "--rootdir",
            "..",
        ]
        command += [f"--junitxml={xml}", *CHOSEN, *map(str, tests), *(["--cuvet"] if kind == "cuvet" else [])]
        environment = {**os.environ, "CUPY_CACHE_DIR": cache}
        begun = time.perf_counter()
        subprocess.run(
            command, cwd=cupy / "tests", env=environment, stdin=subprocess.DEVNULL, timeout=_LONGEST_S, check=False
        )
        wall_s = time.perf_counter() - begun
        suite = ElementTree.parse(xml).getroot().find("testsuite")
    assert suite is not None
    cases = {f"{case.get('classname')}::{case.get('name')}": _outcome(case) for case in suite.iter("testcase")}
    return round(wall_s, 3), float(suite.get("time", "nan")), cases


def _outcome(case: ElementTree.Element) -> str:
    return next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")


if __name__ == "__main__":
    sys.exit(main())
