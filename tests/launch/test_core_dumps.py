"""A GPU core dump that is there after the run names the kernel that failed. Here the program writes it, in the driver's place."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.image.core_dumps import dump
from tests.under_test import SHIM

from cuvet.findings import Finding, Report

NATIVE_TESTS = Path(__file__).parent.parent / "native"
MARK = 0x1122334455667788
SOURCE = r"""
    #include "client.h"
    uint32_t cuCtxSynchronize(void);
    static const char *ptx = ".version 7.0 .target sm_75 .address_size 64\n"
        ".visible .entry fine(.param .u64 a) { ret; }\n"
        ".visible .entry dies(.param .u64 a) { trap; }\n";
    static char dump[1 << 16];
    static void leave_dump(const char *template, const char *to, uint64_t given) {
        uint64_t mark = 0x1122334455667788;
        FILE *from = fopen(template, "rb");
        size_t bytes = from ? fread(dump, 1, sizeof dump, from) : 0;
        for (size_t i = 0; i + 8 <= bytes; i++)
            if (!memcmp(dump + i, &mark, 8)) memcpy(dump + i, &given, 8);
        FILE *file = bytes ? fopen(to, "wb") : 0;
        if (file) fwrite(dump, 1, bytes, file), fclose(file);
    }
    static uint32_t go(handle function, uint64_t given) {
        void *arguments[] = {&given};
        return cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, 0, arguments, 0);
    }
    int main(int count, char **arguments) {
        handle module, fine, dies, one, other;
        start();
        CHECK(cuModuleLoadData(&module, ptx) == 0 && cuModuleGetFunction(&fine, module, "fine") == 0);
        CHECK(cuModuleGetFunction(&dies, module, "dies") == 0);
        CHECK(cuMemAlloc_v2(&one, 4096) == 0 && cuMemAlloc_v2(&other, 4096) == 0);
        if (count > 3) leave_dump(arguments[1], arguments[2], other), abort();
        CHECK(go(fine, one) == 0 && go(dies, one) == 0 && go(dies, other) == 0 && cuCtxSynchronize() == 719);
        leave_dump(arguments[1], arguments[2], other);
        return 0;
    }
