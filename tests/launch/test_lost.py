"""Processes that cannot write their recording: the report says which, and their own output does not."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cuvet.launch.notices import MOST_LOST, Notices

REAL = ("--device", "real")
EMULATED = ("--device", "emulated")
OTHER_USER = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user or change its root directory")


def lost(ran) -> list[str]:
    """What the report says of the process that printed its number; nothing of cuvet is on the program's own streams."""
    assert ran.stderr == ""
    assert re.fullmatch(r"\d+\n", ran.stdout)
    about = f"process {ran.stdout.strip()}"
    return [sentence.removeprefix(about) for sentence in ran.report.not_checked if sentence.startswith(about)]


SAYS = "could not write its recording ({}): cuvet did not see its CUDA calls"


@as_root
@pytest.mark.parametrize("child", [[], ["child"]])
def test_a_process_that_became_another_user(cuvet, program, child: list[str]) -> None:
    ran = cuvet.run(REAL, [program("lost"), OTHER_USER, *child])
    assert lost(ran) == [f", of user {OTHER_USER}, {SAYS.format('Permission denied')}"]


@as_root
def test_a_child_in_another_root_directory(cuvet, program, tmp_path: Path) -> None:
    ran = cuvet.run(REAL, [program("lost"), tmp_path, "child"])
    assert lost(ran) == [f" {SAYS.format('No such file or directory')}"]


@as_root
def test_another_user_s_process_uses_the_emulated_device_and_is_not_recorded(cuvet, program) -> None:
    ran = cuvet.run(EMULATED, [program("lost"), OTHER_USER])
    assert (ran.code, ran.stderr) == (0, "")
    assert lost(ran) == [f", of user {OTHER_USER}, {SAYS.format('Permission denied')}"]


@as_root
def test_another_user_s_process_that_cannot_reach_the_emulated_device(cuvet, program) -> None:
    ran = cuvet.run(EMULATED, ["env", "-u", "CUVET_DEVICE_KEY", program("lost"), OTHER_USER])
    assert (
        f"process {ran.stdout.strip()}, of user {OTHER_USER}, could not reach the emulated device ("
        in ran.report.not_checked[0]
    )
    assert ran.report.not_checked[0].endswith("): its CUDA calls failed")


@pytest.mark.skipif(os.getuid() == 0, reason="root can write where the mode forbids it")
def test_a_directory_that_cannot_be_written_to(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("lost"), "mode", "child"])
    assert lost(ran) == [f" {SAYS.format('Permission denied')}"]


@pytest.mark.parametrize("name", ["correct", "nothing"])
def test_of_recorded_processes_and_those_without_cuda_nothing_is_said(cuvet, program, name: str) -> None:
    assert cuvet.run(REAL, [program(name)]).report.not_checked == ()


def send(address: str, token: str, *errors: int, what: int = 1, more: bytes = b"") -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        for error in errors:
            sender.sendto(struct.pack("<32sII", token.encode(), what, error) + more, "\0" + address.partition(":")[0])


def test_only_who_knows_the_token_is_believed() -> None:
    notices = Notices()
    send(notices.address, "0" * 32, 13)
    send(notices.address, notices.address.partition(":")[2], 13, more=b"!")
    send(notices.address, notices.address.partition(":")[2], 13, what=9)
    send(notices.address, "")
    assert notices.stop() == ()


def test_a_process_is_told_of_once_and_an_error_without_a_name_has_its_number() -> None:
    notices = Notices()
    send(notices.address, notices.address.partition(":")[2], 13, 13, 4_000_000_000)
    (sentence,) = notices.stop()
    assert sentence.startswith(f"process {os.getpid()} could not write its recording (")


def test_many_lost_processes_are_told_in_part() -> None:
    notices = Notices()
    for _ in range(MOST_LOST + 1):
        child = os.fork()
        if child == 0:
            send(notices.address, notices.address.partition(":")[2], 30)
            os._exit(0)
        os.waitpid(child, 0)
    said = notices.stop()
    assert len(said) == MOST_LOST + 1
    assert said[0].endswith("could not write its recording (Read-only file system): cuvet did not see its CUDA calls")
    assert said[-1] == "further processes could not be recorded, or could not reach the emulated device"


def test_where_no_socket_can_be_made_nothing_is_heard() -> None:
    program = """
import resource
from cuvet.launch.notices import Notices
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
notices = Notices()
print(repr(notices.address), notices.stop())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "'' ()\n"
