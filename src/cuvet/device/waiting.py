"""How the device process waits for the next message: asleep, or awake where that is faster and nobody else needs the processor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

AT_ONCE_NS = 200_000
"""A message that comes within this time after the one before was worth staying awake for."""
_IN_A_ROW_NS = 5 * AT_ONCE_NS
MESSAGES = 64
"""After so many it is decided again whether to stay awake."""
REST = 16
"""How often it is decided without a trial, at most, after trials that failed: once after the first, twice as often after each
further. Where others wanted a processor, it is tried again once they do not."""
_MOST_MISSED = MESSAGES // 16
_MOST_WAITED, _MOST_WAITED_ASLEEP = 1 / 50, 1 / 5
"""Of the time that passes, how much the process may wait for a processor, to stay awake and to try it."""


Poll = Callable[[float], list[tuple[int, int]]]
Nanoseconds = Callable[[], int]


class Waiting:
    """``awake``: messages come in a row, and there is a processor for the client and one for this process. To wake a process on another
    processor takes longer than a call, of a virtual machine ten times as long."""

    def __init__(
        self, poll: Poll, processors: float, clock: Nanoseconds | None = None, waited: Nanoseconds | None = None
    ) -> None:
        """``clock`` tells the time, ``waited`` how long the process has waited for a processor."""
        self.awake = False
        self._poll = poll
        self._clock = clock or time.perf_counter_ns
        self._waited = waited or waited_ns
        self._possible = processors >= 2
        self._left = MESSAGES
        self._missed = 0
        self._rest, self._next_rest = 0, 1
        self._crowded = False
        """Others wanted a processor when the last trial failed."""
        self._since_ns = self._clock()
        self._waited_ns = self._waited()

    def events(self, timeout_s: float) -> list[tuple[int, int]]:
        """What has come; nothing after ``timeout_s`` seconds."""
        if self._possible and self._left == 0:
            self._decide()
        self._left -= 1
        if self.awake:
            if found := self._poll(0):
                return found
            end = self._clock() + AT_ONCE_NS
            while self._clock() < end:
                if found := self._poll(0):
                    return found
            self._missed += 1
            if self._missed > _MOST_MISSED:
                self._decide()
        return self._poll(timeout_s)

    def _decide(self) -> None:
        now, waited = self._clock(), self._waited()
        passed_ns = now - self._since_ns
        part = (waited - self._waited_ns) / max(passed_ns, 1)
        free = part <= _MOST_WAITED
        if self.awake:
            self.awake = free and self._missed <= _MOST_MISSED
            self._crowded = not free
            self._rest = 0 if self.awake else self._next_rest
            self._next_rest = 1 if self.awake else min(2 * self._next_rest, REST)
        elif self._rest and not (self._crowded and free):
            self._rest -= 1
        else:
            self.awake = part <= _MOST_WAITED_ASLEEP and passed_ns < MESSAGES * _IN_A_ROW_NS
        self._left, self._missed, self._since_ns, self._waited_ns = MESSAGES, 0, now, waited


def waited_ns() -> int:
    """How long this process has waited for a processor since it began; 0 if the system does not tell."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1])
    return 0


def processors() -> float:
    """How many this process may use, in parts too if its control group has a limit."""
    usable = float(len(os.sched_getaffinity(0)))
    with suppress(OSError, ValueError):
        most, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        if most != "max":
            return min(usable, int(most) / int(period))
    return usable
