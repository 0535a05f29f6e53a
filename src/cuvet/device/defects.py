"""Defects of the emulated device itself."""

import sys
import traceback

from cuvet.catalog import results as status

_reported: set[str] = set()


def defect(error: Exception) -> int:
    """Status of a call that a defect ended: CUDA_ERROR_UNKNOWN. It is told on stderr, once, and the device goes on."""
    if repr(error) not in _reported:
        _reported.add(repr(error))
        print("cuvet.device: a defect of the emulated device; please report it:", file=sys.stderr)
        traceback.print_exception(error)
    return status.UNKNOWN
