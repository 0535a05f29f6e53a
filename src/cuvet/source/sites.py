"""Findings about source files, and the places that they name."""

from cuvet.findings import Finding, Frame, ObjectReport, Severity, Site, Step
from cuvet.rules.evidence import evidence_in
from cuvet.rules.rule import Rule
from cuvet.source.syntax.parsing import Source


def finding(
    rule: type[Rule],
    message: str,
    at: Site,
    *,
    path: tuple[Step, ...] = (),
    objects: tuple[ObjectReport, ...] = (),
    because: tuple[str, ...] = (),
    argument: int | None = None,
    severity: Severity | None = None,
) -> Finding:
    """That the rule is broken there. ``severity``: another one than the rule's."""
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=severity or rule.severity,
        message=message,
        api=at.api,
        argument=argument,
        site=at,
        objects=objects,
        path=path,
        because=because,
        help=rule.help,
        evidence=evidence_in(rule, at.frames[0].language if at.frames else ""),
    )


def frame(source: Source, start: int, end: int, function: str) -> Frame:
    """The text from offset ``start`` to ``end``, as far as it stands in one line; ``function`` is the one around it."""
    end = min(end, source.line_end(start))
    return Frame(
        function=function,
        file=str(source.path),
        line=source.line(start),
        column=source.column(start),
        end_column=source.column(end),
        language=source.language,
    )


def site(api: str, at: Frame) -> Site:
    """The place of a call of ``api``. Source code has no processes, threads and times; lines stand in for numbers of calls."""
    return Site(api=api, call=at.line or 0, process=0, thread=0, time_ns=0, frames=(at,))
