"""``python -m cuvet.preload``: the script runs as it does without, and is recorded."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet import preload

from .conftest import HANGS_S, Cuvet

SHOW = """
import json, sys
options = [sys.flags.dev_mode, sys.flags.optimize, sys.flags.isolated]
print(json.dumps([__name__, sys.argv, sys.path[0], options, sys.stdin.read()]))
sys.exit(7)
"""
MISTAKE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuStreamCreate(ctypes.byref(stream), 0)
cuda.cuStreamDestroy_v2(stream)
"""
WAITS = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print("ready", flush=True)
signal.pause()
"""
Preload = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def python(cuvet: Cuvet, tmp_path: Path) -> Preload:
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "mistake.py").write_text(f"{MISTAKE}cuda.cuStreamDestroy_v2(stream)\n")
    (tmp_path / "correct.py").write_text(MISTAKE)

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=cuvet.environment,
            cwd=tmp_path,
            timeout=HANGS_S,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "program", [("show.py", "--device", "x", "-m"), ("-m", "show", "-h", ""), ("./show.py",), ("-c", SHOW, "a b", "--")]
)
@pytest.mark.parametrize("options", [(), ("-X", "dev", "-OO")])
def test_a_program_runs_as_it_does_without(python: Preload, program: tuple[str, ...], options: tuple[str, ...]) -> None:
    plain = python(*options, *program, stdin="some\ninput")
    under = python(*options, "-m", "cuvet.preload", "--device", "emulated", *program, stdin="some\ninput")
    assert (under.returncode, under.stdout) == (7, plain.stdout)
    assert json.loads(under.stdout)[0] == "__main__"


def test_two_dashes_end_the_options(python: Preload) -> None:
    under = python("-m", "cuvet.preload", "--device=emulated", "--", "show.py", "--")
    assert json.loads(under.stdout)[1] == ["show.py", "--"]


@pytest.mark.parametrize("option", ["--protect", "--narrow"])
def test_an_option_with_a_value_that_may_be_left_out_does_not_take_the_script(python: Preload, option: str) -> None:
    under = python("-m", "cuvet.preload", "--device", "emulated", option, "show.py")
    assert json.loads(under.stdout)[1] == ["show.py"], under.stderr


def test_its_mistakes_are_reported(python: Preload) -> None:
    done = python("-m", "cuvet.preload", "--device", "emulated", "--fail-on", "error", "mistake.py")
    assert done.returncode == 1
    assert "error[CV202]" in done.stderr and "mistake.py:10" in done.stderr


def test_a_correct_one_is_not_spoken_of(python: Preload) -> None:
    done = python("-m", "cuvet.preload", "--device", "emulated", "--fail-on", "warning", "correct.py")
    assert done.returncode == 0
    assert done.stderr.startswith("0 errors, 0 warnings in 5 calls")


def test_a_signal_reaches_it(cuvet: Cuvet) -> None:
    command = [sys.executable, "-m", "cuvet.preload", "--device", "emulated", "-c", WAITS]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cuvet.environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=HANGS_S)
    assert process.returncode == 9, told


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "no script to run: use python -m cuvet.preload SCRIPT ARGS… (see python -m cuvet.preload -h)"),
        (("--device",), "no script to run: use python -m cuvet.preload SCRIPT ARGS… (see python -m cuvet.preload -h)"),
        (("--devcie", "real", "show.py"), "unknown option --devcie; did you mean --device? (see cuvet run -h)"),
    ],
)
def test_a_mistake_is_one_line(python: Preload, arguments: tuple[str, ...], line: str) -> None:
    done = python("-m", "cuvet.preload", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cuvet: {line}\n")


def test_its_help(python: Preload) -> None:
    done = python("-m", "cuvet.preload", "-h")
    assert (done.returncode, done.stdout, done.stderr) == (0, preload.USAGE, "")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("python -m cuvet.preload", []),
        ("python -mcuvet.preload", []),
        ("python -Om cuvet.preload", ["-O"]),
        ("python -X dev -Bmcuvet.preload", ["-X", "dev", "-B"]),
        ("python -W error -m cuvet.preload", ["-W", "error"]),
    ],
)
def test_the_options_of_python_are_kept(words: str, options: list[str]) -> None:
    assert preload.own_options(words.split()) == options
