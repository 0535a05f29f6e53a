"""What is taken from the kernel's log: the driver's messages since the last boot, each whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuvet.doctor import kernel_log
from cuvet.doctor.machine import Machine

BOOT = "Nov 20 08:00:00 host kernel: [    0.000000] Linux version 6.8.0-60-generic\n"
XID = "Nov 20 08:10:00 host kernel: [  600.000000] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"


def lines(tmp_path: Path, text: str) -> tuple[str, ...]:
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/kern.log").write_text(text)
    return kernel_log.lines(Machine(root=tmp_path, environ={}))


def test_messages_before_the_last_boot_do_not_count(tmp_path: Path) -> None:
    assert lines(tmp_path, BOOT + XID + BOOT) == ()


def test_time_and_host_are_left_off(tmp_path: Path) -> None:
    assert lines(tmp_path, BOOT + XID) == ("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",)


def test_a_sentence_over_several_messages_is_one_line(tmp_path: Path) -> None:
    parts = ("NVRM: The NVIDIA GPU 0000:1b:00.0 (PCI ID: 10de:2b85)", "NVRM: installed in this system requires x")
    text = "".join(f"2026-11-20T08:00:00 host kernel: {part}\n" for part in parts)
    assert lines(tmp_path, text) == (f"{parts[0]} installed in this system requires x",)


def test_other_messages_are_left_out(tmp_path: Path) -> None:
    assert lines(tmp_path, BOOT + "Nov 20 08:10:00 host kernel: [  600.000000] usb 1-1: new device\n") == ()


def test_without_a_log_there_is_nothing(tmp_path: Path) -> None:
    assert kernel_log.lines(Machine(root=tmp_path, environ={})) == ()


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="this user may not read the kernel's log")
def test_the_kernels_own_buffer_ends() -> None:
    kernel_log.lines.cache_clear()
    assert isinstance(kernel_log.lines(Machine()), tuple)
