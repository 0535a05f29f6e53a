"""Whether a model is as it was at an earlier moment: then it judges what follows as it would have judged it then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain

from cuvet.model.call import Call
from cuvet.model.model import Model
from cuvet.model.order import ContextOrder, Order
from cuvet.model.touches import Touches

MOST = 1 << 18
"""Values of a state. Of a larger one nothing is told."""
VALUES_A_CALL = 16
"""To look at so many takes much less time than to judge a call."""
_DIGEST_BYTES = 16
_CLOCKS = frozenset({"clock", "endangered"})
_LEFT_OUT = frozenset({"kernels", "_alike", "created_by", "timeline", "_default_stream_numbers", "changes"})
"""What is found out again when it is needed, and what follows from the number of an object or is told of its context."""
_PLAIN = (int, str, bytes, float, type(None))
_PARTS = (list, tuple, set, frozenset)


class _Untold(Exception):
    """There is too much, or something of which it is not known what it consists of."""


def state_of(model: Model) -> tuple[bytes, int] | None:
    """A digest, and of how many values. Two digests of one model are equal only if nothing that it judges by has changed in between, but
    for which of the calls from one place was the last. None in a capture, and where there
    are more than ``MOST`` values."""
    if model.live_captures:
        return None
    try:
        values = [*_values(model)]
    except _Untold:
        return None
    return blake2b(repr(values).encode(), digest_size=_DIGEST_BYTES).digest(), len(values)


def _values(model: Model) -> Iterator[object]:
    """All that the model consists of. What is met again is told by how much was met before it."""
    order, met = model.order, dict[int, tuple[int, object]]()
    waiting: list[object] = [model]
    for _ in range(MOST):
        if not waiting:
            return
        each = waiting.pop()
        if isinstance(each, _PLAIN):
            yield each
        elif isinstance(each, Call):
            yield _told(each, order)
        elif id(each) in met:
            yield "again", met[id(each)][0]
        else:
            met[id(each)] = len(met), each
            parts = tuple(_parts(each, order))
            yield type(each).__name__, len(parts)
            waiting += parts
    raise _Untold


def _told(call: Call, order: Order) -> object:
    """Of work that is done, and of marks in a stream, no more than the place is ever told."""
    if call.position is None or not order.is_done(call.position):
        return call.process, call.thread, call.number
    return call.name, call.thread, call.stack


def _parts(each: object, order: Order) -> Iterable[object]:
    if isinstance(each, Mapping):
        return chain.from_iterable(each.items())
    if isinstance(each, _PARTS):
        return each
    if isinstance(each, Order):
        return each.unfinished_work()
    if isinstance(each, ContextOrder):
        return order.unfinished_of(each)
    if isinstance(each, Touches):
        return each.unfinished(order)
    return (
        _unfinished(getattr(each, name), order) if name in _CLOCKS else getattr(each, name) for name in _names(each)
    )


def _unfinished(clock: dict[int, int] | None, order: Order) -> object:
    return None if clock is None else order.unfinished(clock)


def _names(each: object) -> Iterable[str]:
    """Of the attributes that are looked at."""
    names = getattr(each, "__dataclass_fields__", None) or getattr(each, "__dict__", None)
    if not names or callable(each):
        raise _Untold
    return [name for name in names if name not in _LEFT_OUT]
