"""What the dynamic loader reads of a machine's ELF files. Each file is read once."""

import errno
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TypeVar

from cuvet.doctor.machine import Machine
from cuvet.image import dynamic
from cuvet.image.errors import ImageError
from cuvet.image.source import Source, opened

T = TypeVar("T")


@dataclass(frozen=True)
class Elf(dynamic.Dynamic):
    """``path`` is as it was asked for."""

    path: str = ""


@cache
def read(machine: Machine, path: str) -> Elf | None:
    """None if it is not an ELF file, or a malformed one. OSError if it cannot be opened."""
    return _parsed(machine, path, lambda source: Elf(path=path, **asdict(dynamic.read(source))))


@cache
def symbols(machine: Machine, path: str, *, defined: bool) -> frozenset[str]:
    """The dynamic symbols that the file defines, or needs of other libraries; empty if it is not an ELF file."""
    if not defined:
        return frozenset(_parsed(machine, path, dynamic.undefined) or ())
    found = _parsed(machine, path, dynamic.symbols) or ()
    return frozenset(symbol.name for symbol in found if symbol.defined)


def _parsed(machine: Machine, path: str, parse: Callable[[Source], T]) -> T | None:
    try:
        with opened(machine.host_path(path)) as source:
            return parse(source)
    except ImageError:
        return None
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EISDIR):  # which say that it is no regular file
            raise
        return None
