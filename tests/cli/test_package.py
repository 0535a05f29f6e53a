"""The wheel that is built from the sdist, installed in a fresh environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.package

PROGRAM = """
extern "C" int cuInit(unsigned);
extern "C" int cuDeviceGetCount(int *);
int main() { int n = 0; return cuInit(0) || cuDeviceGetCount(&n) || n != 1; }
"""


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}, cwd="/"
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    return Path(run(sys.executable, ROOT / "tools/build_wheel.py", directory).strip())


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    name, _version, python, abi, platform = wheel.stem.split("-")
    assert (name, python, abi) == ("cuvet", "py3", "none")
    oldest = re.fullmatch(r"manylinux_2_(\d+)_x86_64(\.manylinux\w+)*", platform)
    assert oldest and int(oldest[1]) <= 28, platform


def test_the_wheel_holds_the_natives_and_the_data_once(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for library in ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13"):
        assert names.count(f"cuvet/_native/{library}") == 1
    assert {"cuvet/reports/report.schema.json", "cuvet/cmake/cuvet-config.cmake"} <= set(names)
    assert [name for name in names if name.endswith(".data/data/share/man/man1/cuvet-run.1")]
    assert not [name for name in names if name.startswith(("tests/", "cuvet.libs/"))]


def test_it_runs_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    dependencies = {"PYTHONPATH": sysconfig.get_path("purelib")}
    assert run(tmp_path / "venv/bin/cuvet", "--version", **dependencies).startswith("cuvet ")
    native = run(python, "-c", "import cuvet; print(cuvet.__path__[0])", **dependencies).strip() + "/_native"
    assert native.startswith(str(tmp_path))
    (tmp_path / "program.cpp").write_text(PROGRAM)
    run("c++", tmp_path / "program.cpp", f"{native}/libcuda.so.1", "-o", tmp_path / "program")
    report = run(
        tmp_path / "venv/bin/cuvet",
        "run",
        "--device",
        "emulated",
        "--trace",
        tmp_path / "trace",
        "--",
        tmp_path / "program",
        **dependencies,
    )
    assert "0 errors, 0 warnings in 2 calls" in report
