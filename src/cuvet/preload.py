"""``python -m cuvet.preload SCRIPT ARGS…``, ``python -m cuvet.preload -m MODULE ARGS…``: what ``cuvet run -- python SCRIPT ARGS…`` does.

Python starts once more, under the shim, with the options that it was given itself. Options of ``cuvet run`` stand before the script.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cuvet import cli

USAGE = """usage: python -m cuvet.preload [options of cuvet run] SCRIPT ARGS…
       python -m cuvet.preload [options of cuvet run] -m MODULE ARGS…

Runs a Python program and reports its mistakes with CUDA, as cuvet run -- python SCRIPT ARGS… does (see cuvet run -h).
A MODE of --protect and an N of --narrow are written with an equals sign: --protect=uses.
"""
_NAME = "cuvet.preload"


def main() -> int:
    """The exit code of ``cuvet run``."""
    given = sys.argv[1:]
    options, program = split(given)
    if options and options[-1] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if not program:
        print(
            f"cuvet: no script to run: use python -m {_NAME} SCRIPT ARGS… (see python -m {_NAME} -h)", file=sys.stderr
        )
        return cli.UNABLE
    python = [sys.executable, *own_options(sys.orig_argv[: len(sys.orig_argv) - len(given)])]
    return cli.main(["run", *options, "--", *python, *program])


def split(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of ``cuvet run``, and what follows them: a script, or Python's ``-m``, ``-c`` or ``-``."""
    options = cli.make_parser(("run",)).parse_args(["run"]).parser._option_string_actions
    at = 0
    while at < len(given) and given[at].startswith("-") and not given[at].startswith(("-m", "-c")) and given[at] != "-":
        if given[at] == "--":
            return list(given[:at]), list(given[at + 1 :])
        option = options.get(given[at])
        takes_next = option is not None and option.nargs is None
        at += 2 if takes_next else 1
    return list(given[:at]), list(given[at:])


def own_options(argv: Sequence[str]) -> list[str]:
    """Those of Python, of a command line that ends with ``-m cuvet.preload``, which may be written together with others."""
    *options, last = argv[1:]
    if last == _NAME:
        last = options.pop()
    last = last.removesuffix(_NAME).removesuffix("m")
    return options if last == "-" else [*options, last]


if __name__ == "__main__":
    sys.exit(main())
