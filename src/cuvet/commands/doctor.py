"""``cuvet doctor``: says what is wrong with this machine before any CUDA call."""

import argparse
import os
import re
import shutil
from collections.abc import Mapping

from cuvet import CuvetError, reports

NAME = "doctor"
HELP = "Find what is wrong with this machine: driver, devices, libraries, frameworks, limits."
EPILOG = """examples:
  cuvet doctor                       this machine, and the packages of the python3 in PATH
  cuvet doctor --python .venv/bin/python
  cuvet doctor -- ./program          what this program would load
  cuvet doctor -v                    every probe, and what it examined
  cuvet doctor --summary             to paste into an issue

exit codes: 0 no error was found; 1 an error was found; 2 a mistake in the use of cuvet, or the report cannot be written
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] [-- PROGRAM ARGS…]"
    parser.add_argument(
        "--python", metavar="EXE", help="the Python whose packages are examined (default: python3 in PATH)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show every probe and what it examined")
    parser.add_argument(
        "--summary",
        action="store_true",
        help="what to paste into an issue: system, driver, packages, libraries, problems",
    )
    reports.add_arguments(parser, NAME)
    parser.add_argument("program", metavar="PROGRAM ARGS…", nargs=argparse.REMAINDER, help="a program, after --")


def run(args: argparse.Namespace) -> int:
    from cuvet.doctor.diagnosis import diagnose
    from cuvet.doctor.machine import Machine
    from cuvet.doctor.summary import lines as summary_lines
    from cuvet.launch.environment import users_own
    from cuvet.reports import doctor as report

    environ = users_own(os.environ)
    argv = args.program[1:] if args.program[:1] == ["--"] else args.program
    program = _executable(argv[0], environ) if argv else None
    python = args.python if args.python is None else _executable(args.python, environ)
    if python is None and program:
        python = _python_of(program, environ)
    machine = Machine(environ=environ, program=program, python=python)
    diagnosis = diagnose(machine)
    summary = tuple(summary_lines(machine, diagnosis)) if args.summary else ()
    reports.write(report.document(diagnosis, every_probe=args.verbose, summary=summary), args)
    return 1 if any(diagnosis.of("error")) else 0


def _executable(name: str, environ: Mapping[str, str]) -> str:
    path = shutil.which(name, path=environ.get("PATH"))
    if path is None:
        raise CuvetError(f"{name or repr(name)}: {'not executable' if os.path.exists(name) else 'command not found'}")
    return os.path.abspath(path)


def _python_of(program: str, environ: Mapping[str, str]) -> str | None:
    """The interpreter that the program is, or that its first line names; None if it is not one of Python."""
    if re.fullmatch(r"(?:python|pypy)[\d.]*t?", os.path.basename(program)):
        return program
    with open(program, "rb") as file:
        first = os.fsdecode(file.readline(256))
    words = first[2:].split() if first.startswith("#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words or "python" not in os.path.basename(words[0]):
        return None
    return _executable(words[0], environ)
