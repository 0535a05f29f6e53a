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
from cuvet.findings import SEVERITIES, Report
from cuvet.reports import summary
from cuvet.reports.page import findings, memory, objects
from cuvet.reports.page.markup import Markup, embedded, join, tag
from cuvet.reports.page.timeline import Timeline, timeline
from cuvet.reports.selection import select
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
        return Room(*(max(each // 2, 8) for each in self))


def page(report: Report, histories: Sequence[History], room: Room = Room()) -> str:
    """The page as text, of at most ``MOST_BYTES`` in UTF-8."""
    made = _page(report, histories, room)
    while len(made.encode()) > MOST_BYTES and room != room.half():
        room = room.half()
        made = _page(report, histories, room)
    return made


def _page(report: Report, histories: Sequence[History], room: Room) -> str:
    shown = report.findings if len(report.findings) <= room.findings else select(report.findings)[: room.findings]
    drawn = timeline(shown, histories, room.calls, room.bins)
    of_memory, curves = memory.section(histories)
    sections = [
        _summary(report, histories, drawn),
        findings.section(report, shown),
        findings.failures(report),
        _timeline(drawn) if drawn.lanes else Markup(),
        objects.section(histories, room.objects),
        of_memory,
    ]
    data = embedded("data", {"timeline": drawn.data, "memory": curves})
    names = {"findings": "Findings", "failures": "Failed calls", "timeline": "Timeline", "objects": "Objects", "memory": "Memory"}
    links = [tag("a", name, href=f"#{key}") for key, name in names.items() if any(f'id="{key}"' in part for part in sections)]
    body = [_header(report, links), _filters(report, drawn), tag("main", *sections), _help(), data]
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


def _header(report: Report, links: Iterable[Markup]) -> Markup:
    buttons = [
        tag("button", "Theme", type="button", id="theme", title="Light or dark (t)"),
        tag("button", "Keys", type="button", id="help-button", title="Keys (?)"),
    ]
    nav = tag("nav", *links, aria_label="Sections")
    return tag("header", tag("span", "cuvet", class_="brand"), nav, tag("span", *buttons, class_="buttons controls"))


def _summary(report: Report, histories: Sequence[History], drawn: Timeline) -> Markup:
    ((totals, _),) = summary.totals(report)
    worst = next((each for each in SEVERITIES if any(finding.severity == each for finding in report.findings)), "quiet")
    rows = [("program", _program(report))]
    for pieces in list(summary.lines(report, None, 0, elsewhere=sources_elsewhere()))[1:]:
        label, _, said = "".join(each for each, _ in pieces).partition(": ")
        rows.append((label, said))
    for history in histories:
        rows += [("not shown", sentence) for sentence in history.left_out]
    rows += [("not shown", sentence) for sentence in drawn.left_out]
    rows.append(("made by", f"cuvet {report.tool.version}"))
    listed = tag("dl", *(join(tag("dt", label), tag("dd", said)) for label, said in rows), class_="facts")
    machine = [
        tag(
            "article",
            tag("h3", tag("span", f"machine[{cause.cause}]", class_="tag error"), " ", cause.verdict),
            tag("dl", *(join(tag("dt", "found"), tag("dd", each)) for each in cause.evidence), tag("dt", "help"), tag("dd", cause.fix)),
            class_="machine",
        )
        for cause in report.machine
    ]
    return tag("section", tag("h1", totals, class_=worst), listed, *machine, id="summary")


def _filters(report: Report, drawn: Timeline) -> Markup:
    count = {each: sum(finding.severity == each for finding in report.findings) for each in SEVERITIES}
    severities = [
        tag("label", tag("input", type="checkbox", name="severity", value=each, checked=True), f" {each} ({count[each]:,})")
        for each in SEVERITIES
        if count[each]
    ]
    rules = {each.rule: f"{each.rule} {each.name}" for each in report.findings}
    calls = drawn.data.get("calls")
    apis = {str(each) for each in (calls["apis"] if isinstance(calls, dict) else ())} | {each.api for each in report.findings}
    lanes = {kind: {lane.key: lane.name for lane in drawn.lanes if lane.kind == kind} for kind in ("process", "thread", "stream")}
    chosen = [
        _choice("rule", rules),
        _choice("api", {each: each for each in sorted(apis)}),
        *(_choice(kind, lanes[kind]) for kind in ("process", "thread", "stream")),
    ]
    search = tag("input", type="search", id="search", placeholder="Search (/)", aria_label="Search findings and objects", maxlength="200")
    return tag("form", search, *severities, *chosen, tag("button", "Clear", type="reset"), id="filters", class_="controls", role="search")


def _choice(name: str, values: dict[str, str]) -> Markup:
    if len(values) < 2:
        return Markup()
    options = (tag("option", shown, value=value) for value, shown in values.items())
    return tag("select", tag("option", f"any {name}", value=""), *options, name=name, aria_label=f"Filter by {name}")


def _timeline(drawn: Timeline) -> Markup:
    controls = [
        tag("button", sign, type="button", data_zoom=what, aria_label=label)
        for sign, what, label in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("←", "left", "Earlier"), ("→", "right", "Later"), ("All", "all", "Show all"))
    ]  # fmt: skip
    legend = [
        tag("span", tag("i", class_=f"swatch c-{key}"), said)
        for key, said in (
            ("work", "work"), ("copy", "copy, set"), ("make", "creates"), ("end", "ends"), ("wait", "waits, asks"), ("other", "other"), ("failed", "failed"),
        )
    ]  # fmt: skip
    labels = [
        tag("li", tag("span", lane.name, class_="lane-name", title=lane.name), tag("span", f"{lane.count:,}" if lane.count else "", class_="dim"),
            class_=lane.kind, data_lane=index)
        for index, lane in enumerate(drawn.lanes)
    ]  # fmt: skip
    canvas = tag(
        "canvas", id="lanes", tabindex="0", role="img",
        aria_label="Timeline. Arrow keys move, plus and minus zoom, 0 shows all. The list beside it names the lanes and counts their calls.",
    )  # fmt: skip
    about = (
        "Drag to move, Ctrl and the wheel to zoom, double click to zoom in. Heights: how many calls or, in the lanes of what is alive, objects."
        " Triangles: calls of findings."
    )
    return tag(
        "section",
        tag("h2", "Timeline"),
        tag("div", *controls, tag("span", *legend, class_="key"), tag("output", id="range", class_="dim"), class_="bar controls"),
        tag("div", tag("canvas", id="axis", aria_hidden="true"), class_="axis"),
        tag("div", tag("ol", *labels, class_="lane-names"), canvas, class_="lanes"),
        tag("p", "", id="hover", class_="hover", aria_live="off"),
        tag("p", about, class_="about controls"),
        id="timeline",
    )


def _help() -> Markup:
    keys = (
        ("j, k", "next and previous finding"), ("Enter", "fold or unfold the finding"), ("l", "show the finding in the timeline"),
        ("/", "search"), ("Esc", "leave the search, close this"), ("t", "light or dark"), ("?", "these keys"),
        ("← → + − 0", "in the timeline: move, zoom, show all"),
    )  # fmt: skip
    rows = (tag("tr", tag("th", tag("kbd", key), scope="row"), tag("td", said)) for key, said in keys)
    return tag("dialog", tag("h2", "Keys"), tag("table", *rows), tag("button", "Close", type="button", id="help-close"), id="help", aria_label="Keys")

