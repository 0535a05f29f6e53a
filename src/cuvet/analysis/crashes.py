"""The faults of a process that end it, and the calls in which they were raised."""

import signal
from bisect import bisect_left
from collections import defaultdict

from cuvet.recording import Recording
from cuvet.recording.records import Fault

SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


class Crashes:
    """Finds the fault that ended a process in a call."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._in_calls: set[int] = set()
        self._by_thread: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """Ticks and numbers of the faults that end a process, of the first ``_looked_at`` faults."""
        self._looked_at = 0

    def in_call(self, thread: int, since: int) -> Fault | None:
        """The thread's first fault from the instant ``since`` (ticks) on, when it entered a call that did not return."""
        faults = self._recording.faults
        if self._looked_at != len(faults):
            self._looked_at = len(faults)
            self._by_thread.clear()
            for ticks, number in sorted((each.ticks, n) for n, each in enumerate(faults) if each.signal in SIGNALS):
                self._by_thread[faults[number].thread].append((ticks, number))
        crashes = self._by_thread.get(thread, [])
        index = bisect_left(crashes, (since, 0))
        if index == len(crashes):
            return None
        number = crashes[index][1]
        self._in_calls.add(number)
        return faults[number]

    def outside_calls(self) -> list[Fault]:
        """Those that ``in_call`` has not found."""
        faults = enumerate(self._recording.faults)
        return [fault for number, fault in faults if number not in self._in_calls and fault.signal in SIGNALS]
