"""Which memory the calls of libraries read and write: what a call is certain to touch, and no more.

Of a batch that is the first matrix, of an operation that uses half of a matrix nothing but its first element. Operands that are not read
if a scalar is 0 (C of a product, B of a sum) count only where they are written. What is not listed here is judged by the kernels that the
library launches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from cuvet.catalog.catalog import EntryPoint


@dataclass(frozen=True, slots=True)
class Accessed:
    """Memory that ``parameter`` points to: ``columns`` of ``rows`` elements, ``pitch`` elements apart, all named by parameters ("": one).
    ``turned``: rows and columns change places if this parameter is not 0. Without ``rows`` it is only known where it begins. ``type``: the
    parameter that says what the elements are, if the pointer's type does not. ``unless``: not if this parameter points there too. Where the
    parameter is a descriptor, all memory counts that it holds."""

    parameter: str
    writes: bool
    rows: str = ""
    columns: str = ""
    pitch: str = ""
    turned: str = ""
    type: str = ""
    unless: str = ""


def _read(parameter: str, rows: str = "", columns: str = "", pitch: str = "", *, turned: str = "") -> Accessed:
    return Accessed(parameter, False, rows, columns, pitch, turned, _type_of(parameter))


def _written(parameter: str, rows: str = "", columns: str = "", pitch: str = "", *, unless: str = "") -> Accessed:
    return Accessed(parameter, True, rows, columns, pitch, "", _type_of(parameter), unless)


def _type_of(parameter: str) -> str:
    """The parameter that says of which type the elements are."""
    return "datatype" if parameter.endswith("buff") else f"{parameter}{'type' if parameter.isupper() else 'Type'}"


_X, _Y = _read("x", "", "n", "incx"), _read("y", "", "n", "incy")
_WRITTEN_X, _WRITTEN_Y = _written("x", "", "n", "incx"), _written("y", "", "n", "incy")
_A = _read("A", "m", "n", "lda")
_WRITTEN_C = _written("C", "m", "n", "ldc")
_PRODUCT = (_read("A", "m", "k", "lda", turned="transa"), _read("B", "k", "n", "ldb", turned="transb"), _WRITTEN_C)
_BUFFERS = (_read("sendbuff", "count"), _written("recvbuff", "count"))

_TABLE: dict[str, tuple[Accessed, ...]] = {
    r"cublas[SDCZH]gemm(3m)?(StridedBatched)?": _PRODUCT,
    r"cublasGemm(StridedBatched)?Ex|cublas[SC]gemm(3m)?Ex": _PRODUCT,
    r"cublas[SDCZ]gemv": (_A, _read("x"), _written("y")),
    r"cublas[SDCZ]ger[uc]?": (_read("x", "", "m", "incx"), _Y, _written("A", "m", "n", "lda")),
    r"cublas[SDCZ]geam": (_read("A", "m", "n", "lda", turned="transa"), _WRITTEN_C),
    r"cublas[SDCZ]dgmm": (_A, _WRITTEN_C),
    r"cublas[SDCZ](symm|hemm)": (_read("B", "m", "n", "ldb"), _WRITTEN_C),
    r"cublas[SDCZ](syrk|herk|syr2k|her2k|syrkx|herkx)": (_read("A"), _written("C")),
    r"cublas[SDCZ]trsm": (_written("B", "m", "n", "ldb"),),
    r"cublas[SDCZ]trmm": (_read("B", "m", "n", "ldb"), _WRITTEN_C),
    r"cublas([SDCZ]axpy|[SDCZ]copy|AxpyEx|CopyEx)": (_X, _WRITTEN_Y),
    r"cublas([SDCZ]swap|SwapEx|[SDCZ]rot|[CZ][sd]rot|RotEx)": (_WRITTEN_X, _WRITTEN_Y),
    r"cublas([SDCZ]scal|[CZ][sd]scal|ScalEx)": (_WRITTEN_X,),
    r"cublas([SD]dot|[CZ]dot[uc]|Dotc?Ex)": (_X, _Y),
    r"cublas([SD]nrm2|Scnrm2|Dznrm2|Nrm2Ex|[SD]asum|Scasum|Dzasum|AsumEx|I[sdcz]am(ax|in)|Iam(ax|in)Ex)": (_X,),
    r"cublasLtMatmul": (_read("A"), _read("B"), _written("D")),
    r"cublasLtMatrixTransform": (_read("A"), _written("C")),
    r"cufftExec\w\d\w": (_read("idata"), _written("odata")),
    r"cufftXtExec": (_read("input"), _written("output")),
    r"curandGenerate(Poisson(Method)?|(Log)?Normal(Double)?)": (_written("outputPtr", "n"),),
    r"curandGenerate(LongLong|Uniform(Double)?)?": (_written("outputPtr", "num"),),
    r"cusparseSpMV|cusparseSpSV_solve": (_read("matA"), _read("vecX"), _written("vecY")),
    r"cusparseSpMM|cusparseSpSM_solve": (_read("matA"), _read("matB"), _written("matC")),
    r"cusparseSparseToDense": (_read("matA"), _written("matB")),
    r"cusparseSpVV": (_read("vecX"), _read("vecY")),
    r"ncclAll(Reduce|toAll)(Config)?": _BUFFERS,
    r"ncclReduceScatter(Config)?": (_read("sendbuff", "recvcount"), _written("recvbuff", "recvcount")),
    r"ncclAllGather(Config)?": (
        _read("sendbuff", "sendcount"),
        _written("recvbuff", "sendcount", unless="sendbuff"),
    ),
    r"ncclBroadcast(Config)?": (_written("recvbuff", "count", unless="sendbuff"),),
    r"nccl(Reduce|Gather)(Config)?|ncclSend": (_read("sendbuff", "count"),),
    r"ncclRecv": (_written("recvbuff", "count"),),
}
"""By names of entry points."""


_VALUES = Accessed("values", False)
_HELD: dict[str, tuple[Accessed, ...]] = {
    r"cusparseCreate(Const)?DnVec": (Accessed("values", False, "size", type="valueType"),),
    r"cusparseCreate(Const)?DnMat": (_VALUES,),
    r"cusparseCreate(Const)?SpVec": (Accessed("indices", False), Accessed("values", False, "nnz", type="valueType")),
    r"cusparseCreate(Const)?(Coo|Csc|Csr)": tuple(
        Accessed(f"{form}{part}", False)
        for form in ("coo", "csc", "csr")
        for part in ("RowInd", "RowOffsets", "ColInd", "ColOffsets", "Values")
    ),
    r"cusparse(DnVec|DnMat|SpVec|SpMat)SetValues": (_VALUES,),
    r"cusparse(Coo|Csc|Csr)SetPointers": tuple(
        Accessed(f"{form}{part}", False)
        for form in ("coo", "csc", "csr")
        for part in ("Rows", "RowInd", "RowOffsets", "Columns", "ColInd", "ColOffsets", "Values")
    ),
}
"""Memory that calls give to a descriptor: who is given the descriptor accesses it."""


@cache
def held(entry_point: EntryPoint) -> tuple[Accessed, ...]:
    """What calls of a library's entry point give to the descriptor that is their first parameter."""
    return _find(_HELD, entry_point)


