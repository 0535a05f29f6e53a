"""``cuvet who``: says whose an address was, or those that the kernel of a GPU core dump was given."""

import argparse
import os
from pathlib import Path

from cuvet import arguments, reports
from cuvet.numeric import import_numpy

NAME = "who"
HELP = "Say whose an address is: which memory covered it, who made, freed and used it again, and what lay beside it."
EPILOG = """examples:
  cuvet who 0x7f3e96000010 ~/.local/state/cuvet/20260101-120000-4711
  cuvet who 7f3e_96000010 DIR             as dmesg writes the address of an Xid 31
  cuvet who --format json 0x7f3e96000010 DIR
  cuvet who core_1700000000_host_42.nvcudmp DIR   what the kernel was given that a GPU core dump tells of

exit codes: 0 memory covered the address or lay beside it; 1 none is known;
2 there is no recording, the text cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address",
        metavar="ADDRESS|FILE",
        type=_address_or_file,
        help="in hexadecimal, with or without 0x and _; or a GPU core dump",
    )
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=arguments.path,
        help="directory of a recording, or one with such below it",
    )
    reports.add_arguments(parser, NAME)


def _address_or_file(text: str) -> int | Path:
    """A file is meant if it is there and its name cannot be an address."""
    try:
        return arguments.address(text)
    except argparse.ArgumentTypeError:
        if os.path.isfile(text):
            return Path(text)
        raise


def run(args: argparse.Namespace) -> int:
    import_numpy()
    from cuvet.analysis.merge import recordings_in
    from cuvet.analysis.whose import whose, whose_of_dump
    from cuvet.reports.whose import document, document_of_dump

    directories = recordings_in(args.directories)
    if isinstance(args.address, Path):
        dump = whose_of_dump(args.address, directories)
        reports.write(document_of_dump(dump), args)
        return 0 if any(each.lives or each.beside for each in dump.addresses) else 1
    found = whose(args.address, directories)
    reports.write(document(found), args)
    return 0 if found.lives or found.beside else 1
