"""Which findings of a run are reported: what the options and ``[tool.cuvet.run]`` select, suppress or know."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvet import configuration
from cuvet.configuration import Key, Table
from cuvet.reports.ignored import is_ignored, with_findings, without, without_ignored
from cuvet.reports.verdict import LEAST

if TYPE_CHECKING:
    from cuvet.findings import Finding, Report, Severity, Suppression
    from cuvet.reports.known import Known
    from cuvet.reports.suppressions import Suppressions

OFF = Path("off")
_SUPPRESSIONS = (
    'a list of names of files and of tables, as [{rule = "CV201", function = "drain", reason = "why it stays"}]'
)


@dataclass
class Choice:
    """``configuration``: the file and table that it is of, if there is one. ``selected``: names of rules, None for all. ``severities``: by
    name of a rule, where it has another than its own."""

    configuration: str | None = None
    selected: frozenset[str] | None = None
    severities: Mapping[str, Severity] = field(default_factory=dict)
    suppressions: Suppressions | None = None
    known: Known | None = None

    def hides(self, finding: Finding) -> bool:
        """Whether a comment or a suppression names it: it is not folded with one that stays."""
        return self._is_suppressed(finding) or is_ignored(finding)

    def told(self, finding: Finding) -> Finding | None:
        """The finding, if it is to be told while the program runs, with the severity that is configured."""
        if not self._is_selected(finding) or self.hides(finding) or (self.known and self.known.has(finding)):
            return None
        return self._as_severe(finding)

    def of(self, report: Report) -> Report:
        """The report with the findings that are chosen; ``stats`` says how many are not, and why."""
        selected = tuple(finding for finding in report.findings if self._is_selected(finding))
        report_of_selected = without_ignored(with_findings(report, selected))
        kept = report_of_selected.findings
        there, suppressed = without(self._is_suppressed, kept)
        new, known = self.known.new(there) if self.known else (there, 0)
        left_out = {
            "unselected": len(report.findings) - len(selected),
            "suppressed": suppressed,
            "baseline": known,
        }
        return msgspec.structs.replace(
            with_findings(report_of_selected, new),
            findings=tuple(map(self._as_severe, new)),
            stats=report_of_selected.stats | {name: count for name, count in left_out.items() if count},
            configuration=self.configuration,
            unused_suppressions=self._unused() if report.stats.get("calls") else (),
        )

    def _unused(self) -> tuple[Suppression, ...]:
        return self.suppressions.unused(self.selected) if self.suppressions else ()

    def _is_selected(self, finding: Finding) -> bool:
        return self.selected is None or finding.name in self.selected

    def _is_suppressed(self, finding: Finding) -> bool:
        return self.suppressions is not None and self.suppressions.suppress(finding)

    def _as_severe(self, finding: Finding) -> Finding:
        if not self.severities:
            return finding
        return msgspec.structs.replace(
            finding,
            severity=self._severity(finding),
            consequences=tuple(map(self._as_severe, finding.consequences)),
        )

    def _severity(self, finding: Finding) -> Severity:
        """A note about a call whose status is an answer stays one, though its rule has another severity."""
        from cuvet.rules import rule_called  # start: only where a rule has another severity

        rule = rule_called(finding.name)
        is_lowered = rule is not None and finding.severity == "note" != rule.severity
        return finding.severity if is_lowered else self.severities.get(finding.name, finding.severity)


def of(args: argparse.Namespace) -> Choice:
    """What the options of ``reports.add_choice`` choose, above the configuration of the working directory.

    ``args.fail_on`` is what the configuration says, if no option does. CuvetError for what cannot be read or is not understood.
    """
    table = _table(args.config)
    if table is not None:
        configuration.check(table, table.values, _keys())
    if args.write_suppressions:
        from cuvet.reports.suppressions import require_new  # start: only with --write-suppressions

        require_new(args.write_suppressions)
    values = table.values if table is not None else {}
    args.fail_on = args.fail_on or values.get("fail-on")
    choice = Choice(configuration=str(table) if table is not None else None)
    _choose_rules(choice, args, table)
    _suppress(choice, args, table)
    if args.baseline is not None:
        from cuvet.reports import known  # start: only with --baseline

        choice.known = known.read(args.baseline, leaks=args.leaks)
    return choice


def _table(config: Path | None) -> Table | None:
    if config is not None:
        return None if config == OFF else configuration.of_file(config, "run")
    try:
        return configuration.find(Path.cwd(), "run")
    except FileNotFoundError:  # the directory was deleted
        return None


def _keys() -> Mapping[str, Key]:
    from cuvet.reports.suppressions import is_listed  # start: only with a configuration

    return {
        **configuration.OF_RULES,
        "fail-on": Key(lambda value: value in LEAST, " or ".join(f'"{each}"' for each in LEAST)),
        "suppressions": Key(is_listed, _SUPPRESSIONS),
    }


def _choose_rules(choice: Choice, args: argparse.Namespace, table: Table | None) -> None:
    values = table.values if table is not None else {}
    where = f"{table}: "
    words = values.get("select", ()), values.get("ignore", ()), args.select, args.ignore
    if any(words):
        from cuvet.rules.named import selected  # start: only where rules are named

        choice.selected = selected(*words, where=where)
    if values.get("severity"):
        from cuvet.rules.named import severities  # start: only where rules are named

        choice.severities = severities(values["severity"], where)


def _suppress(choice: Choice, args: argparse.Namespace, table: Table | None) -> None:
    if not args.suppressions and (table is None or not table.values.get("suppressions")):
        return
    from cuvet.reports import suppressions  # start: only with suppressions

    every = suppressions.configured(table) if table is not None else ()
    for file in args.suppressions:
        every += suppressions.read(file)
    choice.suppressions = suppressions.Suppressions(every)
