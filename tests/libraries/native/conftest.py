"""Compiled programs and small libraries that stand for NVIDIA's, under the shim and over a driver that needs no GPU."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.native.conftest import Bench, bench, null_driver_path

__all__ = ["bench", "fakes", "null_driver_path"]

HERE = Path(__file__).parent


@dataclass
class Fakes:
    """Makes libraries in the folder of the test's program."""

    folder: Path

    def library(self, soname: str = "libcublas.so.12", tag: int = 12, *, versioned: bool = True) -> Path:
        """A copy of fake.c under that name; its symbols have the name as their version, as NVIDIA's have."""
        path = self.folder / soname
        versions = self.folder / f"{soname}.map"
        versions.write_text(f"{soname if versioned else ''} {{ global: *; }};")
        names = [f"-DTAG={tag}", f"-DFAKE(name)=name##_{tag}"]
        self._compile(path, HERE / "fake.c", *names, f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}")
        return path

    def made_of(self, source: str, soname: str, *options: str) -> Path:
        code = self.folder / f"{soname}.c"
        code.write_text('#include "fake.h"\n#include <stdio.h>\n' + source)
        self._compile(self.folder / soname, code, f"-I{HERE}", f"-Wl,-soname,{soname}", *options)
        return self.folder / soname

    def _compile(self, path: Path, code: Path, *options: str) -> None:
        flags = ["-shared", "-fPIC", "-g", "-O1", "-w", "-funwind-tables"]
        subprocess.run(["cc", *flags, "-o", str(path), str(code), *options], check=True)

    def options(self, *libraries: Path) -> tuple[str, ...]:
        """Compiler options of a program that links with these."""
        return (f"-I{HERE}", "-D_GNU_SOURCE", *map(str, libraries), f"-Wl,-rpath,{self.folder}")


@pytest.fixture
def fakes(bench: Bench) -> Fakes:
    return Fakes(bench.folder)
