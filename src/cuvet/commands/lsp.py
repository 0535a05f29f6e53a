"""``cuvet lsp``: a language server."""

import argparse

from cuvet import CuvetError

NAME = "lsp"
HELP = "Show what cuvet check finds in an editor: a language server on standard input and output."
EPILOG = """examples:
  cuvet lsp                        an editor starts it (see docs/editors.md)

exit codes: 0 the editor ended it; 2 a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="what it does anyway; some editors add it")


def run(args: argparse.Namespace) -> int:
    try:
        from cuvet.editor.server import serve
    except ImportError as error:
        raise CuvetError(f"cuvet lsp needs {error.name}: pip install 'cuvet[lsp]'") from error
    serve()
    return 0
