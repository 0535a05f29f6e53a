"""Sessions of pytest in a project of their own, in processes of their own."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROJECT = HERE / "project"
ROOT = HERE.parents[1]
HANGS_S = 300
collect_ignore = ["project"]


@dataclass(frozen=True)
class Case:
    """What JUnit's XML has of a test. ``outcome``: passed, or what it has instead, in order."""

    outcome: str
    text: str
    rules: str


@dataclass(frozen=True)
class Session:
    code: int
    stdout: str
    stderr: str
    cases: dict[str, Case]
    state: Path

    @property
    def failed(self) -> set[str]:
        return {name for name, case in self.cases.items() if {"failure", "error"} & set(case.outcome.split())}

    @property
    def recordings(self) -> list[Path]:
        return sorted(self.state.glob("cuvet/*"))

    @property
    def summary(self) -> list[str]:
        return [line for line in self.says("cuvet: ") if " judged, on the emulated device" in line]

    def says(self, begin: str) -> list[str]:
        """The rest of each line of stdout that begins so."""
        return [line.removeprefix(begin) for line in self.stdout.splitlines() if line.startswith(begin)]


def blamed(session: Session) -> dict[str, str]:
    """The rules that were found, by test."""
    return {name: case.rules for name, case in session.cases.items() if case.rules}


def planted(session: Session) -> dict[str, str]:
    """The rule whose code stands in its name, by test."""
    codes = {name: re.search(r"_(CV\d+)", name) for name in session.cases}
    return {name: code[1] for name, code in codes.items() if code}


def environment_of(directory: Path) -> dict[str, str]:
    """In which pytest finds the plugin as it is declared, whatever is installed, and writes as in a terminal, not as for CI."""
    declared = re.search(r"\[project\.entry-points\.pytest11\]\n(.*)\n", (ROOT / "pyproject.toml").read_text())
    assert declared is not None
    metadata = directory / "plugin" / "cuvet_here-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cuvet-here\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{declared[1]}\n".replace('"', ""))
    strange = ("LD_", "CUVET_", "PYTEST_", "COV_", "COVERAGE_", "CI", "BUILD_NUMBER", "GITHUB_", "RANK", "WORLD_SIZE")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(strange)},
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"), str(metadata.parent)))
        ),
        "XDG_STATE_HOME": str(directory / "state"),
    }


@pytest.fixture(scope="session")
def null_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a libcuda.so.1 that stands for a GPU's: it answers everything with success."""
    directory = tmp_path_factory.mktemp("driver")
    build = runpy.run_path(str(HERE.parent / "native" / "null_driver.py"))["build"]
    build(directory / "libcuda.so.1")
    return directory


def _cases(path: Path) -> dict[str, Case]:
    if not path.exists():
        return {}
    cases: dict[str, Case] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        parts = [child for child in case if child.tag in ("failure", "error", "skipped", "system-out")]
        outcome = " ".join(child.tag for child in parts if child.tag != "system-out") or "passed"
        text = "\n".join(f"{child.get('message', '')}\n{child.text or ''}" for child in parts)
        rules = next((each.get("value", "") for each in case.iter("property") if each.get("name") == "cuvet"), "")
        name = case.get("name", "")
        if name in cases:  # its tear-down failed too
            outcome, text = f"{cases[name].outcome} {outcome}", f"{cases[name].text}\n{text}"
        cases[name] = Case(outcome, text, rules)
    return cases


@pytest.fixture(scope="session")
def run_pytest(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Session]:
    """Runs pytest in a copy of the project, or in a directory. ``cuvet``: with ``--cuvet``, on that device. ``more``: environment."""

    def run(
        *arguments: str,
        cuvet: bool = True,
        device: str = "emulated",
        directory: Path | None = None,
        command: tuple[str, ...] = ("-m", "pytest"),
        **more: str,
    ) -> Session:
        project = directory or tmp_path_factory.mktemp("session") / "project"
        if directory is None:
            shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
        directory = tmp_path_factory.mktemp("state")
        options = ["--cuvet", "--cuvet-device", device] if cuvet else []
        done = subprocess.run(
            [sys.executable, *command, *options, "--junit-xml", str(directory / "junit.xml"), *arguments],
            cwd=project,
            env={**environment_of(directory), **more},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        return Session(done.returncode, done.stdout, done.stderr, _cases(directory / "junit.xml"), directory / "state")

    return run
