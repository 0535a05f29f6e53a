"""Programs that handle every CUDA error, and mutants of them that do not: how they are read, changed and built (ground/README.md)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import msgspec
from tests.under_test import NATIVE

GROUND = Path(__file__).parent / "ground"
PROGRAMS = sorted(path.name for path in GROUND.iterdir() if path.suffix in (".c", ".cpp", ".py"))
COMPILERS = {".c": ("cc", "-std=c11"), ".cpp": ("c++", "-std=c++17")}
LIBRARIES = ("libcublas.so.13", "libcudnn.so.9", "libcudart.so.13", "libcuda.so.1")


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    program: str
    replace: str
    by: str
    line: int
    """Of the call whose failure is not handled, in the program and in the mutant."""
    verdict: str | list[str]
    """The verdict that the line deserves, or those that are right alike."""
    why: str

    @property
    def verdicts(self) -> list[str]:
        return [self.verdict] if isinstance(self.verdict, str) else self.verdict

    def source(self) -> str:
        """The program with its mistake. AssertionError if the text is not in the program exactly once."""
        text = (GROUND / self.program).read_text()
        assert text.count(self.replace) == 1, f"{self.id}: {text.count(self.replace)} times in {self.program}"
        return text.replace(self.replace, self.by)

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.id}{Path(self.program).suffix}"
        path.write_text(self.source())
        return path


def mutants() -> list[Mutant]:
    lines = (GROUND / "mutants.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Mutant) for line in lines]


def sealed() -> list[str]:
    """The programs whose mutants are for the last measurement only."""
    return (GROUND / "sealed.txt").read_text().split()


def command(source: Path, folder: Path) -> list[str]:
    """The command that runs a program, which is compiled into the folder if it is not Python. CalledProcessError if it does not compile."""
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    built = folder / source.stem
    compiler = [*COMPILERS[source.suffix], "-g", "-O0", "-w", f"-I{GROUND}", f"-I{_headers()}", "-o", str(built)]
    libraries = [f"-L{NATIVE}", "-Wl,--as-needed", *(f"-l:{library}" for library in LIBRARIES)]
    subprocess.run([*compiler, str(source), *libraries], check=True)
    return [str(built)]


def _headers() -> Path:
    package = importlib.util.find_spec("nvidia.cu13")
    assert package is not None and package.submodule_search_locations is not None
    return Path(next(iter(package.submodule_search_locations))) / "include"
