"""One page that shows a recording: opens without a network, runs no script but its own.

What stands in it was named by others (programs, paths, messages, sources): ``markup`` escapes all of it, and the page's policy
(Content-Security-Policy) forbids every script and style but the page's own, and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cuvet.analysis.history import History
from cuvet.findings import SEVERITIES, Finding, MachineCause, Report
from cuvet.reports import summary
from cuvet.reports.page import controls, findings, memory, objects
from cuvet.reports.page.markup import Markup, embedded, join, tag
from cuvet.reports.page.timeline import Timeline, timeline
from cuvet.reports.source import sources_elsewhere

MOST_BYTES = 1_500_000
"""Of a page. One that would be larger is made again with half of what it may have."""
_HERE = Path(__file__).parent


class Room(NamedTuple):
    """How much of each a page has."""

    calls: int = 16_000
    findings: int = 200
    objects: int = 400
    bins: int = 800

    def half(self) -> Room:
        return Room(*(max(each // 2, 1) for each in self))


USUAL = Room()
_NOTHING = Markup()


def page(
    report: Report, histories: Sequence[History], room: Room = USUAL, title: str = "", places: Markup = _NOTHING
) -> str:
    """The page as text, of at most ``MOST_BYTES`` in UTF-8. ``title``: in place of the counts of findings. ``places``: a section about
    places in the program."""
    made = _page(report, histories, room, title, places)
    while len(made.encode()) > MOST_BYTES and room != room.half():
        room = room.half()
        made = _page(report, histories, room, title, places)
    return made


def _page(report: Report, histories: Sequence[History], room: Room, title: str, places: Markup) -> str:
    shown = _worst(report.findings, room.findings)
    drawn = timeline(shown, histories, room.calls, room.bins)
    of_memory, curves = memory.section(histories)
    sections = [
        _summary(report, histories, drawn, title),
        findings.section(report, shown),
        findings.failures(report),
        places,
        controls.timeline(drawn) if drawn.lanes else Markup(),
        objects.section(histories, room.objects),
        of_memory,
    ]
    data = embedded("data", {"timeline": drawn.data, "memory": curves})
    names = {
        "findings": "Findings",
        "failures": "Failed calls",
        "places": "Places",
        "timeline": "Timeline",
        "objects": "Objects",
        "memory": "Memory",
    }
    links = [
        tag("a", name, href=f"#{key}") for key, name in names.items() if any(f'id="{key}"' in part for part in sections)
    ]
    body = [controls.header(links), controls.filters(report, drawn), tag("main", *sections), controls.keys(), data]
    script, style = _part("page.js"), _part("page.css")
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script, style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"cuvet: {_program(report)}"),
        Markup(f"<style>{style}</style>"),
    ]
    document = tag("html", tag("head", *head), tag("body", *body, Markup(f"<script>{script}</script>")), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


@cache
def _part(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Nothing is loaded, no connection is made, and only these two run."""
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (script, style)]
    return f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"


def _program(report: Report) -> str:
    return shlex.join(report.program.argv) or "a program that is not known"


def _summary(report: Report, histories: Sequence[History], drawn: Timeline, title: str) -> Markup:
    ((totals, _),) = summary.totals(report)
    worst = next((each for each in SEVERITIES if any(finding.severity == each for finding in report.findings)), "quiet")
    rows = [("command", _program(report))]
    for pieces in list(summary.lines(report, None, 0, elsewhere=sources_elsewhere()))[1:]:
        label, _, said = "".join(each for each, _ in pieces).partition(": ")
        rows.append((label, said))
    for history in histories:
        rows += [("not shown", sentence) for sentence in history.left_out]
    rows += [("not shown", sentence) for sentence in drawn.left_out]
    rows.append(("made by", f"cuvet {report.tool.version}"))
    listed = _listed(rows, "facts")
    return tag(
        "section", tag("h1", title or totals, class_=worst), listed, *map(_machine, report.machine), id="summary"
    )


def _machine(cause: MachineCause) -> Markup:
    headline = tag("h3", tag("span", f"machine[{cause.cause}]", class_="tag error"), " ", cause.verdict)
    rows = [("found", each) for each in cause.evidence] + [
        ("help", cause.fix),
        ("more", f"cuvet explain {cause.cause}"),
    ]
    return tag("article", headline, _listed(rows, "why"), class_="machine")


def _listed(rows: Iterable[tuple[str, str]], kind: str) -> Markup:
    return tag("dl", *(join(tag("dt", label), tag("dd", said)) for label, said in rows), class_=kind)


def _worst(findings: Sequence[Finding], most: int) -> list[Finding]:
    """At most so many, in their order: errors rather than warnings, the first rather than the last."""
    order = sorted(range(len(findings)), key=lambda index: SEVERITIES.index(findings[index].severity))
    return [findings[index] for index in sorted(order[:most])]
