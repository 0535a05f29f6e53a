from __future__ import annotations

import argparse
import difflib
import sys

import msgspec
from rich.markdown import Markdown

from cuvet import CuvetError
from cuvet.reports import FORMATS, add_color
from cuvet.reports.pages import page, sections
from cuvet.reports.terminal import console
from cuvet.rules import all_rules
from cuvet.rules.rule import Rule

NAME = "explain"
HELP = "Explain a rule: what it checks, why, what is known, right and wrong programs."
EPILOG = """examples:
  cuvet explain CV201
  cuvet explain stream-use-after-destroy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="RULE", help="code or name of a rule")
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="default: terminal")
    add_color(parser)


def run(args: argparse.Namespace) -> int:
    rule = find(args.rule)
    if args.format == "json":
        print(msgspec.json.format(msgspec.json.encode(_data(rule)), indent=2).decode())
    elif args.color == "always" or (args.color == "auto" and sys.stdout.isatty()):
        console(sys.stdout, args.color).print(Markdown(page(rule), code_theme="bw"))
    else:
        print(page(rule), end="")
    return 0


def find(word: str) -> type[Rule]:
    """The rule of that code or name. CuvetError with the nearest ones if there is none."""
    rules = {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
    found = rules.get(word.upper()) or rules.get(word.lower())
    if found is None:
        nearest = difflib.get_close_matches(word.lower(), [rule.name for rule in all_rules()], n=3, cutoff=0.5)
        nearest = nearest or difflib.get_close_matches(word.upper(), [rule.code for rule in all_rules()], n=3)
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        raise CuvetError(f"no rule is called {word}{hint} (see cuvet rules)")
    return found


def _data(rule: type[Rule]) -> dict[str, object]:
    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.summary,
        "sections": sections(rule),
        "help": rule.help,
        "evidence": rule.evidence,
        "valid": rule.VALID,
        "invalid": rule.INVALID,
    }
