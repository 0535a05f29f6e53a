"""The program of ``make demo``, on the emulated device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import cuvet
from cuvet.findings import Report, Site
from cuvet.reports.terminal import located

SOURCE = Path(__file__).parents[2] / "examples/stale_event.cpp"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("demo")
    shim = Path(cuvet.__file__).parent / "_native/libcuda.so.1"
    compiler = ["c++", "-std=c++17", "-O2", "-g", "-pthread"]
    subprocess.run([*compiler, SOURCE, shim, "-o", folder / "stale_event"], check=True)
    options = [
        "--device",
        "emulated",
        "--trace",
        folder / "trace",
        "--format",
        "json",
        "--output",
        folder / "report.json",
    ]
    command = [sys.executable, "-m", "cuvet", "run", *options, "--error-exitcode", "86", "--", folder / "stale_event"]
    assert subprocess.run(command, capture_output=True).returncode == 86
    return msgspec.json.decode((folder / "report.json").read_bytes(), type=Report)


def source_lines(site: Site | None) -> list[str]:
    """The source text of the frames of a site that lie in the example, innermost first."""
    assert site is not None
    lines = SOURCE.read_text().split("\n")
    return [lines[frame.line - 1].strip() for frame in located(site) if frame.file == str(SOURCE) and frame.line]


def test_the_one_mistake_is_found(report: Report) -> None:
    (finding,) = report.findings
    assert (finding.name, finding.severity, finding.api) == ("stream-use-after-destroy", "error", "cuEventRecord")
    assert (finding.argument, report.program.device) == (1, "emulated")


def test_it_says_where_the_stream_was_used_destroyed_and_created(report: Report) -> None:
    (finding,) = report.findings
    (stream,) = finding.objects
    assert "cuEventRecord(flushed_, stream_)" in source_lines(finding.site)[0]
    assert source_lines(finding.site)[1] == "archive.flush();"
    assert "cuStreamDestroy(streams_.back())" in source_lines(stream.destroyed)[0]
    assert source_lines(stream.destroyed)[1] == "pool.shrink(1);"
    assert "cuStreamCreate(&stream, 1)" in source_lines(stream.created)[0]
    assert stream.destroyed is not None
    assert stream.destroyed.thread != finding.site.thread
