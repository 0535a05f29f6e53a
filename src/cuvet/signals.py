"""Names of signals and errors of the system."""

import os
import signal

_MOST_ERRNO = 4095
"""What a system call can return (Linux, ``include/linux/err.h``)."""


def error_text(number: int) -> str:
    """``Permission denied``; ``error 99999`` for a number that is none."""
    return os.strerror(number) if number <= _MOST_ERRNO else f"error {number}"


def signal_name(number: int) -> str:
    """``SIGSEGV``; ``SIGRTMIN+3`` for a real-time signal, as ``kill -l`` says; ``signal 32`` for one without a name."""
    if number in set(signal.Signals):
        return signal.Signals(number).name
    if signal.SIGRTMIN < number < signal.SIGRTMAX:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
    return f"signal {number}"
