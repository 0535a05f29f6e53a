"""Makes a Finding of a broken rule: sites with their stacks, and objects with the places where they were created and destroyed."""

from typing import Literal

import msgspec

from cuvet import catalog
from cuvet.analysis.calls import RecordedCall, site_of
from cuvet.catalog import EntryPoint, Kind, Verb, api_of
from cuvet.catalog.results import of_runtime
from cuvet.catalog.roles import ENDS
from cuvet.findings import EarlierCall, Finding, MemoryPlace, ObjectReport, Site
from cuvet.model import Object
from cuvet.model.call import CRASH
from cuvet.model.ledger import Held
from cuvet.recording.records import Fault, HostAccess
from cuvet.recording.sites import Sites
from cuvet.rules.evidence import evidence_of
from cuvet.rules.rule import Violation

MOST_PLACES = 5
"""Of those that hold memory, in a finding."""


def finding(call: RecordedCall, violation: Violation, *, answer: bool = False) -> Finding:
    """The finding of a violation by a call. It is a note if the call's status is an ``answer`` (``catalog.answers``)."""
    site = site_of(call)
    found = _without_call(violation, site)
    return msgspec.structs.replace(
        found,
        severity="note" if answer else found.severity,
        status=_status(call, site.api),
        kept=_kept(call, violation),
        signal=call.outcome.signal,
        refused=call.refused is not None,
        undefined=violation.undefined or CRASH in violation.outcomes,
        refused_then=None if call.refused == "returned" else call.refused,
        argument=_users_argument(call.entry_point, violation.argument, site.api),
    )


def _status(call: RecordedCall, api: str) -> int | None:
    """What the function returned that the program called."""
    status = call.outcome.status
    return of_runtime(status) if status and api_of(api) == "runtime" else status


def _kept(call: RecordedCall, violation: Violation) -> Literal["asked", "refused"] | None:
    if not violation.of_kept(call):
        return None
    name = call.entry_point.parameters[violation.argument or 0].name
    ends = any(role.verb in ENDS for role in call.entry_point.roles if role.parameter == name)
    return "refused" if ends else "asked"


def fault_finding(fault: Fault, violation: Violation, sites: Sites, process: int, time_ns: int, calls: int) -> Finding:
    """The finding of a violation by ordinary code; ``calls`` is how many calls its thread had made."""
    frames = sites.of_fault(fault)
    api = frames[0].function if frames else "the program"
    site = Site(api=api, call=calls, process=process, thread=fault.thread, time_ns=time_ns, frames=frames)
    return msgspec.structs.replace(_without_call(violation, site), signal=fault.signal)


def touch_finding(access: HostAccess, violation: Violation, sites: Sites, process: int, time_ns: int) -> Finding:
    """The finding of a violation by ordinary code that goes on."""
    frames = sites.of_fault(access)
    api = frames[0].function if frames else "the program"
    site = Site(api=api, call=access.number, process=process, thread=access.thread, time_ns=time_ns, frames=frames)
    return msgspec.structs.replace(_without_call(violation, site), host="wrote" if access.writes else "read")


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
        earlier=tuple(EarlierCall(text=text, site=site_of(call)) for text, call in violation.earlier),
        memory=tuple(map(memory_place, violation.held.largest(MOST_PLACES))) if violation.held else (),
        help=violation.help or rule.help,
        evidence=evidence_of(rule),
    )


def memory_place(held: Held) -> MemoryPlace:
    """What calls with one stack held, with the stack looked up."""
    call = held.call
    return MemoryPlace(
        site=site_of(call),
        library=call.library() if isinstance(call, RecordedCall) else None,
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
