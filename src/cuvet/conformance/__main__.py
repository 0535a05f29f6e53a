"""``cuvet-conformance``: records random programs on this machine's driver, and compares recordings with the model."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError
from cuvet.cli import Parser

if TYPE_CHECKING:
    from cuvet.conformance.compare import Disagreement, Summary, Tally
    from cuvet.conformance.recording import Header, Session

DESCRIPTION = (
    "Plays random programs on this machine's CUDA driver, and compares what it did with what cuvet's model says."
)
EPILOG = """examples:
  cuvet-conformance record --seed 1 --programs 500 --output mine.jsonl.zst
  cuvet-conformance record --seed 1 --programs 200 --devices 2 --threads 4 --output two.jsonl.zst
  cuvet-conformance check mine.jsonl.zst two.jsonl.zst
"""
MOST_JOBS = 8
PROGRESS_EVERY_S = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0; 1 if the model does not say what the recordings say; 2 for a mistake in the use."""
    try:
        args = _parser().parse_args(argv)
        return _record(args) if args.command == "record" else _check(args)
    except CuvetError as error:
        print(f"cuvet-conformance: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> Parser:
    style = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="cuvet-conformance", description=DESCRIPTION, epilog=EPILOG, formatter_class=style)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    recorder = commands.add_parser(
        "record", help="play random programs on this machine's driver", epilog=EPILOG, formatter_class=style
    )
    jobs = min(MOST_JOBS, os.cpu_count() or 1)
    recorder.add_argument("--seed", type=int, default=0, help="the programs are drawn from this number (default: 0)")
    recorder.add_argument("--programs", type=_count, default=100, help="how many, at least (default: 100)")
    recorder.add_argument("--devices", type=_count, default=1, help="GPUs that a program uses (default: 1)")
    recorder.add_argument("--threads", type=_count, default=1, help="threads that a program uses (default: 1)")
    recorder.add_argument("--seconds", type=float, default=math.inf, help="stop after so long (default: never)")
    recorder.add_argument("--jobs", type=_count, default=jobs, help=f"processes at a time (default: {jobs})")
    recorder.add_argument("--output", type=Path, required=True, metavar="FILE", help="a new file")
    checker = commands.add_parser(
        "check", help="compare recordings with the model; needs no GPU", epilog=EPILOG, formatter_class=style
    )
    checker.add_argument("files", type=Path, nargs="+", metavar="FILE")
    checker.add_argument("--show", type=int, default=5, help="kinds of disagreement to print as Python (default: 5)")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def _record(args: argparse.Namespace) -> int:
    from cuvet.conformance.generate import generator
    from cuvet.conformance.machine import machine
    from cuvet.conformance.play import TIMEOUT_S, record
    from cuvet.conformance.recording import write

    if args.output.exists():
        raise CuvetError(f"{args.output} exists; a recording is never overwritten: name another")
    if not os.access(args.output.absolute().parent, os.W_OK):
        raise CuvetError(f"{args.output.absolute().parent} is no folder that can be written to")
    header = machine()
    if args.devices > len(header.gpus):
        raise CuvetError(f"there are {len(header.gpus)} GPUs here, not {args.devices}")
    played = record(generator(args.devices, args.threads), itertools.count(args.seed), args.jobs)
    sessions = list(_until(played, args.programs, args.seconds))
    write(args.output, header, sessions)
    for session in sessions:
        if session.hung:
            print(f"seed {session.seed}: {session.hung} did not return within {TIMEOUT_S:.0f} s", file=sys.stderr)
    print(f"{args.output}: {_size(sessions)}", file=sys.stderr)
    return 0


def _until(played: Iterable[Session], most: int, seconds: float) -> Iterable[Session]:
    """Sessions until there are that many programs, or the time is over; tells how it goes."""
    start = told = time.monotonic()
    every = 0.5 if sys.stderr.isatty() else PROGRESS_EVERY_S
    sessions: list[Session] = []
    programs = 0
    for session in played:
        yield session
        sessions.append(session)
        programs += len(session.starts)
        now = time.monotonic()
        if now - told > every:
            told = now
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{now - start:.0f} s: {_size(sessions)}", end=end, file=sys.stderr, flush=True)
        if programs >= most or now - start > seconds:
            return


def _size(sessions: Sequence[Session]) -> str:
    programs, calls = sum(len(session.starts) for session in sessions), sum(len(session.rows) for session in sessions)
    crashed = sum(bool(session.rows) and session.rows[-1].status is None for session in sessions)
    return f"{programs} programs in {len(sessions)} processes, of which {crashed} died; {calls} calls"


def _check(args: argparse.Namespace) -> int:
    from cuvet.conformance.compare import Summary, tally
    from cuvet.conformance.recording import read

    total = Summary()
    headers: dict[int, Header] = {}
    for path in args.files:
        header, sessions = read(path)
        found = tally(header, sessions)
        headers.update((id(disagreement), header) for disagreement in found.disagreements)
        total.include(found)
        print(f"{path}: {', '.join(dict.fromkeys(header.gpus))}, driver {header.driver_release}, {header.date}")
    _print_figures(total)
    _print_disagreements(total.disagreements, headers, args.show)
    return 0 if total.all.calls and reaches_goals(total) else 1


def reaches_goals(summary: Summary) -> bool:
    from cuvet.conformance.compare import LEAST_AGREEMENT, LEAST_AGREEMENT_OF_A_KIND, MOST_UNDEFINED

    return (
        summary.all.agreement >= LEAST_AGREEMENT
        and summary.all.share_undefined <= MOST_UNDEFINED
        and all(count.agreement >= LEAST_AGREEMENT_OF_A_KIND for count in summary.kinds.values())
    )


def _print_figures(summary: Summary) -> None:
    for kind, count in sorted(summary.kinds.items()):
        print(f"  {kind.noun:22}{_figures(count)}")
    print(f"  {'all':22}{_figures(summary.all)}")


def _figures(count: Tally) -> str:
    several = count.several / count.calls if count.calls else 0
    return (
        f"{count.programs:7} programs {count.calls:8} calls  agreement {count.agreement:8.3%}"
        f"  undefined {count.share_undefined:7.3%}  several statuses allowed {several:7.3%}"
    )


def _print_disagreements(found: list[Disagreement], headers: dict[int, Header], most: int) -> None:
    from cuvet.conformance.python import python
    from cuvet.conformance.shrink import shrink

    alike: dict[tuple[object, ...], list[Disagreement]] = {}
    for disagreement in found:
        row = disagreement.row
        key = (row.name, row.status, disagreement.predicted, tuple(disagreement.outputs))
        alike.setdefault(key, []).append(disagreement)
    for same in sorted(alike.values(), key=len, reverse=True)[:most]:
        first = same[0]
        print(f"\n# {len(same)} times; here seed {first.session.seed}, call {first.index + 1}")
        print(python(shrink(headers[id(first)], first)))
    if len(alike) > most:
        print(f"\n{len(alike) - most} more kinds of disagreement (--show)")


if __name__ == "__main__":
    raise SystemExit(main())
