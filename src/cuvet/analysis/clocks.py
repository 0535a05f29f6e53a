"""One time for processes of several machines, from the clocks of each.

Processes of one machine share the time-stamp counter, whose rate is taken from the samples that are furthest apart: those of one process
can all be of its first instant. They share CLOCK_MONOTONIC, too, which nobody sets (clock_gettime(2)). Of each machine the distance from
there to its wall clock is taken, the middle one of its processes; so a wall clock that was set while they ran does not matter.

Wall clocks of several machines can differ. A call that returns only when all ranks have made it (``process.MEETS``) bounds by how much:
nobody returns before the last has entered. Only if the bounds exclude that two clocks agree, one is corrected, to the middle of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import median_low
from typing import NamedTuple

from cuvet.analysis.verdicts import Lived, Verdict

LEAST_MEETING_NS = 1_000_000
"""Of a call that meets others. In a group (ncclGroupStart), one thread makes several that would else wait for each other (nccl.h), so that
they return at once."""


LATEST_NS = (1 << 63) - 1
"""A recording that somebody made up can say any time."""
MOST_HOST = 255


class _Bounds(NamedTuple):
    """When the last of a machine entered the common call, and when the first returned, by the machine's clock."""

    entered: int
    returned: int


class Clocks:
    """``told``: what was found out or assumed, a sentence; empty if there is one machine."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self._offsets = {machine: _offset(of) for machine, of in _by_machine(verdicts).items()}
        self._rates = {machine: rate(_samples(of)) for machine, of in _by_machine(verdicts).items()}
        self.told = self._correct(verdicts) if len(self._offsets) > 1 else ""

    def time_ns(self, verdict: Verdict, monotonic_ns: int) -> int:
        """Of CLOCK_MONOTONIC, since the Unix epoch."""
        return min(max(monotonic_ns + self._offsets[_machine(verdict)], 0), LATEST_NS)

    def of_call(self, verdict: Verdict, lived: Lived, time_ns: int) -> int:
        """Since the Unix epoch, of what is so many nanoseconds behind the first record of a process."""
        own, shared = rate(lived.samples), self._rates[_machine(verdict)]
        scaled = round(time_ns * shared / own) if own and shared else time_ns
        return self.time_ns(verdict, lived.start.monotonic_ns + scaled)

    def _correct(self, verdicts: Sequence[Verdict]) -> str:
        hosts = {_machine(verdict): verdict.host[:MOST_HOST] for verdict in verdicts}
        bounds = {machine: self._bounds(of) for machine, of in _by_machine(verdicts).items()}
        known = {machine: each for machine, each in bounds.items() if each is not None}
        if len(known) < len(bounds):
            return (
                f"the wall clocks of {len(bounds)} machines are taken to agree: no call was seen that all ranks make together, by which "
                "they could be compared"
            )
        reference, first = next(iter(known.items()))
        corrected = []
        for machine, each in known.items():
            least, most = first.entered - each.returned, first.returned - each.entered
            if least > most:
                return f"the wall clocks of {len(bounds)} machines are taken to agree: what they say of a common call does not fit"
            if not least <= 0 <= most:
                self._offsets[machine] += (least + most) // 2
                seconds, doubt = -(least + most) / 2e9, (most - least) / 2e9
                way = "ahead of" if seconds > 0 else "behind"
                corrected.append(
                    f"the wall clock of {hosts[machine]} is {abs(seconds):.3f} s (± {doubt:.3f} s) {way} that of {hosts[reference]}"
                )
        compared = f"the wall clocks of {len(bounds)} machines were compared by a call that all ranks make together"
        return f"{compared}: {'; '.join(corrected)}, which is corrected" if corrected else f"{compared}: they agree"

    def _bounds(self, verdicts: Sequence[Verdict]) -> _Bounds | None:
        met = [
            (verdict, lived, lived.met)
            for verdict in verdicts
            for lived in verdict.processes
            if lived.met is not None and _is_meeting(verdict, lived)
        ]
        if not met:
            return None
        return _Bounds(
            max(self.of_call(verdict, lived, each.entered_ns) for verdict, lived, each in met),
            min(self.of_call(verdict, lived, each.returned_ns) for verdict, lived, each in met),
        )


def _is_meeting(verdict: Verdict, lived: Lived) -> bool:
    """Whether all ranks met: the emulated device lets nobody wait."""
    met, rank = lived.met, lived.rank
    if met is None or rank is None or verdict.report.program.device != "real":
        return False
    return met.ranks == rank.size and met.returned_ns - met.entered_ns >= LEAST_MEETING_NS


def _by_machine(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    machines: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        machines.setdefault(_machine(verdict), []).append(verdict)
    return machines


def _machine(verdict: Verdict) -> str:
    """Of recordings that do not tell it, each is taken for one of another machine."""
    return verdict.boot or f"of {verdict.directory}"


def _offset(verdicts: Sequence[Verdict]) -> int:
    starts = [each.start for each in chain.from_iterable(verdict.processes for verdict in verdicts)]
    starts += [verdict.ended for verdict in verdicts if verdict.ended is not None and not starts]
    return median_low(each.realtime_ns - each.monotonic_ns for each in starts) if starts else 0


def _samples(verdicts: Sequence[Verdict]) -> list[tuple[int, int]]:
    return [sample for verdict in verdicts for lived in verdict.processes for sample in lived.samples]


def rate(samples: Sequence[tuple[int, int]]) -> float:
    """Nanoseconds of a tick, by the samples that are furthest apart; 0 if there is no distance."""
    first, last = min(samples, default=(0, 0)), max(samples, default=(0, 0))
    return (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] and last[1] > first[1] else 0
