"""Writes what the commands found, and defines the options that choose a format. It does not analyse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TextIO

from cuvet import CuvetError
from cuvet.arguments import path

if TYPE_CHECKING:
    from cuvet.findings import Report

_ALL = ("run", "inject", "analyze", "ps", "who", "check", "inspect", "doctor", "rules", "explain")
FORMATS = {
    "terminal": _ALL,
    "json": _ALL,
    "sarif": ("run", "inject", "analyze", "check"),
    "concise": ("run", "inject", "analyze", "check"),
    "github": ("run", "inject", "analyze", "check"),
    "junit": ("run", "inject", "analyze"),
    "html": ("inject",),
    "markdown": ("run", "inject", "analyze"),
}
"""Each format with the commands that have it: a module of that name in ``reports/formats``."""


class Document(NamedTuple):
    """What a command found. ``content`` is what JSON has; ``show`` writes it for people, given a file and ``--color``."""

    content: object
    show: Callable[[TextIO, str], None]


def add_arguments(parser: argparse.ArgumentParser, command: str, *, output: bool = True) -> None:
    """Add ``--format``, ``--output`` unless the command only prints, and ``--color``."""
    formats = [name for name, commands in FORMATS.items() if command in commands]
    parser.add_argument("--format", choices=formats, default="terminal", help="form of the report (default: terminal)")
    if output:
        parser.add_argument("--output", metavar="FILE", type=path, help="write the report to FILE")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def add_contents(parser: argparse.ArgumentParser) -> None:
    """Add ``--leaks``, ``--memory`` and ``-v`` to a command that reports on a program."""
    parser.add_argument("--leaks", action="store_true", help="also report what was never freed")
    parser.add_argument(
        "--memory", action="store_true", help="also show what held memory, by place, at the peak and at the end"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every finding in full, and all that is known about its rule"
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add ``--select`` and ``--ignore``."""
    parser.add_argument(
        "--select",
        metavar="RULE",
        action="append",
        default=[],
        help="report these rules only: name, code, or a pattern such as 'stream-*'",
    )
    parser.add_argument("--ignore", metavar="RULE", action="append", default=[], help="leave these rules out")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options by which ``choice`` chooses the findings of a program."""
    parser.add_argument(
        "--config",
        metavar="FILE|off",
        type=path,
        help="read [tool.cuvet.run] or [run] of FILE, or of none (default: the nearest .cuvet.toml or pyproject.toml that has it)",
    )
    add_rules(parser)
    parser.add_argument(
        "--suppressions",
        metavar="FILE",
        type=path,
        action="append",
        default=[],
        help="leave out the findings that FILE names by rule, function, file or module; may be repeated",
    )
    parser.add_argument(
        "--write-suppressions",
        metavar="FILE",
        type=path,
        help="write a new FILE that names all findings of this report",
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR|JSON",
        type=path,
        help="leave out the findings of an earlier recording, or of its report in JSON",
    )


def write(document: Document, args: argparse.Namespace, file: TextIO | None = None) -> None:
    """Write it as the options of ``add_arguments`` say: to ``--output``, else to ``file`` (stdout if None).

    CuvetError if that cannot be written. An error of stdout, and one of a pipe that nobody reads, is left to the caller.
    """
    output = getattr(args, "output", None)
    write_as = import_module(f"cuvet.reports.formats.{args.format}").write
    try:
        with open(output, "w", encoding="utf-8") if output else nullcontext(file or sys.stdout) as out:
            write_as(document, out, args.color)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not (output or file):
            raise
        raise CuvetError(f"cannot write the report to {output or 'the terminal'}: {error.strerror}") from error


def of_run(report: Report, *, verbose: bool, recording: str | None = None, kept: int = 0) -> Document:
    """The report of a program. ``recording`` is the directory that the terminal's report names, to look at again, and ``kept`` the
    bytes that all recordings beside it take."""

    def show(out: TextIO, color: str) -> None:
        from cuvet.reports import summary  # start: not for JSON

        if summary.is_all(report) and summary.is_plain(out, color):
            summary.write(summary.lines(report, recording, kept), out)
            return
        from cuvet.reports import terminal  # start: rich, only for findings and colours

        terminal.render(report, terminal.console(out, color), recording=recording, kept=kept, verbose=verbose)

    return Document(report, show)
