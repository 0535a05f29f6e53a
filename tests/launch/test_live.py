"""``cuvet live`` beside programs that `cuvet run` records."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.launch import living, watch
from cuvet.launch.live import tree_of

REAL = ("--device", "real")
OWN = str(os.getpid())
"""A process that is not recorded."""


@contextmanager
def running(cuvet, *command: object) -> Iterator[tuple[Path, int]]:
    """The recording and the process of `cuvet run`, once it has told of a finding."""
    trace = cuvet.tmp_path / "live"
    with cuvet.on_terminal("run", *REAL, "--trace", trace, "--", *command) as (process, screen):
        assert "CV201" in screen.readline()
        try:
            yield trace, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            cuvet.rest_of(screen)


def test_without_a_terminal_it_tells_once_what_is_there(cuvet, program) -> None:
    with running(cuvet, program("stale"), "60") as (trace, _):
        before = {file.name: file.read_bytes() for file in trace.iterdir() if file.is_file()}
        done = cuvet("live", trace)
        assert {file.name: file.read_bytes() for file in trace.iterdir() if file.is_file()} == before
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 1 process running" in done.stdout
    assert "1 finding\n  error[CV201]: cuStreamSynchronize: stream#1 was destroyed before this call" in done.stdout
    assert "0 streams                  of 1 made" in done.stdout
    assert "(stale): in no call" in done.stdout


def test_the_newest_recording_is_found(cuvet, program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", cuvet.environment["XDG_STATE_HOME"])
    with running(cuvet, program("stale"), "60") as (trace, pid):
        monkeypatch.setattr(living, "_own_processes", lambda: tree_of(pid))  # others may be recorded now
        assert watch.directory_of(None) == trace
        monkeypatch.setattr(living, "_own_processes", list)
        with pytest.raises(CuvetError, match="no program of yours"):
            watch.directory_of(None)


def test_a_process_is_found_and_the_run_that_started_it(cuvet, program) -> None:
    with running(cuvet, program("stale"), "60") as (trace, pid):
        (file,) = trace.glob("*.cuvet")
        for each in (pid, file.name.partition("-")[0]):
            done = cuvet("live", each)
            assert (done.returncode, done.stderr) == (0, "")
            assert "1 finding" in done.stdout


def test_a_correct_program_has_no_finding(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("correct"), "0"])
    done = cuvet("live", ran.trace)
    assert done.returncode == 0
    assert "no findings" in done.stdout
    assert "0 of 1 process running" in done.stdout
    assert "threads" not in done.stdout


class Screen:
    """A terminal with ``cuvet live`` on it."""

    def __init__(self, cuvet, *arguments: object) -> None:
        self.descriptor, terminal = pty.openpty()
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.before = termios.tcgetattr(terminal)
        self.terminal = terminal
        self.process = subprocess.Popen(
            cuvet.command("live", *arguments),
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            env={**cuvet.environment, "TERM": "xterm"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
        )

    def until(self, text: str) -> str:
        """What is drawn up to the text; waits for it, unless cuvet has ended."""
        data = b""
        while text.encode() not in data:
            ended = self.process.poll() is not None
            there = select.select([self.descriptor], [], [], 0 if ended else 1)[0]
            assert there or not ended, data
            data += os.read(self.descriptor, 1 << 16) if there else b""
        return data.decode(errors="replace")

    def press(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        for each in (self.descriptor, self.terminal):
            with suppress(OSError):
                os.close(each)


@pytest.fixture
def screen(cuvet, program) -> Iterator[Screen]:
    ran = cuvet.run(REAL, [program("stale")])
    found = Screen(cuvet, ran.trace)
    yield found
    found.close()


def test_keys_open_and_close_a_finding_and_quit(screen: Screen) -> None:
    screen.until("1 finding")
    screen.press(b"\r")
    screen.until("Enter or Esc back")
    screen.press(b"\x1b")
    screen.until("p pause")
    screen.press(b"p")
    screen.until("paused")
    screen.press(b"q")
    screen.until("\x1b[?1049l")
    assert screen.process.wait() == 0
    assert termios.tcgetattr(screen.terminal) == screen.before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 130)])
def test_a_signal_leaves_the_terminal_as_it_was(screen: Screen, number: int, code: int) -> None:
    screen.until("1 finding")
    screen.process.send_signal(number)
    screen.until("\x1b[?1049l")
    assert screen.process.wait() == code
    assert termios.tcgetattr(screen.terminal) == screen.before


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (OWN, f"process {OWN} is not one of yours that `cuvet run` records and that has called CUDA"),
        ("none", "none: no such directory"),
    ],
    ids=["process", "directory"],
)
def test_a_mistake_is_one_line(what: str, said: str, cuvet) -> None:
    done = cuvet("live", what)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cuvet: {said}\n")


def test_a_recording_that_cannot_be_read_is_said(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("correct"), "0"])
    (file,) = ran.trace.glob("*.cuvet")
    file.write_bytes(b"no recording" * 1000)
    done = cuvet("live", ran.trace)
    assert done.returncode == 2
    assert "no findings" not in done.stdout and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
