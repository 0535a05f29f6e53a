"""cuvet: the validation layer for CUDA."""

from __future__ import annotations

__version__ = "0.1.0"


class CuvetError(Exception):
    """Something the user can fix. The command line prints it as one line and exits with 2."""
