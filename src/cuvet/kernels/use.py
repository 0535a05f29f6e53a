"""What kernels do with the memory that their parameters point to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cuvet.kernels.follow import Dimensions
from cuvet.kernels.text import Program


class Use(NamedTuple):
    """What is done with memory that the 8 bytes of ``parameter`` from ``offset`` on point to."""

    parameter: int
    offset: int
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class KernelUse:
    """``uses``: all words of the parameters through which a kernel may access memory. ``elsewhere``: it may also access memory through
    pointers that it finds in memory."""

    uses: tuple[Use, ...] = ()
    elsewhere: bool = False


class Span(NamedTuple):
    """Bytes [start, end) that a thread of a launch certainly accesses."""

    start: int
    end: int
    writes: bool


def use_of(program: Program, name: str) -> KernelUse | None:
    """None if the text does not define the kernel, or cannot be read."""
    return None


def spans_of(
    program: Program, name: str, arguments: tuple[bytes, ...], grid: Dimensions, block: Dimensions
) -> tuple[Span, ...] | None:
    """What the corner threads of a launch access; None if they could not be followed to their ends."""
    return None