"""
GIVEN = struct.pack("<Q", MARK)
RunWithDump = Callable[..., Finding]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumps")
    (folder / "client.c").write_text(SOURCE)
    flags = ["-g", "-w", f"-I{NATIVE_TESTS}", "-o", str(folder / "client")]
    subprocess.run(["cc", *flags, str(folder / "client.c"), str(SHIM), "-ldl"], check=True)
    return folder / "client"


def run_with_dump(
    program: Path, folder: Path, data: bytes, to: str, *how: str, **more: str
) -> tuple[subprocess.CompletedProcess[str], Report]:
    """Of the program that writes ``data`` to the file ``to``. ``how``: that it ends then."""
    (folder / "template").write_bytes(data)
    command = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--trace", "trace", "--format", "json"]
    settings = {"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP": "1", "CUDA_COREDUMP_FILE": "core", **more}
    done = subprocess.run(
        [*command, "--output", "report", "--", str(program), "template", to, *how],
        capture_output=True, text=True, timeout=120, check=False, cwd=folder, env=os.environ | settings,
    )  # fmt: skip
    return done, msgspec.json.decode((folder / "report").read_bytes(), type=Report)


@pytest.fixture
def finding(program: Path, tmp_path: Path) -> RunWithDump:
    """That of the lost context."""

    def finding(data: bytes, to: str = "core", **more: str) -> Finding:
        done, whole = run_with_dump(program, tmp_path, data, to, **more)
        assert done.returncode == 0, done.stderr
        (found,) = whole.findings
        analyzed = [sys.executable, "-m", "cuvet", "analyze", "--format", "json", str(tmp_path / "trace")]
        again = subprocess.run(analyzed, capture_output=True, text=True, timeout=120, check=False)
        assert msgspec.json.decode(again.stdout, type=Report).findings == whole.findings
        return msgspec.structs.replace(found, help="\n".join(whole.not_checked))

    return finding


def verdicts(found: Finding) -> list[str]:
    return [line for line in found.because if line.startswith("verdict: ")]


def said(found: Finding) -> list[str]:
    return [line for line in found.because if "core dump" in line]


def test_without_a_dump_there_are_candidates(finding: RunWithDump) -> None:
    found = finding(b"")
    assert not verdicts(found)
    assert not said(found)


def test_the_kernel_of_the_dump_is_the_verdict(finding: RunWithDump) -> None:
    found = finding(dump("dies", GIVEN, (8,), grid=(2, 1, 1), exception=4))
    (verdict,) = verdicts(found)
    assert verdict.startswith("verdict: dies<<<2, 32>>> at ")
    assert any("argument 0 points to device-memory#2" in line for line in found.because)
    assert not any("fine" in line for line in found.because)
    assert said(found) == [
        "the GPU core dump core says: Warp Illegal Instruction in dies, 176 bytes into its code, block (2, 0, 0), thread (0, 0, 0) "
        "and 31 others"
    ]


def test_a_kernel_that_no_launch_is_known_of_is_named_all_the_same(finding: RunWithDump) -> None:
    found = finding(dump("replayed", GIVEN, (8,), grid=(3, 1, 1)))
    assert verdicts(found) == ["verdict: replayed<<<3, 32>>>"]
    assert any("argument 0 points to device-memory#2" in line for line in found.because)


def test_a_dump_of_another_shape_is_no_launch_of_these(finding: RunWithDump) -> None:
    (verdict,) = verdicts(finding(dump("dies", GIVEN, (8,), grid=(9, 1, 1))))
    assert verdict == "verdict: dies<<<9, 32>>>"


@pytest.mark.parametrize("data", [b"no dump", dump()[:300]])
def test_a_broken_dump_is_a_line_and_the_candidates_stay(finding: RunWithDump, data: bytes) -> None:
    found = finding(data)
    assert not verdicts(found)
    assert "the GPU core dump core could not be read: " in found.help


def test_a_dump_that_was_not_asked_for_is_not_looked_at(finding: RunWithDump) -> None:
    found = finding(dump("dies", GIVEN, (8,), grid=(2, 1, 1)), CUDA_ENABLE_LIGHTWEIGHT_COREDUMP="0")
    assert not said(found)


def test_a_pipe_is_not_opened(finding: RunWithDump, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "core")
    found = finding(b"")
    assert not said(found)
    assert "could not be read: " in found.help


def test_the_name_has_the_host_the_time_and_the_process(finding: RunWithDump) -> None:
    pattern = "of_%h_[%t].nvcudmp"
    to = f"of_{os.uname().nodename}_[17].nvcudmp"
    found = finding(dump("dies", GIVEN, (8,), grid=(2, 1, 1)), to, CUDA_COREDUMP_FILE=pattern)
    assert len(said(found)) == 1


def hints_of(program: Path, folder: Path, *how: str) -> tuple[str, ...]:
    data = dump("dies", GIVEN, (8,), grid=(2, 1, 1), exception=4)
    _, report = run_with_dump(program, folder, data, "core", *how)
    return tuple(hint for hint in report.hints if "core dump" in hint)


def test_the_dump_of_a_program_that_ended_with_it_is_a_hint(program: Path, tmp_path: Path) -> None:
    says, what_to_do = hints_of(program, tmp_path, "abort")
    assert says.startswith("the GPU core dump core says: Warp Illegal Instruction in dies")
    assert "CUDA_COREDUMP_GENERATION_FLAGS=skip_abort" in what_to_do


def test_a_dump_that_a_finding_tells_of_is_no_hint(program: Path, tmp_path: Path) -> None:
    assert not hints_of(program, tmp_path)
