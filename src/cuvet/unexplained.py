"""Calls that failed and that no rule explains: what is told of them, so that none is passed over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cuvet.catalog import api_of, status_name
from cuvet.diagnosis import RecordedCall, site_of
from cuvet.findings import LikelyCause, Site, UnexplainedFailure

MOST_PLACES = 10_000
"""Of one process; failures at others are counted only."""
MOST_TOLD = 20
"""Of the program's own code, and again of libraries."""


@dataclass(slots=True)
class Failed:
    """``count`` calls from one place that ended alike, the first of them ``call``. ``by_library``: a library made them."""

    call: RecordedCall
    status: int
    by_library: bool
    count: int = 0


@dataclass(slots=True)
class Failures:
    """Of one process, by place: in the order in which they were first seen."""

    _places: dict[tuple[int, ...], Failed] = field(default_factory=dict)

    def add(self, call: RecordedCall, status: int, by_library: bool) -> None:
        key = (call.stack or -call.thread, call.entry_point.id, status)
        if key not in self._places and len(self._places) < MOST_PLACES:
            self._places[key] = Failed(call, status, by_library)
        if key in self._places:
            self._places[key].count += 1

    def take(self, status: int) -> list[Failed]:
        """The program's own calls of the driver that ended with the status: they are explained after all."""
        found = {key: each for key, each in self._places.items() if _is_own(each, status)}
        for key in found:
            del self._places[key]
        return list(found.values())

    def all(self) -> list[Failed]:
        return list(self._places.values())


def _is_own(failed: Failed, status: int) -> bool:
    return failed.status == status and not failed.by_library and failed.call.entry_point.api == "driver"


def told(failures: Iterable[Failed]) -> tuple[UnexplainedFailure, ...]:
    """What the report says: the program's own calls first, each place once, then those of libraries, each library once. Of both the
    first ``MOST_TOLD``."""
    own: dict[tuple[object, ...], tuple[Failed, Site, int]] = {}
    of_libraries: dict[tuple[object, ...], tuple[Failed, Site, int]] = {}
    for failed in failures:
        site = site_of(failed.call)
        kind = of_libraries if failed.by_library else own
        place = _library(failed) if failed.by_library else site.frames[:1] or (site.process, site.thread)
        key = (site.api, failed.status, place)
        first, where, count = kind.get(key, (failed, site, 0))
        kind[key] = (first, where, count + failed.count)
    shown = [*list(own.values())[:MOST_TOLD], *list(of_libraries.values())[:MOST_TOLD]]
    return tuple(_told(*each) for each in shown)


def _told(failed: Failed, site: Site, count: int) -> UnexplainedFailure:
    return UnexplainedFailure(
        api=site.api,
        status=failed.status,
        site=site,
        library=_library(failed) if failed.by_library else None,
        count=count,
        causes=() if failed.by_library else likely_causes(site.api, failed.status),
    )


def _library(failed: Failed) -> str | None:
    call = failed.call
    return call.sites.library(call.stack) if call.sites is not None else None


def likely_causes(api: str, status: int) -> tuple[LikelyCause, ...]:
    """What the knowledge base holds for the likeliest where a call of ``api`` returned ``status``: causes that concern the call, and that
    no rule finds, since the rules have looked at it."""
    from cuvet.knowledge.cause import Cause
    from cuvet.knowledge.errors import named
    from cuvet.knowledge.search import likely, rank

    error = named(status_name(api_of(api), status))
    ranked = rank([error], [api], "") if error is not None else []
    concerned = [each for each in ranked if not each.cause.signs.calls or {*each.signs} & {*each.cause.signs.calls}]
    found = likely([each for each in concerned if isinstance(each.cause, Cause)])
    return tuple(
        LikelyCause(cause=each.cause.id, title=each.cause.title) for each in found if isinstance(each.cause, Cause)
    )
