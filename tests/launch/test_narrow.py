"""``cuvet run --narrow``: a fault is reported at the launch that did it, and a program without one runs as before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.under_test import SHIM

from cuvet.findings import Report

NATIVE_TESTS = Path(__file__).parent.parent / "native"
START = r"""
    #include "client.h"
    uint32_t cuCtxSynchronize(void);
    static const char *ptx = ".version 7.0 .target sm_75 .address_size 64\n"
        ".visible .entry fine() { ret; }\n"
        ".visible .entry dies() { trap; }\n";
    static handle module, fine, dies, stream;
    static uint32_t go(handle function) { return cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, 0, 0); }
    static void prepare(void) {
        start();
        CHECK(cuStreamCreate(&stream, 1) == 0 && cuModuleLoadData(&module, ptx) == 0);
        CHECK(cuModuleGetFunction(&fine, module, "fine") == 0 && cuModuleGetFunction(&dies, module, "dies") == 0);
    }
"""
RunProgram = Callable[..., tuple[subprocess.CompletedProcess[str], Report]]


@pytest.fixture
def run(tmp_path: Path) -> RunProgram:
    def run(body: str, *options: str) -> tuple[subprocess.CompletedProcess[str], Report]:
        code, program, report = tmp_path / "client.c", tmp_path / "client", tmp_path / "report.json"
        code.write_text(f"{START} int main(void) {{ prepare(); {body} return 0; }}")
        subprocess.run(
            ["cc", "-g", "-w", f"-I{NATIVE_TESTS}", "-o", str(program), str(code), str(SHIM), "-ldl"], check=True
        )
        command = [
            sys.executable,
            "-m",
            "cuvet",
            "run",
            "--device",
            "emulated",
            "--format",
            "json",
            "--output",
            str(report),
        ]
        command += ["--trace", str(tmp_path / "trace"), *(options or ("--narrow",)), "--", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert report.exists(), done.stderr
        return done, msgspec.json.decode(report.read_bytes(), type=Report)

    return run


def test_the_launch_at_fault_returns_the_error_and_is_the_verdict(run: RunProgram) -> None:
    done, report = run("CHECK(go(fine) == 0 && go(fine) == 0 && go(dies) == 719 && cuCtxSynchronize() == 719);")
    assert done.returncode == 0, done.stderr
    (finding,) = report.findings
    assert (finding.name, finding.site.api, finding.status) == ("error-sticky", "cuLaunchKernel", 719)
    assert "by the end of this call" in finding.message
    assert finding.because[1].startswith("verdict: dies<<<2, 32>>> on stream#1 at ")


def test_a_program_without_a_fault_has_no_finding(run: RunProgram) -> None:
    done, report = run(
        """
        handle graph, event;
        CHECK(cuEventCreate(&event, 0) == 0);
        for (int i = 0; i < 3; i++) CHECK(go(fine) == 0 && cuEventRecord(event, stream) == 0);
        CHECK(cuStreamBeginCapture_v2(stream, 0) == 0 && go(dies) == 0 && cuStreamEndCapture(stream, &graph) == 0);
        CHECK(go(fine) == 0 && cuCtxSynchronize() == 0 && cuEventQuery(event) == 0 && cuGraphDestroy(graph) == 0);
        CHECK(cuEventDestroy_v2(event) == 0 && cuStreamDestroy_v2(stream) == 0 && cuModuleUnload(module) == 0);"""
    )
    assert done.returncode == 0, done.stderr
    assert not report.findings


@pytest.mark.parametrize("mode", [0, 1])
def test_a_launch_beside_a_capture_is_waited_for_and_the_capture_stays_whole(run: RunProgram, mode: int) -> None:
    """The capture forbids its thread, or all, to wait for another stream."""
    done, report = run(
        f"""
        handle graph, captured = stream, other;
        CHECK(cuStreamCreate(&other, 1) == 0 && cuStreamBeginCapture_v2(captured, {mode}) == 0 && go(fine) == 0);
        stream = other;
        CHECK(go(dies) == 719);
        stream = captured;
        CHECK(cuStreamEndCapture(captured, &graph) == 719 || 1);"""
    )
    assert done.returncode == 0, done.stderr
    (finding,) = report.findings
    assert finding.because[1].startswith("verdict: dies<<<2, 32>>> on stream#2 at ")


@pytest.mark.parametrize("mode", [0, 1])
def test_a_capture_goes_on_while_another_stream_is_waited_for(run: RunProgram, mode: int) -> None:
    done, report = run(
        f"""
        handle graph, captured = stream, other;
        CHECK(cuStreamCreate(&other, 1) == 0 && cuStreamBeginCapture_v2(captured, {mode}) == 0 && go(fine) == 0);
        stream = other;
        CHECK(go(fine) == 0);
        CHECK(cuStreamEndCapture(captured, &graph) == 0 && cuGraphDestroy(graph) == 0);
        CHECK(cuStreamDestroy_v2(captured) == 0 && cuStreamDestroy_v2(other) == 0 && cuModuleUnload(module) == 0);"""
    )
    assert done.returncode == 0, done.stderr
    assert not report.findings


def test_a_fault_before_the_nth_launch_is_not_the_nth_launch_s(run: RunProgram) -> None:
    done, report = run("CHECK(go(dies) == 0 && go(fine) == 719);", "--narrow=2")
    assert done.returncode == 0, done.stderr
    (finding,) = report.findings
    assert not any("waited for the work of" in line for line in finding.because)
    assert "before this call" in finding.message


@pytest.mark.parametrize("text", ["0", "-1", "x", "1" * 30, "./program"])
def test_what_is_no_number_says_what_to_write(text: str) -> None:
    command = [sys.executable, "-m", "cuvet", "run", f"--narrow={text}", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--narrow -- PROGRAM" in done.stderr
