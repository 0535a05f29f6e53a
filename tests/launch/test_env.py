"""``cuvet env`` in shells: what they start is recorded, and afterwards their variables are what they were."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.launch import environment, shell, trace

from .conftest import HANGS_S, Cuvet, make_script

SHELLS = ("sh", "bash", "zsh", "fish")
DUMP = "import json, os, sys; print(json.dumps(dict(os.environ)), flush=True)"
ODD = {
    "LD_LIBRARY_PATH": ":/a b'c\"$HOME`id`\\:\udcff;;/two\nlines",
    "LD_PRELOAD": "",
    "CUVET_PROTECT": "uses",
    "CUVET_RECORD": "full",
    "CUVET_LIMIT": "1000000000",
}
"""What a user can have set. Emptiness, separators and bytes that are no text are to be kept."""

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def in_shell(cuvet: Cuvet, scripts: Path) -> Shell:
    """Runs lines in a shell, with BEGIN and END for what the user types."""
    make_script(scripts / "dump", sys.executable, "-I", "-c", DUMP)

    def run(name: str, lines: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        typed = {"BEGIN": " ".join(["env", *options]), "END": "env --off"}
        for word, command in typed.items():
            fish = f"cuvet {command} --shell fish | source"
            lines = lines.replace(word, fish if name == "fish" else f'eval "$(cuvet {command})"')
        kept = {each: value for each, value in cuvet.environment.items() if each != "LD_LIBRARY_PATH"}
        path = f"{scripts}:{os.environ['PATH']}"
        return subprocess.run(
            [name, "-c", lines],
            capture_output=True,
            text=True,
            env={**kept, "PATH": path, **variables},
            timeout=HANGS_S,
            check=False,
        )

    return run


def dumped(stdout: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in stdout.splitlines() if line.startswith('{"')]


def without_the_shell_s_own(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in ("_", "OLDPWD", "SHLVL")}


@pytest.mark.parametrize("variables", [{}, ODD], ids=["nothing", "odd"])
@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_is_recorded_until_it_is_not(
    in_shell: Shell, program: Callable[..., Path], name: str, variables: dict[str, str], tmp_path: Path
) -> None:
    stale = program("stale")
    lines = f"dump; BEGIN; dump; {stale} >/dev/null; cuvet analyze --format json; END; dump; {stale}"
    done = in_shell(name, lines, "--device", "emulated", **variables)
    before, between, after = (without_the_shell_s_own(each) for each in dumped(done.stdout))
    assert after == before
    assert {each: value for each, value in before.items() if each in variables} == variables
    assert between["LD_PRELOAD"] == str(environment.SHIM)
    assert between["LD_LIBRARY_PATH"].endswith(variables.get("LD_LIBRARY_PATH", "").rsplit("/")[-1])
    trace = Path(between["CUVET_TRACE"])
    assert f"cuvet: programs started from this shell are recorded in {trace} (on the emulated device)" in done.stderr
    assert stat.S_IMODE(trace.stat().st_mode) == 0o700
    (recording,) = trace.glob("*.cuvet")
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600
    assert f"cuvet: the recording is {trace}" in done.stderr
    assert '"stream-use-after-destroy"' in done.stdout


def test_it_is_the_driver_s_own_where_there_is_one(
    in_shell: Shell, program: Callable[..., Path], null_driver: Path
) -> None:
    lines = f"BEGIN; dump; {program('correct')}; cuvet analyze --fail-on warning --require-cuda"
    done = in_shell("sh", lines, LD_LIBRARY_PATH=str(null_driver))
    (between,) = dumped(done.stdout)
    assert between["CUVET_DRIVER"] == str(null_driver / "libcuda.so.1")
    assert "CUVET_DEVICE_SOCKET" not in between
    assert done.returncode == 0, done.stderr
    assert "0 errors, 0 warnings in" in done.stdout


def test_the_options_reach_the_shim(in_shell: Shell, null_driver: Path) -> None:
    options = ("--races", "--protect", "--quarantine", "1MiB", "--narrow", "--stacks", "none")
    (between,) = dumped(in_shell("sh", "BEGIN; dump", *options, LD_LIBRARY_PATH=str(null_driver)).stdout)
    wanted = {"RECORD": "accesses", "PROTECT": "refuse", "QUARANTINE": "1048576", "NARROW": "1", "STACKS": "none"}
    assert {name: between[f"CUVET_{name}"] for name in wanted} == wanted


def test_each_process_has_its_file_and_one_without_cuda_has_none(in_shell: Shell, program: Callable[..., Path]) -> None:
    lines = f"BEGIN; {program('correct')}; {program('correct')}; {program('nothing')}; ls; cuvet analyze --format json"
    done = in_shell("sh", lines, "--device", "emulated")
    assert '"processes":2' in done.stdout.replace(" ", "")


def test_a_second_one_takes_the_place_of_the_first(in_shell: Shell) -> None:
    done = in_shell("sh", "dump; BEGIN; dump; BEGIN; dump; END; dump", "--device", "emulated", **ODD)
    before, first, second, after = map(without_the_shell_s_own, dumped(done.stdout))
    assert after == before
    assert first["CUVET_SAVED"] == second["CUVET_SAVED"]
    assert first["CUVET_TRACE"] != second["CUVET_TRACE"]
    assert second["LD_PRELOAD"] == str(environment.SHIM)
    assert first["CUVET_DEVICE_KEY"] != second["CUVET_DEVICE_KEY"]


def test_what_the_user_adds_to_a_list_meanwhile_stays(in_shell: Shell) -> None:
    lines = "BEGIN; export LD_LIBRARY_PATH=/new:$LD_LIBRARY_PATH; END; dump"
    (after,) = dumped(in_shell("sh", lines, "--device", "emulated", LD_LIBRARY_PATH="/old").stdout)
    assert after["LD_LIBRARY_PATH"] == "/new:/old"
    assert "LD_PRELOAD" not in after


def test_a_run_inside_has_a_recording_of_its_own(in_shell: Shell, program: Callable[..., Path]) -> None:
    lines = f"BEGIN; cuvet run --device emulated --trace own -- {program('correct')}; cuvet analyze"
    done = in_shell("sh", f"cd $HOME; {lines}", "--device", "emulated")
    assert "own: " not in done.stderr and "0 errors, 0 warnings in" in done.stderr
    assert "no CUDA call" in done.stdout


def test_it_is_undone_exactly_under_an_outer_run_too(in_shell: Shell) -> None:
    inner = "dump; BEGIN; dump; END; dump"
    done = in_shell("sh", f"cuvet run --device emulated -- sh -c {shlex.quote(inner)}", "--device", "emulated")
    before, between, after = map(without_the_shell_s_own, dumped(done.stdout))
    assert after == before
    assert before["CUVET_TRACE"] != between["CUVET_TRACE"]
    assert before["CUVET_DEVICE_SOCKET"] != between["CUVET_DEVICE_SOCKET"]
    assert between["LD_PRELOAD"] == before["LD_PRELOAD"] == str(environment.SHIM)
    assert "CUVET_NOTICES" in before and "CUVET_NOTICES" not in between


@pytest.mark.parametrize("ends", ["END; read line", "exit", "exec true", "kill -9 $$"])
def test_the_device_ends_with_the_shell_or_when_it_is_told_to(cuvet: Cuvet, tmp_path: Path, ends: str) -> None:
    words = shlex.join([sys.executable, "-m", "cuvet"])
    lines = f'eval "$({words} env --device emulated)"; echo $CUVET_DEVICE_SOCKET; read line; {ends}'
    lines = lines.replace("END", f'eval "$({words} env --off)"')
    process = subprocess.Popen(
        ["sh", "-c", lines], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=cuvet.environment
    )
    assert process.stdin is not None and process.stdout is not None
    path = process.stdout.readline().strip()
    with process, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(HANGS_S)
        connection.connect(path)
        process.stdin.write("go on\n")
        process.stdin.flush()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        process.stdin.close()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--device", "real"), "no GPU: .*; --device emulated needs none"),
        (
            ("--trace", "a b"),
            "a b: LD_PRELOAD cannot hold a path with a space, a colon or a semicolon: choose another one",
        ),
        (("--trace", "%z"), "--trace %z: %z is not known"),
        (("--off",), r"nothing to take back: eval \"\$\(cuvet env\)\" was not used in this shell"),
        (("--off", "--shell", "fish"), "nothing to take back: cuvet env --shell fish | source was not used"),
        (("true",), "unexpected argument true"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(
    cuvet: Cuvet, tmp_path: Path, options: tuple[str, ...], line: str
) -> None:
    done = subprocess.run(
        cuvet.command("env", *options),
        capture_output=True,
        text=True,
        env={**cuvet.environment, "LD_LIBRARY_PATH": ""},
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(line, done.stderr)
    assert done.stderr.startswith("cuvet: ") and done.stderr.count("\n") == 1


def test_a_terminal_is_told_what_to_type(cuvet: Cuvet, tmp_path: Path) -> None:
    _, terminal = pty.openpty()
    done = subprocess.run(
        cuvet.command("env"), stdout=terminal, stderr=subprocess.PIPE, text=True, env=cuvet.environment, check=False
    )
    os.close(terminal)
    assert done.returncode == 2
    assert done.stderr == 'cuvet: a terminal does nothing with these commands: use eval "$(cuvet env)"\n'
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("shell_name", shell.SHELLS)
def test_no_name_of_a_variable_is_a_command(shell_name: str) -> None:
    now = {"CUVET_A;touch x": "1", "CUVET_B": "2", "CUVET_\nC": "3"}
    undo = {"sh": "unset CUVET_B;\n", "fish": "set -e CUVET_B;\n"}
    assert shell.commands(now, {}, shell_name) == undo[shell_name]
    assert "touch" not in shell.commands({}, now, shell_name)


@pytest.mark.parametrize(
    "saved", ["", "{", "[]", "[" * 100_000, '{"PATH": "/x"}', '{"CUVET_A": 1}', '{"CUVET_A": "\\u0000"}']
)
def test_a_changed_memory_is_refused(saved: str) -> None:
    with pytest.raises(CuvetError, match="CUVET_SAVED was changed: start a new shell"):
        shell.original({"CUVET_SAVED": saved})


def test_the_newest_recording_is_the_one_that_was_added_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(CuvetError, match=r"there is no recording in .*: make one with cuvet run"):
        trace.newest()
    for name, time in (("20260101-000000-1", 300), ("20260201-000000-1", 200), ("none", 900)):
        (tmp_path / "cuvet" / name).mkdir(parents=True)
        if name != "none":
            (tmp_path / "cuvet" / name / "meta.json").touch()
        os.utime(tmp_path / "cuvet" / name, ns=(time, time))
    assert trace.newest().name == "20260101-000000-1"


def test_analyze_without_a_name_takes_the_newest(cuvet: Cuvet, program: Callable[..., Path]) -> None:
    done = cuvet("analyze")
    assert done.returncode == 2 and "there is no recording in" in done.stderr
    cuvet("run", "--device", "emulated", "--", program("correct"))
    cuvet("run", "--device", "emulated", "--", program("stale"))
    done = cuvet("analyze", "--fail-on", "error")
    assert done.returncode == 1
    assert "stream-use-after-destroy" in done.stdout
    assert done.stderr.startswith(f"cuvet: the recording is {cuvet.tmp_path / 'state' / 'cuvet'}")
