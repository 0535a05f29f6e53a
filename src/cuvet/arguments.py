"""Types of arguments on the command line. An error says in one line what was given and what is wanted."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

_HEXADECIMAL = re.compile("(0[xX])?[0-9a-fA-F]+(_[0-9a-fA-F]+)*")


def path(text: str) -> Path:
    """A path. ``''`` is none: it comes from a variable that is not set, and ``Path("")`` would be the working directory."""
    if not text:
        raise ArgumentTypeError("'' is not a path")
    return Path(text)


def address(text: str) -> int:
    """An address in hexadecimal, as programs and logs write it: ``0x7f3e96000000``, ``7f3e_96000000``."""
    if not _HEXADECIMAL.fullmatch(text):
        raise ArgumentTypeError(f"{text[:100]!r} is not an address in hexadecimal")
    if (found := int(text, 16)) >= 1 << 64:
        raise ArgumentTypeError(f"{text[:100]!r} has more than 64 bits")
    return found


def number(least: int, most: int) -> Callable[[str], int]:
    """A whole number from ``least`` to ``most``."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text or repr(text)} is not a number from {least} to {most}")
        return int(text)

    return parse
