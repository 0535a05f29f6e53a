"""The same entries as cuobjdump's, in the same order. The wheel nvidia-cuda-cuobjdump has it, and so has every CUDA toolkit."""

from __future__ import annotations

import shutil

import pytest
from tests.device.support import TOOLKIT
from tests.hardware.inspect_against_cuobjdump import compare

from .samples import Samples

CUOBJDUMP = shutil.which(TOOLKIT / "bin" / "cuobjdump") or shutil.which("cuobjdump")


@pytest.mark.skipif(CUOBJDUMP is None, reason="there is no cuobjdump")
def test_entries_are_those_of_cuobjdump(samples: Samples) -> None:
    one = samples.fatbin("sm_75 cubin", "sm_90a cubin", "sm_80 ptx", mode="none", name="one")
    two = samples.fatbin("sm_100f cubin", "sm_120f ptx", "sm_90a ptx", "sm_90 ltoir", name="two")
    object_, relocatable = samples.object(one, two), samples.object(two, section="__nv_relfatbin", name="relocatable.o")
    libraries = [samples.linked(relocatable, object_, name="library.so"), samples.archive(relocatable, object_)]
    for file in (one, two, object_, relocatable, *libraries, samples.cubin("sm_100a"), samples.cubin("sm_90")):
        row = compare(str(CUOBJDUMP), file)
        assert row["entries"] and row["listed"]
        assert row["difference"] == ""
