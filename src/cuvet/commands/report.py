"""``cuvet report``: a page, or a trace for Perfetto, from recordings."""

import argparse
import os
import sys
from pathlib import Path

from cuvet import CuvetError, arguments
from cuvet.commands.analyze import add_source_root, require_roots, sources
from cuvet.numeric import import_numpy

NAME = "report"
HELP = "Make a page to look at, or a trace for Perfetto, from recordings of `cuvet run`."
EPILOG = """examples:
  cuvet report --html report.html DIR            findings, timeline, objects and memory in one file; opens without a network
  cuvet report --perfetto trace.pb DIR           open it at ui.perfetto.dev or with trace_processor
  cuvet report --html report.html --source-root ~/src/project rec.*

exit codes: 0, whatever was found; 2 there is no recording, a file cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=arguments.path,
        help="directory of a recording, or one with such below it",
    )
    parser.add_argument("--html", metavar="FILE", type=arguments.path, help="write a page to FILE")
    parser.add_argument(
        "--perfetto", metavar="FILE", type=arguments.path, help="write a trace in Perfetto's format to FILE"
    )
    parser.add_argument("--leaks", action="store_true", help="also report what was never freed")
    add_source_root(parser)


def run(args: argparse.Namespace) -> int:
    if args.html is None and args.perfetto is None:
        raise CuvetError("nothing to write: give --html FILE or --perfetto FILE (see cuvet report -h)")
    if args.html and args.perfetto and os.path.realpath(args.html) == os.path.realpath(args.perfetto):
        raise CuvetError(f"--html and --perfetto are both {args.html}: give each a file of its own")
    require_roots(args.source_root)
    import_numpy()
    from cuvet.analysis import ProcessAnalysis, analyze
    from cuvet.analysis.history import History
    from cuvet.analysis.merge import recordings_in
    from cuvet.launch.progress import shown
    from cuvet.reports.ignored import is_ignored, without_ignored

    histories: list[History] = []

    def keep(process: ProcessAnalysis) -> None:
        histories.append(process.history())

    directories = recordings_in(args.directories)
    with sources(args.source_root, directories):
        with shown(directories):
            report = without_ignored(analyze(directories, leaks=args.leaks, ignored=is_ignored, then=keep))
        if args.html is not None:
            from cuvet.reports.page import page

            _write(args.html, page(report, histories).encode())
        if args.perfetto is not None:
            from cuvet.reports.perfetto import trace

            data, left_out = trace(report, histories)
            _write(args.perfetto, data)
            for sentence in left_out:
                print(f"cuvet: {args.perfetto}: {sentence}", file=sys.stderr)
    return 0


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CuvetError(f"cannot write the report to {path}: {error.strerror}") from error
