"""``cuvet.fail``, in a program that runs under ``cuvet run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .conftest import HANGS_S, SOURCE

PROGRAM = Path(__file__).parent / "programs" / "fails.py"


def run(tmp_path: Path, *before: str, program: Path = PROGRAM) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "CUVET_"))}
    variables |= {"PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(tmp_path)}
    command = [*before, sys.executable, str(program)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=HANGS_S, check=False)


def test_calls_fail_in_a_block_and_not_outside(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--")
    assert done.stdout.splitlines() == [
        "0 [0, 2, 0] 1 0",
        "[801, 801] 2 None",
        "'cudaMaloc' is no function of CUDA; did you mean cudaMalloc?",
        "'cudaErrorNothing' is no status of the CUDA runtime",
        "nth is 0: calls are counted from 1, in whole numbers",
        "after cudaErrorLaunchFailure all calls of the process fail, also behind the block: cuvet inject tries that in a run of its own",
        "no call of cudaMalloc was made to fail: the block made fewer than 5, the runtime is linked in, or it is a function that only asks "
        "or sets something",
        "calls fail already, in another block of cuvet.fail: such blocks do not nest",
        "as it is",
    ], done.stderr
    assert "0 errors" in done.stderr or "no mistakes" in done.stderr


POOL = """
import ctypes
import pytest

class Pool:
    cudart, held = ctypes.CDLL("libcudart.so.13"), []

    def grow(self):
        for _ in range(2):
            self.held.append(ctypes.c_void_p())
            if self.cudart.cudaMalloc(ctypes.byref(self.held[-1]), ctypes.c_size_t(64)):
                raise MemoryError

pool = Pool()
pool.cudart.cudaFree(None)
"""


def test_before_the_first_call_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text("import cuvet\nwith cuvet.fail('cudaMalloc', status=2): pass\n")
    done = run(
        tmp_path, sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--", program=tmp_path / "early.py"
    )
    assert "it has made no CUDA call yet (make one before)" in done.stderr


def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    page = (SOURCE.parent / "docs/inject.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "example.py").write_text(f"{POOL}{example}print(len(pool.held), fault.count)\n")
    done = run(
        tmp_path, sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--", program=tmp_path / "example.py"
    )
    assert (done.stdout, done.returncode) == ("2 1\n", 0), done.stderr


def test_without_cuvet_it_says_what_to_do(tmp_path: Path) -> None:
    code = "import cuvet\nwith cuvet.fail('cudaMalloc', status=2): pass"
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert "this process is not recorded: start the program with cuvet run" in done.stderr
