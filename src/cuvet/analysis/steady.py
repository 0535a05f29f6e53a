"""Whether calls that a process repeats leave the model as it was, but for how many objects there have been."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from cuvet.model import Model
from cuvet.recording.repeats import KEPT, Boundary, Skipped


class Steady:
    """Compares the state of a model after each of the last ``KEPT`` periods."""

    def __init__(self) -> None:
        self._states: deque[tuple[tuple[int, ...], object]] = deque(maxlen=KEPT)

    def after(self, boundary: Boundary, model: Model, told: int) -> bool:
        """Whether a period that follows can be left out. ``told``: how much was said of calls so far."""
        if boundary.first:
            self._states.clear()
        self._states.append((model.table.counts(), (told, model.extent())))
        if len(self._states) < KEPT or model.live_captures or model.lost_contexts:
            return False
        counts, others = zip(*self._states, strict=True)
        grown = {_difference(after, before) for before, after in pairwise(counts)}
        return len(grown) == 1 and all(each == others[0] for each in others)

    def skip(self, skipped: Skipped, model: Model) -> None:
        """Count the objects of periods that were left out."""
        before, after = self._states[-2][0], self._states[-1][0]
        model.table.skip(tuple(skipped.periods * each for each in _difference(after, before)))


def _difference(after: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(now - then for now, then in zip(after, before, strict=True))
