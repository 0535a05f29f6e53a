"""Without --cuvet nothing is different."""

import os
import sys


def test_nothing_is_loaded():
    assert [name for name in sys.modules if name.startswith("cuvet.")] == ["cuvet.testing", "cuvet.testing.plugin"]
    assert not {"CUVET_TRACE", "LD_PRELOAD"} & os.environ.keys()
    assert "_native/libcuda.so.1" not in open("/proc/self/maps").read()
