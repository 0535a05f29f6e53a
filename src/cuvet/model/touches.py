"""Which memory work in flight touches, in byte ranges: two works race if they touch the same bytes, one of them writes, and nothing
orders them.

Of each stream and memory the newest access of a range is kept, until the host is known to have waited for it: what is ordered with an
access is ordered with those before it on its stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from cuvet.model.accesses import Box
from cuvet.model.call import Call
from cuvet.model.objects import Allocation, Array, Function, HostMemory, Stream
from cuvet.model.order import Before, Order
from cuvet.model.places import Places

Memory = Allocation | HostMemory | Array


def is_shared(memory: Memory) -> bool:
    """Whether the host reaches it as well as the device."""
    return isinstance(memory, HostMemory) or (isinstance(memory, Allocation) and memory.variant == "managed")


MOST = 4096
"""Accesses of one memory that are remembered of a stream; of more, the oldest are forgotten."""
MOST_OF_ALL = 8 * MOST
"""Likewise of all memory together, but for ``FEWEST`` of each."""
FEWEST = 16
MANY = 64
"""Accesses of one memory on a stream that are not looked through one by one where none of them can collide."""


@dataclass(slots=True, unsafe_hash=True)
class Touch:
    """An access of ``memory`` at [start, end) by a call's work, as a copy or set says it, or as far as threads of a kernel were followed.
    ``end`` None: it begins at ``start``, and how far it goes is not known.

    ``writes`` None: it reads or writes. ``row``: only so many bytes of each ``pitch`` are touched. ``argument``: the parameter that says
    so. ``launch``: the function, and its arguments but for those that point to memory. ``atomic``: as one operation, which others of the
    kind may come between. ``begins``: what is touched begins at ``start``, although the code is not known. ``life``:
    ``allocates`` or ``frees``, of a node that does so with the memory. ``box``: of an array, where there. Nothing changes it: it is not
    ``frozen`` since that makes it five times as dear to make.
    """

    memory: Memory
    start: int
    end: int | None
    writes: bool | None
    argument: int | None = None
    row: int = 0
    pitch: int = 0
    launch: tuple[Function, bytes] | None = None
    atomic: bool = False
    begins: bool = False
    life: str = ""
    box: Box | None = None
    node: Call | None = field(default=None, compare=False)
    """Of work in a graph: the call that was captured."""
    partly: bool = field(default=False, compare=False)
    """The work may touch more than [start, end)."""

    def collides(self, other: Touch) -> bool:
        """Whether they touch a byte that at least one of them writes. An access of unknown extent counts where it begins, but not if two
        launches of a kernel were given other numbers: these may say where each begins. If it is not even known whether it reads or writes,
        the code is not known, and it may be anywhere in the memory: it collides with what touches all of that. But libraries are handed
        the places where data begins: what begins there too collides."""
        if (not self.writes and not other.writes) or (self.atomic and other.atomic):
            return False
        if self.box is not None and other.box is not None:
            return self.box.overlaps(other.box)
        if self.end is None or other.end is None:
            if self.writes is None or other.writes is None:
                begins = (self.begins or other.begins) and self.start == other.start
                return begins or self._is_whole() or other._is_whole()
            return self.start == other.start and not self._is_divided(other)
        return self.start < other.end and other.start < self.end and not self._is_beside(other)

    def _is_whole(self) -> bool:
        memory = self.memory
        return self.end is not None and not self.pitch and self.start == memory.handle and self.end == memory.end

    def _is_divided(self, other: Touch) -> bool:
        first, second = self.launch, other.launch
        return first is not None and second is not None and first[0] is second[0] and first[1] != second[1]

    def _is_beside(self, other: Touch) -> bool:
        """Whether both are columns of the same rows that share no byte. Columns of other rows are not compared: they count as such."""
        if not self.pitch and not other.pitch:
            return False
        pitch = self.pitch or other.pitch
        if self.pitch and other.pitch and self.pitch != other.pitch:
            return True
        first, second = self._columns(pitch), other._columns(pitch)
        if first is None or second is None:
            return False
        distance = (second[0] - first[0]) % pitch
        return distance >= first[1] and distance + second[1] <= pitch

    def _columns(self, pitch: int) -> tuple[int, int] | None:
        """Where in a row it begins, and how many bytes it has there; None: all of the row, or the end of one and the begin of the next."""
        assert self.end is not None
        length = self.row if self.pitch else self.end - self.start
        return None if length >= pitch else (self.start % pitch, length)


class Access(NamedTuple):
    """``touch`` by ``call``, whose work is on ``stream``. ``captured``: its position in a capture, instead of the call's own."""

    touch: Touch
    call: Call
    stream: Stream
    captured: tuple[int, int] | None = None

    @property
    def position(self) -> tuple[int, int] | None:
        """Number of the stream, and which work it is there."""
        return self.captured or self.call.position


class _Accesses(dict[Touch, Access]):
    """Of one memory on one stream, oldest first. ``places`` are where they are, once there are many."""

    places: Places | None = None


