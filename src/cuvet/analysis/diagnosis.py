"""From a broken rule to a Finding: sites with their stacks looked up, objects with the places of their lives, repeats folded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from cuvet import catalog
from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.findings import SEVERITIES, Finding, Frame, MemoryPlace, ObjectReport, Site
from cuvet.model import Call, Object, Outcome
from cuvet.model.ledger import Held
from cuvet.recording.records import Fault
from cuvet.recording.sites import Sites
from cuvet.rules.rule import Violation

MOST_PLACES = 5
"""Of those that hold memory, in a finding."""


@dataclass(slots=True)
class RecordedCall(Call):
    """A call that knows where it was recorded and how it ended. Its ``site`` has no frames: ``site_of`` looks them up."""

    sites: Sites | None = None
    outcome: Outcome | None = None
    reported: tuple[Fold, ...] = ()

    def where(self) -> str:
        return at(site_of(self))


@dataclass(eq=False)
class Fold:
    """A finding, how often it occurred, and what followed from it. ``cause``: the one that it follows from itself."""

    finding: Finding
    cause: Fold | None = None
    processes: set[int] = field(default_factory=set)
    repeats: int = 0
    consequences: list[Fold] = field(default_factory=list)

    def told(self) -> Finding:
        """The finding as it stands in the report."""
        return msgspec.structs.replace(
            self.finding,
            repeats=self.repeats,
            processes=len(self.processes),
            consequences=tuple(each.told() for each in self.consequences),
        )


@dataclass
class Findings:
    """Findings of all processes. Repeats are folded: within a process those at the same place; of other processes (workers of one
    program) those that have the same stack and message. What follows from another is folded below that."""

    _folds: list[Fold] = field(default_factory=list)
    _fresh: list[Finding] = field(default_factory=list)
    _by_call: dict[tuple[object, ...], Fold] = field(default_factory=dict)
    _by_place: dict[tuple[object, ...], Fold] = field(default_factory=dict)

    def add(self, key: tuple[object, ...], build: Callable[[], Finding], cause: Fold | None = None) -> Fold:
        """``key`` tells cheaply that a finding is a repeat; otherwise it is built, and may yet have the place of another. ``cause``:
        what it follows from."""
        cause = cause.cause or cause if cause else None
        key = (*key, cause)
        fold = self._by_call.get(key)
        if fold is None:
            new = build()
            here = (new.rule, new.api, new.site.process, new.site.frames[:1] or new.site.thread, cause)
            anywhere = (new.rule, new.api, new.message, new.site.frames or here, cause)
            fold = self._by_place.get(here) or self._by_place.get(anywhere) or self._new(new, cause)
            self._by_call[key] = self._by_place[here] = fold
            self._by_place.setdefault(anywhere, fold)
            fold.processes.add(new.site.process)
        fold.repeats += 1
        return fold

    def _new(self, finding: Finding, cause: Fold | None) -> Fold:
        if cause and SEVERITIES.index(finding.severity) >= SEVERITIES.index(cause.finding.severity):
            cause.consequences.append(Fold(finding, cause))
            return cause.consequences[-1]
        self._folds.append(Fold(finding))
        self._fresh.append(finding)
        return self._folds[-1]

    def take_fresh(self) -> list[Finding]:
        """Those found since it was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def all(self) -> tuple[Finding, ...]:
        return tuple(fold.told() for fold in self._folds)


def cause_of(violation: Violation) -> Fold | None:
    """The worst finding of the call whose mistake made this one."""
    call = violation.cause
    reported = call.reported if isinstance(call, RecordedCall) else ()
    fitting = [fold for fold in reported if violation.cause_rule in (None, fold.finding.name)]
    return min(fitting, key=lambda fold: SEVERITIES.index(fold.finding.severity), default=None)


def site_of(call: Call) -> Site:
    """Where a recorded call was made."""
    api, frames = call.sites.of_stack(call.stack) if isinstance(call, RecordedCall) and call.sites else (None, ())
    return make_site(call, api, frames)


def make_site(call: Call, api: str | None, frames: tuple[Frame, ...] = ()) -> Site:
    return Site(
        api=api or call.name,
        call=call.number,
        process=call.process,
        thread=call.thread,
        time_ns=call.time_ns,
        frames=frames,
    )


def at(site: Site) -> str:
    """`` at file:line``, or nothing."""
    frame = site.frames[0] if site.frames else None
    return f" at {frame.file}:{frame.line}" if frame and frame.file else ""


def finding(call: Call, outcome: Outcome, violation: Violation, *, answer: bool = False) -> Finding:
    """The finding of a violation by a call that ended so. It is a note if that is an ``answer`` to the call (``catalog.answers``)."""
    site = site_of(call)
    found = _without_call(violation, site)
    return msgspec.structs.replace(
        found,
        severity="note" if answer else found.severity,
        status=outcome.status,
        signal=outcome.signal,
        argument=_users_argument(call.entry_point, violation.argument, site.api),
    )


def fault_finding(fault: Fault, violation: Violation, sites: Sites, process: int, time_ns: int, calls: int) -> Finding:
    """The finding of a violation by ordinary code; ``calls`` is how many calls its thread had made."""
    frames = sites.of_fault(fault)
    api = frames[0].function if frames else "the program"
    site = Site(api=api, call=calls, process=process, thread=fault.thread, time_ns=time_ns, frames=frames)
    return msgspec.structs.replace(_without_call(violation, site), signal=fault.signal)


def _without_call(violation: Violation, site: Site) -> Finding:
    rule = violation.rule
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=violation.message,
        api=site.api,
        site=site,
        objects=tuple(_object_report(each) for each in violation.objects),
        because=violation.because,
        memory=tuple(map(memory_place, violation.held.largest(MOST_PLACES))) if violation.held else (),
        help=rule.help,
        evidence=rule.evidence,
    )


def memory_place(held: Held) -> MemoryPlace:
    """What calls with one stack held, with the stack looked up."""
    call = held.call
    return MemoryPlace(
        site=site_of(call),
        library=call.sites.library(call.stack) if isinstance(call, RecordedCall) and call.sites else None,
        bytes=held.bytes,
        count=held.count,
        peak_bytes=held.peak_bytes,
        peak_count=held.peak_count,
    )


def _object_report(it: Object) -> ObjectReport:
    return ObjectReport(
        kind=it.kind.noun,
        handle=f"{it.handle:#x}",
        generation=it.generation,
        name=it.name,
        context=it.context.name if it.context else None,
        device=it.device,
        created=site_of(it.created_by) if it.created_by else None,
        destroyed=site_of(it.destroyed_by) if it.destroyed_by else None,
    )


def _users_argument(entry_point: EntryPoint, argument: int | None, api: str) -> int | None:
    """The parameter of the API the user called that means what the driver entry point's parameter means; None if unclear."""
    if argument is None or api == entry_point.name:
        return argument
    runtime = catalog.runtime()
    if api not in runtime or argument >= len(entry_point.parameters):
        return None
    wanted = _meanings(entry_point, entry_point.parameters[argument].name)
    found = [
        index
        for index, parameter in enumerate(runtime[api].parameters)
        if wanted & _meanings(runtime[api], parameter.name)
    ]
    return found[0] if len(found) == 1 else None


def _meanings(entry_point: EntryPoint, parameter: str) -> set[tuple[Verb, Kind]]:
    return {(role.verb, role.kind) for role in entry_point.roles if role.parameter == parameter}
