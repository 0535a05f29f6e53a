"""The names of types are those that CUDA's headers declare."""

from __future__ import annotations

import re

import pytest

from cuvet.catalog import Catalog, driver, libraries, runtime
from cuvet.catalog.types import declared_types

CATALOGS = {"driver": driver(), "runtime": runtime(), **libraries()}
CATALOG = pytest.mark.parametrize("catalog", CATALOGS.values(), ids=list(CATALOGS))
SPELT_LIKE_CUDA = re.compile(r"\b(?:cu[a-z]+[A-Z]\w*|CU[a-z]\w*)\b")
REVISION = re.compile(r"_v\d+$")
"""Some revisions of structs get their names from macros."""


@CATALOG
def test_types_of_entry_points_are_declared(catalog: Catalog) -> None:
    parameters = (
        parameter
        for entry in catalog.entry_points
        for signature in entry.signatures
        for parameter in signature.parameters
    )
    named = {name for parameter in parameters for name in SPELT_LIKE_CUDA.findall(parameter.type)}
    named |= {name for name in (*catalog.structs, *catalog.enumerations) if SPELT_LIKE_CUDA.fullmatch(name)}
    assert {name for name in named if not REVISION.search(name)} <= declared_types().types


@CATALOG
def test_functions_and_values_are_no_types(catalog: Catalog) -> None:
    values = {name for table in catalog.enumerations.values() for name in table} | catalog.constants.keys()
    assert declared_types().types.isdisjoint(values | catalog.by_symbol.keys())


@pytest.mark.parametrize(
    "name",
    [
        "CUhostFn",  # a function's
        "cudaStreamCallback_t",
        "cudaDeviceProp",
        "cudaStreamAttrID",  # a macro for a type
        "cudaLaunchParams",  # of CUDA 12 only
        "curandStatePhilox4_32_10_t",  # of kernels
        "cublasLtMatmulTile_t",  # no function's parameter
        "cusparseColorInfo_t",  # with a macro behind its name
    ],
)
def test_declared_in_some_way(name: str) -> None:
    assert name in declared_types().types


def test_headers_that_files_include() -> None:
    declared = declared_types()
    assert {"cuda.h", "cuda_runtime.h", "cublas_v2.h", "cudnn.h", "nccl.h", "curand_kernel.h"} <= declared.headers
    assert {"thrust", "cub", "cooperative_groups"} <= declared.folders
    assert declared.headers.isdisjoint({"utility.h", "core.h", "helper_cuda.h", "nvml.h"})
