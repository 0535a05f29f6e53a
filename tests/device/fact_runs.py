"""Fact programs under ``cuvet run`` on the emulated device: many in one run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cuvet.findings import Finding, Report

from ..consequences import with_consequences
from .support import TIMEOUT_S


class Ended(msgspec.Struct):
    """How a program ended under ``cuvet run``."""

    pid: int
    exit_code: int
    output: str


@dataclass(frozen=True)
class Run:
    """What became of every program, by fact: its end and its findings."""

    ended: dict[str, Ended]
    findings: defaultdict[str, list[Finding]]


def run_facts(done: Run, folder: Path, options: Sequence[str], programs: Path, names: Sequence[str]) -> None:
    """Run those programs under ``cuvet run`` with these options, and add to ``done`` what became of them."""
    report, results = folder / "report.json", folder / "results.json"
    cuvet = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--devices", "2", *options]
    cuvet += ["--format", "json", "--output", str(report), "--trace", str(folder / "trace"), "--"]
    each = [sys.executable, str(Path(__file__).with_name("each.py")), str(results), str(programs), *names]
    subprocess.run([*cuvet, *each], cwd=folder, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S, check=True)
    ended = msgspec.json.decode(results.read_bytes(), type=dict[str, Ended])
    of_process = {end.pid: name for name, end in ended.items()}
    for finding in with_consequences(msgspec.json.decode(report.read_bytes(), type=Report).findings):
        done.findings[of_process.get(finding.site.process) or _function(finding)].append(finding)
    done.ended.update(ended)


def _function(finding: Finding) -> str:
    """The program whose function is on the stack: that of a forked child's parent. Empty if there is none."""
    named = (re.match(r"program_(\w+)", frame.function) for frame in finding.site.frames)
    return next((found[1] for found in named if found), "")
