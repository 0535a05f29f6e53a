"""Without --cuvet nothing is different."""

import os
import sys
from pathlib import Path


def test_nothing_is_loaded():
    assert [name for name in sys.modules if name.startswith("cuvet.")] == ["cuvet.testing", "cuvet.testing.plugin"]
    assert not {"CUVET_TRACE", "LD_PRELOAD"} & os.environ.keys()
    assert "_native/libcuda.so.1" not in Path("/proc/self/maps").read_text()
