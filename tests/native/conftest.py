"""Compiled client programs above the shim, over a driver that needs no GPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.native import null_driver
from tests.under_test import NATIVE, OPTIONS, PRELOAD, SHIM

from cuvet.catalog import driver
from cuvet.recording.reader import Recording
from cuvet.recording.records import CallRecord, decode

HERE = Path(__file__).parent


class Seen:
    """The recording of one process, decoded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = Recording(path)
        self.calls = [decode(batch.record(i)) for batch in self.recording.poll() for i in range(len(batch.calls))]
        self.header = self.recording.header

    def named(self, name: str) -> list[CallRecord]:
        return [call for call in self.calls if self.name(call) == name]

    def name(self, call: CallRecord) -> str:
        return self.recording.entry_points[call.entry_point]

    def one(self, name: str) -> CallRecord:
        (call,) = self.named(name)
        return call


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str
    traces: list[Seen] = field(default_factory=list)

    @property
    def trace(self) -> Seen:
        (trace,) = self.traces
        return trace


@dataclass
class Bench:
    """Compiles and runs programs; ``run`` takes C source or the argv of a program."""

    folder: Path
    driver: Path

    def compile(self, source: str, *options: str, name: str = "client") -> Path:
        program = self.folder / name
        code = self.folder / f"{name}.c"
        code.write_text('#include "client.h"\n' + source)
        flags = ["-g", "-O0", "-w", "-funwind-tables", f"-I{HERE}", "-pthread"]
        subprocess.run(["cc", *flags, "-o", str(program), str(code), *(options or (str(SHIM),)), "-ldl"], check=True)
        return program

    def environment(self, **extra: str) -> dict[str, str]:
        trace = self.folder / "trace"
        trace.mkdir(exist_ok=True)
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        ours = {
            "LD_PRELOAD": PRELOAD,
            "LD_LIBRARY_PATH": str(NATIVE),
            "CUVET_TRACE": str(trace),
            "CUVET_DRIVER": str(self.driver),
        }
        return {**inherited, **OPTIONS, **ours, **extra}

    def run(
        self, program: str | list[str], *, options: tuple[str, ...] = (), timeout: float = 60, **environment: str
    ) -> Run:
        argv = [str(self.compile(program, *options))] if isinstance(program, str) else program
        done = subprocess.run(
            argv,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.folder,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr, self.traces())

    def traces(self) -> list[Seen]:
        return [Seen(path) for path in sorted((self.folder / "trace").glob("*.cuvet"))]


@pytest.fixture(scope="session")
def null_driver_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not SHIM.exists():
        pytest.fail(f"{SHIM} is missing: build it with cmake")
    path = tmp_path_factory.mktemp("driver") / "null_driver.so"
    null_driver.build(path)
    return path


@pytest.fixture
def bench(tmp_path: Path, null_driver_path: Path) -> Bench:
    return Bench(tmp_path, null_driver_path)


@pytest.fixture(scope="session")
def entry_point_id() -> Callable[[str], int]:
    return lambda name: driver()[name].id
