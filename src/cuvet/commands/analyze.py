"""``cuvet analyze``: the report of recordings that exist."""

from __future__ import annotations

import argparse
from pathlib import Path

from cuvet import reports

NAME = "analyze"
HELP = "Report from recordings that `cuvet run` made, here or elsewhere."
EPILOG = """examples:
  cuvet analyze ~/.local/state/cuvet/20260101-120000-4711
  cuvet analyze --format json --output report.json DIR
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", metavar="DIR", nargs="+", type=Path, help="directory of a recording")
    parser.add_argument("--leaks", action="store_true", help="also report what was never freed")
    parser.add_argument(
        "--memory", action="store_true", help="also show what held memory, by place, at the peak and at the end"
    )
    reports.add_arguments(parser, reports.REPORT_FORMATS)


def run(args: argparse.Namespace) -> int:
    from cuvet.analysis import analyze
    from cuvet.launch.progress import shown

    with shown(args.directories):
        report = analyze(args.directories, leaks=args.leaks, memory=args.memory)
    reports.write(report, args, recording=str(args.directories[0]))
    return 0
