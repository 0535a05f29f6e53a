"""What is read from binaries is what nvcc was told to put into them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from cuvet.image import files
from cuvet.image.entries import Entry

from .built import build

CACHE = Path(__file__).parents[2] / ".cache" / "built"
CHOSEN = [case for case in build.cases() if case.name in build.FEW]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Built once per command lines and compiler."""
    commands = [str(build.nvcc()), build.SOURCE, *(" ".join(case.options) for case in CHOSEN)]
    key = hashlib.sha256("\0".join(commands).encode()).hexdigest()[:16]
    folder = CACHE / key
    if not (folder / "intended.json").exists():
        build.build(folder, CHOSEN, jobs=2)
    return folder


def entries(file: Path) -> Sequence[Entry]:
    return [entry for contents in files.read(file) for entry in contents.entries]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
@pytest.mark.parametrize("container", list(build.CONTAINERS))
def test_entries_are_those_of_the_command_line(case: build.Case, container: str, folder: Path) -> None:
    file = build.CONTAINERS[container].format(case.name)
    found = entries(folder / file)
    intended = json.loads((folder / "intended.json").read_text(encoding="utf-8"))[file]
    assert sorted([entry.kind, entry.arch] for entry in found) == intended
    assert case.mode != "none" or not any(entry.compression for entry in found)


def test_all_cases_are_different() -> None:
    cases = list(build.cases())
    assert len({case.name for case in cases}) == len(cases)
    assert len({tuple(case.options) for case in cases}) == len(cases)
    assert len(cases) * len(build.CONTAINERS) == 300
