"""Stacks through code that a runtime compiled while the program ran: mono, .NET, V8."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

EMULATED = ("--device", "emulated")
PROGRAMS = Path(__file__).parent / "programs"
NAMES = {"MONO_ENV_OPTIONS": "--jitmap", "MONO_DEBUG": "disable_omit_fp"}


@pytest.fixture
def removed_after() -> Iterator[list[int]]:
    """Processes whose perf maps are removed at the end."""
    processes: list[int] = []
    yield processes
    for process in processes:
        for path in Path("/tmp").glob(f"perf-{process}.map*"):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def functions(ran) -> list[str]:
    (finding,) = ran.report.findings
    return [frame.function for frame in finding.site.frames]


def test_generated_functions_have_the_names_of_the_perf_map(cuvet, program, removed_after) -> None:
    ran = cuvet.run(EMULATED, [program("generated"), "map"])
    removed_after.append(ran.report.findings[0].site.process)
    assert ran.rules == ["stream-use-after-destroy"]
    flush, main, *_ = ran.report.findings[0].site.frames
    assert (flush.function, flush.module, flush.language) == ("Pipeline.Flush", "Stale", "c#")
    assert (main.function, main.module, main.language) == ("Program.Main", None, "c#")


def test_names_are_kept_with_the_recording(cuvet, program, removed_after) -> None:
    ran = cuvet.run(EMULATED, [program("generated"), "map"])
    process = ran.report.findings[0].site.process
    Path(f"/tmp/perf-{process}.map").unlink()
    (names,) = ran.trace.glob("*.names")
    assert names.stat().st_mode & 0o777 == 0o600
    again = cuvet("analyze", ran.trace)
    assert "  --> Stale in Pipeline.Flush  [thread" in again.stderr + again.stdout
    assert "   by Program.Main\n" in again.stderr + again.stdout


@pytest.mark.parametrize("way", ["nothing", "link", "fifo", "directory", "old", "foreign"])
def test_a_map_that_may_be_anothers_is_not_read(cuvet, program, removed_after, way: str) -> None:
    if way == "foreign" and os.geteuid():
        pytest.skip("only root can give a file away")
    ran = cuvet.run(EMULATED, [program("generated"), way])
    removed_after.append(ran.report.findings[0].site.process)
    assert functions(ran)[0].startswith("0x")
    assert not list(ran.trace.glob("*.names"))


def test_what_is_no_frame_pointer_is_not_followed(cuvet, program) -> None:
    ran = cuvet.run(EMULATED, [program("generated"), "wild"])
    assert ran.code == 0
    assert ran.rules == ["stream-use-after-destroy"]
    assert sum(finding.repeats for finding in ran.report.findings) == 10


@pytest.fixture(scope="module")
def stale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("mono") or not shutil.which("mcs"):
        pytest.skip("mono is not installed (Debian, Ubuntu: mono-runtime, mono-mcs)")
    path = tmp_path_factory.mktemp("csharp") / "Stale.exe"
    subprocess.run(["mcs", "-debug", f"-out:{path}", PROGRAMS / "Stale.cs"], check=True)
    return path


def test_mono_methods_have_their_names_and_lines(cuvet, stale: Path, removed_after) -> None:
    ran = cuvet.run(EMULATED, ["mono", "--debug", stale], **NAMES)
    removed_after.append(ran.report.findings[0].site.process)
    assert (ran.code, ran.stdout, ran.stderr) == (0, "400\n", "")
    assert ran.rules == ["stream-use-after-destroy"]
    (finding,) = ran.report.findings
    (stream,) = finding.objects
    sites = (finding.site, stream.destroyed, stream.created)
    assert [[(frame.function, frame.line) for frame in site.frames[:2]] for site in sites] == [
        [("Pipeline.Flush", 31), ("Program.Main", 46)],
        [("Pipeline.Close", 26), ("Program.Main", 45)],
        [("Pipeline.Open", 21), ("Program.Main", 44)],
    ]
    assert {frame.file for site in sites for frame in site.frames[:2]} == {str(PROGRAMS / "Stale.cs")}
    assert ran.report.hints == ()


def test_without_symbols_the_report_says_what_would_give_lines(
    cuvet, stale: Path, tmp_path: Path, removed_after
) -> None:
    ran = cuvet.run(EMULATED, ["mono", shutil.copy(stale, tmp_path)], **NAMES)
    removed_after.append(ran.report.findings[0].site.process)
    frames = ran.report.findings[0].site.frames
    assert [(frame.module, frame.function, frame.line) for frame in frames[:2]] == [
        ("Stale.exe", "Pipeline.Flush", None),
        ("Stale.exe", "Program.Main", None),
    ]
    assert ran.report.hints == (
        "compile Stale.exe with symbols (mcs -debug, a .pdb), and frames of it have lines here",
    )


def test_without_names_the_report_says_how_mono_gives_them(cuvet, stale: Path) -> None:
    ran = cuvet.run(EMULATED, ["mono", stale])
    assert len(functions(ran)) == 2  # of the stub nothing is known, then comes mono's own code
    assert ran.report.hints == (
        "set MONO_ENV_OPTIONS=--jitmap MONO_DEBUG=disable_omit_fp, and functions that mono compiled have names here",
    )
