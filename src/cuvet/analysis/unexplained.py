"""Lists calls that failed and that no rule explains, so that none is passed over."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cuvet.analysis.calls import RecordedCall, site_of
from cuvet.catalog import api_of, status_name
from cuvet.catalog.results import NOT_SUPPORTED
from cuvet.findings import LikelyCause, UnexplainedFailure
from cuvet.knowledge.cause import Cause
from cuvet.knowledge.errors import named
from cuvet.knowledge.search import likely, rank

MOST_PLACES = 10_000
"""Of one process; failures at others are counted only."""
MOST_TOLD = 20
"""Of the program's own code, and again of libraries."""
MOST_LOOKED_UP = 200
"""Places of the program's own code; several may be one line."""

_WITHIN = 2
"""Nothing but the error and the call is known, so a cause with less than half of the first's score is not told."""


@dataclass(slots=True)
class Failed:
    """``count`` calls from one place that ended alike, the first of them ``call``. ``by_library``: a library made them. ``reason``: as
    in ``UnexplainedFailure``."""

    call: RecordedCall
    status: int
    by_library: bool
    count: int = 0
    reason: str = ""


@dataclass(slots=True)
class Failures:
    """Of one process, by place: in the order in which they were first seen. ``total``: how many calls they are."""

    total: int = 0
    _places: dict[tuple[int, ...], Failed] = field(default_factory=dict)

    def add(self, call: RecordedCall, status: int, by_library: bool, reason: str = "") -> None:
        self.total += 1
        key = (call.stack or -call.thread, call.entry_point.id, status)
        if key not in self._places and len(self._places) < MOST_PLACES:
            self._places[key] = Failed(call, status, by_library, reason=reason)
        if key in self._places:
            self._places[key].count += 1

    def take(self, wanted: Callable[[Failed], bool]) -> list[Failed]:
        """Those that are wanted: they are explained after all."""
        found = {key: each for key, each in self._places.items() if wanted(each)}
        for key, failed in found.items():
            self.total -= failed.count
            del self._places[key]
        return list(found.values())

    def all(self) -> list[Failed]:
        return list(self._places.values())


def told(failures: Iterable[Failed], *, emulated: bool) -> tuple[UnexplainedFailure, ...]:
    """What the report says: the program's own calls first, each place once, then those of libraries, each library once. Of both the
    first ``MOST_TOLD``; stacks are looked up for no more than ``MOST_LOOKED_UP``. ``emulated``: the emulated device answered."""
    own: dict[tuple[object, ...], list[Failed]] = {}
    of_libraries: dict[tuple[object, ...], list[Failed]] = {}
    looked_up = 0
    for failed in failures:
        api = failed.call.asked
        if failed.by_library:
            of_libraries.setdefault((api, failed.status, failed.call.library()), []).append(failed)
        elif looked_up < MOST_LOOKED_UP:
            looked_up += 1
            place = site_of(failed.call).frames[:1] or (failed.call.process, failed.call.thread)
            own.setdefault((api, failed.status, place), []).append(failed)
    return tuple(_told(each, emulated) for kind in (own, of_libraries) for each in list(kind.values())[:MOST_TOLD])


def _told(alike: list[Failed], emulated: bool) -> UnexplainedFailure:
    first = alike[0]
    site = site_of(first.call)
    reason = first.reason or (_not_emulated(first) if emulated else "")
    return UnexplainedFailure(
        api=site.api,
        status=first.status,
        site=site,
        library=first.call.library() if first.by_library else None,
        count=sum(failed.count for failed in alike),
        reason=reason,
        causes=() if first.by_library or reason else likely_causes(site.api, first.status),
    )


def _not_emulated(failed: Failed) -> str:
    """That the emulated device does not have the call, or not with such arguments; empty if it has."""
    if failed.status != NOT_SUPPORTED or failed.call.entry_point.api != "driver":
        return ""

    from cuvet.device.driver.answer import HANDLERS, IN_PART  # start: all of the emulated device

    name = failed.call.name
    if name in HANDLERS and name not in IN_PART:
        return ""
    return f"the emulated device does not have {name}{' with these arguments' if name in HANDLERS else ''}"


def likely_causes(api: str, status: int) -> tuple[LikelyCause, ...]:
    """What the knowledge base holds for the likeliest where a call of ``api`` returned ``status``: causes that concern the call, and that
    no rule finds, since the rules have looked at it."""

    error = named(status_name(api_of(api), status))
    ranked = rank([error], [api], "") if error is not None else []
    concerned = [each for each in ranked if not each.cause.signs.calls or {*each.signs} & {*each.cause.signs.calls}]
    found = likely([each for each in concerned if isinstance(each.cause, Cause)], _WITHIN)
    return tuple(
        LikelyCause(cause=each.cause.id, title=each.cause.title) for each in found if isinstance(each.cause, Cause)
    )
