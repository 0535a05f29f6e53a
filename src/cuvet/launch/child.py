"""Runs the program as ``time`` does: its terminal, its files and its signals are its own."""

import errno
import os
import select
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from cuvet.launch.program import CannotStart

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
"""The program shall not: an ignored signal stays ignored across exec."""


@dataclass(frozen=True)
class Ending:
    """How the program ended: one of the two is not None."""

    exit_code: int | None
    signal: int | None

    @property
    def code(self) -> int:
        """What a shell would call it."""
        return self.exit_code if self.exit_code is not None else 128 + (self.signal or 0)


class Child:
    """The program, started; signals sent to cuvet are kept until ``wait``, which must follow. Raises CannotStart."""

    def __init__(self, path: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        # A wake-up descriptor, because a signal may arrive on any thread and would not interrupt a waitpid of this one.
        self._wakeup, written = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._written = written
        self._old_wakeup = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        taken = [each for each in _FORWARDED if signal.getsignal(each) is not signal.SIG_IGN]
        self._old_handlers = {each: signal.signal(each, _stay) for each in (*taken, signal.SIGCHLD)}
        try:
            self.pid = _spawn(path, list(argv), dict(environment))
        except OSError as error:
            self._restore()
            raise CannotStart(f"{path}: {error.strerror}", 126) from None

    def wait(self) -> Ending:
        """Until the program ends; signals sent to cuvet are passed on to it."""
        try:
            while True:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    break
                select.select([self._wakeup], [], [])
                for number in os.read(self._wakeup, 64):
                    if number in _FORWARDED and not (number in _FROM_TERMINAL and _in_foreground()):
                        os.kill(self.pid, number)
        finally:
            self._restore()
        if os.WIFSIGNALED(status):
            return Ending(None, os.WTERMSIG(status))
        return Ending(os.WEXITSTATUS(status), None)

    def _restore(self) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._wakeup)
        os.close(self._written)


def _spawn(path: str, argv: list[str], environment: dict[str, str]) -> int:
    """Executes it as execvp(3) does: a file of no known format is a script of the shell."""
    try:
        return os.posix_spawn(path, argv, environment, setsigdef=_PYTHON_IGNORES)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    return os.posix_spawn("/bin/sh", ["sh", path, *argv[1:]], environment, setsigdef=_PYTHON_IGNORES)


def _stay(number: int, frame: FrameType | None) -> None:
    """Signals are for the program; cuvet stays to report."""


def _in_foreground() -> bool:
    """Whether a key press that interrupts us has interrupted the program as well."""
    with suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
