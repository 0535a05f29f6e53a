"""``cuvet jupyter``: a kernel of Jupyter whose CUDA calls are recorded."""

import argparse
from collections.abc import Iterator

from cuvet import arguments
from cuvet.commands import run as run_command

NAME = "jupyter"
HELP = "Install a Jupyter kernel whose CUDA calls are recorded."
EPILOG = """examples:
  cuvet jupyter install                                  for this user; then choose "Python 3 (cuvet)" in a notebook
  cuvet jupyter install --prefix /opt/venv
  cuvet jupyter install --device emulated --races
  cuvet analyze                                          the report on the newest recording

it needs ipykernel (pip install 'cuvet[jupyter]'), and is for the Python that cuvet is installed for; installing it again replaces it

exit codes: 0 it is installed, and its directory printed; 2 it is not, or a mistake in the use of cuvet: one line says why
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("install",), help="tell Jupyter of the kernel")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument(
        "--prefix",
        metavar="DIR",
        type=arguments.path,
        help="below DIR/share/jupyter, for example of a virtual environment",
    )
    _add_recorded(parser)


def _add_recorded(parser: argparse.ArgumentParser) -> None:
    run_command.add_device(parser)
    run_command.add_recorded(parser)


def run(args: argparse.Namespace) -> int:
    from cuvet import jupyter

    print(jupyter.install(args.prefix, list(_options(args))))
    return 0


def _options(args: argparse.Namespace) -> Iterator[str]:
    """Those that are not as by default, as they are written. The kernel starts in the directory of its notebook."""
    parser = argparse.ArgumentParser(add_help=False)
    _add_recorded(parser)
    for name, default in vars(parser.parse_args([])).items():
        value = getattr(args, name)
        if value is True:
            yield f"--{name}"
        elif value != default:
            yield f"--{name}={value.absolute() if name == 'trace' else value}"
