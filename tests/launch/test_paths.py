"""Paths that the loader or a socket cannot take as they are: spaces, colons, and very long ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuvet.launch import environment

REAL, EMULATED = ("--device", "real"), ("--device", "emulated")
HARD = ("a b", "a:b", "a;b")
FROM = "import sys; sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]; from cuvet.cli import main; sys.exit(main())"
PACKAGES = Path(pytest.__file__).parents[1]


@pytest.mark.parametrize("name", HARD)
def test_recordings_may_lie_anywhere(cuvet, program, name: str) -> None:
    """With AddressSanitizer, where the shim is found by the library path alone."""
    trace = cuvet.tmp_path / name / "trace"
    done = cuvet("run", *REAL, "--trace", trace, "--", program("correct", "-fsanitize=address"), "5")
    assert done.returncode == 5
    assert "(1 context, 1 stream, 1 thread, 1 process)" in done.stderr
    assert list(trace.glob("*.cuvet"))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """cuvet, installed below directories of these names."""
    places = {name: tmp_path_factory.mktemp("installed") / name for name in HARD}
    source = environment.NATIVE.parent
    for place in places.values():
        shutil.copytree(source, place / "cuvet", ignore=shutil.ignore_patterns("__pycache__"))
    return places


@pytest.mark.parametrize("device", [REAL, EMULATED])
@pytest.mark.parametrize("name", HARD)
def test_cuvet_may_be_installed_anywhere(cuvet, program, runtime_program, copied, name: str, device) -> None:
    command = [program("stale")] if device is REAL else [runtime_program("mistakes"), "stale-stream"]
    run = [sys.executable, "-S", "-c", FROM, copied[name], PACKAGES, "run", *device, "--", *command]
    without = {key: value for key, value in cuvet.environment.items() if key != "PYTHONPATH"}
    without["NULL_DRIVER_FAIL"] = "cuStreamSynchronize=400"
    done = subprocess.run(run, env=without, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "error[CV201]" in done.stderr
    assert "stream#1" in done.stderr
    assert "ERROR: ld.so" not in done.stderr


def test_a_nested_run_drops_the_links_of_the_outer_one(cuvet, program) -> None:
    inner = cuvet.command("run", *REAL, "--trace", cuvet.tmp_path / "in:ner", "--", program("stale"))
    done = cuvet(
        "run", *REAL, "--trace", cuvet.tmp_path / "ou:ter", "--", *inner, NULL_DRIVER_FAIL="cuStreamSynchronize=400"
    )
    assert "error[CV201]" in done.stderr
    assert "no CUDA call" in done.stderr  # of the outer one


@pytest.mark.parametrize(
    ("style", "line"), [("terminal", "stream-use-after-destroy"), ("sarif", "was deleted; look again:")]
)
def test_a_directory_that_was_deleted(cuvet, program, style: str, line: str) -> None:
    gone = cuvet.tmp_path / "gone"
    gone.mkdir()
    command = cuvet.command("run", *EMULATED, "--format", style, "--", program("stale"))
    leave = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command]
    done = subprocess.run(leave, cwd=gone, env=cuvet.environment, capture_output=True, text=True, check=False)
    assert "No such file" not in done.stderr
    assert line in done.stderr


def test_a_long_tmpdir(cuvet, runtime_program) -> None:
    long = cuvet.tmp_path / ("t" * 120)
    long.mkdir()
    ran = cuvet.run(EMULATED, [runtime_program("mistakes"), "stale-stream"], TMPDIR=str(long))
    assert (ran.code, ran.stdout, ran.stderr) == (0, "400\n", "")
    assert ran.rules == ["stream-use-after-destroy"]


def test_a_tmpdir_that_is_not_there(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("mistakes"), "devices"], TMPDIR="/no/such/place")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "1\n", "")


def test_nothing_is_left_in_tmpdir(cuvet, runtime_program) -> None:
    place = cuvet.tmp_path / "tmp"
    place.mkdir()
    trace = cuvet.tmp_path / "a:b"
    done = cuvet("run", *EMULATED, "--trace", trace, "--", runtime_program("mistakes"), "devices", TMPDIR=str(place))
    assert done.returncode == 0, done.stderr
    assert list(place.iterdir()) == []


def test_a_program_with_debug_information_in_a_directory_that_is_not_utf8(cuvet, program, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/q\xff"))
    directory.mkdir()
    copied = shutil.copy2(program("stale"), directory / "stale")
    ran = cuvet.run(("--device", "real"), [copied, "0"])
    assert ran.rules == ["stream-use-after-destroy"]
    assert cuvet("report", "--html", tmp_path / "page.html", ran.trace).returncode == 0
