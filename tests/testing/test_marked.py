"""``cuvet analyze`` says what the program was doing by its marks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cuvet
from cuvet.analysis import analyze, marked
from cuvet.analysis.folding import Samples
from cuvet.testing import marks

from .conftest import HANGS_S, HERE, environment_of

PROGRAM = """
import subprocess, sys, threading
sys.path.insert(0, sys.argv[1])
import cuvet
from conftest import ok, stale
from cuda.bindings import driver as cu

def begin():
    ok(cu.cuInit(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))

def before():
    stale()

def after():
    stale()

def last():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    cu.cuMemFree(memory)

def elsewhere():
    stale()

begin()
if len(sys.argv) > 2:
    elsewhere()
else:
    before()
    cuvet.mark("epoch 1\\n")
    after()
    cuvet.mark("epoch 2")
    thread = threading.Thread(target=lambda: (begin(), last()))
    thread.start()
    thread.join()
    subprocess.run([sys.executable, __file__, sys.argv[1], "child"], check=True)
"""


def innermost(finding) -> str:
    return next(frame.function for frame in finding.site.frames if frame.file == finding_file(finding))


def finding_file(finding) -> str:
    return next(frame.file for frame in finding.site.frames if str(frame.file).endswith("program.py"))


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("marked")
    (directory / "program.py").write_text(PROGRAM)
    command = ["-m", "cuvet", "run", "--device", "emulated", "--trace", directory / "trace", "--format", "json"]
    command += ["--output", directory / "report.json", "--", sys.executable]
    subprocess.run(
        [sys.executable, *command, directory / "program.py", HERE / "project"],
        env=environment_of(directory),
        check=True,
        timeout=HANGS_S,
    )
    return directory / "trace"


def doing(trace: Path) -> dict[str, str]:
    """What the program was doing, by the function that made the mistake."""
    return {innermost(finding): finding.during for finding in analyze([trace]).findings}


def test_a_finding_names_the_newest_mark_of_its_process(trace: Path) -> None:
    assert doing(trace) == {
        "before": "",
        "after": "after the mark 'epoch 1\\n'",
        "last": "after the mark 'epoch 2'",
        "elsewhere": "",
    }


def test_what_is_found_while_the_program_runs_is_not_put_elsewhere(trace: Path) -> None:
    """Times are then told by clocks that were compared at fewer moments, so that there can be doubt."""
    report = json.loads((trace.parent / "report.json").read_bytes())
    later = {(each.rule, each.site.process, each.site.call): each.during for each in analyze([trace]).findings}
    for each in report["findings"]:
        assert each["during"] in ("", later[each["rule"], each["site"]["process"], each["site"]["call"]])


def test_the_report_says_it(trace: Path) -> None:
    command = [sys.executable, "-m", "cuvet", "analyze", "-v", trace]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANGS_S)
    said = [line for line in done.stdout.splitlines() if "= during: " in line]
    assert sorted(said) == ["   = during: after the mark 'epoch 1\\n'", "   = during: after the mark 'epoch 2'"]


@pytest.mark.parametrize("moved_ns", [0, -3_000, 3_000])
def test_nothing_is_said_of_a_call_as_near_to_a_mark_as_clocks_differ(trace: Path, moved_ns: int) -> None:
    report = cuvet.analyze(trace)
    (finding,) = [each for each in report.findings if innermost(each) == "after"]
    samples = ((0, 5_000_000), (0, 900_000_000_000))
    time = 5_000_000 + finding.site.time_ns

    def told(mark_ns: int, of: Samples | None = samples) -> str:
        return marked._during(finding, {finding.site.process: marked._Marks([(mark_ns, 0)], ["so"])}, of)

    assert told(time + moved_ns) == ""
    assert told(time - 2_000_000) == "so"
    assert told(time + 2_000_000) == ""
    assert told(time - 2_000_000, (samples[0], samples[0])) == ""
    assert told(time - 2_000_000, None) == ""


def test_a_mark_with_ticks_needs_no_second_sample(trace: Path) -> None:
    (finding,) = [each for each in cuvet.analyze(trace).findings if innermost(each) == "after"]
    time = finding.site.time_ns

    def told(ticks: int) -> str:
        marks_of = {finding.site.process: marked._Marks([(0, ticks)], ["so"])}
        return marked._during(finding, marks_of, ((1000, 5), (1000, 5)))

    assert told(1000 + time - 2) == "so"
    assert [told(1000 + time + more) for more in (-1, 0, 1, 2)] == [""] * 4


def test_marks_of_somebody_else_are_text(trace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in trace.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    pid = json.loads((trace / marks.FILE).read_text().splitlines()[0])["pid"]
    lines = [
        b"[" * 100_000,
        b"\xff\x00",
        json.dumps({"time_ns": 1 << 70, "pid": pid, "mark": "x"}).encode(),
        json.dumps({"time_ns": 0, "pid": pid, "mark": "\x1b[31m" + "x" * 1000}).encode(),
        b'{"time_ns": 0, "pid": 1, "mark": "\\ud800"}',
    ]
    (copy / marks.FILE).write_bytes(b"\n".join(lines))
    told = doing(copy)["before"]
    assert told.startswith("after the mark '\\x1b[31mxxx") and len(told) < 250
    (copy / marks.FILE).unlink()
    (copy / marks.FILE).symlink_to(trace / marks.FILE)
    assert set(doing(copy).values()) == {""}


def test_nothing_is_said_behind_the_last_mark_that_is_read(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (trace / marks.FILE).read_text().splitlines(keepends=True)
    assert len(lines) == 2
    copy = tmp_path / "copy"
    shutil.copytree(trace, copy, ignore=shutil.ignore_patterns("lib"))
    monkeypatch.setattr(marked, "_MOST_LINES", 2)
    assert doing(copy)["last"] == "after the mark 'epoch 2'"
    (copy / marks.FILE).write_text("".join([*lines, lines[1]]))
    assert (doing(copy)["after"], doing(copy)["last"]) == ("after the mark 'epoch 1\\n'", "")


def test_a_recording_of_pytest_names_its_tests(run_pytest) -> None:
    session = run_pytest("test_planted.py", "-k", "stream_twice or test_stream_CV201")
    (recording,) = session.recordings
    assert {finding.during for finding in analyze([recording]).findings} == {
        f"test_planted.py::{name} (call)" for name in session.failed
    }
