"""docs/loading.md: its commands are ones, and the lines for jobs, services and containers record a program."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet import preload
from cuvet.cli import parse

from .conftest import HANGS_S, Cuvet

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/loading.md").read_text(encoding="utf-8")
INLINE = re.findall(r"cuvet (env[^)`\n|]*)\)", PAGE)


def block(language: str, line: str) -> str:
    """The line of a code block that begins so."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    (found,) = (each for text in blocks for each in text.splitlines() if each.startswith(line))
    return found


def test_its_commands_are_ones() -> None:
    assert len(INLINE) >= 6
    for command in INLINE:
        parse(shlex.split(command.replace("%%", "%")))
    for command in re.findall(r"^(?:\$ )?(cuvet (?:run|analyze|jupyter)\b.*)$", PAGE, re.M):
        parse(shlex.split(command)[1:])
    preloads = re.findall(r"^python .*?-m cuvet\.preload (.*)$", PAGE, re.M)
    assert len(preloads) == 3
    for command in preloads:
        options, program = preload.split(shlex.split(command))
        parse(["run", *options, "--", *program])


def test_its_arguments_of_cmake_are_those_of_the_package() -> None:
    package = (ROOT / "src/cuvet/cmake/cuvet-config.cmake").read_text(encoding="utf-8")
    for command in re.findall(r"^(cuvet_\w+)\(", PAGE, re.M):
        assert f"function({command})" in package
    for keyword in ("NAME", "COMMAND", "DEVICE", "FAIL_ON", "ARGS"):
        assert re.search(rf"\b{keyword}\b", PAGE) and re.search(rf'[";]{keyword}[";]', package)


@pytest.fixture
def recorded(
    cuvet: Cuvet, scripts: Path, null_driver: Path, program: Callable[..., Path], tmp_path: Path
) -> Callable[..., None]:
    """Runs a command line in which a stale program stands for the user's, and wants its mistake in ``recordings``."""

    def run(command: list[str], recordings: str, **variables: str) -> None:
        path = f"{scripts}:{os.environ['PATH']}"
        environment = {**cuvet.environment, "PATH": path, "LD_LIBRARY_PATH": str(null_driver), **variables}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=HANGS_S, check=False
        )
        assert done.returncode == 0, done.stderr
        (directory,) = tmp_path.glob(recordings)
        told = cuvet("analyze", "--format", "json", directory)
        assert [each["name"] for each in json.loads(told.stdout)["findings"]] == ["stream-use-after-destroy"]

    return run


def test_its_job_script_records(recorded: Callable[..., None], program: Callable[..., Path]) -> None:
    line = block("sh", "srun ").removeprefix("srun ").replace("python train.py", str(program("stale")))
    recorded(shlex.split(line), "rec.3", SLURM_PROCID="3")


def test_its_service_records(recorded: Callable[..., None], program: Callable[..., Path], tmp_path: Path) -> None:
    line = block("ini", "ExecStart=").removeprefix("ExecStart=").replace("$$", "$").replace("%%", "%")
    for there, here in (
        ("/opt/venv/bin/cuvet", "cuvet"),
        ("/var/lib/program", str(tmp_path)),
        ("/usr/bin/program", str(program("stale"))),
    ):
        assert there in line
        line = line.replace(there, here)
    recorded(shlex.split(line), "rec.*")


def test_its_entry_point_records(recorded: Callable[..., None], program: Callable[..., Path], tmp_path: Path) -> None:
    entry_point = json.loads(block("dockerfile", "ENTRYPOINT").removeprefix("ENTRYPOINT "))
    assert "/rec/" in entry_point[2]
    entry_point[2] = entry_point[2].replace("/rec/", f"{tmp_path}/rec/")
    recorded([*entry_point, str(program("stale"))], "rec/*.*")


def test_its_variables_record(
    recorded: Callable[..., None], program: Callable[..., Path], null_driver: Path, tmp_path: Path
) -> None:
    """The library path leads to the real driver here, as it does where nobody knows of cuvet."""
    making = block("dockerfile", "RUN mkdir").removeprefix("RUN ").replace("python3", shlex.quote(sys.executable))
    making = making.replace("/opt", f"{tmp_path}/opt").replace("/rec", f"{tmp_path}/rec")
    (tmp_path / "opt").mkdir()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}"}
    subprocess.run(["sh", "-c", making], check=True, env=environment)
    line = block("dockerfile", "ENV ").removeprefix("ENV ")
    line = line.replace("=/opt", f"={tmp_path}/opt").replace("=/rec", f"={tmp_path}/rec")
    variables = dict(each.split("=") for each in line.split())
    recorded([str(program("stale"))], "rec", **variables, CUVET_DRIVER=str(null_driver / "libcuda.so.1"))
