"""The command line: finds the command, parses its arguments, and reports a user's mistake in one line."""

import argparse
import atexit
import codecs
import difflib
import errno
import gc
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

from cuvet import CuvetError, __version__
from cuvet.printable import escaped_for_encoding, printable

COMMANDS = (
    "run",
    "inject",
    "env",
    "analyze",
    "report",
    "export",
    "live",
    "ps",
    "who",
    "check",
    "lsp",
    "inspect",
    "doctor",
    "rules",
    "explain",
    "jupyter",
    "completion",
)

DESCRIPTION = (
    "The validation layer for CUDA: names the object behind a failing call, and where it was created and destroyed."
)
EPILOG = """examples:
  cuvet run -- ./program            check a program while it runs
  cuvet analyze DIR                 report again from a recording
  cuvet report --html FILE DIR      a page to look at
  cuvet check src/                  check source code
  cuvet explain event-use-after-destroy

exit codes: 0 or 1 is what the command found (see cuvet COMMAND -h; `run` returns the program's); 2 the command could not work,
and one line says why; 130 it was interrupted; 141 the program that read its output had ended
"""

COLLECTION = 100_000
"""Objects made between two searches for cycles, after which Python looks at most others too. What a start makes, stays; with Python's 700
the searches take a sixth of it."""
UNABLE = 2
"""The exit code of a command that could not do its work: a mistake in its use, or what it needs cannot be read or written."""

CMAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake")


class Command(Protocol):
    NAME: str
    HELP: str
    EPILOG: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line that says what to do."""

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown:
            message = (
                f"unknown option {unknown[1]}" if unknown[1].startswith("-") else f"unexpected argument {unknown[1]}"
            )
            message += suggestion(unknown[1].partition("=")[0], self._option_string_actions)
        raise CuvetError(f"{message} (see {self.prog} -h)")


def suggestion(word: str, known: Sequence[str] | dict[str, argparse.Action]) -> str:
    """``; did you mean X?`` for the known word nearest to ``word``, or nothing. The dashes of options do not count as alike."""
    bare = {each.lstrip("-"): each for each in known}
    nearest = difflib.get_close_matches(word.lstrip("-"), bare, n=1)
    return f"; did you mean {bare[nearest[0]]}?" if nearest else ""


def load(name: str) -> Command:
    return cast(Command, importlib.import_module(f"cuvet.commands.{name}"))


def make_parser(names: Sequence[str] = COMMANDS) -> Parser:
    """The command line with these commands."""
    style = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="cuvet", description=DESCRIPTION, epilog=EPILOG, formatter_class=style, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"cuvet {__version__}")
    parser.add_argument(
        "--cmake-dir", action="version", version=CMAKE, help="show the directory of cuvet's CMake package and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for command in map(load, names):
        child = commands.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.HELP,
            epilog=command.EPILOG,
            formatter_class=style,
            allow_abbrev=False,
        )
        command.add_arguments(child)
        child.set_defaults(run=command.run, parser=child)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    word = next((argument for argument in argv if not argument.startswith("-")), None)
    if (
        word is not None
        and argv[0].startswith("-")
        and argv[0] not in ("-h", "--help", "--version", "--cmake-dir", "--")
    ):
        raise CuvetError(f"unknown option {argv[0]}; the options of a command follow it (see cuvet -h)")
    if word is not None and word not in COMMANDS:
        raise CuvetError(f"unknown command {word}{suggestion(word, COMMANDS)} (see cuvet -h)")
    parser = make_parser(COMMANDS if word is None or word != argv[0] else (word,))
    args, rest = parser.parse_known_args(argv)
    if rest:
        getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(rest)}")
    if args.command is None:
        raise CuvetError("no command: use cuvet run -- PROGRAM to check a program (see cuvet -h)")
    return args


def occupy_standard_streams() -> None:
    """Puts something in place of those that are closed, so that no other file gets their numbers. Programs do not inherit it."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def escape_what_has_no_encoding() -> None:
    """Lets stdout and stderr take any text, whatever the encoding of the locale or ``PYTHONIOENCODING`` has."""
    codecs.register_error("cuvet", escaped_for_encoding)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="cuvet")


def _unable(error: OSError) -> str:
    """What could not be done, in a line."""
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    gone = error.errno == errno.ENOENT  # getcwd(3) alone fails so without a name
    return "the current directory was deleted: change to another one" if gone else f"cannot write: {error.strerror}"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``cuvet``. Returns the exit code."""
    gc.set_threshold(COLLECTION)
    atexit.register(gc.freeze)  # else Python searches all for cycles when it ends
    occupy_standard_streams()
    escape_what_has_no_encoding()
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
        code = cast(int, args.run(args))
        sys.stdout.flush()
        return code
    except CuvetError as error:
        print(f"cuvet: {printable(str(error))}", file=sys.stderr)
        return UNABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        print(f"cuvet: {printable(_unable(error))}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNABLE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
