"""Handle values, made up as the driver's heap would, but for one thing: the driver issues the value of a destroyed object again at once
(measured: stream_reissued_handle), and a call with the old handle is then a call on the new object. Here a value is issued again only when
``MOST_DEAD`` others have become free since, so that such a call is seen."""

from collections import deque

from cuvet.catalog.kinds import BY_NUMBER, Kind
from cuvet.model.table import REMEMBERED

MOST_DEAD = REMEMBERED
"""Of each kind. The model knows no more dead objects, so that more would show nothing."""
_HEAP = 0x5600_0000_0000
_SPACING = 0x1_0000_0000
_USUAL_SPACING = 0x1D0


class Handles:
    """Issues values for one process; ``number`` keeps the processes' values apart."""

    def __init__(self, number: int) -> None:
        self._base = _HEAP + number * 64 * _SPACING
        self._issued: dict[Kind, int] = {}
        self._free: dict[Kind, deque[int]] = {}
        self._live: set[tuple[Kind, int]] = set()

    def issue(self, kind: Kind, *, told: bool = True) -> int:
        """``told``: a call gives the value to the program. If not, the model does not know that it is a new object's, so it is a value that
        no other had."""
        free = self._free.get(kind, ())
        value = self._free[kind].popleft() if told and len(free) > MOST_DEAD else self._fresh(kind)
        self._live.add((kind, value))
        return value

    def _fresh(self, kind: Kind) -> int:
        count = self._issued.get(kind, 0)
        self._issued[kind] = count + 1
        if kind in BY_NUMBER:
            return count + 1
        return self._base + kind * _SPACING + 0x1000 + count * (kind.row.spacing or _USUAL_SPACING)

    def retire(self, kind: Kind, value: int) -> None:
        """The value may be issued again. Values that this never issued, or that are free already, stay as they are."""
        if (kind, value) in self._live:
            self._live.remove((kind, value))
            self._free.setdefault(kind, deque()).append(value)

    def live(self) -> tuple[tuple[Kind, int], ...]:
        return tuple(self._live)
