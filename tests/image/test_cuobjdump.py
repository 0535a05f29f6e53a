"""The same entries as cuobjdump's, in the same order. The wheel nvidia-cuda-cuobjdump has it, and so has every CUDA toolkit."""

from __future__ import annotations

import shutil

import pytest
from tests.device.support import TOOLKIT
from tests.hardware.inspect_cuobjdump import compare, difference, package_of, resources_differ, usage

from cuvet.image import files

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
        assert row["difference"] == "" and row["kernels"] >= 1


USAGE = """
Fatbin ptx code:
================
arch = sm_90

Fatbin elf code:
================
arch = sm_90
code version = [1,8]

Resource usage:
 Common:
  GLOBAL:901 CONSTANT[3]:512
 Function first:
  REG:44 STACK:16 SHARED:3656 LOCAL:0 CONSTANT[0]:976 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function helper:
  REG:24 STACK:0 SHARED:0 LOCAL:0 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def test_the_usage_of_each_entry_is_read() -> None:
    none, functions = usage(USAGE)
    assert none == {} and list(functions) == ["first", "helper"]
    assert functions["first"] | {"TEXTURE": 0} == functions["first"]
    assert [functions["first"][name] for name in ("REG", "STACK", "SHARED", "CONSTANT[0]")] == [44, 16, 3656, 976]


def test_the_usage_of_a_bare_cubin_is_one_entry() -> None:
    assert usage(USAGE[USAGE.index("Resource usage") :]) == usage(USAGE)[1:]


def test_another_number_is_a_difference(samples: Samples) -> None:
    """As many registers as ptxas says with -v, and not one more."""
    reading = files.read(samples.cubin("sm_90"))
    (entry,) = next(reading).entries
    told = {kernel: dict.fromkeys(("STACK", "SHARED", "LOCAL"), 0) for kernel in entry.kernels()}
    for name, kernel in entry.code().kernels.items():
        told[name] |= {"REG": kernel.registers, "CONSTANT[0]": kernel.constant}
    assert resources_differ([entry], [told]) == (2, "")
    told["first"]["REG"] += 1
    assert "first: cuvet {'registers'" not in resources_differ([entry], [told])[1]
    assert "'REG'" in resources_differ([entry], [told])[1]
    assert resources_differ([entry], [])[1] == "resource usage of 0 entries, not 1"


def test_the_order_counts() -> None:
    assert difference([("cubin", "sm_80"), ("cubin", "sm_90")], [("cubin", "sm_90"), ("cubin", "sm_80")]) == "the order"


def test_packages_are_named() -> None:
    assert package_of("/x/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12") == "nvidia/cublas"
    assert package_of("/x/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so") == "torch"
    assert package_of("/usr/local/cuda/lib64/libcublas.so") == "/usr/local/cuda/lib64"
