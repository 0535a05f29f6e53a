"""``cuvet who``: says whose an address was."""

import argparse

from cuvet import arguments, reports
from cuvet.numeric import import_numpy

NAME = "who"
HELP = "Say whose an address is: which memory covered it, who made, freed and used it again, and what lay beside it."
EPILOG = """examples:
  cuvet who 0x7f3e96000010 ~/.local/state/cuvet/20260101-120000-4711
  cuvet who 7f3e_96000010 DIR             as dmesg writes the address of an Xid 31
  cuvet who --format json 0x7f3e96000010 DIR

exit codes: 0 memory covered the address or lay beside it; 1 none is known;
2 there is no recording, the text cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address", metavar="ADDRESS", type=arguments.address, help="in hexadecimal, with or without 0x and _"
    )
    parser.add_argument("directories", metavar="DIR", nargs="+", type=arguments.path, help="directory of a recording")
    reports.add_arguments(parser, NAME)


def run(args: argparse.Namespace) -> int:
    import_numpy()
    from cuvet.analysis.whose import whose
    from cuvet.reports.whose import document

    found = whose(args.address, args.directories)
    reports.write(document(found), args)
    return 0 if found.lives or found.beside else 1
