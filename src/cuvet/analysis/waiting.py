"""Calls that have not returned: what each thread of a process is in, since when, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from cuvet.analysis.calls import RecordedCall, site_of
from cuvet.analysis.process import ProcessAnalysis
from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.findings import Site, Waiting
from cuvet.meta import Stood
from cuvet.model import Call, Context, Event, Model, Stream
from cuvet.model.objects import Object
from cuvet.printable import valid
from cuvet.recording import Recording, RecordingError
from cuvet.recording.launches import Launched, launched
from cuvet.recording.layout import PENDING
from cuvet.recording.reader import Array

_DEFAULT = {0: "the default stream", 1: "the default stream", 2: "the thread's default stream"}
_LOADS = (
    "cuModuleLoad",
    "cuLibraryLoad",
    "cuModuleGetFunction",
    "cuLibraryGetKernel",
    "cuKernelGetFunction",
    "cudaLibraryLoad",
)
_NEVER_RECORDED = "which was never recorded"


class _Target(NamedTuple):
    """What a call waits for. ``work``: the newest call that gave it something to do."""

    words: str = ""
    stream: int | None = None
    work: Call | None = None


def waiting_calls(process: ProcessAnalysis, now_ns: int | None = None) -> list[Waiting]:
    """Of each thread that is in a call. ``now_ns``: nanoseconds since the process's first record; None if it is not known how long they
    have waited. RecordingError as ``Recording.flight``."""
    rings = process.recording.flight().items()
    pending = {thread: slots for thread, slots in rings if len(slots) and int(slots[-1]["status"]) == PENDING}
    if not pending:
        return []
    launches = list(_launches(process))
    found = [_waiting(process, thread, slots, launches, now_ns) for thread, slots in pending.items()]
    return sorted(found, key=lambda each: each.site.time_ns)


def standing_calls(recording: Recording) -> dict[int, int]:
    """By thread, the number of the call that it is in. Empty if the file cannot be read any more."""
    with suppress(RecordingError):
        newest = {thread: slots[-1] for thread, slots in recording.flight().items() if len(slots)}
        return {thread: int(slot["number"]) for thread, slot in newest.items() if int(slot["status"]) == PENDING}
    return {}


def still_standing(before: Sequence[Stood], recordings: Sequence[Recording], now_ns: int) -> list[Stood]:
    """The calls in which threads are, each as it was ``before`` if it is the same. ``now_ns``: of CLOCK_MONOTONIC."""
    known = {(each.process, each.thread, each.call): each for each in before}
    calls = ((each.pid, *call) for each in recordings for call in standing_calls(each).items())
    return [
        known.get((process, thread, call)) or Stood(process=process, thread=thread, call=call, since_ns=now_ns)
        for process, thread, call in calls
    ]


def _launches(process: ProcessAnalysis) -> list[Launched]:
    known = process.entry_points.__getitem__
    rings = process.recording.rings()
    return [each for ring in rings for each in launched(ring, process.recording, known)]


def _waiting(
    process: ProcessAnalysis, thread: int, slots: Array, launches: list[Launched], now_ns: int | None
) -> Waiting:
    recording, slot = process.recording, slots[-1]
    number = int(slot["number"])
    entry_point = process.entry_points[int(slot["entry_point"])]
    call = process.unreturned.get(thread)
    stored = call if call is not None and call.number == number else None
    timed = stored is not None or int(slot["entered"]) > 0
    site = site_of(stored) if stored is not None else _unstored(process, slots, thread)
    target = _target(process.model, entry_point, slot, stored) if entry_point is not None else _Target()
    return Waiting(
        site=site,
        thread_name=valid(recording.threads.get(thread, "")),
        for_ns=max(0, now_ns - site.time_ns) if now_ns is not None and timed else None,
        waits_for=target.words,
        last_work=_last_work(process, target, launches),
        nested=(stored is not None and process.sites.is_called_by_driver(stored.stack)) or _is_inside(process, slots),
    )


def _is_inside(process: ProcessAnalysis, slots: Array) -> bool:
    """Whether the thread is in another call of the driver, too, which then has called the function that makes this one."""
    outer = slots[:-1][slots[:-1]["status"] == PENDING]["entry_point"].tolist()
    around = (process.entry_points[number] for number in outer)
    return any(each is not None and each.api == "driver" for each in around)


def _unstored(process: ProcessAnalysis, slots: Array, thread: int) -> Site:
    """Of a call that is in the flight recorder only. Its time, if it was not taken, is that of an earlier call of the thread."""
    return Site(
        api=process.entry_points.name(int(slots[-1]["entry_point"])),
        call=int(slots[-1]["number"]),
        process=process.recording.pid,
        thread=thread,
        time_ns=process.recording.clock.ns(int(slots["entered"].max())),
    )


def loads_code(api: str) -> bool:
    """Whether a call of that name loads code."""
    return api.startswith(_LOADS)


def _target(model: Model | None, entry_point: EntryPoint, slot: Array, call: RecordedCall | None) -> _Target:
    role = next((each for each in entry_point.roles if each.verb is Verb.BLOCKS), None)
    if role is None:
        return _Target()
    if not role.parameter:
        return _Target("all work of its context")
    index = entry_point.index[role.parameter]
    args = slot["args"].tolist()
    handle = int(args[index]) if index < len(args) else 0
    if role.kind is Kind.CONTEXT and not handle:
        return _Target("all work of its context")
    found = None
    if model is not None:
        found = model.object_of(call, index, role.kind) if call is not None else model.find(role.kind, handle)
    if isinstance(found, Event):
        return _of_event(found)
    if role.kind is Kind.STREAM:
        stream = found if isinstance(found, Stream) else None
        words = _DEFAULT.get(handle) or _named(found, "stream", handle)
        return _Target(words, handle, stream.last_work if stream is not None else None)
    noun = "the context" if isinstance(found, Context) else role.kind.noun
    return _Target(_named(found, noun, handle))


def _of_event(event: Event) -> _Target:
    name = _named(event, "event", event.handle)
    if event.recorded_by is None or event.recorded_on is None:
        return _Target(name if event.external or event.interprocess else f"{name}, {_NEVER_RECORDED}")
    return _Target(f"{name}, recorded on {event.recorded_on.name}", None, event.recorded_by)


def _named(thing: Object | None, noun: str, handle: int) -> str:
    return f"{thing.name if thing is not None else noun} ({handle:#x})"


def _last_work(process: ProcessAnalysis, target: _Target, launches: list[Launched]) -> Site | None:
    """The newest of what the model has seen and of the launches in the flight recorders, which are not all stored otherwise."""
    clock = process.recording.clock
    stored = target.work if isinstance(target.work, RecordedCall) else None
    on = [each for each in launches if target.stream is not None and each.stream == target.stream and not each.captured]
    newest = max(on, key=lambda each: each.after, default=None)
    if newest is None or (stored is not None and stored.time_ns >= clock.ns(newest.after)):
        return site_of(stored) if stored is not None else None
    api, frames = process.sites.of_stack(newest.stack)
    return Site(
        api=api or "cuLaunchKernel",
        call=newest.number,
        process=process.recording.pid,
        thread=newest.thread,
        time_ns=clock.ns(newest.after),
        frames=frames,
    )
