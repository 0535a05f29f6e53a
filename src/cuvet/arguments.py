"""Types of arguments on the command line. An error says in one line what was given and what is wanted."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def path(text: str) -> Path:
    """A path. ``''`` is none: it comes from a variable that is not set, and ``Path("")`` would be the working directory."""
    if not text:
        raise ArgumentTypeError("'' is not a path")
    return Path(text)


def number(least: int, most: int) -> Callable[[str], int]:
    """A whole number from ``least`` to ``most``."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text or repr(text)} is not a number from {least} to {most}")
        return int(text)

    return parse
