"""Short forms for how to tell a cause: what cuvet's own commands show if it is the cause."""

from __future__ import annotations

from cuvet.knowledge.cause import Tell


def doctor(shows: str) -> Tell:
    """On this machine, without a call to CUDA from the program."""
    return Tell("cuvet doctor", shows)


def run(shows: str) -> Tell:
    """In the program's calls."""
    return Tell("cuvet run -- PROGRAM", shows)


def inspect_gpu(shows: str) -> Tell:
    """In a file with device code, for the GPU of this machine."""
    return Tell("cuvet inspect FILE --gpu this", shows)


def inspect_driver(shows: str) -> Tell:
    """In a file with device code, for the driver of this machine."""
    return Tell("cuvet inspect FILE --gpu this --driver this", shows)
