"""Build the sdist, the wheel from that sdist, and give the wheel the oldest manylinux tag that it keeps.

``python tools/build_wheel.py DIRECTORY``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def build(directory: Path) -> Path:
    """Path of the tagged wheel in ``directory``, which also gets the sdist."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        _python("build", "--no-isolation", "--outdir", scratch, str(ROOT))
        (sdist,) = Path(scratch).glob("*.tar.gz")
        (wheel,) = Path(scratch).glob("*.whl")
        for stale in directory.glob("cuvet-*"):
            stale.unlink()
        (directory / sdist.name).write_bytes(sdist.read_bytes())
        _python("auditwheel", "repair", "--exclude", "libcuda.so.1", "--wheel-dir", str(directory), str(wheel))
    (tagged,) = directory.glob("*.whl")
    return tagged


def _python(module: str, *arguments: str) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\n{module} failed")


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
