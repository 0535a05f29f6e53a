"""Which parameters of CUDA's functions the arguments and the results of their Python bindings are."""

from __future__ import annotations

import pytest

from cuvet.source.calls import meaning
from cuvet.source.languages.python_names import Api, Names, Style, shape


@pytest.mark.parametrize(
    ("name", "style", "given", "outputs"),
    [
        ("cudaMalloc", "tuple", ["size"], ["devPtr"]),
        ("cudaMallocPitch", "tuple", ["width", "height"], ["devPtr", "pitch"]),
        ("cudaFree", "tuple", ["devPtr"], []),
        ("cudaMemcpyAsync", "tuple", ["dst", "src", "count", "kind", "stream"], []),
        ("cudaEventElapsedTime", "tuple", ["start", "end"], ["ms"]),
        ("cudaStreamEndCapture", "tuple", ["stream"], ["pGraph"]),
        ("cudaIpcGetMemHandle", "tuple", ["devPtr"], []),
        ("cuCtxCreate", "tuple", ["ctxCreateParams", "flags", "dev"], ["pctx"]),
        ("cuCtxCreate", "tuple", ["flags", "dev"], ["pctx"]),
        ("cudaGraphInstantiate", "value", ["graph"], ["pGraphExec"]),
    ],
)
def test_arguments_and_results(name: str, style: Style, given: list[str], outputs: list[str]) -> None:
    found, form = meaning(name), shape(Api(name, style), len(given))
    assert found is not None and form is not None
    parameters = found.entry_point.parameters
    assert [parameters[at].name for at in form.given] == given
    assert [parameters[at].name for at in form.outputs] == outputs


def test_a_call_with_another_number_of_arguments_is_not_read() -> None:
    assert shape(Api("cudaMalloc", "tuple"), 2) is None


@pytest.mark.parametrize(
    ("text", "written", "meant"),
    [
        (b"from cuda.bindings import (driver,\n    runtime as rt,  # the runtime\n)", "rt.cudaFree", "cudaFree"),
        (b"import cuda.bindings.driver as drv", "drv.cuMemFree", "cuMemFree"),
        (b"try:\n    from cuda import cuda\nexcept ImportError:\n    cuda = None", "cuda.cuMemFree", "cuMemFree"),
        (b"import cupy", "cupy.cuda.runtime.free", "cudaFree"),
        (b"from cupy import cuda", "cuda.runtime.streamDestroy", "cudaStreamDestroy"),
        (b"import pycuda.driver as drv", "drv.mem_alloc", "cuMemAlloc"),
        (b"from cuda import cuda\nrun(\n    cuda=cuda,\n)", "cuda.cuMemFree", "cuMemFree"),
        (b"from cuda import cuda\ncuda = load()", "cuda.cuMemFree", None),
        (b"import cupy", "cupy.cuda.runtime.noSuchThing", None),
        (b"import cupy", "cupy.free", None),
        (b"from numba import cuda", "cuda.cuMemFree", None),
        (b"", "cudaFree", None),
    ],
)
def test_imported_names(text: bytes, written: str, meant: str | None) -> None:
    found = Names(text).api(written)
    assert (found.name if found is not None else None) == meant
