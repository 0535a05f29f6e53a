"""``cuvet check --injected``: what injected faults have shown makes a dropped status an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from cuvet.findings import Frame, Program, Tool
from cuvet.inject.outcome import SEVERITY, Fault, InjectReport, Survey, Trial, Tried, Verdict

SOURCE = """#include <cuda_runtime.h>
void work(char *host) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamDestroy(stream);
}
"""


def report_of(file: Path, line: int, verdict: Verdict) -> bytes:
    frames = (Frame(function="work", file=str(file), line=line),)
    fault = Fault(first=1, last=0, status=2, code="cudaErrorMemoryAllocation", kind="resource")
    trial = Trial(fault=fault, verdict=verdict, because=("it died of SIGSEGV",))
    tried = Tried(
        id="1.1",
        api="cudaStreamCreate",
        frames=frames,
        count=1,
        verdict=verdict,
        severity=SEVERITY.get(verdict),
        trials=(trial,),
    )
    program = Program(argv=("./work",), device="emulated")
    return msgspec.json.encode(InjectReport(tool=Tool(version="1"), program=program, survey=Survey(), sites=(tried,)))


def check(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuvet", "check", "--no-cache", "--format", "json", *options, "work.cpp"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def findings(tmp_path: Path, line: int, verdict: Verdict) -> list[tuple[str, str, list[str]]]:
    (tmp_path / "work.cpp").write_text(SOURCE)
    (tmp_path / "shown.json").write_bytes(report_of(tmp_path / "work.cpp", line, verdict))
    found = json.loads(check(tmp_path, "--injected", "shown.json").stdout)["findings"]
    return [(each["name"], each["severity"], each["because"]) for each in found]


def test_a_dropped_status_that_does_harm_is_an_error(tmp_path: Path) -> None:
    said = "cuvet inject let cudaStreamCreate fail with cudaErrorMemoryAllocation: crash: it died of SIGSEGV"
    assert findings(tmp_path, 4, "crash") == [("source-status-dropped", "error", [said])]


def test_one_that_does_none_or_of_another_line_stays_a_note(tmp_path: Path) -> None:
    assert findings(tmp_path, 4, "handled") == [("source-status-dropped", "note", [])]
    assert findings(tmp_path, 4, "ignored") == [("source-status-dropped", "note", [])]
    assert findings(tmp_path, 2, "crash") == [("source-status-dropped", "note", [])]


def test_what_is_no_report_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "work.cpp").write_text(SOURCE)
    (tmp_path / "shown.json").write_text('{"schema": "cuvet-report/1"}')
    for name, words in ("shown.json", "is not a report of cuvet inject"), ("missing.json", "cannot read missing.json"):
        done = check(tmp_path, "--injected", name)
        assert (done.returncode, words in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)
