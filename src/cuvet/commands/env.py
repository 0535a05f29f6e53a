"""``cuvet env``: records every program that a shell starts."""

from __future__ import annotations

import argparse

from cuvet.commands import run as run_command

NAME = "env"
HELP = "Print the shell commands after which every program that the shell starts is recorded."
EPILOG = """examples:
  eval "$(cuvet env)"                        sh, bash, zsh: from here on, programs are recorded
  eval "$(cuvet env --off)"                  from here on, they are not; the variables are as before
  cuvet analyze                              the report on what was recorded
  eval "$(cuvet env --device emulated --trace rec.%h.%p)"
  cuvet env --shell fish | source
  cuvet env --shell fish --off | source

the recording's directory is named on stderr; it has a file for each process that calls CUDA, and only you can read it
an emulated device lives until the shell ends, or until --off

exit codes: 0 the commands are printed; 2 there is no such device, or a mistake in the use of cuvet: nothing is printed, one line says why
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--off", action="store_true", help="print the commands that undo it")
    parser.add_argument(
        "--shell", choices=("sh", "fish"), default="sh", help="for sh, bash and zsh, or for fish (default: sh)"
    )
    run_command.add_device(parser)
    run_command.add_recorded(parser)


def run(args: argparse.Namespace) -> int:
    asked = None if args.off else run_command.ask_for_gpus(args.device)
    try:
        from cuvet.launch import shell

        if args.off:
            shell.end(args.shell)
        else:
            shell.begin(args, asked)
        return 0
    finally:
        if asked is not None:
            asked.kill()  # nothing, if it has answered
