"""The page of ``cuvet inject``: what was found, and all places that were tried."""

from __future__ import annotations

from cuvet.inject.outcome import InjectReport, Tried
from cuvet.reports import inject
from cuvet.reports.page import page
from cuvet.reports.page.markup import Markup, tag
from cuvet.sizes import counted

MOST_PLACES = 2000
_COLUMNS = ("Verdict", "Call", "Place", "Calls", "Faults")


def page_of(found: InjectReport) -> str:
    return page(
        inject.as_report(found), (), title=inject.summary(found).plain.removeprefix("cuvet: "), places=_section(found)
    )


def _section(found: InjectReport) -> Markup:
    """The first of all places, the worst first."""
    if not found.sites:
        return Markup()
    head = tag("tr", *(tag("th", name, scope="col") for name in _COLUMNS))
    table = tag("table", tag("thead", head), tag("tbody", *map(_row, found.sites[:MOST_PLACES])), class_="objects")
    parts = [tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Places")]
    if len(found.sites) > MOST_PLACES:
        parts.append(tag("p", f"{counted(len(found.sites) - MOST_PLACES, 'more place')} not shown.", class_="left"))
    return tag("section", tag("h2", "Places whose calls were made to fail"), *parts, id="places")


def _row(tried: Tried) -> Markup:
    style = f"tag {tried.severity}" if tried.severity else None
    codes = dict.fromkeys(each.fault.code for each in tried.trials)
    return tag(
        "tr",
        tag("td", tag("span", tried.verdict, class_=style)),
        tag("td", tried.api),
        tag("td", inject.where(tried), class_="place"),
        tag("td", f"{tried.count:,}", class_="number"),
        tag("td", ", ".join(codes)),
    )
