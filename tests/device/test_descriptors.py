"""Programs that close every descriptor, take their numbers, or leave the place where the device's socket is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .support import NATIVE, Device

CLIENT = """
#define _GNU_SOURCE
#include "client.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

static int numbers[64], count, ends[2];

// Those that cuvet opened: the test's programs open none.
static void list_descriptors(void) {
    count = 0;
    for (int number = 3; number < 1024; number++)
        if (fcntl(number, F_GETFD) != -1) numbers[count++] = number;
}
// Their numbers lead to a socket of the program's own.
static void take_descriptors(void) {
    list_descriptors();
    CHECK(count > 0);
    for (int i = 0; i < count; i++) close(numbers[i]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int i = 0; i < count; i++) CHECK(dup2(ends[0], numbers[i]) == numbers[i]);
}
static void check_untouched(void) {
    char byte;
    for (int i = 0; i < count; i++) CHECK(fcntl(numbers[i], F_GETFD) != -1);
    CHECK(recv(ends[1], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}
static void *use(void *unused) {
    handle s;
    cuCtxSetCurrent(context);
    return (void *)(long)(cuStreamCreate(&s, 1) || cuStreamDestroy_v2(s));
}
// In a forked child, where the answer is an error.
static int reaches_the_device(void) {
    handle s;
    const uint32_t status = cuStreamCreate(&s, 1);
    return status && status != 999;
}
static int works_in_a_thread(void) {
    pthread_t thread;
    void *failed;
    CHECK(pthread_create(&thread, 0, use, 0) == 0 && pthread_join(thread, &failed) == 0);
    return !failed;
}
"""


def build(folder: Path, source: str) -> Path:
    program = folder / "program"
    (folder / "program.c").write_text(CLIENT + source)
    headers = Path(__file__).parents[1] / "native"
    command = [
        "cc",
        "-g",
        "-w",
        "-pthread",
        f"-I{headers}",
        "-o",
        program,
        folder / "program.c",
        NATIVE / "libcuda.so.1",
    ]
    subprocess.run(command, check=True)
    return program


def test_descriptors_that_the_program_has_taken_are_left_alone(device: Device, tmp_path: Path) -> None:
    done = device.run(
        build(
            tmp_path,
            """
            int main(void) {
                start();
                CHECK(works_in_a_thread());
                take_descriptors();
                CHECK(use(0) == 0);
                CHECK(works_in_a_thread());
                check_untouched();
                for (int i = 0; i < 3000; i++) CHECK(use(0) == 0);  // the recording grows
                check_untouched();
                if (fork() == 0) { CHECK(reaches_the_device()); check_untouched(); exit(0); }
                wait(0);
                check_untouched();
                return 7;
            }""",
        )
    )
    assert (done.returncode, done.stderr) == (7, "")


def test_a_thread_that_ends_closes_nothing_of_the_programs(device: Device, tmp_path: Path) -> None:
    done = device.run(
        build(
            tmp_path,
            """
            static pthread_barrier_t called, taken;
            static void *work(void *unused) {
                CHECK(use(0) == 0);
                pthread_barrier_wait(&called);
                pthread_barrier_wait(&taken);
                return 0;
            }
            int main(void) {
                pthread_t thread;
                start();
                pthread_barrier_init(&called, 0, 2);
                pthread_barrier_init(&taken, 0, 2);
                pthread_create(&thread, 0, work, 0);
                pthread_barrier_wait(&called);
                take_descriptors();
                pthread_barrier_wait(&taken);
                pthread_join(thread, 0);
                check_untouched();
                return 7;
            }""",
        )
    )
    assert (done.returncode, done.stderr) == (7, "")


@pytest.fixture
def as_root() -> list[str]:
    """A command before which chroot is allowed."""
    if os.geteuid() == 0:
        return []
    if subprocess.run(["unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("chroot needs root or a user namespace")
    return ["unshare", "-Ur"]


def test_threads_that_begin_after_chroot_reach_the_device(device: Device, as_root: list[str], tmp_path: Path) -> None:
    program = build(
        tmp_path,
        """
        int main(int count, char **arguments) {
            start();
            CHECK(chroot(arguments[1]) == 0 && chdir("/") == 0);
            CHECK(works_in_a_thread());
            if (fork() == 0) exit(reaches_the_device() ? 3 : 4);
            int status;
            wait(&status);
            return WEXITSTATUS(status) + 4;
        }""",
    )
    (tmp_path / "empty").mkdir()
    done = device.run(*as_root, program, tmp_path / "empty")
    assert done.returncode == 7, done.stderr


def test_threads_that_begin_after_setuid_reach_the_device(device: Device, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("setuid needs root")
    program = build(
        tmp_path, "int main(void) { start(); CHECK(setuid(65534) == 0); return works_in_a_thread() ? 7 : 8; }"
    )
    done = device.run(program)
    assert (done.returncode, done.stderr) == (7, "")


def test_the_first_call_may_come_after_chroot(device: Device, as_root: list[str], tmp_path: Path) -> None:
    program = build(
        tmp_path,
        """
        int main(int count, char **arguments) {
            CHECK(chroot(arguments[1]) == 0 && chdir("/") == 0);
            start();
            take_descriptors();
            CHECK(use(0) == 0 && works_in_a_thread());
            check_untouched();
            return 7;
        }""",
    )
    (tmp_path / "empty").mkdir()
    done = device.run(*as_root, program, tmp_path / "empty")
    assert (done.returncode, done.stderr) == (7, "")


def test_a_program_may_be_another_users(device: Device, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("setuid needs root")
    program = build(
        tmp_path, "int main(void) { CHECK(setuid(65534) == 0); start(); return works_in_a_thread() ? 7 : 8; }"
    )
    done = device.run(program)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_device_that_cannot_be_reached_any_more_is_said_once(
    device: Device, as_root: list[str], tmp_path: Path
) -> None:
    program = build(
        tmp_path,
        """
        int main(int count, char **arguments) {
            handle s;
            start();
            take_descriptors();
            CHECK(chroot(arguments[1]) == 0 && chdir("/") == 0);
            CHECK(!works_in_a_thread() && cuStreamCreate(&s, 1) == 999);
            check_untouched();
            return 7;
        }""",
    )
    (tmp_path / "empty").mkdir()
    done = device.run(*as_root, program, tmp_path / "empty", CUVET_DEVICE_KEY="")
    assert done.returncode == 7, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot be reached: every CUDA call fails from now on" in done.stderr