@dataclass(slots=True)
class Touches:
    """By memory and number of the stream: the newest accesses of each range, oldest first."""

    _accesses: dict[Memory, dict[int, _Accesses]] = field(default_factory=dict)
    _added: int = 0
    """Since it was looked for what is done."""
    _telling: list[Call] = field(default_factory=list)
    """Work in flight that writes what the host may wait for."""

    def races(self, touches: Sequence[Touch], stream: Stream, order: Before) -> Iterator[tuple[Touch, Access]]:
        """The accesses that collide with ``touches`` of work that ``stream`` is about to be given, and that nothing orders before it: for
        each of them the newest of each stream."""
        for touch in touches:
            for number, accesses in self._accesses.get(touch.memory, {}).items():
                if number != stream.number and not _ordered(accesses, stream, order):
                    yield from _first_race(touch, accesses, stream, order)

    def add(
        self, call: Call, stream: Stream, touches: Sequence[Touch], captured: tuple[int, int] | None = None
    ) -> None:
        """``call`` gives its work to ``stream``; in a capture, where this is its position."""
        self._added += len(touches)
        for touch in touches:
            streams = self._accesses.get(touch.memory)
            if streams is None:
                streams = self._accesses[touch.memory] = {}
            accesses = streams.get(stream.number)
            if accesses is None:
                accesses = streams[stream.number] = _Accesses()
            known = accesses.pop(touch, None)
            accesses[touch] = Access(touch, call, stream, captured)
            if known is None and accesses.places is not None:
                accesses.places.add(touch)
            if len(accesses) > FEWEST:
                self._shorten(accesses)

    def _shorten(self, accesses: _Accesses) -> None:
        most = max(FEWEST, min(MOST, MOST_OF_ALL // len(self._accesses)))
        while len(accesses) > most:
            oldest = next(iter(accesses))
            del accesses[oldest]
            if accesses.places is not None:
                accesses.places.remove(oldest)

    def tell(self, call: Call) -> None:
        """The work of ``call`` writes a value that the host may wait for: then it knows that what comes before is done."""
        self._telling.append(call)

    def in_flight(self, order: Order) -> Iterator[Access]:
        """The accesses that the host is certain not to have waited for."""
        for streams in self._accesses.values():
            for accesses in streams.values():
                yield from (each for each in accesses.values() if not _may_be_done(each.call, order))

    def used(self, touch: Touch, order: Order) -> Iterator[Access]:
        """Of these, those that collide with ``touch`` by the host, the newest of each stream first; none while the host may be told in
        another way that they are done."""
        if any(not _may_be_done(call, order) for call in self._telling):
            return
        for accesses in self._accesses.get(touch.memory, {}).values():
            for access in reversed(accesses.values()) if _may_collide(touch, accesses) else ():
                if touch.collides(access.touch) and not _may_be_done(access.call, order):
                    yield access

    def unfinished(self, order: Order) -> Iterator[Access | Call]:
        """What the host is not known to have waited for."""
        yield from (call for call in self._telling if not _is_done(call, order))
        for streams in self._accesses.values():
            for accesses in streams.values():
                yield from (each for each in accesses.values() if not _is_done(each.call, order))

    def end(self, memory: Memory) -> None:
        """It is not there any more."""
        self._accesses.pop(memory, None)

    def forget_done(self, order: Order) -> None:
        """The host has waited: what is done races with nothing. Looked for no more often than there is much to look through."""
        if self._added < len(self._accesses):
            return
        self._added = 0
        self._telling = [call for call in self._telling if not _is_done(call, order)]
        for memory, streams in tuple(self._accesses.items()):
            for number, accesses in tuple(streams.items()):
                newest = next(reversed(accesses.values()))
                if _is_done(newest.call, order):
                    del streams[number]
            if not streams:
                del self._accesses[memory]

    def of_nodes(self) -> tuple[Touch, ...]:
        """Those of a capture: of the nodes that it made. What several do is there once."""
        each = (access for streams in self._accesses.values() for one in streams.values() for access in one.values())
        return tuple(dict.fromkeys(replace(access.touch, argument=None, node=access.call) for access in each))

    def extent(self) -> object:
        """How much is remembered."""
        return sum(len(accesses) for streams in self._accesses.values() for accesses in streams.values())


def _is_done(call: Call, order: Order) -> bool:
    """Whether the host is known to have waited for it."""
    return call.position is None or order.is_done(call.position)


def _may_be_done(call: Call, order: Order) -> bool:
    return call.position is None or order.may_be_done(call.position)


def _ordered(accesses: _Accesses, stream: Stream, order: Before) -> bool:
    """Whether all of them come before what ``stream`` is given next: if the newest does, all do."""
    position = next(reversed(accesses.values())).position
    return position is None or order.is_before(position, stream)


def _may_collide(touch: Touch, accesses: _Accesses) -> bool:
    if len(accesses) < MANY:
        return True
    if accesses.places is None:
        accesses.places = Places(accesses)
    return accesses.places.may_collide(touch)


def _first_race(touch: Touch, accesses: _Accesses, stream: Stream, order: Before) -> Iterator[tuple[Touch, Access]]:
    if not _may_collide(touch, accesses):
        return
    for access in reversed(accesses.values()):
        position = access.position
        if touch.collides(access.touch) and position is not None and not order.is_before(position, stream):
            yield touch, access
            return
