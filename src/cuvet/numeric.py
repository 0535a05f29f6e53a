"""Imports numpy without the threads of its OpenBLAS: one for each core, which cuvet has no work for."""

import importlib
import os

_THREADS = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """To be called before anything else imports it. The environment, which programs inherit, is afterwards as before."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
