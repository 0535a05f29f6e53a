"""Write docs/causes.md, with the public cases, and docs/causes/<id>.md from the causes in ``cuvet.knowledge``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuvet.knowledge.cause import Cause
from cuvet.knowledge.mentions import calls_in, errors_in
from cuvet.knowledge.search import MOST_CAUSES, Match, all_causes, likely, rank
from cuvet.rules import rule_names

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests/knowledge/public_cases.jsonl"
MACHINES = ROOT / "tests/doctor/roots"

HEAD = f"""# Causes

This page is generated from `src/cuvet/knowledge`. A cause that a rule finds in a recording is described on that rule's [page](rules.md);
the others are listed last.

The tables have {{cases}} public cases whose cause is established in the thread. *Place* is the rank of the established cause among those
that `cuvet explain` gives for the error and the call as the thread shows them; it shows {MOST_CAUSES}. *Machine* is the synthetic machine
in `tests/doctor/roots` on which `cuvet doctor` finds the cause.

The established cause is first in {{first}} cases, is shown in {{told}}, and is shown or found on a machine in {{covered}}. The
expressions among the causes' signs were written with these cases known. Without the expressions, by error and function alone, it is shown
in {{plainly}}.
"""


@dataclass(frozen=True)
class Case:
    """A public case.

    ``causes``: ids of those that have its category. ``cause``: the first of them that is ranked, at ``place`` from 1. ``told``: whether
    ``explain`` tells one of them; ``told_plainly``: whether it does if no expression counts. ``machines``: the synthetic ones that have it.
    """

    row: dict[str, Any]
    text: str
    causes: tuple[str, ...]
    cause: str | None
    place: int | None
    told: bool
    told_plainly: bool
    machines: tuple[str, ...]


def cases() -> list[Case]:
    """The public cases, in the file's order."""
    machines = [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(MACHINES.glob("*.json"))]
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [_case(row, machines) for row in rows]


def _case(row: dict[str, Any], machines: list[tuple[str, dict[str, Any]]]) -> Case:
    text = f"{row['error']} {row['api_call']}"
    causes = tuple(cause.id for cause in all_causes() if row["cause_category"] in cause.cases)
    ranked, plainly = (rank(errors_in(text), calls_in(text), words) for words in (text, ""))
    place, cause = next(
        ((place, id) for place, id in enumerate(_ids(ranked), 1) if id in causes), (None, (*causes, None)[0])
    )
    told, told_plainly = (not set(causes).isdisjoint(_ids(likely(each))) for each in (ranked, plainly))
    having = tuple(
        name for name, case in machines if case.get("source") == row["url"] and set(causes) & set(case["expect"])
    )
    return Case(row, text, causes, cause, place, told, told_plainly, having)


def _ids(matches: list[Match]) -> list[str]:
    return [match.cause.id for match in matches]


def pages() -> dict[Path, str]:
    """Path below docs/ and text of every page."""
    own = [cause for cause in all_causes() if isinstance(cause, Cause)]
    index = "\n".join(
        [*_tables(cases()), "## Causes that no rule finds", "", "| cause | |", "|---|---|", *map(_line, own), ""]
    )
    return {Path("causes.md"): index, **{Path("causes", f"{cause.id}.md"): _page(cause) for cause in own}}


def _tables(found: list[Case]) -> Iterator[str]:
    first = sum(case.place == 1 for case in found)
    told, covered = sum(case.told for case in found), sum(case.told or bool(case.machines) for case in found)
    plainly = sum(case.told_plainly for case in found)
    yield HEAD.format(cases=len(found), first=first, told=told, covered=covered, plainly=plainly)
    for family in dict.fromkeys(case.row["family"] for case in found):
        yield f"## {family.split(maxsplit=1)[1]}\n"
        yield "| as shown | in | cause | place | machine |\n|---|---|---|---|---|"
        yield from (_row(case) for case in found if case.row["family"] == family)
        yield ""


def _row(case: Case) -> str:
    thread = f"[{case.row['repo']}]({case.row['url']})"
    machine = ", ".join(case.machines)
    return (
        f"| {_cell(case.text)} | {thread} | {link(case.cause) if case.cause else ''} | {case.place or ''} | {machine} |"
    )


def link(id: str) -> str:
    return f"[{id}]({'rules' if id in rule_names() else 'causes'}/{id}.md)"


def _line(cause: Cause) -> str:
    return f"| [{cause.id}](causes/{cause.id}.md) | {_cell(cause.title)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _page(cause: Cause) -> str:
    parts = [f"# {cause.id}", f"**{cause.title}**", cause.why, "## How to tell"]
    parts += ["\n".join(f"* `{tell.command}`: {tell.shows}" for tell in cause.tell), "## Fix", cause.fix]
    parts += ["## What is known", "\n".join(f"* {one.kind}: {one.text} ({one.source})" for one in cause.evidence)]
    if cause.beliefs:
        parts += ["## Wrong beliefs", "\n".join(f"* {belief}" for belief in cause.beliefs)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    folder = ROOT / "docs/causes"
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.md"):
        stale.unlink()
    for path, text in pages().items():
        (ROOT / "docs" / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
