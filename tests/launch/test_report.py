"""``cuvet report`` of recordings of programs on the emulated device, and what it says of mistakes in its use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_a_page_and_a_trace_of_a_program(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("mistakes"), "stale-stream"])
    page, trace = tmp_path / "page.html", tmp_path / "trace.pb"
    sources = Path(__file__).parent / "programs"
    done = cuvet("report", "--html", page, "--perfetto", trace, "--source-root", sources, ran.trace)
    assert (done.returncode, done.stdout) == (0, "")
    text = page.read_text()
    assert "cudaEventRecord(event, <mark>stream</mark>)" in text
    assert re.search(r"mistakes\.cpp:7 in finish</span>", text) and "stream#1 (0x" in text
    assert text.count("<script") == 2
    data = trace.read_bytes()
    assert b"cudaEventRecord: stream#1 was destroyed before this call" in data and b"cudaStreamCreate" in data


def test_memory_is_drawn_as_the_report_counts_it(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("memory"), "every-kind"])
    page = tmp_path / "page.html"
    assert cuvet("report", "--html", page, ran.trace).returncode == 0
    text = page.read_text()
    for said in (
        "memory of GPU 0: 10 MiB of ",
        "managed memory: 3 MiB at the peak",
        "pinned host memory: 7 MiB at the peak",
    ):
        assert said in text


def test_all_recordings_below_a_directory_are_on_one_page(cuvet, runtime_program, tmp_path: Path) -> None:
    for rank in range(2):
        command = ("run", "--device", "emulated", "--trace", tmp_path / f"job/rec.{rank}", "--")
        cuvet(*command, runtime_program("mistakes"), "stale-stream", RANK=str(rank), WORLD_SIZE="2")
    page = tmp_path / "page.html"
    done = cuvet("report", "--html", page, tmp_path / "job")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "<dt>ranks</dt><dd>0-1</dd>" in page.read_text()


def test_both_files_are_overwritten(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("mistakes"), "stale-stream"])
    page = tmp_path / "page.html"
    page.write_text("before")
    assert cuvet("report", "--html", page, ran.trace).returncode == 0
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("REC",), "nothing to write: give --html FILE or --perfetto FILE (see cuvet report -h)"),
        (("--html", "", "REC"), "argument --html: '' is not a path (see cuvet report -h)"),
        (("--html", "none/page.html", "REC"), "cannot write the report to none/page.html: No such file or directory"),
        (("--perfetto", ".", "REC"), "cannot write the report to .: Is a directory"),
        (
            ("--html", "one", "--perfetto", "./one", "REC"),
            "--html and --perfetto are both one: give each a file of its own",
        ),
        (("--html", "page.html", "empty"), "empty: no recording here, nor in directories below it"),
        (("--html", "page.html", "--source-root", "none", "REC"), "--source-root none: no such directory"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], said: str, cuvet, runtime_program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("mistakes"), "devices"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    done = cuvet("report", *(str(ran.trace) if each == "REC" else each for each in arguments))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cuvet: {said}\n")


def test_what_is_no_recording_is_one_line(cuvet, tmp_path: Path) -> None:
    done = cuvet("report", "--html", tmp_path / "page.html", tmp_path / "none")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "page.html").exists()
