"""``cuvet ps``: says in which CUDA call each thread of the programs stands that `cuvet run` records on this machine."""

from __future__ import annotations

import argparse
import time
from functools import partial

from cuvet import reports
from cuvet.arguments import number
from cuvet.numeric import import_numpy

NAME = "ps"
HELP = "Show the CUDA call in which each thread of the recorded programs of this machine is, and what it waits for."
EPILOG = """examples:
  cuvet ps                          all programs of yours that `cuvet run` records on this machine
  cuvet ps 4711                     one process
  cuvet ps job/                     the ranks of this machine that have their recordings below job/
  cuvet ps --seconds 10 --format json

The recordings are only read: no program notices it. They are looked at twice; calls that return in between are not shown.

exit codes: 0 there is a program that is recorded; 1 there is none;
2 there is no recording, the report cannot be written, or a mistake in the use of cuvet
"""
MOST_SECONDS = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="DIR|PID",
        nargs="*",
        help="directory of a recording or one with such below it, or a process (default: all of this machine)",
    )
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=number(0, MOST_SECONDS),
        default=1,
        help="seconds between the two looks (default: 1)",
    )
    reports.add_arguments(parser, NAME)


def run(args: argparse.Namespace) -> int:
    import_numpy()
    from cuvet.analysis.standing import standings
    from cuvet.launch import progress
    from cuvet.launch.living import rank_of, recordings
    from cuvet.reports.standing import document

    files = recordings(args.what)
    with progress.shown(sorted({file.parent for file in files})):
        found = standings(files, partial(rank_of, files), args.seconds, time.sleep)
    reports.write(document(found), args)
    return 0 if found.processes else 1
