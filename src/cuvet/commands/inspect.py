"""``cuvet inspect``: says which device code files hold, and which GPUs it is for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError, arguments, reports
from cuvet.image import compatibility, files
from cuvet.image.compatibility import Driver
from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.image.inspection import Inspection, Question, inspect

if TYPE_CHECKING:
    from cuvet.doctor.state import Cuda

NAME = "inspect"
HELP = "List the device code that files hold, and say which GPUs and drivers it is for."
EPILOG = """examples:
  cuvet inspect ./program libkernels.so
  cuvet inspect --gpu sm_90 --driver 535 ./program     exit code 1 if it cannot run there
  cuvet inspect --gpu this --driver this .venv/lib     on this machine
  cuvet inspect --kernels --format json torch.whl
  cuvet inspect --extract 3 libkernels.so              writes libkernels.3.sm_90.cubin

exit codes: 0 everything was read; 1 a file has no code for a --gpu (not with --gpu all); 2 something could not be read, the report
cannot be written, or a mistake in the use of cuvet
"""

UNUSABLE, UNREADABLE = 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="FILE",
        nargs="+",
        type=arguments.path,
        help="executable, shared object, object file, archive, fatbin, cubin, PTX, LTO-IR, wheel or directory",
    )
    parser.add_argument(
        "--gpu", metavar="sm_XX|all|this", action="append", default=[], help="say whether the code runs on this GPU"
    )
    parser.add_argument(
        "--driver",
        metavar="VERSION|this",
        help="driver that loads it: 580.65.06, 580, or a CUDA version such as 13.0 (default: a new one)",
    )
    parser.add_argument("--entries", "-v", action="store_true", help="list every entry, not only how many there are")
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="list the kernels, with registers, shared memory and stack, and the toolkit",
    )
    parser.add_argument(
        "--extract",
        metavar="N|all",
        action="append",
        default=[],
        help="write entry N of --entries, decompressed, to a file in the current directory",
    )
    reports.add_arguments(parser, NAME)


def run(args: argparse.Namespace) -> int:
    from cuvet.reports import inspect as report

    gpus = args.gpu or (["all"] if args.driver else [])
    question = Question(
        gpus=tuple(name for gpu in gpus for name in _gpus(gpu)),
        driver=_driver(args.driver) if args.driver else None,
        kernels=args.kernels,
    )
    with _progress() as tell:
        found = inspect(args.paths, question, tell)
    written = extract(args.paths, args.extract) if args.extract else []
    reports.write(report.document(found, entries=args.entries, kernels=args.kernels), args)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    return _exit_code(found, decided="all" not in gpus)


def extract(paths: Sequence[Path], numbers: Sequence[str]) -> list[str]:
    """Writes these entries of the only file, none over an existing file. CuvetError if there is no such entry, or it cannot be written."""
    wanted = {word: int(word) if word.isdecimal() else 0 for word in numbers if word != "all"}
    for word, number in wanted.items():
        if not number:
            raise CuvetError(f"--extract {word}: give the number that --entries lists, or all")
    path = paths[0]
    if len(paths) != 1 or not path.is_file():
        raise CuvetError("--extract: name one file")
    reading = files.read(path)  # the entries' code can be read as long as this goes on
    contents = next(reading)
    if contents.path != str(path):
        raise CuvetError(f"--extract: {path} holds several files; unpack it and name one")
    if missing := [number for number in wanted.values() if number > len(contents.entries)]:
        raise CuvetError(f"--extract {missing[0]}: {path} has {len(contents.entries)} entries")
    return [
        _extracted(entry, number, path)
        for number, entry in enumerate(contents.entries, 1)
        if "all" in numbers or number in wanted.values()
    ]


def _extracted(entry: Entry, number: int, path: Path) -> str:
    name = f"{path.name.partition('.')[0]}.{number}.{entry.arch}.{entry.kind}"
    try:
        data = entry.data()
        with open(name, "xb") as file:
            file.write(data)
    except (ImageError, OSError) as error:
        raise CuvetError(f"--extract {number}: {name}: {error}") from error
    return name


def _exit_code(found: Inspection, decided: bool) -> int:
    if any(file.problems for file in found.files):
        return UNREADABLE
    fails = any(verdict.outcome == "fails" for file in found.files for verdict in file.verdicts)
    return UNUSABLE if fails and decided else 0


def _gpus(word: str) -> Iterator[str]:
    if word == "all":
        yield from (f"sm_{each.sm}" for each in compatibility.architectures() if each.last_branch is None)
    elif word == "this":
        capabilities = {each.compute_capability for each in _this_machine().devices if each.compute_capability}
        if not capabilities:
            raise CuvetError(
                "--gpu this: no GPU can be used here; name one, for example --gpu sm_90 (cuvet doctor says why)"
            )
        yield from (f"sm_{major}{minor}" for major, minor in sorted(capabilities))
    else:
        target = compatibility.target(word)
        yield f"sm_{target.sm}"


def _driver(word: str) -> Driver:
    if word != "this":
        return compatibility.driver_of(word)
    if not _this_machine().version:
        raise CuvetError(
            "--driver this: there is no libcuda.so.1 here; name a version, for example --driver 580 (cuvet doctor says why)"
        )
    return compatibility.driver_of_number(_this_machine().version)


@cache
def _this_machine() -> Cuda:
    from cuvet.doctor import state

    return state.read(os.environ).cuda


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What is told is shown on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda path: None
        return
    from rich.text import Text

    from cuvet.printable import printable
    from cuvet.reports.terminal import console

    with console(sys.stderr).status("reading") as status:
        yield lambda path: status.update(Text(f"reading {printable(os.path.basename(path))}"))
