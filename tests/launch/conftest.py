"""Real programs under ``cuvet run``, over the null driver of tests/native (no GPU) or over the emulated device."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import msgspec
import pytest

from cuvet.findings import Report
from cuvet.launch import environment

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
HANGS_S = 900
"""What takes longer is not waited for. The machine may be busy: recordings are shortened at a low priority."""


@pytest.fixture(scope="session")
def null_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a libcuda.so.1 that answers everything with success."""
    spec = importlib.util.spec_from_file_location("null_driver", HERE.parent / "native" / "null_driver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    directory = tmp_path_factory.mktemp("driver")
    module.build(directory / "libcuda.so.1")
    return directory


@pytest.fixture(scope="session")
def program(null_driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a program of ``programs/``, linked with the driver."""
    directory = tmp_path_factory.mktemp("programs")

    def compile_program(name: str, *options: str) -> Path:
        path = directory / "-".join([name, *(option.strip("-") for option in options)])
        if not path.exists():
            command = [
                "cc",
                "-g",
                "-O1",
                "-Wall",
                "-Wextra",
                *options,
                "-o",
                str(path),
                str(HERE / "programs" / f"{name}.c"),
            ]
            if "-static" not in options:
                command += [f"-L{null_driver}", "-l:libcuda.so.1", "-pthread"]
            subprocess.run(command, check=True)
        return path

    return compile_program


@pytest.fixture(scope="session")
def runtime_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles a program over the CUDA runtime, as ``nvcc -cudart shared`` would."""
    directory = tmp_path_factory.mktemp("runtime-programs")
    include = importlib.util.find_spec("nvidia.cu13")
    assert include is not None
    assert include.submodule_search_locations is not None
    headers = Path(next(iter(include.submodule_search_locations))) / "include"

    def compile_program(name: str) -> Path:
        path = directory / name
        if not path.exists():
            source = HERE / "programs" / f"{name}.cpp"
            libraries = [f"-L{environment.NATIVE}", "-l:libcudart.so.13", "-l:libcuda.so.1"]
            subprocess.run(["c++", "-g", "-O1", f"-I{headers}", "-o", path, source, *libraries], check=True)
        return path

    return compile_program


@dataclass
class Ran:
    code: int
    stdout: str
    stderr: str
    trace: Path
    report: Report | None

    @property
    def rules(self) -> list[str]:
        assert self.report is not None, self.stderr
        assert self.report.stats.get("internal_errors", 0) == 0, self.report.not_checked
        return [finding.name for finding in self.report.findings]


class Cuvet:
    """Runs ``cuvet``; with ``real`` the null driver is the real driver."""

    def __init__(self, tmp_path: Path, null_driver: Path) -> None:
        self.tmp_path = tmp_path
        self.count = 0
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LD_", "CUVET_"))},
            "PYTHONPATH": os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH")))),
            "LD_LIBRARY_PATH": str(null_driver),
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "cuvet", *map(str, arguments)]

    def run(self, options: Sequence[object], argv: Sequence[object], *, stdin: str = "", **environment: str) -> Ran:
        """``cuvet run`` with a trace directory and a JSON report of its own."""
        self.count += 1
        trace, output = self.tmp_path / f"trace{self.count}", self.tmp_path / f"report{self.count}.json"
        command = self.command("run", "--trace", trace, "--format", "json", "--output", output, *options, "--", *argv)
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=HANGS_S,
            check=False,
        )
        report = msgspec.json.decode(output.read_bytes(), type=Report) if output.exists() else None
        return Ran(done.returncode, done.stdout, done.stderr, trace, report)

    def __call__(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=HANGS_S,
            check=False,
        )

    @contextlib.contextmanager
    def on_terminal(self, *arguments: object) -> Iterator[tuple[subprocess.Popen[bytes], TextIO]]:
        """``cuvet``, and the terminal that is its stderr. It is waited for at the end of the block."""
        screen, terminal = pty.openpty()
        process = subprocess.Popen(self.command(*arguments), stderr=terminal, env=self.environment)
        os.close(terminal)
        with process, open(screen, encoding="utf-8", errors="replace") as reader:
            yield process, reader

    @staticmethod
    def rest_of(screen: TextIO) -> str:
        """What the terminal shows until nobody writes to it any more, without its line ends."""
        lines: list[str] = []
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            lines.extend(line.strip() for line in screen)
        return " ".join(lines)


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A directory for PATH with the program ``cuvet`` of this source tree."""
    folder = tmp_path / "bin"
    folder.mkdir()
    make_script(folder / "cuvet", sys.executable, "-m", "cuvet")
    return folder


def make_script(path: Path, *command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


@pytest.fixture
def cuvet(tmp_path: Path, null_driver: Path) -> Cuvet:
    return Cuvet(tmp_path, null_driver)
