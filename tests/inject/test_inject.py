"""What ``cuvet inject`` says of programs that deal with errors well, badly and not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cuvet.inject.outcome import Ending
from cuvet.inject.running import Limits

from .conftest import Injected

Inject = Callable[..., Injected]
Program = Callable[[str], Path]


def test_a_program_that_deals_with_every_error_is_not_accused(inject: Inject, program: Program) -> None:
    done = inject("--format", "json", "--", program("handles"))
    assert set(done.verdicts.values()) == {"handled"}, done.verdicts
    assert set(done.verdicts) == {
        "cudaHostAlloc",
        "cudaMalloc",
        "cudaMemcpy",
        "cudaDeviceSynchronize",
        "cudaFree",
        "cudaFreeHost",
    }
    assert done.code == 0


def test_statuses_that_are_dropped_and_objects_that_are_left(inject: Inject, program: Program) -> None:
    done = inject("--format", "json", "--", program("drops"))
    assert done.verdicts == {
        "cudaMalloc": "handled",
        "cudaStreamCreate": "use-of-unmade",
        "cudaMemcpyAsync": "leak",
        "cudaEventCreate": "use-of-unmade",
        "cudaEventRecord": "ignored",
        "cudaStreamSynchronize": "leak",
        "cudaEventDestroy": "ignored",
        "cudaStreamDestroy": "leak",
        "cudaFree": "handled",
    }
    assert done.code == 1
    lines = {site["api"]: site["frames"][0]["line"] for site in done.report["sites"]}
    assert (lines["cudaStreamCreate"], lines["cudaEventRecord"]) == (22, 25)


def test_crashes_hangs_and_wrong_blame(inject: Inject, program: Program) -> None:
    done = inject("--format", "json", "--", program("dies"))
    assert done.verdicts == {
        "cudaMalloc": "hang",
        "cudaHostAlloc": "crash",
        "cudaMemcpy": "wrong-blame",
        "cudaFreeHost": "handled",
        "cudaFree": "handled",
    }
    hang = next(site for site in done.report["sites"] if site["verdict"] == "hang")
    assert "has last called cudaMalloc at" in hang["trials"][0]["because"][1]


QUIET = (
    "capture",
    "logged",
    "line-of-log",
    "expected",
    "overload",
    "aborts",
    "ends-itself",
    "workspace",
    "ends-null",
    "long-output",
    "hints",
    "results",
)


@pytest.mark.parametrize("way", QUIET)
def test_what_was_accused_once_is_not_accused(inject: Inject, program: Program, way: str) -> None:
    done = inject("--codes", "refused,resource", "--calls", "every", "--format", "json", "--", program("quiet"), way)
    accused = [site for site in done.report["sites"] if site["severity"] in ("error", "warning")]
    assert [(site["api"], site["verdict"], site["trials"][0]["because"]) for site in accused] == []
    assert done.report["sites"]
    assert done.code == 0


CORRECT = sorted(path.stem for path in (Path(__file__).parent / "programs/correct").glob("*.cpp"))
"""Programs of a reviewer that deal with all errors."""


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_program_is_not_accused(inject: Inject, program: Program, name: str) -> None:
    done = inject("--format", "json", "--", program(f"correct/{name}"))
    accused = [site for site in done.report["sites"] if site["severity"] in ("error", "warning")]
    assert [(site["api"], site["line"], site["verdict"]) for site in accused] == []
    assert done.report["sites"]


def test_a_runtime_that_refuses_the_emulated_device_is_said(inject: Inject) -> None:
    code = "from cuda.bindings import runtime; runtime.cudaMalloc(64)"
    done = inject("--", sys.executable, "-c", code)
    assert "contains NVIDIA's CUDA runtime, which accepts only NVIDIA's driver: use cuda.bindings.driver" in done.stderr
    assert done.code == 2


def test_the_budget_bounds_the_first_run(inject: Inject) -> None:
    done = inject("--budget", "1", "--", "sleep", "600")
    assert re.search(r"did not end by itself without any fault in \d+ s: cuvet inject needs one that does", done.stderr)
    assert done.code == 2


@pytest.mark.parametrize(
    ("way", "api"), [("thread", "cudaMalloc"), ("twice", "cudaMalloc"), ("child", "cudaHostAlloc")]
)
def test_a_program_that_dies_has_not_dealt_with_the_error(inject: Inject, program: Program, way: str, api: str) -> None:
    done = inject("--quick", "--at", api, "--format", "json", "--", program("loud"), way)
    assert done.verdicts == {api: "crash"}


@pytest.mark.parametrize(
    ("way", "api", "verdict", "severity"),
    [
        ("uncaught", "cudaMalloc", "crash", "note"),
        ("throws_it_later", "cudaMalloc", "crash", "note"),
        ("throws_another_later", "cudaMalloc", "crash", "error"),
        ("in_thread", "cudaMalloc", "crash", "error"),
        ("in_destructor", "cudaMalloc", "crash", "note"),
        ("in_destructor", "cudaFree", "crash", "error"),
        ("asks", "cudaEventQuery", "ignored", "note"),
        ("polls", "cudaEventQuery", "ignored", "warning"),
        ("resets", "cudaDeviceReset", "ignored", "note"),
        ("checks_once", "cudaMalloc", "handled", None),
        ("writes_much", "cudaMalloc", "ignored", "warning"),
        ("writes_other", "cudaMalloc", "unstable", "note"),
        ("writes_results", "cudaMalloc", "ignored", "warning"),
    ],
)
def test_what_may_be_meant_is_no_more_than_a_note(
    inject: Inject, program: Program, way: str, api: str, verdict: str, severity: str | None
) -> None:
    done = inject("--quick", "--at", api, "--format", "json", "--", program("mild"), way)
    assert {(site["verdict"], site["severity"]) for site in done.report["sites"]} == {(verdict, severity)}


def test_notes_that_say_the_same_are_one(inject: Inject, program: Program) -> None:
    done = inject("--quick", "--", program("mild"), "uncaught")
    assert done.stdout.count("note[crash]") == 1
    assert done.stdout.count("terminate called") == 1
    assert re.search(r"likewise: cudaFree at \S*mild\.cpp:\d+ in uncaught", done.stdout)
    assert "2 crash" in done.stdout


def test_a_note_does_not_hide_a_warning(inject: Inject, program: Program) -> None:
    codes = ("--codes", "resource,refused", "--calls", "every")
    done = inject(*codes, "--at", "cudaMalloc", "--format", "json", "--", program("mild"), "knows_one")
    (site,) = done.report["sites"]
    assert [trial["verdict"] for trial in site["trials"]] == ["ignored", "crash"]
    assert (site["verdict"], site["severity"]) == ("ignored", "warning")


def test_a_launch_is_one_place(inject: Inject, program: Program) -> None:
    """What the runtime looks up before it is no place: that it failed would be called another way that the program took."""
    done = inject("--quick", "--format", "json", "--", program("launches"))
    found = sorted((site["line"], site["api"], site["verdict"]) for site in done.report["sites"])
    assert found == [
        (13, "cudaMalloc", "handled"),
        (14, "cudaLaunchKernel", "ignored"),
        (15, "cudaLaunchKernel", "ignored"),
        (16, "cudaFree", "handled"),
    ]


def test_a_call_of_a_runtime_that_is_linked_in_is_one_place(inject: Inject, program: Program) -> None:
    done = inject("--quick", "--format", "json", "--", program("linked"))
    assert done.verdicts == {"cudaStreamCreate": "handled", "cudaStreamDestroy": "handled"}
    assert len(done.report["sites"]) == 2


def test_a_time_is_not_what_a_program_says_of_an_error(inject: Inject, program: Program, tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    done = inject("--codes", "refused", "--calls", "every", "--format", "json", "--", program("timed"), runs)
    assert done.verdicts == {"cudaDeviceSynchronize": "ignored"}


def test_a_verdict_can_be_repeated(inject: Inject, program: Program) -> None:
    done = inject("--format", "json", "--at", "cudaEventRecord", "--codes", "refused", "--", program("drops"))
    (site,) = done.report["sites"]
    (trial,) = site["trials"]
    assert (site["api"], site["code"], site["occurrence"]) == ("cudaEventRecord", "cudaErrorInvalidValue", "every")
    assert (site["file"].rpartition("/")[2], site["function"], site["line"]) == (
        "drops.cpp",
        "work",
        site["frames"][0]["line"],
    )
    assert site["command"] == trial["command"]
    assert trial["command"].startswith("cuvet inject --device emulated --at ")
    again = inject("--format", "json", *trial["command"].split()[4:])
    assert again.verdicts == {"cudaEventRecord": "ignored"}


def test_the_recording_of_a_verdict_is_kept_and_private(inject: Inject, program: Program, tmp_path: Path) -> None:
    done = inject("--trace", tmp_path / "kept", "--format", "json", "--at", "cudaEventRecord", "--", program("drops"))
    recordings = {trial["recording"] for site in done.report["sites"] for trial in site["trials"]} - {""}
    assert recordings
    assert all(Path(each).parent == tmp_path / "kept" for each in recordings)
    assert {stat.S_IMODE(Path(each).stat().st_mode) for each in recordings} == {0o700}
    again = inject("--trace", tmp_path / "kept", "--", program("drops"))
    assert (again.code, again.stdout) == (2, "")
    assert "recordings are never overwritten" in again.stderr


def test_a_campaign_goes_on_where_it_was(inject: Inject, program: Program, tmp_path: Path) -> None:
    first = inject("--trace", tmp_path / "kept", "--format", "json", "--at", "cudaMalloc", "--", program("drops"))
    assert first.report["runs"] > 2
    log = tmp_path / "kept" / "trials.jsonl"
    log.write_bytes(log.read_bytes() + b'["cut')
    again = inject("--resume", tmp_path / "kept", "--format", "json", "--at", "cudaMalloc", "--", program("drops"))
    assert (again.report["runs"], again.verdicts) == (2, first.verdicts)
    os.utime(program("drops"), ns=(1, 1))
    changed = inject("--resume", tmp_path / "kept", "--at", "cudaMalloc", "--", program("drops"))
    assert (changed.code, "the program was changed since" in changed.stderr) == (2, True)
    other = inject("--resume", tmp_path / "kept", "--", program("handles"))
    assert (other.code, "was begun with another program" in other.stderr) == (2, True)


def test_the_places_are_listed(inject: Inject, program: Program) -> None:
    done = inject("--list", "--", program("handles"))
    assert done.stdout.splitlines()[0] == "6 places of 6 calls can fail:"
    assert re.search(r"1  cudaHostAlloc          \S*handles.cpp:14 in buffer", done.stdout)
    assert done.code == 0


def test_mistakes_of_the_user_are_one_line(inject: Inject, program: Program) -> None:
    for arguments, words in (
        (("--at", "nowhere.cpp:1", "--", program("handles")), "no CUDA call of the program is at nowhere.cpp:1"),
        (("--", "true"), "makes no CUDA calls"),
        (("--codes", "all", "--", "true"), "all is none of resource, refused, sticky"),
        ((), "no program to run"),
        (("--resume", "nothing", "--", "true"), "is no directory of cuvet inject"),
    ):
        done = inject(*arguments)
        assert done.code == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_other_formats_have_the_places_as_findings(inject: Inject, program: Program) -> None:
    done = inject("--format", "concise", "--at", "cudaEventRecord", "--", program("drops"))
    assert "drops.cpp:25: warning[inject]: cudaEventRecord" in done.stdout
    junit = inject("--format", "junit", "--at", "cudaStreamCreate", "--", program("drops"))
    (case,) = ElementTree.fromstring(junit.stdout).iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert (case.get("classname"), failure.get("type")) == ("cuvet.inject.cudaStreamCreate", "use-of-unmade")
    page = inject("--format", "html", "--at", "cudaStreamCreate", "--", program("drops"))
    assert "0 of 1 failure site" in page.stdout
    assert "default-src &#x27;none&#x27;" in page.stdout
    assert '<span class="tag error">use-of-unmade</span></td><td>cudaStreamCreate</td>' in page.stdout
    passes = inject("--format", "junit", "--quick", "--", program("handles"))
    assert {len(case) for case in ElementTree.fromstring(passes.stdout).iter("testcase")} == {0}


def test_who_waits_longer_for_a_run_gives_its_recording_more_room() -> None:
    """No call fails once a recording is full: a loop of calls that fail would end then."""
    first, again = (Limits.after(Ending(wall_s=1, cpu_s=1), patience) for patience in (1, 3))
    assert (again.cpu_s / first.cpu_s, again.wall_s / first.wall_s, again.recorded / first.recorded) == (3, 3, 3)
