"""The tour for newcomers: its files exist, and its program is diagnosed as it says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from cuvet.launch import environment

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "docs/tour.md").read_text()


def test_every_file_that_the_tour_names_exists() -> None:
    named = re.findall(r"`((?:src|native)/[^`\s]+)`", TOUR)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_program_of_the_tour_gives_its_line(cuvet, tmp_path: Path) -> None:
    toolkit = importlib.util.find_spec("nvidia.cu13")
    if toolkit is None or toolkit.submodule_search_locations is None:
        pytest.skip("nvidia-cuda-runtime is not installed, which has cuda.h")
    source = tmp_path / "wrong.c"
    source.write_text(re.search(r"```c\n(.*?)```", TOUR, re.S)[1])
    include = Path(next(iter(toolkit.submodule_search_locations))) / "include"
    library = environment.NATIVE / "libcuda.so.1"
    subprocess.run(["cc", "-g", f"-I{include}", source, library, "-o", tmp_path / "wrong"], check=True)
    done = cuvet("run", "--device", "emulated", "--", tmp_path / "wrong")
    first, place = re.search(r"```\n(error.*)\n(.*)\[thread", TOUR).groups()
    assert first in done.stderr
    assert place.strip().removeprefix("--> ") in done.stderr
    assert done.returncode == 1
