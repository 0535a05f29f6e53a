"""The example is what docs/pytest.md shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from .conftest import HANGS_S, ROOT, environment_of

PROJECT = ROOT / "examples/pytest_project"
_OF_THE_INSTALL = "ignore:Module already imported so cannot be rewritten"


def run(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    shutil.copytree(PROJECT, directory / "project", ignore=shutil.ignore_patterns("__pycache__"))
    # The finder of a development install is imported before pytest can rewrite it, and pytest warns.
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", _OF_THE_INSTALL, *options]
    return subprocess.run(
        command,
        cwd=directory / "project",
        env=environment_of(directory),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def alike(text: str) -> list[str]:
    """Without what differs from run to run."""
    text = re.sub(r"cuvet analyze \S+", "cuvet analyze DIR", text)
    text = re.sub(r"[\d.]+ ?(ns|µs|ms|s)\b", "SOME", text)
    text = re.sub(r"0x[0-9a-f]+|thread \d+|#\d+|\d+ CUDA calls", "N", text)
    return [line.strip("= ") for line in text.strip().splitlines()]


def test_the_example_says_what_its_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs/pytest.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"\$ pytest --cuvet --cuvet-device emulated\n(.*?)\n```", page, re.S)
    done = run(tmp_path, "--cuvet", "--cuvet-device", "emulated")
    said = done.stdout[done.stdout.index("===== ERRORS") :].lstrip("= ")
    assert alike(said) == alike(shown.lstrip("= "))
    assert done.returncode == 1