@cache
def accessed(entry_point: EntryPoint) -> tuple[Accessed, ...]:
    """What calls of a library's entry point are certain to access; nothing of one that is not listed."""
    return _find(_TABLE, entry_point)


def _find(table: dict[str, tuple[Accessed, ...]], entry_point: EntryPoint) -> tuple[Accessed, ...]:
    if entry_point.api == "driver":
        return ()
    found = next((each for pattern, each in table.items() if re.fullmatch(pattern, entry_point.name)), ())
    return tuple(each for each in found if each.parameter in entry_point.index)


ELEMENT_BYTES = {
    "cudaDataType": {
        **dict.fromkeys((0, 10, 12), 4), **dict.fromkeys((1, 24, 26), 8), **dict.fromkeys((2, 14, 20, 22), 2),
        **dict.fromkeys((3, 8, 28, 29), 1), **dict.fromkeys((6, 15, 21, 23), 4), **dict.fromkeys((7, 9), 2),
        4: 8, 5: 16, 11: 8, 13: 8, 25: 16, 27: 16,
    },
    "ncclDataType_t": {
        **dict.fromkeys((0, 1, 10, 11), 1), **dict.fromkeys((6, 9), 2), **dict.fromkeys((2, 3, 7), 4),
        **dict.fromkeys((4, 5, 8), 8),
    },
}  # fmt: skip
"""Of the values of these enumerations (``library_types.h``, ``nccl.h``)."""
