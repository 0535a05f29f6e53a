"""The page's header, filters, timeline and keys: what its script fills and listens to."""

from __future__ import annotations

from collections.abc import Iterable

from cuvet.findings import SEVERITIES, Report
from cuvet.reports.page.markup import Markup, tag
from cuvet.reports.page.timeline import Lane, Timeline

_CONTROLS = (
    ("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("←", "left", "Earlier"), ("→", "right", "Later"), ("All", "all", "Show all"),
)  # fmt: skip
_SORTS = {
    "work": "work", "copy": "copy, set", "make": "creates", "end": "ends", "wait": "waits, asks", "other": "other", "failed": "failed",
}  # fmt: skip
"""What the colours of calls mean."""
_KEYS = (
    ("j, k", "next and previous finding"), ("Enter", "fold or unfold the finding"), ("l", "show the finding in the timeline"),
    ("/", "search"), ("Esc", "leave the search, close this"), ("t", "light or dark"), ("?", "these keys"),
    ("← → + − 0", "in the timeline: move, zoom, show all"),
)  # fmt: skip


def header(links: Iterable[Markup]) -> Markup:
    buttons = [
        tag("button", "Theme", type="button", id="theme", title="Light or dark (t)"),
        tag("button", "Keys", type="button", id="help-button", title="Keys (?)"),
    ]
    nav = tag("nav", *links, aria_label="Sections")
    return tag("header", tag("span", "cuvet", class_="brand"), nav, tag("span", *buttons, class_="buttons controls"))


def filters(report: Report, drawn: Timeline) -> Markup:
    count = {each: sum(finding.severity == each for finding in report.findings) for each in SEVERITIES}
    severities = [_severity(each, count[each]) for each in SEVERITIES if count[each]]
    rules = {each.rule: f"{each.rule} {each.name}" for each in report.findings}
    apis = sorted({*drawn.apis, *(each.api for each in report.findings)})
    chosen = [_choice("rule", rules), _choice("API", {each: each for each in apis})]
    for kind in ("process", "thread", "stream"):
        chosen.append(_choice(kind, {lane.key: lane.name for lane in drawn.lanes if lane.kind == kind}))
    search = tag(
        "input", type="search", id="search", placeholder="Search (/)", aria_label="Search findings and objects", maxlength="200"
    )  # fmt: skip
    clear = tag("button", "Clear", type="reset")
    return tag("form", search, *severities, *chosen, clear, id="filters", class_="controls", role="search")


def _severity(name: str, count: int) -> Markup:
    box = tag("input", type="checkbox", name="severity", value=name, checked=True)
    return tag("label", box, f" {name} ({count:,})")


def _choice(name: str, values: dict[str, str]) -> Markup:
    if len(values) < 2:
        return Markup()
    options = (tag("option", shown, value=value) for value, shown in values.items())
    every = tag("option", f"any {name}", value="")
    return tag("select", every, *options, name=name.lower(), aria_label=f"Filter by {name}")


def timeline(drawn: Timeline) -> Markup:
    buttons = (tag("button", sign, type="button", data_zoom=what, aria_label=label) for sign, what, label in _CONTROLS)
    legend = (tag("span", tag("i", class_=f"swatch c-{key}"), said) for key, said in _SORTS.items())
    canvas = tag(
        "canvas",
        id="lanes",
        tabindex="0",
        role="img",
        aria_label="Timeline. Arrow keys move, plus and minus zoom, 0 shows all. The list beside it names lanes and counts calls.",
    )
    about = (
        "Drag to move, Ctrl and the wheel to zoom, double click to zoom in. Heights: how many calls or, in the lanes of what is alive,"
        " objects. Triangles: calls of findings."
    )
    shown = tag("output", id="range", class_="dim")
    bar = tag("div", *buttons, tag("span", *legend, class_="key"), shown, class_="bar controls")
    return tag(
        "section",
        tag("h2", "Timeline"),
        bar,
        tag("div", tag("canvas", id="axis", aria_hidden="true"), class_="axis"),
        tag("div", tag("ol", *map(_label, drawn.lanes), class_="lane-names"), canvas, class_="lanes"),
        tag("p", "", id="hover", class_="hover"),
        tag("p", about, class_="about controls"),
        id="timeline",
    )


def _label(lane: Lane) -> Markup:
    made = " made" if lane.kind == "objects" else ""
    count = f"{lane.calls:,}{made}" if lane.calls and lane.kind != "context" else ""
    name = tag("span", lane.name, class_="lane-name", title=lane.name)
    return tag("li", name, tag("span", count, class_="dim"), class_=lane.kind)


def keys() -> Markup:
    rows = (tag("tr", tag("th", tag("kbd", key), scope="row"), tag("td", said)) for key, said in _KEYS)
    close = tag("button", "Close", type="button", id="help-close")
    return tag("dialog", tag("h2", "Keys"), tag("table", *rows), close, id="help", aria_label="Keys")
