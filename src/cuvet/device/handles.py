"""Handle values, made up as the driver's heap would: a destroyed object's value is issued again first, but not an event's
(NVIDIA H200, driver 580.159, CUDA 13.0: stream_reissued_handle, event_reissued_handle)."""

from __future__ import annotations

from cuvet.catalog import Kind

_HEAP = 0x5600_0000_0000
_SPACING = 0x1_0000_0000
_SIZES = {Kind.STREAM: 0x160, Kind.EVENT: 0x230, Kind.CONTEXT: 0x6A30, Kind.GRAPH: 0x3E0, Kind.FUNCTION: 0x4E0}
_USUAL_SIZE = 0x1D0
_COUNTED = {Kind.TEXTURE_OBJECT, Kind.SURFACE_OBJECT, Kind.CUFFT_PLAN}
"""Kinds whose handles are small numbers rather than addresses."""


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
        if kind in _COUNTED:
            return count + 1
        return self._base + kind * _SPACING + 0x1000 + count * _SIZES.get(kind, _USUAL_SIZE)

    def retire(self, kind: Kind, value: int) -> None:
        """The value may be issued again. Values that this never issued, or that are free already, stay as they are."""
        if (kind, value) in self._live:
            self._live.remove((kind, value))
            self._free.setdefault(kind, []).append(value)

    def live(self) -> tuple[tuple[Kind, int], ...]:
        return tuple(self._live)
