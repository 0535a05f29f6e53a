"""The exit code that a report gives where a script asks for one: ``--fail-on``, ``--error-exitcode``, ``--require-cuda``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.findings import Report

FAILED = 1
"""Without ``--error-exitcode``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the three options."""
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        help="exit with 1 if there is a finding of this severity or a worse one (default: error, if --error-exitcode is given)",
    )
    parser.add_argument(
        "--error-exitcode", metavar="N", type=exit_code_number, help="exit with N for that, and for --require-cuda"
    )
    parser.add_argument("--require-cuda", action="store_true", help="exit with 1 if no CUDA call was seen")


def exit_code_number(text: str) -> int:
    if not text.isdecimal() or int(text) > 255:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 255")
    return int(text)


def exit_code(args: argparse.Namespace, report: Report) -> int | None:
    """The exit code that the options ask for with this report; None if they ask for none."""
    from cuvet.findings import SEVERITIES

    least = args.fail_on or ("error" if args.error_exitcode is not None else None)
    failing = SEVERITIES[: SEVERITIES.index(least) + 1] if least else ()
    found = any(finding.severity in failing for finding in report.findings)
    if not found and not (args.require_cuda and saw_no_cuda(report)):
        return None
    return FAILED if args.error_exitcode is None else int(args.error_exitcode)


def saw_no_cuda(report: Report) -> bool:
    return not report.stats.get("calls")
