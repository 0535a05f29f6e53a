"""Names of signals."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """``SIGSEGV``; ``SIGRTMIN+3`` for a real-time signal, as ``kill -l`` says; ``signal 32`` for one without a name."""
    if number in set(signal.Signals):
        return signal.Signals(number).name
    if signal.SIGRTMIN < number < signal.SIGRTMAX:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
    return f"signal {number}"
