"""Write docs/rules.md and docs/rules/*.md from the rules."""

from __future__ import annotations

from pathlib import Path

from cuvet.knowledge.cause import Tell
from cuvet.knowledge.search import cause_named
from cuvet.reports.pages import page, seen_by
from cuvet.rules import all_rules
from cuvet.rules.rule import Rule

DOCS = Path(__file__).parents[1] / "docs"

INDEX = """# Rules

This page is generated from `src/cuvet/rules`. There each rule has its documentation, its evidence and the examples that test it.

The page of a rule that `cuvet check` applies has sources, in C++ and, where the mistake is natural there, in Python and C#; tests check
them. The programs after them are run. They are Python over the driver API: `cu.cuStreamCreate(0)` takes the input parameters and returns
the output. Before each program, `cuInit(0)` was called and the primary context of `device` made current.

An **error** is always wrong, whatever the timing. A **warning** may go wrong. A **note** is allowed but worth knowing.
"""


def pages() -> dict[Path, str]:
    """Path below docs/ and text of every generated page."""
    nouns: dict[str, list[type[Rule]]] = {}
    for rule in all_rules():
        nouns.setdefault(rule.__module__.split(".")[2].replace("_", " "), []).append(rule)
    index = "\n".join([INDEX, *(_table(noun, rules) for noun, rules in nouns.items())])
    return {
        Path("rules.md"): index,
        **{Path("rules", f"{rule.name}.md"): page(rule, *_known(rule)) for rule in all_rules()},
    }


def _known(rule: type[Rule]) -> tuple[tuple[str, ...], tuple[Tell, ...]]:
    """What people wrongly believe about it, and what else than ``cuvet run`` shows it."""
    cause = cause_named(rule.name)
    return (cause.beliefs, cause.tell) if cause else ((), ())


def _table(noun: str, rules: list[type[Rule]]) -> str:
    rows = [
        f"| [{rule.code}](rules/{rule.name}.md) | {rule.name} | {rule.severity} | {seen_by(rule)} | {rule.summary} |"
        for rule in rules
    ]
    head = ["| rule | name | severity | seen by | finds |", "|---|---|---|---|---|"]
    return "\n".join([f"## {noun}", "", *head, *rows, ""])


def main() -> None:
    folder = DOCS / "rules"
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.md"):
        stale.unlink()
    for path, text in pages().items():
        (DOCS / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
