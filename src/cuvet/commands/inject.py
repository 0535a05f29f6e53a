"""``cuvet inject``: lets the CUDA calls of a program fail, one place after another, and says what it does then."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from cuvet import arguments, reports
from cuvet.commands.run import add_device, add_emulated, ask_for_gpus

if TYPE_CHECKING:
    from cuvet.inject.outcome import InjectReport

NAME = "inject"
HELP = "Let each CUDA call of a program fail in turn, and say what the program does then."
CALLS = ("all", "every", "first", "last")
FAIL_ON = ("crash", "leak", "ignored", "never")
_LONGEST_S = 7 * 24 * 3600
EPILOG = """examples:
  cuvet inject -- ./program
  cuvet inject --device emulated --jobs 4 -- python train.py
  cuvet inject --list -- ./program                        the places that can fail
  cuvet inject --at cudaMalloc -- ./program               only these
  cuvet inject --at pool.cpp:57 --codes resource -- ./program
  cuvet inject --changed main -- ./test                   only calls on lines that were changed since main
  cuvet inject --budget 300 --trace DIR -- ./program      stop after five minutes; then go on:
  cuvet inject --resume DIR -- ./program
  cuvet inject --format junit --output inject.xml -- ./program
  cuvet inject --format html --output inject.html -- ./program

Every place is a CUDA call and the stack from which it is made. The program is run twice without a fault, then once or more for each place;
it must end by itself, and should do the same each time. What it reads and writes, it reads and writes in every run.

exit codes: 0 nothing as bad as --fail-on was found; 1 it was; 2 the program cannot be run or makes no CUDA calls, or a mistake in the
use of cuvet; 126 the program cannot be executed; 127 it was not found; 130 it was interrupted: --resume goes on
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] -- PROGRAM ARGS…"
    add_device(parser)
    add_emulated(parser)
    parser.add_argument(
        "--at",
        metavar="PLACE",
        action="append",
        default=[],
        help="only these places: FUNCTION, FILE:LINE, a number of --list, or an id of the JSON; may be repeated",
    )
    parser.add_argument(
        "--changed", metavar="REV", help="only places that a line leads to which was changed since this revision of git"
    )
    parser.add_argument(
        "--codes",
        metavar="CLASS,…",
        type=_classes,
        help="with which errors calls fail: resource (out of memory), refused (invalid value, not supported), sticky (failed work on the "
        "device); each with one status that is documented for the function (default: all three)",
    )
    parser.add_argument(
        "--calls",
        choices=CALLS,
        default="all",
        help="which calls of a place fail: every one from the first on, only the first, only the last, or these in turn (default: all)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one fault for each place: the first class of --codes that applies, from its first call on",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=arguments.number(1, 256),
        help="how many runs at a time (default: as many as there are processors; 1 with a real GPU)",
    )
    parser.add_argument(
        "--budget", metavar="SECONDS", type=arguments.number(1, _LONGEST_S), help="begin no run after so long"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--trace",
        metavar="DIR",
        type=arguments.path,
        help="keep the recordings in DIR, new or empty (default: a new directory in ~/.local/state/cuvet)",
    )
    where.add_argument(
        "--resume",
        metavar="DIR",
        type=arguments.path,
        help="go on with what was begun there, with the same program and options",
    )
    parser.add_argument("--keep", action="store_true", help="keep the recordings of places that are handled, too")
    parser.add_argument("--list", action="store_true", help="only list the places, without a fault")
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="ignored",
        help="exit with 1 for crashes, hangs and misuse (crash), also for leaks (leak), or for all that is not handled (default: ignored)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every trial of every place, also those that are handled"
    )
    reports.add_arguments(parser, NAME)
    parser.add_argument("program", metavar="PROGRAM ARGS…", nargs=argparse.REMAINDER, help="the program, after --")


def _classes(text: str) -> tuple[str, ...]:
    from cuvet.inject.outcome import CLASSES

    names = tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in CLASSES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0] or repr(unknown[0])} is none of {', '.join(CLASSES)}")
    return names


def run(args: argparse.Namespace) -> int:
    asked = ask_for_gpus(args.device) if args.program else None
    try:
        from cuvet.numeric import import_numpy

        import_numpy()
        from cuvet.inject import session
        from cuvet.reports import inject

        report = session.run(args, asked)
        if isinstance(report, int):
            return report
        document = inject.document(report, listed=args.list, verbose=args.verbose)
        if args.format not in ("terminal", "json", "junit", "html"):
            document = document._replace(content=inject.as_report(report))
        reports.write(document, args)
        return _exit_code(args.fail_on, report)
    finally:
        if asked is not None:
            asked.kill()


def _exit_code(fail_on: str, report: InjectReport) -> int:
    from cuvet.inject.outcome import VERDICTS, Verdict

    if fail_on == "never":
        return os.EX_OK
    worst: dict[str, Verdict] = {"crash": "use-of-unmade", "leak": "leak", "ignored": "ignored"}
    bad = VERDICTS[: VERDICTS.index(worst[fail_on]) + 1]
    return int(any(each.verdict in bad and each.severity in ("error", "warning") for each in report.sites))
