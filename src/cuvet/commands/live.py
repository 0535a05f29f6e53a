"""``cuvet live``: a page on the terminal that shows what a program does while `cuvet run` records it."""

import argparse

from cuvet.numeric import import_numpy

NAME = "live"
HELP = "Show on the terminal what a recorded program does while it runs: findings, objects, memory, calls and threads."
EPILOG = """examples:
  cuvet live                        the program of yours that `cuvet run` started last and that still runs
  cuvet live 4711                   a process, or the `cuvet run` that started it
  cuvet live rec.0                  a directory of a recording
  cuvet live | cat                  no terminal: what is there now, once

keys: q quit, arrows or j and k choose a finding, Enter shows it whole, p pauses the page (not the program). The recording is only read:
the program does not notice.

exit codes: 0, whatever was found; 2 there is no such recording, or a mistake in the use of cuvet; 130 it was interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="DIR|PID",
        nargs="?",
        help="directory of a recording, or a process (default: the newest recording of yours whose program runs)",
    )


def run(args: argparse.Namespace) -> int:
    import_numpy()
    from cuvet.commands.analyze import sources
    from cuvet.launch import watch

    directory = watch.directory_of(args.what)
    with sources(None, [directory]):
        if watch.is_interactive():
            watch.show(directory)
        else:
            watch.print_once(directory)
    return 0
