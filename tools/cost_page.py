"""Write the tables of docs/cost.md from bench/figures.json: each stands between `<!-- figures: PART -->` and `<!-- end -->`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from rows import ROWS, Figure, Goal  # noqa: E402

PAGE = ROOT / "docs" / "cost.md"
FIGURES = ROOT / "bench" / "figures.json"
TABLE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOT_MEASURED = "not measured yet"

Kept = dict[str, object]


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(quartiles: object, unit: str, sign: str = "") -> str:
    """``6.1 s [5.9, 6.4]``; "" if there are none. ``sign``: what stands before a figure that is not below zero."""
    if not isinstance(quartiles, list):
        return ""
    low, middle, high = ((sign if each >= 0 else "") + number(each) for each in quartiles)
    return f"{middle}{' ' * bool(unit)}{unit} [{low}, {high}]"


def difference(kept: Kept, mode: str, figure: Figure) -> str:
    """What cuvet adds, or by how much longer it takes, as the goal is meant."""
    ratio = kept.get(f"{mode} ratio")
    if figure.goal is not None and figure.goal.of.endswith("ratio") and isinstance(ratio, list):
        low, middle, high = ratio
        return f"{middle:.3f} × [{low:.3f}, {high:.3f}]"
    return spread(kept.get(f"{mode} added"), figure.unit, "+")


def goal_of(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    limit = number(figure.goal.limit) if figure.goal.limit >= 10 else f"{figure.goal.limit:g}"
    if figure.goal.of.endswith("ratio"):
        return f"≤ {limit} ×"
    return f"{'≥' if figure.goal.least else '≤'} {'+' * figure.goal.of.endswith('added')}{limit} {figure.unit}"


def verdict(kept: Kept, goal: Goal | None) -> str:
    """Whether the median meets the goal."""
    quartiles = kept.get(goal.of) if goal is not None else None
    if goal is None or not isinstance(quartiles, list):
        return ""
    return ": met" if (quartiles[1] >= goal.limit if goal.least else quartiles[1] <= goal.limit) else ": not met"


def table(part: str, figures: dict[str, Kept]) -> list[str]:
    wanted = {what: figure for row in ROWS if row.part == part for what, figure in row.figures.items()}
    paired = any("bare" in figures.get(what, {}) for what in wanted)
    in_full = paired and any("full added" in figures.get(what, {}) for what in wanted)
    heads = ["what you do", *(["without cuvet"] if paired else []), "with cuvet", *(["difference"] if paired else [])]
    heads += [*(["difference with `--record full`"] if in_full else []), "goal", "where"]
    places: dict[str, str] = {}
    rows = []
    for what, figure in wanted.items():
        kept = figures.get(what, {})
        mode = "checked" if "checked" in kept or "checked added" in kept or "checked ratio" in kept else "full"
        with_it = spread(kept.get(mode), figure.unit) if kept else NOT_MEASURED
        cells = [what, with_it]
        if paired:
            cells = [what, spread(kept.get("bare"), figure.unit), with_it, difference(kept, mode, figure)]
        cells += [difference(kept, "full", figure)] if in_full else []
        where = "{machine}; GPU: {gpu}, driver {driver}; {date}, {commit}".format(**kept) if kept else ""
        place = places.setdefault(where, chr(ord("A") + len(places))) if where else ""
        rows.append([*cells, goal_of(figure) + verdict(kept, figure.goal), place])
    lines = [f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]]
    return [*lines, "", *(f"{letter}: {where}  " for where, letter in places.items())]


def page(text: str, figures: dict[str, Kept]) -> str:
    def filled(match: re.Match[str]) -> str:
        body = "\n".join(table(match[2], figures)).replace(", driver none", "").rstrip()
        return f"{match[1]}{body}\n{match[3]}"

    return TABLE.sub(filled, text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), json.loads(FIGURES.read_text())))
