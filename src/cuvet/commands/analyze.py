"""``cuvet analyze``: makes the report again from recordings."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError, arguments, reports
from cuvet.numeric import import_numpy
from cuvet.printable import printable
from cuvet.reports import verdict

if TYPE_CHECKING:
    from cuvet.findings import Report
    from cuvet.reports.choice import Choice

NAME = "analyze"
HELP = "Make the report again from recordings of `cuvet run`, made here or elsewhere."
EPILOG = """examples:
  cuvet analyze                                 the newest recording in ~/.local/state/cuvet; after `cuvet env`, that of the shell
  cuvet analyze ~/.local/state/cuvet/20260101-120000-4711
  cuvet analyze --format json --output report.json DIR
  cuvet analyze --source-root ~/src/project DIR
  cuvet analyze --fail-on error rec.*           recordings of several ranks, one report: which failed first, and how the others followed
  cuvet analyze job/                            the same, of all recordings below a directory
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
        help="directory of a recording, or one with such below it (default: the newest one, or that of this shell if `cuvet env` was used)",
    )
    add_source_root(parser)
    parser.add_argument(
        "--on",
        choices=["ray"],
        help="judge the recordings on Ray: on the cluster of $RAY_ADDRESS, on one that runs on this machine, or on a local one"
        " (default: by processes of this machine)",
    )
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
    from cuvet.analysis.merge import recordings_in
    from cuvet.reports import choice

    require_roots(args.source_root)
    chosen = choice.of(args)
    directories = recordings_in(args.directories or [_newest()])
    with sources(args.source_root, directories):
        report = chosen.of(_report(args, directories, chosen))
        reports.write(reports.of_run(report, verbose=args.verbose), args)
    _tell_of_unsupported(directories)
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


def _report(args: argparse.Namespace, directories: list[Path], chosen: Choice) -> Report:
    from cuvet.analysis.merge import analyze, analyze_many, report_of
    from cuvet.analysis.verdicts import Options
    from cuvet.launch import progress

    options = Options(args.leaks, args.memory, chosen.hides)
    if args.on == "ray":
        from cuvet.launch import on_ray

        with progress.counted_off(directories) as tell:
            return report_of(on_ray.judged(directories, options, tell), options)
    if len(directories) == 1:
        with progress.shown(directories):
            return analyze(directories, leaks=args.leaks, memory=args.memory, ignored=chosen.hides)
    with progress.counted_off(directories) as tell:
        return analyze_many(directories, options, tell)


def require_roots(roots: list[Path] | None) -> None:
    """CuvetError if a ``--source-root`` is no directory."""
    for root in roots or ():
        if not root.is_dir():
            raise CuvetError(f"--source-root {root}: {'not a directory' if root.exists() else 'no such directory'}")


def sources(roots: list[Path] | None, directories: list[Path]) -> AbstractContextManager[None]:
    """While it is open, no source is read but those that this user wants to show to whom the report is for: below ``roots``, if given."""
    from cuvet.launch import trace
    from cuvet.reports.source import only_below

    if roots is None and all(map(trace.made_here, directories)):
        return nullcontext()
    return only_below(roots or [Path.cwd()])
