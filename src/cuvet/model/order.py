"""Which work is known to run before which: vector clocks of streams, events and the host.

A clock maps a stream's number to how much of that stream's work is known to come before. Edges are: the order in a
stream, an event's record and the waits for it, the legacy default stream (which waits for all blocking streams of its
context, and they for it), and the host's waits.

There is one host clock, not one per thread: work that one thread saw finished is finished for all.

Where something cannot be known, order is assumed, so that disorder is only claimed when it is certain: streams that
were never seen created count as ordered with everything, and so do streams on which a host function or a memory wait runs,
until the host has waited for them.
When not every call is observed, an unseen launch on the legacy default stream may order all blocking streams of a context at
any time; then these share one clock. Calls that make the host wait are always observed where they matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.objects import Context, Stream

Clock = dict[int, int]


@dataclass(slots=True, eq=False)
class Timeline:
    """``clock``: what comes before the stream's next work. ``count``: how much work it was given. ``joined``: the count of
    the other side (legacy or blocking) when it was last taken over. ``uncertain``: it may come after anything."""

    stream: Stream
    clock: Clock
    count: int = 0
    joined: int = 0
    uncertain: bool = False
    destroyed: bool = False


@dataclass(slots=True, eq=False)
class ContextOrder:
    """``blocking``: clock of all blocking streams of the context; ``works``: how often it grew. ``uncertain``: a blocking or the
    legacy stream may come after anything, and so may all of these."""

    blocking: Clock = field(default_factory=dict)
    works: int = 0
    legacy: Timeline | None = None
    timelines: dict[int, Timeline] = field(default_factory=dict)
    uncertain: bool = False


class Order:
    def __init__(self, complete: bool) -> None:
        self._complete = complete
        self._done: Clock = {}
        self._timelines: dict[int, Timeline] = {}
        self._contexts: dict[Context, ContextOrder] = {}

    def enqueue(self, call: Call, stream: Stream) -> None:
        """``call`` gives ``stream`` its next work."""
        if stream.context is None:
            return
        timeline = self._timeline(stream)
        self._take_over(timeline)
        timeline.count += 1
        number = stream.number
        timeline.clock[number] = timeline.count
        call.position = (number, timeline.count)
        if stream.blocking:
            order = self._contexts[stream.context]
            order.blocking[number] = timeline.count
            order.works += 1

    def record(self, stream: Stream | None) -> Clock | None:
        """What an event recorded on ``stream`` now stands for; None if that is not known."""
        if stream is None or stream.context is None:
            return None
        timeline = self._timeline(stream)
        self._take_over(timeline)
        return None if self._uncertain(timeline) else dict(timeline.clock)

    def wait(self, stream: Stream, clock: Clock | None) -> None:
        """The next work on ``stream`` (the wait itself) and all later comes after ``clock`` (None: after nobody knows what)."""
        if stream.context is None:
            return
        if clock is None:
            self.doubt(stream)
            return
        timeline = self._timeline(stream)
        _join(timeline.clock, clock)
        if stream.blocking:
            order = self._contexts[stream.context]
            _join(order.blocking, clock)
            order.works += 1

    def doubt(self, stream: Stream) -> None:
        """From now on nothing is certain about what work on ``stream`` waits for."""
        if stream.context is None:
            return
        timeline = self._timeline(stream)
        if stream.blocking or stream.legacy:
            self._contexts[stream.context].uncertain = True
        else:
            timeline.uncertain = True

    def finish(self, clock: Clock | None) -> None:
        """The host knows that all of ``clock`` is done (None: it may be everything so far)."""
        if clock is None:
            clock = {number: timeline.count for number, timeline in self._timelines.items()}
        _join(self._done, clock)

    def finish_stream(self, stream: Stream | None) -> None:
        """The host waited for all work on ``stream``, or saw that it was done."""
        self.finish(self.record(stream))
        if stream is not None and stream.context is not None:
            self._timeline(stream).uncertain = False

    def finish_context(self, context: Context | None) -> None:
        """The host waited for all work of ``context`` (None: unknown, so it may be everything)."""
        order = self._contexts.get(context) if context is not None else None
        if order is None:
            if context is None:
                self.finish(None)
            return
        if order.uncertain or any(timeline.uncertain for timeline in order.timelines.values()):
            self.finish(None)
        order.uncertain = False
        for timeline in order.timelines.values():
            _join(self._done, timeline.clock)
        for timeline in list(order.timelines.values()):
            timeline.clock.clear()
            timeline.uncertain = False
            if timeline.destroyed:
                self._drop(timeline, order)
        order.blocking.clear()

    def is_done(self, position: tuple[int, int]) -> bool:
        """Whether the host is known to have waited for the work at ``position``."""
        return self._done.get(position[0], 0) >= position[1]

    def is_drained(self, stream: Stream) -> bool:
        """Whether the host is known to have waited for all that was given to ``stream``, marks included, and all that it waits for."""
        timeline = self._timelines.get(stream.number)
        if timeline is None:
            return True
        return not self._uncertain(timeline) and all(map(self.is_done, timeline.clock.items()))

    def is_before(self, position: tuple[int, int], stream: Stream) -> bool:
        """Whether work at ``position`` comes, or may come, before work enqueued on ``stream`` now. Changes nothing."""
        number, count = position
        if stream.context is None or number == stream.number or self.is_done(position):
            return True
        timeline = self._timelines.get(stream.number)
        if timeline is not None and (timeline.uncertain or timeline.clock.get(number, 0) >= count):
            return True
        order = self._contexts.get(stream.context)
        if order is None or not (stream.blocking or stream.legacy):
            return False
        if order.uncertain:
            return True
        if stream.legacy or not self._complete:
            return order.blocking.get(number, 0) >= count
        return order.legacy is not None and order.legacy.clock.get(number, 0) >= count

    def destroy(self, stream: Stream) -> None:
        """``stream`` was destroyed; its unfinished work still counts."""
        timeline = self._timelines.get(stream.number)
        if timeline is None or stream.context is None:
            return
        timeline.destroyed = True
        if self._done.get(stream.number, 0) >= timeline.count:
            self._drop(timeline, self._contexts[stream.context])

    def _timeline(self, stream: Stream) -> Timeline:
        found = self._timelines.get(stream.number)
        if found is not None:
            return found
        assert stream.context is not None
        order = self._contexts.setdefault(stream.context, ContextOrder())
        shared = not self._complete and (stream.blocking or stream.legacy)
        timeline = Timeline(stream, order.blocking if shared else {})
        self._timelines[stream.number] = order.timelines[stream.number] = timeline
        if stream.legacy:
            order.legacy = timeline
        return timeline

    def _drop(self, timeline: Timeline, order: ContextOrder) -> None:
        number = timeline.stream.number
        del self._timelines[number], order.timelines[number]

    def _uncertain(self, timeline: Timeline) -> bool:
        stream = timeline.stream
        assert stream.context is not None
        shared = stream.blocking or stream.legacy
        return timeline.uncertain or (shared and self._contexts[stream.context].uncertain)

    def _take_over(self, timeline: Timeline) -> None:
        """Join what the legacy default stream's rule puts before the next work of this stream."""
        stream = timeline.stream
        assert stream.context is not None
        order = self._contexts[stream.context]
        if stream.legacy:
            if timeline.joined != order.works:
                _join(timeline.clock, order.blocking)
                timeline.joined = order.works
        elif stream.blocking and order.legacy is not None and timeline.joined != order.legacy.count:
            _join(timeline.clock, order.legacy.clock)
            _join(order.blocking, order.legacy.clock)
            timeline.joined = order.legacy.count


def _join(clock: Clock, other: Clock) -> None:
    if clock is other:
        return
    for number, count in other.items():
        if clock.get(number, 0) < count:
            clock[number] = count
