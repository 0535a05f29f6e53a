"""``cuvet check``: applies the rules to source code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError, arguments, reports
from cuvet.numeric import import_numpy
from cuvet.reports import verdict

if TYPE_CHECKING:
    from cuvet.source.tool.report import CheckReport
    from cuvet.source.tool.workers import Pool

NAME = "check"
HELP = "Check CUDA source code, before anything is compiled or run."
EPILOG = """examples:
  cuvet check src/
  cuvet check --diff origin/main .                     only what this branch changed
  cuvet check --select 'stream-*' --ignore CV201 src/
  cuvet check --format sarif --output cuvet.sarif .
  cuvet check --baseline known.json --write-baseline . then report only what is new:
  cuvet check --baseline known.json .
  cuvet check --fix kernels.cu
  cuvet check --stats src/                             how many findings of each rule
  cuvet check --stdin-filename src/a.cu - < a.cu       the source comes by standard input

exit codes: 0 no finding of severity error; 1 there is one, or one that --fail-on names (--error-exitcode chooses another number);
2 a file could not be read, the report cannot be written, or a mistake in the use of cuvet
"""

UNREADABLE = 2
STDIN = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=arguments.path,
        help="source file, directory with those below it, or - for standard input",
    )
    reports.add_arguments(parser, NAME)
    reports.add_rules(parser)
    parser.add_argument(
        "--baseline", metavar="FILE", type=arguments.path, help="leave out the findings that FILE lists"
    )
    parser.add_argument("--write-baseline", action="store_true", help="list all present findings in --baseline FILE")
    parser.add_argument(
        "--injected",
        metavar="JSON",
        type=arguments.path,
        help="a report of cuvet inject (--format json): a dropped status that it showed to do harm is an error",
    )
    parser.add_argument("--diff", metavar="REV", help="report only findings on lines changed since git revision REV")
    parser.add_argument("--stats", action="store_true", help="count the findings of each rule instead of showing them")
    parser.add_argument(
        "--stdin-filename",
        metavar="FILE",
        type=arguments.path,
        help="the file that standard input stands for, which says the language and the configuration (default: stdin.cu)",
    )
    parser.add_argument("--fix", action="store_true", help="edit the files where a fix is mechanical and safe")
    parser.add_argument(
        "--cuda", metavar="VERSION", help="release of CUDA that the code is for, for example 12.8 (default: newest)"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=arguments.number(1, 1024), help="processes (default: one for each processor)"
    )
    parser.add_argument(
        "--on",
        choices=["ray"],
        help="check the files on Ray: on the cluster of $RAY_ADDRESS, on one that runs on this machine, or on a local one"
        " (default: by processes of this machine)",
    )
    parser.add_argument("--no-cache", action="store_true", help="do not use or keep results of earlier runs")
    verdict.add_fail_on(parser, default="error")


def run(args: argparse.Namespace) -> int:
    from cuvet.reports import check
    from cuvet.source.tool import baseline, configuration, session

    if args.stats and args.format != "terminal":
        raise CuvetError("--stats is for --format terminal: the other forms have every finding")
    todo = session.plan(
        session.Request(
            paths=tuple(path for path in args.paths if path != STDIN),
            texts=_texts(args),
            select=tuple(args.select),
            ignore=tuple(args.ignore),
            baseline=args.baseline,
            write_baseline=args.write_baseline,
            diff=args.diff,
            injected=args.injected,
            cuda=configuration.release(args.cuda) if args.cuda is not None else None,
            processes=args.jobs,
            pool=_pool(args),
            cached=not args.no_cache,
        )
    )
    fixed = 0
    with _progress(len(todo.found.files)) as tell:
        outcome = session.check(todo, tell)
    if args.fix:
        outcome, fixed = session.fix(todo, outcome)
    if args.write_baseline and todo.baseline:
        baseline.write(todo.baseline, outcome.wanted, todo.root)
    report = session.report(todo, outcome, fixed)
    reports.write(check.document(report, stats=args.stats), args)
    return _exit_code_of(report, args)


def _pool(args: argparse.Namespace) -> Pool | None:
    if args.on is None:
        return None
    if args.jobs is not None:
        raise CuvetError("--jobs is for processes of this machine: leave it out with --on ray")
    import_numpy()
    from cuvet.launch import on_ray

    return on_ray.checked


def _texts(args: argparse.Namespace) -> dict[Path, bytes]:
    """Standard input, if it is to be checked, by the file that it stands for."""
    if STDIN not in args.paths:
        if args.stdin_filename is not None:
            raise CuvetError("--stdin-filename needs - among the paths")
        return {}
    if args.fix:
        raise CuvetError("--fix cannot edit standard input")
    from cuvet.source.tool.workers import MOST_BYTES

    return {args.stdin_filename or Path("stdin.cu"): sys.stdin.buffer.read(MOST_BYTES + 1)}


def _exit_code_of(report: CheckReport, args: argparse.Namespace) -> int:
    if report.unread:
        return UNREADABLE
    if not verdict.any_as_bad(report.findings, args.fail_on):
        return 0
    return verdict.FAILED if args.error_exitcode is None else int(args.error_exitcode)


@contextmanager
def _progress(files: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs, if that is a terminal. It is told how many more files are done."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from cuvet.reports.terminal import console

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    # Without a thread that refreshes it: processes are forked meanwhile.
    with Progress(*columns, console=console(sys.stderr), transient=True, auto_refresh=False) as progress:
        bar = progress.add_task("", total=files)

        def tell(count: int) -> None:
            progress.advance(bar, count)
            progress.refresh()

        yield tell
