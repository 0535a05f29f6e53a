"""The driver's error log beside the findings: lines as the H200's driver wrote them (``cuda_log`` in the facts)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cuvet as package
from cuvet.analysis import driver_log
from cuvet.analysis.driver_log import Failure
from cuvet.findings import Finding, Site

REAL = ("--device", "real")
FACTS = Path(package.__file__).parent / "knowledge" / "facts" / "h200-driver580-cuda13.jsonl"
FREE = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2"
LAUNCH = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel"


def line(message: str, thread: int = 137216133754880, time: str = "12:46:23.854") -> str:
    return f"[{time}][{thread}][CUDA][E] {message}\n"


def failed(number: int, name: str = "cuMemFree", thread: int = 1, *, status: int = 1, ms: int = 0) -> Failure:
    return Failure(1000, thread, number, name, status, ms * 10**6)


def finding(number: int, thread: int = 1) -> Finding:
    site = Site(api="x", call=number, process=1000, thread=thread, time_ns=0)
    return Finding(rule="CV000", name="x", severity="error", message="x", api="x", site=site)


def said(directory: Path, log: str, failures: list[Failure]) -> list[tuple[str, ...]]:
    """What is attached to a finding about each of the failures."""
    (directory / driver_log.FILE).write_text(log)
    findings = [finding(each.number, each.thread) for each in failures]
    return [each.driver_log for each in driver_log.attach(directory, findings, failures)]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (
            "launch_bad_config",
            [
                (
                    "One or more of block dimensions of (2048,1,1) exceeds correspsonding maximum value of (1024,1024,64)",
                ),
                ("Grid Dimension X must be nonzero",),
                (
                    "Requested dynamic shared memory size of 307200 bytes exceeds maximum dynamic shared memory size of 49152 bytes",
                ),
            ],
        ),
        (
            "event_destroy_null",
            [
                ("Event handle is NULL",),
                (),
                ("The source graph pointer is NULL", "Graph is not a valid source graph"),
                ("Graph is not a valid executable graph",),
            ],
        ),
        ("ctx_destroy_then_use", [(), (), ("No CUDA context is current to the calling thread",)]),
    ],
)
def test_what_the_driver_wrote(tmp_path: Path, fact: str, words: list[tuple[str, ...]]) -> None:
    rows = map(json.loads, FACTS.read_text().splitlines())
    log = "".join(line(each.removeprefix("[E] ")) for row in rows if row["id"] == fact for each in row["cuda_log"])
    calls = [failed(n, each.name, status=each.status) for n, each in enumerate(driver_log.read(log), 1)]
    assert said(tmp_path, log, calls) == words


def test_every_failing_call_of_the_facts_is_known() -> None:
    lines = [each for row in map(json.loads, FACTS.read_text().splitlines()) for each in row.get("cuda_log", ())]
    found = list(driver_log.read("".join(line(each.removeprefix("[E] ")) for each in lines)))
    assert len(found) == sum("Returning" in each for each in lines) > 80


@pytest.mark.parametrize(
    ("log", "failures", "words"),
    [
        # as many in the log as were recorded
        (line("a") + line(FREE) + line("b") + line(FREE), [failed(3), failed(5)], [("a",), ("b",)]),
        # one was not logged, or not recorded: which?
        (line("a") + line(FREE), [failed(3), failed(5)], [(), ()]),
        (line("a") + line(FREE) + line("b") + line(FREE), [failed(3)], [()]),
        # of other calls that is still known
        (line("a") + line(FREE) + line("b") + line(LAUNCH), [failed(3), failed(5), failed(6, "cuLaunchKernel")], [(), (), ("b",)]),
        # the same function with another status
        (line("a") + line(FREE), [failed(3, status=201)], [()]),
        # said before the call began: of a call that did not fail
        (line("a", time="12:46:20.000") + line("b") + line(FREE), [failed(3, ms=50)], [("b",)]),
        (line("a", time="12:46:20.000") + line("b") + line(FREE), [failed(3, ms=3900)], [("a", "b")]),
        (line("a", time="23:59:59.999") + line(FREE, time="00:00:00.000"), [failed(3)], [("a",)]),
        # two threads that failed differently, their lines interleaved
        (
            line("a", 71) + line("b", 72) + line(LAUNCH, 72) + line(FREE, 71),
            [failed(3, thread=1), failed(9, "cuLaunchKernel", thread=2)],
            [("a",), ("b",)],
        ),
        # two threads that failed alike
        (line("a", 71) + line(FREE, 71) + line("b", 72) + line(FREE, 72), [failed(3), failed(9, thread=2)], [(), ()]),
        # lines of two processes that ran into each other
        (line("a") + "[12:46:23.854][1372161[12:46:23.854][1]\n" + line("b") + line(FREE), [failed(3)], [("b",)]),
        (line("a").replace("[E]", "[W]") + line(FREE), [failed(3)], [()]),
        ("\0\xff\n" * 10 + "Returning 1 (X) from cuMemFree_v2\n", [failed(3)], [()]),
    ],
)  # fmt: skip
def test_a_line_is_shown_only_if_it_is_certain_whose_it_is(
    tmp_path: Path, log: str, failures: list[Failure], words: list[tuple[str, ...]]
) -> None:
    assert said(tmp_path, log, failures) == words


def test_a_long_log_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = line("a") + line(FREE)
    monkeypatch.setattr(driver_log, "MOST_BYTES", len(log))
    assert said(tmp_path, log + line("b") + line(FREE), [failed(3)]) == [("a",)]


def test_on_request_the_driver_s_log_is_read(cuvet, program) -> None:
    ran = cuvet.run((*REAL, "--driver-log"), [program("logs")], NULL_DRIVER_FAIL="cuStreamSynchronize=400")
    assert ran.stdout == f"{ran.trace / driver_log.FILE}\n"
    assert [each.driver_log for each in ran.report.findings] == [("The stream is no more",)]
    assert "   = driver: The stream is no more\n" in cuvet("analyze", ran.trace).stdout


def test_without_request_the_program_s_environment_has_no_log(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("logs")], NULL_DRIVER_FAIL="cuStreamSynchronize=400")
    assert ran.stdout == "no log\n"
    assert [each.driver_log for each in ran.report.findings] == [()]


def test_a_log_of_the_user_s_own_is_left_alone(cuvet, program, tmp_path: Path) -> None:
    own = tmp_path / "own.log"
    options = (*REAL, "--driver-log")
    ran = cuvet.run(options, [program("logs")], NULL_DRIVER_FAIL="cuStreamSynchronize=400", CUDA_LOG_FILE=str(own))
    assert ran.stdout == f"{own}\n"
    assert [each.driver_log for each in ran.report.findings] == [()]
    assert len(ran.report.not_checked) == 1
    assert "CUDA_LOG_FILE was set already" in ran.report.not_checked[0]


def test_a_recording_of_the_emulated_device_with_a_log(cuvet, runtime_program) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("mistakes"), "stale-stream"])
    log = line("CU_EVENT_RECORD: no such stream") + line("Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuEventRecord")
    (ran.trace / driver_log.FILE).write_text(log)
    assert "   = driver: CU_EVENT_RECORD: no such stream\n" in cuvet("analyze", ran.trace).stdout


def test_the_emulated_device_has_no_log(cuvet, program) -> None:
    done = cuvet("run", "--device", "emulated", "--driver-log", "--", program("nothing"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--driver-log is for a real GPU" in done.stderr
