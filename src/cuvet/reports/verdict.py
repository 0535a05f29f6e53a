"""The exit code that a report gives where a script asks for one: ``--fail-on``, ``--error-exitcode``, ``--require-cuda``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cuvet.arguments import number

if TYPE_CHECKING:
    from cuvet.findings import Finding, Report

LEAST = ("error", "warning")
"""What ``--fail-on`` takes."""
FAILED = 1
"""Without ``--error-exitcode``."""


def add_fail_on(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add ``--fail-on``, which nobody need give if there is a ``default``, and ``--error-exitcode``."""
    usual = default or "error, if --error-exitcode is given"
    parser.add_argument(
        "--fail-on",
        choices=LEAST,
        default=default,
        help=f"exit with 1 if there is a finding of this severity or a worse one (default: {usual})",
    )
    parser.add_argument("--error-exitcode", metavar="N", type=number(0, 255), help="exit with N instead of 1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all three options."""
    add_fail_on(parser)
    parser.add_argument("--require-cuda", action="store_true", help="exit with 1 if no CUDA call was seen")


def exit_code(args: argparse.Namespace, report: Report) -> int | None:
    """The exit code that the options ask for with this report; None if they ask for none."""
    least = args.fail_on or ("error" if args.error_exitcode is not None else None)
    found = least is not None and any_as_bad(report.findings, least)
    if not found and not (args.require_cuda and not report.stats.get("calls")):
        return None
    return FAILED if args.error_exitcode is None else int(args.error_exitcode)


def any_as_bad(findings: Iterable[Finding], least: str) -> bool:
    """Whether one of them has the severity ``least`` or a worse one."""
    from cuvet.findings import SEVERITIES  # start: not for the help

    return any(SEVERITIES.index(finding.severity) <= SEVERITIES.index(least) for finding in findings)
