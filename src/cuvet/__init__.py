"""cuvet: the validation layer for CUDA."""

__version__ = "0.1.0"


class CuvetError(Exception):
    """Something the user can fix. The command line prints it as one line and exits with 2."""
