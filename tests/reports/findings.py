"""Findings of runs, as short as a test can say them."""

from __future__ import annotations

from cuvet.findings import EarlierCall, Finding, Frame, ObjectReport, Program, Report, Severity, Site, Tool

RULES = {
    "CV201": "stream-use-after-destroy",
    "CV202": "stream-destroy-twice",
    "CV101": "context-use-after-destroy",
}


def frame(function: str, file: str | None = None, line: int | None = None, module: str | None = None) -> Frame:
    return Frame(function=function, file=file, line=line, module=module)


def site(*frames: Frame, api: str = "cuStreamSynchronize") -> Site:
    return Site(api=api, call=6, process=70, thread=71, time_ns=1_000, frames=frames)


def stream(created: Site | None = None, destroyed: Site | None = None) -> ObjectReport:
    return ObjectReport(
        kind="stream", handle="0x55d0", generation=1, name="stream#1", created=created, destroyed=destroyed
    )


def finding(
    *frames: Frame,
    rule: str = "CV201",
    severity: Severity = "error",
    message: str = "stream#1 was destroyed before this call",
    api: str = "cuStreamSynchronize",
    objects: tuple[ObjectReport, ...] = (),
    earlier: tuple[EarlierCall, ...] = (),
    consequences: tuple[Finding, ...] = (),
) -> Finding:
    return Finding(
        rule=rule,
        name=RULES[rule],
        severity=severity,
        message=message,
        api=api,
        status=400,
        site=site(*frames, api=api),
        objects=objects,
        earlier=earlier,
        help="destroy the stream after its last use",
        consequences=consequences,
    )


def report(*findings: Finding, **more: object) -> Report:
    values = {"program": Program(argv=("./program",), exit_code=0), "stats": {"calls": 6}, **more}
    return Report(tool=Tool(version="0"), findings=findings, **values)  # type: ignore[arg-type]
