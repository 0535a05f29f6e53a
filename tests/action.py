"""Steps of ``action.yml``, as a runner of GitHub executes them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ACTION = Path(__file__).parents[1] / "action.yml"


def step(name: str) -> str:
    """What is written of a step."""
    (found,) = re.findall(rf"^    - name: {name}\n((?:      .*\n)+)", ACTION.read_text(), re.M)
    return str(found)


def run_step(name: str, temporary: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The step's script with cuvet installed below ``temporary``, which is the runner's."""
    home = temporary / "cuvet/bin"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "cuvet"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m cuvet "$@"\n')
    program.chmod(0o755)
    script = "\n".join(line[8:] for line in step(name).split("run: |\n", 1)[1].splitlines())
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env={**environment, "RUNNER_TEMP": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
