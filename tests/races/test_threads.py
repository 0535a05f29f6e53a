"""Races, found in the racy form at the right two lines, and silent in the fixed one: those in ``programs`` users of other projects told in
public, those in ``own`` are ours.

A program begins with the option that finds its race, and the address of the thread, or what it is about. ``racy`` says which form is to
run. The call that is reported is marked ``# found: [rule]``, the call that it races with ``# other``. The races of ``--guard`` are those
with the CPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from cuvet.findings import Finding, Report, Site

HERE = Path(__file__).parent
BATCH = HERE.parent / "rules" / "batch.py"
_FOUND = re.compile(r"# found: \[([a-z-]+)\]")


OPTIONS = ("--races", "--guard")
DEVICE = os.environ.get("CUVET_TEST_DEVICE", "emulated")
"""``real``, to try the programs on this machine's GPU."""


def _option(text: str) -> str:
    return text.split()[1]


RACES = {file.stem: file.read_text() for file in sorted(HERE.glob("*/*.py"))}


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Finding]]:
    """By the name of the program and its form."""
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for option in OPTIONS:
        for finding in _run(option, tmp_path_factory.mktemp("races")):
            found[_place(finding.site)[0]].append(finding)
    return found


def _run(option: str, folder: Path) -> list[Finding]:
    files = []
    for name, text in ((name, text) for name, text in RACES.items() if _option(text) == option):
        for form in ("racy", "fixed"):
            files.append(folder / f"{name}.{form}.py")
            files[-1].write_text(f"racy = {form == 'racy'}  {text}")
    command = [sys.executable, "-m", "cuvet", "run", "--device", DEVICE, option, "--format", "json"]
    command += ["--output", str(folder / "report.json"), "--trace", str(folder / "trace"), "--", sys.executable]
    subprocess.run([*command, str(BATCH), *map(str, files)], check=True, timeout=300)
    report = msgspec.json.decode((folder / "report.json").read_bytes(), type=Report)
    return [finding for finding in report.findings if finding.severity != "note"]


def _place(site: Site | None) -> tuple[str, int | None]:
    """Name and form of the program in which a call was made, and the line."""
    for frame in () if site is None else site.frames:
        name = Path(frame.file).stem if frame.file else ""
        if name.partition(".")[0] in RACES:
            return name, frame.line
    return "", None


def _line(text: str, mark: str) -> int:
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if mark in line)
    return line


@pytest.mark.parametrize("name", RACES)
def test_the_racy_form_is_found_with_both_calls(name: str, findings: Mapping[str, list[Finding]]) -> None:
    text = RACES[name]
    rule = _FOUND.search(text)
    assert rule is not None
    (finding,) = findings[f"{name}.racy"]
    assert finding.name == rule[1]
    assert _place(finding.site)[1] == _line(text, "# found")
    earlier = [each.site for each in finding.earlier] + [each.created for each in finding.objects]
    assert _line(text, "# other") in [_place(site)[1] for site in earlier]


@pytest.mark.parametrize("name", RACES)
def test_the_fixed_form_is_silent(name: str, findings: Mapping[str, list[Finding]]) -> None:
    assert findings[f"{name}.fixed"] == []


def test_nothing_is_found_elsewhere(findings: Mapping[str, list[Finding]]) -> None:
    assert findings[""] == []
