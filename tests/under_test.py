"""The native libraries that tests run programs over: those of the source tree, or those that ``make sanitized`` has built."""

from __future__ import annotations

import os
from pathlib import Path

import cuvet

NATIVE = Path(os.environ.get("CUVET_TEST_NATIVE") or Path(cuvet.__file__).parent / "_native")
SHIM = NATIVE / "libcuda.so.1"
RUNTIME = os.environ.get("CUVET_TEST_RUNTIME", "")
"""The sanitizer's own library, which has to be loaded first."""
PRELOAD = ":".join(filter(None, (RUNTIME, str(SHIM))))
OPTIONS = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
