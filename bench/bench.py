"""What cuvet costs on this machine: ``python bench/bench.py``, or ``make bench``.

Runs with and without cuvet take turns, and each figure has the quartiles of its rounds. What needs a GPU is skipped where there is none.
The last figures of all machines are kept in bench/figures.json; docs/cost.md is made of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from measuring import Limits, NotHere, compared, gpus, where
from rows import ROWS, Row

Figures = dict[str, dict[str, object]]
KEPT = Path(__file__).with_name("figures.json")


def read(file: Path) -> Figures:
    try:
        figures: Figures = json.loads(file.read_text()) if file.exists() else {}
    except ValueError as error:
        raise SystemExit(f"{file} is no file of figures: {error}") from None
    return figures


def write(file: Path, figures: Figures) -> None:
    """In the order of the rows, a figure a line; those of rows that are gone are not kept."""
    lines = [
        f"{json.dumps(what, ensure_ascii=False)}: {json.dumps(figures[what], ensure_ascii=False)}"
        for row in ROWS
        for what in row.figures
        if what in figures
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def chosen(only: str) -> list[Row]:
    """The rows of a part; ``gpu`` are those that need one. Any other words: the rows with such a figure."""
    words = only.lower()
    if words == "gpu":
        return [row for row in ROWS if row.gpus]
    of_part = [row for row in ROWS if row.part == words]
    return of_part or [row for row in ROWS if any(words in what.lower() for what in row.figures)]


def reason_to_skip(row: Row, args: argparse.Namespace, here: int, end: float) -> str:
    if row.long and not args.long:
        return "only with --long"
    if row.gpus > here:
        return f"needs {row.gpus} GPU{'s' * (row.gpus > 1)}, and {here or 'none'} is here"
    return "no time left (--minutes)" if time.monotonic() > end else ""


def measured(row: Row, args: argparse.Namespace) -> Figures:
    found = row.measure(Limits(args.rounds or row.rounds, row.seconds, args.scale))
    return {what: {"unit": each.unit, **compared(found, what), **where()} for what, each in row.figures.items()}


def lines_of(what: str, figure: dict[str, object]) -> str:
    parts = []
    for name, quartiles in figure.items():
        if isinstance(quartiles, list):
            low, middle, high = quartiles
            parts.append(f"{name} {middle:,g} [{low:,g}, {high:,g}]")
    return f"{what}, {figure['unit']}: " + "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what cuvet costs on this machine.")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="rows with this in the name of a figure, a part, or `gpu`"
    )
    parser.add_argument("--rounds", type=int, help="so many rounds of each row, if its time suffices")
    parser.add_argument(
        "--scale", type=float, default=1, help="how much of its usual work a run does (default: %(default)s)"
    )
    parser.add_argument("--minutes", type=float, default=5, help="then no further row begins (default: %(default)s)")
    parser.add_argument("--long", action="store_true", help="also the rows that take minutes and gigabytes")
    parser.add_argument(
        "--output", type=Path, help="file that keeps the figures (default: bench/figures.json, nothing with --scale)"
    )
    parser.add_argument(
        "--merge", type=Path, nargs="+", metavar="FILE", help="measure nothing, take the figures of files"
    )
    parser.add_argument("--list", action="store_true", help="show the parts and their figures")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{row.part}: {what}" for row in chosen(args.only) for what in row.figures))
        return 0
    output = args.output or (KEPT if args.scale == 1 else None)
    figures = read(output) if output else {}
    for file in args.merge or ():
        figures |= read(file)
    if args.merge:
        write(output or KEPT, figures)
        return 0
    rows, here, end = chosen(args.only), len(gpus()), time.monotonic() + 60 * args.minutes
    if not rows:
        print(f"no row has {args.only!r}: see --list", file=sys.stderr)
        return 2
    failed = False
    for row in rows:
        why = reason_to_skip(row, args, here, end)
        try:
            found = {} if why else measured(row, args)
        except NotHere as missing:
            why, found = str(missing), {}
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            why, found, failed = f"it failed: {error}", {}, True
        for what in row.figures if why else ():
            print(f"{what}: skipped, {why}", file=sys.stderr)
        for what, figure in found.items():
            print(lines_of(what, figure), flush=True)
        figures |= found
        if output:
            write(output, figures)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
