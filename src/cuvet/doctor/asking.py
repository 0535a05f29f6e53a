"""Starts the processes that ask NVML and libcuda. It imports little: ``cuvet run`` asks first, and imports the rest meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Literal

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); import ask; ask.main(sys.argv[2])"
"""An imported module is compiled once, a script each time."""


def ask(library: Literal["nvml", "cuda"], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that writes a line of JSON to its stdout: ``state.Nvml`` or ``state.Cuda``, of that environment."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, _FOLDER, library],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
