"""Which work is known to run before which: vector clocks of streams, events and the host.

A clock maps a stream's number to how much of that stream's work is known to come before. Edges are: the order in a
stream, an event's record and the waits for it, the legacy default stream (which waits for all blocking streams of its
context, and they for it), and the host's waits.

There is one host clock, not one per thread: work that one thread saw finished is finished for all.

Where something cannot be known, order is assumed, so that disorder is only claimed when it is certain: streams that
were never seen created count as ordered with everything, and so do streams on which a host function or a memory wait runs,
until the host has waited for them: what they are given then may come after anything, also after what is given to other
streams later. What a call may have waited for (a copy into pageable memory) counts as before all that follows.

What is done is in no clock for long, and a stream without unfinished work leaves nothing behind when it is destroyed: the size of
all this is that of the work that nobody has waited for.

When not every call is observed, an unseen launch on the legacy default stream may order all blocking streams of a context at
any time; then these share one clock. Calls that make the host wait are always observed where they matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Verb
from cuvet.model.call import Call
from cuvet.model.objects import Context, GraphExec, Stream

Clock = dict[int, int]

MOST_LEFT_BEHIND = 1000
"""How many destroyed streams with unfinished work are remembered; that of older ones counts as done."""
_SHORT = 32
"""Entries of a clock that is not looked through for work that is done."""


@cache
def is_work(entry_point: EntryPoint) -> bool:
    """Whether calls of the entry point, which name a stream to be enqueued on, are more than marks in it."""
    return not entry_point.does(Verb.RECORDS, Verb.WAITS)


@dataclass(slots=True, eq=False)
class Timeline:
    """Of a stream. ``clock``: what comes before its next work. ``worked``: of the legacy stream, what comes before the end of its last
    work. ``joined``: the count of the other side (legacy or blocking) when it was last taken over. ``uncertain``: it may come after
    anything."""

    clock: Clock
    worked: Clock
    joined: int = 0
    uncertain: bool = False


@dataclass(slots=True, eq=False)
class ContextOrder:
    """``blocking``: clock of all blocking streams of the context, with what they waited for; ``works``: how often it grew. ``legacy``: its
    legacy default stream. ``left_behind``: clock of destroyed streams that were not blocking; ``left_uncertain``: a destroyed stream may
    come after anything. ``uncertain``: a blocking or the legacy stream may come after anything, and so may all of these."""

    blocking: Clock = field(default_factory=dict)
    works: int = 0
    legacy: Stream | None = None
    timelines: dict[int, Timeline] = field(default_factory=dict)
    left_behind: Clock = field(default_factory=dict)
    left_uncertain: bool = False
    uncertain: bool = False


class Before(Protocol):
    """Says what comes before what: ``Order``, or a capture."""

    def is_before(self, position: tuple[int, int], stream: Stream) -> bool:
        """Whether work at ``position`` comes, or may come, before work that ``stream`` is given now."""


@dataclass(frozen=True, slots=True)
class AfterLaunch:
    """Of the next launch of ``executable``, which comes after its previous launches too, on whatever stream they were ("ordered behind both
    any previous work in this stream and any previous launches of this executable graph": CUDA Driver API, cuGraphLaunch)."""

    order: Order
    executable: GraphExec

    def is_before(self, position: tuple[int, int], stream: Stream) -> bool:
        """As that of ``Order``."""
        launched, (number, count) = self.executable, position
        if launched.last_launch is not None and (launched.clock is None or launched.clock.get(number, 0) >= count):
            return True
        return self.order.is_before(position, stream)


class Order:
    def __init__(self, complete: bool) -> None:
        self._complete = complete
        self._given: Clock = {}
        """How much work each stream was given: of living streams, and of those left behind."""
        self._done: Clock = {}
        """How much of it the host knows to be done."""
        self._perhaps_done: Clock = {}
        """How much of it may be done, since the host may have waited, or may be ordered in another way with all that is given later."""
        self._left_behind: dict[int, None] = {}
        """Numbers of destroyed streams with unfinished work, oldest first."""

    def enqueue(self, call: Call, stream: Stream) -> None:
        """``call`` gives ``stream`` its next work. Of a stream that is not there any more nothing is known. Records and waits on the legacy
        stream and on blocking ones do not make one wait for the other: only work does. Whether work of a stream in doubt is ordered
        with what is given to others later is not known: then it counts as before that."""
        if stream.context is None or not stream.alive:
            return
        timeline = self._timeline(stream)
        waits = is_work(call.entry_point) or not self._complete
        if waits:
            self._take_over(stream, timeline)
        number, clock = stream.number, timeline.clock
        count = clock[number] = self._given[number] = self._given.get(number, 0) + 1
        if self._uncertain(stream, timeline):
            self._perhaps_done[number] = count
        if waits and stream.legacy and timeline.worked is not clock:
            timeline.worked = dict(clock)
        call.position = (number, count)
        if stream.blocking:
            order = _order(stream.context)
            order.blocking[number] = count
            order.works += 1
            self._shorten(order.blocking)

    def record(self, stream: Stream | None) -> Clock | None:
        """What an event recorded on ``stream`` now stands for; None if that is not known."""
        if stream is None or stream.context is None or not stream.alive:
            return None
        timeline = self._timeline(stream)
        self._drop_done(timeline.clock)
        if self._uncertain(stream, timeline):
            return None
        clock, order = dict(timeline.clock), _order(stream.context)
        if stream.legacy:
            _join(clock, order.blocking)
        elif stream.blocking and order.legacy is not None and order.legacy.timeline is not None:
            _join(clock, order.legacy.timeline.worked)
        self._drop_done(clock)
        return clock

    def wait(self, stream: Stream, clock: Clock | None) -> None:
        """The next work on ``stream`` (the wait itself) and all later comes after ``clock`` (None: after nobody knows what)."""
        if stream.context is None or not stream.alive:
            return
        if clock is None:
            self.doubt(stream)
            return
        timeline = self._timeline(stream)
        _join(timeline.clock, clock)
        self._shorten(timeline.clock)
        if stream.blocking:
            order = _order(stream.context)
            _join(order.blocking, clock)
            order.works += 1

    def doubt(self, stream: Stream) -> None:
        """From now on nothing is certain about what work on ``stream`` waits for."""
        if stream.context is None or not stream.alive:
            return
        timeline = self._timeline(stream)
        if stream.blocking or stream.legacy:
            _order(stream.context).uncertain = True
        else:
            timeline.uncertain = True

    def finish(self, clock: Clock | None) -> None:
        """The host knows that all of ``clock`` is done (None: it may be everything so far)."""
        for number, count in tuple((self._given if clock is None else clock).items()):
            given = self._given.get(number)
            if given is None:
                continue
            if count >= given and number in self._left_behind:
                self._forget(number)
            elif count > self._done.get(number, 0):
                self._done[number] = count

    def perhaps_finish(self, clock: Clock | None) -> None:
        """All of ``clock`` may be done, or come before all that is given later (None: so may everything so far)."""
        _join(self._perhaps_done, self._given if clock is None else clock)

    def finish_stream(self, stream: Stream | None) -> None:
        """The host waited for all work on ``stream``, or saw that it was done."""
        self.finish(self._own(stream))
        if stream is not None and stream.timeline is not None:
            stream.timeline.uncertain = False

    def _own(self, stream: Stream | None) -> Clock | None:
        """What was given to ``stream``, and what that waits for; None if it is not known. What the legacy stream was given after the last
        work of a blocking stream is none of it: a wait for such a stream was seen to end before it."""
        if stream is None or not stream.blocking or not self._complete or stream.context is None or not stream.alive:
            return self.record(stream)
        timeline = self._timeline(stream)
        return None if self._uncertain(stream, timeline) else dict(timeline.clock)

    def finish_context(self, context: Context | None) -> None:
        """The host waited for all work of ``context`` (None: unknown, so it may be everything)."""
        if context is None:
            self.finish(None)
            return
        order = context.order
        if order is None:
            return
        if order.uncertain or order.left_uncertain or any(each.uncertain for each in order.timelines.values()):
            self.finish(None)
        order.uncertain = order.left_uncertain = False
        for timeline in order.timelines.values():
            self.finish(timeline.clock)
            timeline.clock.clear()
            timeline.uncertain = False
        for clock in (order.left_behind, order.blocking):
            self.finish(clock)
            clock.clear()

    def is_done(self, position: tuple[int, int]) -> bool:
        """Whether the host is known to have waited for the work at ``position``."""
        number, count = position
        return self._done.get(number, 0) >= count or number not in self._given

    def is_uncertain(self, stream: Stream) -> bool:
        """Whether the stream may wait for what no call shows, a host function for example, which may also tell the host how far it is."""
        timeline = stream.timeline
        return timeline is not None and stream.context is not None and self._uncertain(stream, timeline)

    def may_be_done(self, position: tuple[int, int]) -> bool:
        """Whether the host waited for the work at ``position``, as far as is known or may be."""
        return self.is_done(position) or self._perhaps_done.get(position[0], 0) >= position[1]

    def is_drained(self, stream: Stream) -> bool:
        """Whether the host is known to have waited for all that was given to ``stream``, marks included, and all that it waits for."""
        timeline = stream.timeline
        if timeline is None:
            return True
        return not self._uncertain(stream, timeline) and all(map(self.is_done, timeline.clock.items()))

    def is_before(self, position: tuple[int, int], stream: Stream) -> bool:
        """Whether work at ``position`` comes, or may come, before work enqueued on ``stream`` now. Changes nothing."""
        number, count = position
        if stream.context is None or not stream.alive or number == stream.number or self.is_done(position):
            return True
        timeline = stream.timeline
        if self._perhaps_done.get(number, 0) >= count:
            return True
        if timeline is not None and (timeline.uncertain or timeline.clock.get(number, 0) >= count):
            return True
        order = stream.context.order
        if order is None or not (stream.blocking or stream.legacy):
            return False
        if order.uncertain:
            return True
        if stream.legacy or not self._complete:
            return order.blocking.get(number, 0) >= count
        legacy = None if order.legacy is None else order.legacy.timeline
        return legacy is not None and legacy.worked.get(number, 0) >= count

    def destroy(self, stream: Stream) -> None:
        """``stream`` was destroyed; its unfinished work still counts."""
        timeline, number = stream.timeline, stream.number
        if timeline is None or stream.context is None:
            return
        order = _order(stream.context)
        stream.timeline = None
        del order.timelines[number]
        if not stream.blocking:
            _join(order.left_behind, timeline.clock)
            self._shorten(order.left_behind)
        order.left_uncertain |= timeline.uncertain
        if self.is_done((number, self._given.get(number, 0))):
            self._forget(number)
            return
        self._left_behind[number] = None
        if len(self._left_behind) > MOST_LEFT_BEHIND:
            self._forget(next(iter(self._left_behind)))

    def at_rest(self) -> bool:
        """Whether the host is known to have waited for all work."""
        return all(self._done.get(number, 0) >= count for number, count in self._given.items())

    def unfinished(self, clock: Clock) -> Clock:
        """What of a clock is not known to be done."""
        return {number: count for number, count in clock.items() if not self.is_done((number, count))}

    def unfinished_work(self) -> tuple[object, ...]:
        """What of all work can matter to what follows. How much was done before it does not."""
        given = {number: 0 if self.is_done((number, count)) else count for number, count in self._given.items()}
        return given, self.unfinished(self._perhaps_done), tuple(self._left_behind)

    def unfinished_of(self, context: ContextOrder) -> tuple[object, ...]:
        """Likewise of the streams of a context."""
        timelines = {
            number: (
                self.unfinished(each.clock),
                self.unfinished(each.worked),
                self._takes_over(context, number, each),
                each.uncertain,
            )
            for number, each in context.timelines.items()
        }
        clocks = self.unfinished(context.blocking), self.unfinished(context.left_behind)
        return *clocks, context.legacy, context.left_uncertain, context.uncertain, timelines

    def _takes_over(self, context: ContextOrder, number: int, timeline: Timeline) -> bool:
        """Whether the next work of a stream comes after unfinished work of the other side, which it has not taken over yet."""
        legacy = context.legacy
        if legacy is None or legacy.timeline is None:
            return False
        if number == legacy.number:
            return timeline.joined != context.works and bool(self.unfinished(context.blocking))
        given = self._given.get(legacy.number, 0)
        return timeline.joined != given and bool(self.unfinished(legacy.timeline.worked))

    def extent(self) -> object:
        """How many streams have work, and how many were left behind; what is forgotten of these is no repetition."""
        left = len(self._left_behind)
        return len(self._given), left, left < MOST_LEFT_BEHIND or object()

    def _timeline(self, stream: Stream) -> Timeline:
        if stream.timeline is not None:
            return stream.timeline
        assert stream.context is not None
        order = _order(stream.context)
        shared = not self._complete and (stream.blocking or stream.legacy)
        clock = order.blocking if shared else {}
        timeline = Timeline(clock, clock if shared else {})
        stream.timeline = order.timelines[stream.number] = timeline
        if stream.legacy:
            order.legacy = stream
        return timeline

    def _forget(self, number: int) -> None:
        """The work of a destroyed stream is done, or counts as done."""
        self._given.pop(number, None)
        self._done.pop(number, None)
        self._perhaps_done.pop(number, None)
        self._left_behind.pop(number, None)

    def _drop_done(self, clock: Clock) -> None:
        for number, count in tuple(clock.items()):
            if self._done.get(number, 0) >= count or number not in self._given:
                del clock[number]

    def _shorten(self, clock: Clock) -> None:
        """Once in a while: a clock is not much longer than there are streams with work."""
        if len(clock) > 2 * len(self._given) + _SHORT:
            self._drop_done(clock)

    def _uncertain(self, stream: Stream, timeline: Timeline) -> bool:
        if timeline.uncertain:
            return True
        assert stream.context is not None
        return (not stream.flags & 1 or stream.legacy) and _order(stream.context).uncertain

    def _take_over(self, stream: Stream, timeline: Timeline) -> None:
        """Join what the legacy default stream's rule puts before the next work of this stream."""
        assert stream.context is not None
        order = _order(stream.context)
        if stream.legacy:
            if timeline.joined != order.works:
                _join(timeline.clock, order.blocking)
                timeline.joined = order.works
            return
        legacy = order.legacy if stream.blocking else None
        if legacy is None or legacy.timeline is None:
            return
        given = self._given.get(legacy.number, 0)
        if timeline.joined != given:
            _join(timeline.clock, legacy.timeline.worked)
            _join(order.blocking, legacy.timeline.worked)
            timeline.joined = given


def _order(context: Context) -> ContextOrder:
    if context.order is None:
        context.order = ContextOrder()
    return context.order


def _join(clock: Clock, other: Clock) -> None:
    if clock is other:
        return
    for number, count in other.items():
        if clock.get(number, 0) < count:
            clock[number] = count
