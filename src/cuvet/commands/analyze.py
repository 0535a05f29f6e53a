"""``cuvet analyze``: makes the report again from recordings."""

import argparse
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from cuvet import CuvetError, arguments, reports
from cuvet.numeric import import_numpy
from cuvet.printable import printable
from cuvet.reports import verdict

NAME = "analyze"
HELP = "Make the report again from recordings of `cuvet run`, made here or elsewhere."
EPILOG = """examples:
  cuvet analyze                                 the newest recording in ~/.local/state/cuvet; after `cuvet env`, that of the shell
  cuvet analyze ~/.local/state/cuvet/20260101-120000-4711
  cuvet analyze --format json --output report.json DIR
  cuvet analyze --source-root ~/src/project DIR
  cuvet analyze --fail-on error rec.*           recordings of several processes, one report
  cuvet analyze --format markdown --output comment.md DIR
  cuvet analyze --baseline OLD DIR              only what is not in the recording OLD

exit codes: 0, whatever was found; 1 --fail-on or --require-cuda applies (--error-exitcode chooses another number);
2 there is no recording, the report cannot be written, or a mistake in the use of cuvet or in its configuration
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="*",
        type=arguments.path,
        help="directory of a recording (default: the newest one, or that of this shell if `cuvet env` was used)",
    )
    add_source_root(parser)
    reports.add_choice(parser)
    verdict.add_arguments(parser)
    reports.add_arguments(parser, NAME)
    reports.add_contents(parser)


def add_source_root(parser: argparse.ArgumentParser) -> None:
    """Add ``--source-root``."""
    parser.add_argument(
        "--source-root",
        metavar="DIR",
        type=arguments.path,
        action="append",
        help="show lines of sources below DIR only; may be repeated (default: any source for a recording in ~/.local/state/cuvet,"
        " sources below the working directory for one from elsewhere)",
    )


def run(args: argparse.Namespace) -> int:
    import_numpy()
    from cuvet.analysis import analyze
    from cuvet.launch.progress import shown
    from cuvet.reports import choice

    chosen = choice.of(args)
    args.directories = args.directories or [_newest()]
    with sources(args):
        with shown(args.directories):
            report = analyze(args.directories, leaks=args.leaks, memory=args.memory, ignored=chosen.hides)
        report = chosen.of(report)
        reports.write(reports.of_run(report, verbose=args.verbose), args)
    _tell_of_unsupported(args.directories)
    if args.write_suppressions:
        from cuvet.reports import suppressions

        suppressions.write(args.write_suppressions, report.findings)
    return verdict.exit_code(args, report) or 0


def _newest() -> Path:
    """The recording that is meant where none is named, which is said on stderr."""
    from cuvet.launch import trace

    of_shell = os.environ.get("CUVET_TRACE")
    directory = Path(of_shell) if of_shell else trace.newest()
    print(f"cuvet: the recording is {printable(str(directory))}", file=sys.stderr)
    return directory


def _tell_of_unsupported(directories: list[Path]) -> None:
    """Why nothing of a program was recorded that cannot work on the emulated device."""
    from cuvet.launch import unsupported

    for sentence in dict.fromkeys(filter(None, map(unsupported.sentence, directories))):
        print(f"cuvet: {printable(sentence)}", file=sys.stderr)


def sources(args: argparse.Namespace) -> AbstractContextManager[None]:
    """While it is open, no source is read but those that this user wants to show to whom the report is for."""
    from cuvet.launch import trace
    from cuvet.reports.source import only_below

    roots: list[Path] | None = args.source_root
    for root in roots or ():
        if not root.is_dir():
            raise CuvetError(f"--source-root {root}: {'not a directory' if root.exists() else 'no such directory'}")
    if roots is None and all(map(trace.made_here, args.directories)):
        return nullcontext()
    return only_below(roots or [Path.cwd()])
