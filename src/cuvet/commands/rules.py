from __future__ import annotations

import argparse
import sys

from cuvet.reports import FORMATS, add_color
from cuvet.rules import all_rules

NAME = "rules"
HELP = "List the rules."
EPILOG = """examples:
  cuvet rules
  cuvet rules --format json

exit codes: 0 they are listed; 2 the list cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="default: terminal")
    add_color(parser)


def run(args: argparse.Namespace) -> int:
    rules = all_rules()
    if args.format == "json":
        from cuvet.reports.json import document

        rows = [{"rule": r.code, "name": r.name, "severity": r.severity, "summary": r.summary} for r in rules]
        print(document(rows))
        return 0
    from rich.text import Text

    from cuvet.reports.terminal import STYLES, console

    output = console(sys.stdout, args.color)
    longest = max(len(rule.name) for rule in rules)
    for rule in rules:
        line = Text(f"{rule.code}  ").append(f"{rule.severity:<8}", style=STYLES[rule.severity])
        output.print(line.append(f" {rule.name:<{longest}}  {rule.summary}"), soft_wrap=True)
    return 0
