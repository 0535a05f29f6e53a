"""Programs whose calls fail, on the emulated device."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.image.built.build import nvcc

from cuvet.launch import environment

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
HANGS_S = 600
"""What takes longer is not waited for."""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles a program of ``programs/`` over the CUDA runtime, as ``nvcc -cudart shared`` would."""
    directory = tmp_path_factory.mktemp("inject-programs")
    include = importlib.util.find_spec("nvidia.cu13")
    assert include is not None
    assert include.submodule_search_locations is not None
    headers = Path(next(iter(include.submodule_search_locations))) / "include"

    def compile_program(name: str) -> Path:
        path = directory / name.replace("/", "-")
        if not path.exists():
            libraries = [f"-L{environment.NATIVE}", "-l:libcudart.so.13", "-l:libcuda.so.1"]
            source = HERE / "programs" / f"{name}.cpp"
            command: list[str | Path] = ["c++", "-g", "-O1", f"-I{headers}", "-o", path, source, *libraries]
            if not source.exists():
                options = ["-g", "-O3", "-arch=sm_75", "-cudart=none", "-cudadevrt=none", "-o", path]
                command = [nvcc(), *options, source.with_suffix(".cu"), "-Xlinker", ",".join(libraries[:2])]
            subprocess.run(command, check=True)
        return path

    return compile_program


@dataclass
class Injected:
    code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    @property
    def verdicts(self) -> dict[str, str]:
        """By the function."""
        return {site["api"]: site["verdict"] for site in self.report["sites"]}


@pytest.fixture
def inject(tmp_path: Path) -> Callable[..., Injected]:
    """Runs ``cuvet inject`` with these arguments, and with ``more`` in its environment."""
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LD_", "CUVET_"))},
        "PYTHONPATH": os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH")))),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }

    def run(*arguments: str | Path, **more: str) -> Injected:
        command = [sys.executable, "-m", "cuvet", "inject", "--device", "emulated", *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**variables, **more},
            cwd=tmp_path,
            timeout=HANGS_S,
            check=False,
        )
        return Injected(done.returncode, done.stdout, done.stderr)

    return run
