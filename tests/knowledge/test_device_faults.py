"""Faults of kernels that compute-sanitizer and the kernel log tell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cuvet.catalog import Kind
from cuvet.cli import main
from cuvet.knowledge.device_faults import faults_in

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import writing as w
from test_analysis import Thread

SANITIZER = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at ParaFROST::cnt_cls_lits(const ParaFROST::CNF *)+0x8b0
=========     by thread (0,0,0) in block (278,0,0)
=========     Address 0x7fe71d800958 is out of bounds
=========     and is 85 bytes after the nearest allocation at 0x7fe71d800900 of size 4 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
========= Invalid __global__ read of size 16 bytes
=========     at 0x4ab0 in /usr/local/cuda/include/sm_32_intrinsics.hpp:492:void nv::k<long>(nv::B<long>*, int)
=========     by thread (76,0,0) in block (1132,0,0)
=========     Address 0xdc000000c5 is misaligned
========= Invalid __global__ write of size 1 bytes
=========     at ns::a<int>::b(int)+0xd0 in /home/me/assign_value.h:58
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x147267fff80 is out of bounds
========= Invalid __shared__ read of size 16 bytes
=========     at 0x9670 in void cub::K<void>(T2, T3)
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x8 is misaligned
"""
MEMCHECK = """\
========= Invalid __global__ read of size 8
========= at 0x000001f0 in CuArrays/src/indexing.jl:53:ptxcall_index_kernel_61125
========= by thread (255,0,0) in block (0,0,0)
========= Address 0xb05500ec8 is out of bounds
"""
XID = (
    "[  365.96] NVRM: Xid (PCI:0000:01:00): 31, pid=13705, name=UnrealEditor, channel 0x0000000c, intr 00000000. MMU Fault: "
    "ENGINE GRAPHICS GPC2 GPCCLIENT_PROP_0 faulted @ 0x7f3e_96000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n"
)
OLD_XID = (
    "NVRM: Xid (PCI:0000:01:00): 31, Ch 0000003a, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ "
    "0x17_00592000. Fault is of type FAULT_PDE ACCESS_TYPE_READ\n"
)


def test_what_compute_sanitizer_tells() -> None:
    first, second, third, shared = faults_in(SANITIZER.encode())
    assert (first.line, first.address, first.access, first.problem) == (
        2, "0x7fe71d800958", "write of 4 bytes", "out of bounds",
    )  # fmt: skip
    assert (first.kernel, first.thread, first.block) == (
        "ParaFROST::cnt_cls_lits(const ParaFROST::CNF *)", "(0,0,0)", "(278,0,0)",
    )  # fmt: skip
    assert first.nearest == "85 bytes after the nearest allocation at 0x7fe71d800900 of size 4 bytes"
    assert (second.line, second.kernel, second.problem) == (8, "void nv::k<long>(nv::B<long>*, int)", "misaligned")
    assert (third.kernel, third.address) == ("ns::a<int>::b(int)", "0x147267fff80")
    assert (shared.space, shared.number) == ("shared", None)


def test_what_cuda_memcheck_told() -> None:
    (fault,) = faults_in(MEMCHECK.encode())
    assert (fault.kernel, fault.address, fault.access) == (
        "ptxcall_index_kernel_61125",
        "0xb05500ec8",
        "read of 8 bytes",
    )


def test_what_the_kernel_log_tells() -> None:
    new, old = faults_in((XID + OLD_XID).encode())
    assert (new.address, new.access, new.problem, new.engine, new.process) == (
        "0x7f3e96000000", "read", "FAULT_PDE", "GRAPHICS GPC2 GPCCLIENT_PROP_0", 13705,
    )  # fmt: skip
    assert (old.line, old.address, old.process) == (2, "0x1700592000", None)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid __global__",
        "Invalid __global__ read of size x bytes\n",
        "NVRM: Xid (PCI:0000:01:00): 13, Graphics Exception: ESR 0x4041b0=0x0\n",
        "NVRM: Xid (PCI:0000:01:00): 31, pid=1\n",
        "NVRM: Xid (P): 31, MMU Fault: ENGINE X faulted @ 0x" + "f" * 20 + ". Fault\n",
        "========= Uninitialized __global__ memory read of size 2 bytes\n",
        "",
    ],
)
def test_of_other_lines_nothing_is_said(text: str) -> None:
    assert faults_in(text.encode()) == ()


def test_a_fault_without_its_details_is_told_as_far_as_it_goes() -> None:
    first, second = faults_in(b"Invalid __global__ read of size 4 bytes\nInvalid __global__ write of size 8 bytes\n")
    assert (first.address, first.access, second.access) == (None, "read of 4 bytes", "write of 8 bytes")


@pytest.mark.parametrize(
    "data",
    [
        b"Invalid __global__ read of size 4 bytes\n" * 50_000,
        b"Invalid __global__ read of size 4 bytes\n at " + b" in x:1" * 100_000,
        b"Invalid __global__ read of size 4 bytes\n at " + b" " * 1_000_000 + b"\n and is " * 10_000,
        b"Xid (" * 200_000,
        b"Xid (P): 31," * 100_000,
        b"Xid (P): 31, MMU Fault: ENGINE " + b"a " * 500_000,
        bytes(range(256)) * 1000,
    ],
)
def test_a_hostile_log_is_read_in_bounds(data: bytes) -> None:
    assert len(faults_in(data)) <= 200


NULL = """\
========= Invalid __shared__ read of size 4 bytes
=========     Address 0x0 is out of bounds
========= Invalid __global__ read of size 4 bytes
=========     Address 0x0 is out of bounds
"""


def test_at_address_0_is_no_memory_to_look_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(NULL.replace("__shared__", "__global__"))
    w.write(tmp_path, [w.chunk(Thread().setup())])
    for options in ([], ["--recording", str(tmp_path)]):
        assert main(["explain", *options, str(log)]) == 0
        assert "cuvet who" not in capsys.readouterr().out


def test_the_same_address_in_another_space_is_another_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(NULL)
    assert main(["explain", str(log)]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("fault: ")]
    assert ["(shared memory)" in line for line in said] == [True, False]


def test_the_report_names_the_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(XID)
    assert main(["explain", str(log)]) == 0
    said = capsys.readouterr().out
    assert "Xid 31: read at 0x7f3e96000000 by GRAPHICS GPC2 GPCCLIENT_PROP_0: FAULT_PDE, process 13705" in said
    assert "cuvet who 0x7f3e96000000 RECORDING" in said


def test_the_text_of_others_is_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(SANITIZER.replace("ParaFROST", "\x1b]0;title\x07"))
    assert main(["explain", str(log)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_recording_says_whose_the_address_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t, log = Thread(), tmp_path / "log"
    made = t.setup() + t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, 0x7F3E96000000)])
    w.write(tmp_path, [w.chunk(made + t.call("cuMemFree", 0x7F3E96000000))])
    log.write_text(XID)
    assert main(["explain", "--recording", str(tmp_path), "--format", "json", str(log)]) == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert "1. the start of device-memory#1: 4 KiB at 0x7f3e96000000, device 0" in fault["whose"]


@pytest.mark.parametrize("arguments", [["--recording", "{}", "700"], ["--recording", "{}/absent", "{}/log"]])
def test_a_recording_that_does_not_fit_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (tmp_path / "log").write_text(XID)
    assert main(["explain", *(each.format(tmp_path) for each in arguments)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
