"""Handle values, made up as the driver's heap would: a destroyed object's value is issued again first, but not an event's
(measured: stream_reissued_handle, event_reissued_handle)."""

from cuvet.catalog.kinds import BY_NUMBER, Kind

_HEAP = 0x5600_0000_0000
_SPACING = 0x1_0000_0000
_USUAL_SPACING = 0x1D0


class Handles:
    """Issues values for one process; ``number`` keeps the processes' values apart."""

    def __init__(self, number: int) -> None:
        self._base = _HEAP + number * 64 * _SPACING
        self._issued: dict[Kind, int] = {}
        self._free: dict[Kind, list[int]] = {}
        self._live: set[tuple[Kind, int]] = set()

    def issue(self, kind: Kind, *, told: bool = True) -> int:
        """``told``: a call gives the value to the program. If not, the model does not know that it is a new object's, so it is a value that
        no other had."""
        free = self._free.get(kind)
        value = free.pop() if free and told and kind is not Kind.EVENT else self._fresh(kind)
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
            self._free.setdefault(kind, []).append(value)

    def live(self) -> tuple[tuple[Kind, int], ...]:
        return tuple(self._live)
