import argparse
from collections.abc import Mapping, Sequence
from typing import TextIO

from cuvet import reports
from cuvet.rules import all_rules

NAME = "rules"
HELP = "List the rules."
EPILOG = """examples:
  cuvet rules
  cuvet rules --format json

exit codes: 0 they are listed; 2 the list cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reports.add_arguments(parser, NAME, output=False)


def run(args: argparse.Namespace) -> int:
    rows = [{"rule": r.code, "name": r.name, "severity": r.severity, "summary": r.summary} for r in all_rules()]
    reports.write(reports.Document(rows, lambda out, color: _show(rows, out, color)), args)
    return 0


def _show(rows: Sequence[Mapping[str, str]], out: TextIO, color: str) -> None:
    from rich.text import Text

    from cuvet.reports.terminal import STYLES, console

    output = console(out, color)
    longest = max(len(row["name"]) for row in rows)
    for row in rows:
        line = Text(f"{row['rule']}  ").append(f"{row['severity']:<8}", style=STYLES[row["severity"]])
        output.print(line.append(f" {row['name']:<{longest}}  {row['summary']}"), soft_wrap=True)
