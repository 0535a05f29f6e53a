"""Renderings of a ``Report``, and the options with which every command chooses one. No analysis here."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cuvet import CuvetError

if TYPE_CHECKING:
    from cuvet.findings import Report

FORMATS = ("terminal", "json")
REPORT_FORMATS = (*FORMATS, "sarif")
"""Those of a ``Report``."""


def add_arguments(parser: argparse.ArgumentParser, formats: tuple[str, ...] = FORMATS) -> None:
    """Add ``--format``, ``--output`` and ``--color``."""
    parser.add_argument("--format", choices=formats, default="terminal", help="form of the report (default: terminal)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the report to FILE")
    add_color(parser)


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add ``-v`` to a command that reports findings."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every finding in full, and all that is known about its rule"
    )


def add_color(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def write(
    report: Report, args: argparse.Namespace, file: TextIO | None = None, recording: str | None = None, kept: int = 0
) -> None:
    """Write the report as the options of ``add_arguments`` and ``add_verbose`` say: to ``--output``, else to ``file`` (stderr if None).

    ``recording`` is the directory that the terminal's report names, to look at again, and ``kept`` the bytes that all
    recordings beside it take.
    """
    from cuvet.reports import json, terminal

    try:
        with open(args.output, "w", encoding="utf-8") if args.output else nullcontext(file or sys.stderr) as out:
            if args.format == "json":
                out.write(json.document(report) + "\n")
            elif args.format == "sarif":
                from cuvet.reports import sarif

                out.write(sarif.of_run(report, Path.cwd()))
            else:
                output = terminal.console(out, args.color)
                terminal.render(report, output, recording=recording, kept=kept, verbose=args.verbose)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CuvetError(f"cannot write the report to {args.output or 'the terminal'}: {error.strerror}") from error
