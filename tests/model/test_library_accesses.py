"""Which memory the calls of libraries touch, and what they race with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cuvet.catalog import libraries, recorded_entry_point
from cuvet.catalog.authored.libraries.accessed import ELEMENT_BYTES, accessed
from cuvet.model import Call, Model, Outcome
from cuvet.model.library_accesses import touched_by_library
from cuvet.model.touches import Touches
from cuvet.rules.rule import Violation

from .driving import Drive

HANDLE, PLAN, GENERATOR, COMMUNICATOR = 0xB1A5, 3, 0xA2D, 0xCC1
MADE = {
    "cublasCreate": HANDLE,
    "cufftPlan1d": PLAN,
    "curandCreateGenerator": GENERATOR,
    "curandCreateGeneratorHost": GENERATOR,
    "ncclCommInitRank": COMMUNICATOR,
}
FLOATS, HALVES = 7, 2


class Libraries:
    """Calls of libraries over a model, with memory of 64 KiB."""

    def __init__(self) -> None:
        self.model = Model(complete=True)
        self.model.touches = Touches()
        self.cu = Drive(self.model).setup()
        self.memory = int(self.cu.cuMemAlloc(1 << 16))
        self.newest: Call | None = None

    def __call__(self, name: str, status: int = 0, **words: int) -> list[Violation]:
        """Make a call; what rules say of it."""
        entry_point = recorded_entry_point(name)
        assert entry_point is not None and words.keys() <= entry_point.index.keys()
        args = tuple(words.get(parameter.name, 0) for parameter in entry_point.parameters)
        call = self.newest = Call(entry_point, args, thread=self.cu.thread, number=1000)
        said = [each for each in self.model.violations(call) if each.stands(call, status)]
        self.model.observe(call, Outcome(status, {0: MADE[name]} if name in MADE else {}))
        return said

    def touched(self, name: str, **words: int) -> list[tuple[int, int | None, bool | None, int, int]]:
        """Of a call: first byte and end, whether it writes, bytes of each row and their distance."""
        self(name, **words)
        assert self.newest is not None
        found = touched_by_library(self.newest, self.model)
        base = self.memory
        return [
            (each.start - base, None if each.end is None else each.end - base, each.writes, each.row, each.pitch)
            for each in found
        ]


@pytest.fixture
def call() -> Libraries:
    return Libraries()


def test_what_is_listed_are_parameters() -> None:
    wrong = []
    for catalog in libraries().values():
        for entry_point in catalog.entry_points:
            for each in accessed(entry_point):
                named = {each.rows, each.columns, each.pitch, each.turned, each.unless} - {""}
                wrong += [(entry_point.name, name) for name in named if name not in entry_point.index]
                pointer = entry_point.parameters[entry_point.index[each.parameter]]
                wrong += [(entry_point.name, pointer.name)] if each.writes and pointer.const else []
                kind = (
                    entry_point.parameters[entry_point.index[each.type]].type if each.type in entry_point.index else ""
                )
                known = pointer.pointee_bytes or kind in ELEMENT_BYTES or not (each.rows or each.columns)
                wrong += [] if known else [(entry_point.name, pointer.name)]
    assert wrong == []


def test_a_vector_has_elements_at_distances(call: Libraries) -> None:
    memory = call.memory
    call("cublasCreate")
    assert call.touched("cublasSaxpy", handle=HANDLE, n=10, x=memory, incx=2, y=memory + 1024, incy=-1) == [
        (0, 4 * 19, False, 4, 8),
        (1024, 1064, True, 0, 0),
    ]
    assert call.touched("cublasZdscal", handle=HANDLE, n=10, x=memory, incx=1) == [(0, 160, True, 0, 0)]
    assert call.touched("cublasSscal", handle=HANDLE, n=0, x=memory, incx=1) == []


def test_a_product_reads_two_matrices_and_writes_one(call: Libraries) -> None:
    memory = call.memory
    matrices = {"A": memory, "lda": 8, "B": memory + 4096, "ldb": 16, "C": memory + 8192, "ldc": 12}
    call("cublasCreate")
    assert call.touched("cublasSgemm", handle=HANDLE, m=8, n=4, k=16, **matrices) == [
        (0, 4 * 8 * 16, False, 0, 0),
        (4096, 4096 + 4 * 16 * 4, False, 0, 0),
        (8192, 8192 + 4 * (3 * 12 + 8), True, 32, 48),
    ]
    turned = call.touched("cublasSgemm", handle=HANDLE, m=8, n=4, k=16, transa=1, **{**matrices, "lda": 16})
    assert turned[0] == (0, 4 * 16 * 8, False, 0, 0)
    assert call.touched("cublasDgemm", handle=HANDLE, m=8, n=4, k=0, **matrices) == []


def test_the_type_of_elements_is_told(call: Libraries) -> None:
    memory = call.memory
    call("cublasCreate")
    types = {"Atype": HALVES, "Btype": HALVES, "Ctype": 0}
    matrices = {"A": memory, "lda": 8, "B": memory + 4096, "ldb": 8, "C": memory + 8192, "ldc": 8}
    found = call.touched("cublasGemmEx", handle=HANDLE, m=8, n=8, k=8, **types, **matrices)
    assert [end for _, end, *_ in found] == [128, 4096 + 128, 8192 + 256]
    unknown = call.touched("cublasGemmEx", handle=HANDLE, m=8, n=8, k=8, **{**types, "Atype": 33}, **matrices)
    assert unknown[0] == (0, None, False, 0, 0)


def test_of_a_transform_it_is_known_where_it_begins(call: Libraries) -> None:
    call("cufftPlan1d", nx=16, type=0x29, batch=1)
    found = call.touched("cufftExecC2C", plan=PLAN, idata=call.memory, odata=call.memory + 512)
    assert found == [(0, None, False, 0, 0), (512, None, True, 0, 0)]


@pytest.mark.parametrize(
    ("name", "words", "written"),
    [
        ("ncclAllReduce", {"count": 16, "recvbuff": 1024}, [(1024, 1088)]),
        ("ncclAllGather", {"sendcount": 16, "recvbuff": 1024}, [(1024, 1088)]),
        ("ncclAllGather", {"sendcount": 16}, []),
        ("ncclBroadcast", {"count": 16}, []),
        ("ncclReduce", {"count": 16, "recvbuff": 1024}, []),
        ("ncclRecv", {"count": 16}, [(0, 64)]),
        ("ncclSend", {"count": 16}, []),
    ],
)
def test_a_collective_writes_what_every_rank_writes(
    call: Libraries, name: str, words: Mapping[str, int], written: list[tuple[int, int]]
) -> None:
    call("ncclCommInitRank", nranks=2)
    entry_point = recorded_entry_point(name)
    assert entry_point is not None
    buffers = {each: call.memory for each in ("sendbuff", "recvbuff") if each in entry_point.index}
    given = {each: word + (call.memory if each in buffers else 0) for each, word in words.items()}
    found = call.touched(name, datatype=FLOATS, comm=COMMUNICATOR, **{**buffers, **given})
    assert [(start, end) for start, end, writes, *_ in found if writes] == written


def other_stream_sets(call: Libraries) -> None:
    call.cu.cuMemsetD8Async(call.memory, 0, 64, call.cu.cuStreamCreate(1))


def given_a_stream(call: Libraries) -> None:
    call("cublasSetStream", handle=HANDLE, streamId=call.cu.cuStreamCreate(1))


def given_the_default_stream(call: Libraries) -> None:
    call("cublasSetStream", handle=HANDLE, streamId=1)


@pytest.mark.parametrize("before", [lambda call: None, given_a_stream, given_the_default_stream])
def test_the_work_of_a_handle_is_on_its_stream(call: Libraries, before: Callable[[Libraries], None]) -> None:
    call("cublasCreate")
    before(call)
    other_stream_sets(call)
    (said,) = call("cublasSscal", handle=HANDLE, n=16, x=call.memory, incx=1)
    assert said.rule.name == "race-between-streams"
    assert call("cublasSscal", handle=HANDLE, n=16, x=call.memory + 64, incx=1) == []


def test_the_stream_of_a_handle_that_is_not_known_is_not_guessed(call: Libraries) -> None:
    other_stream_sets(call)
    said = call("cublasSscal", handle=0x1234, n=16, x=call.memory, incx=1)
    assert [each.rule.name for each in said] == ["library-handle-never-created"]
    call("cublasCreate")
    call("cublasSetStream", handle=HANDLE, streamId=0x77770000)
    assert call("cublasSscal", handle=HANDLE, n=16, x=call.memory, incx=1) == []


def test_a_generator_of_the_host_works_on_no_stream(call: Libraries) -> None:
    other_stream_sets(call)
    call("curandCreateGeneratorHost")
    assert call("curandGenerateUniform", generator=GENERATOR, outputPtr=call.memory, num=16) == []


def test_a_call_that_failed_touched_nothing(call: Libraries) -> None:
    call("cublasCreate")
    call("cublasSscal", 13, handle=HANDLE, n=16, x=call.memory, incx=1)
    other_stream_sets(call)
    assert call.cu.prediction is not None and not call.cu.prediction.violations


def test_the_host_may_have_waited_for_a_result_that_it_gets(call: Libraries) -> None:
    call("cublasCreate")
    result = int(call.cu.cuMemAlloc(64))
    vectors = {"n": 16, "x": call.memory, "incx": 1, "y": call.memory, "incy": 1}
    call("cublasSdot", handle=HANDLE, **vectors, result=0x7000)
    other_stream_sets(call)
    assert call.cu.prediction is not None and not call.cu.prediction.violations
    call.cu.cuCtxSynchronize()
    call("cublasSdot", handle=HANDLE, **vectors, result=result)
    other_stream_sets(call)
    assert [each.rule.name for each in call.cu.prediction.violations] == ["race-between-streams"]


def test_the_kernels_of_a_call_that_says_what_it_touches_are_not_judged_again(call: Libraries) -> None:
    call("cublasCreate")
    other_stream_sets(call)
    call.cu.cuMemsetD8(call.memory, 0, 64, inner=True)
    assert call.cu.prediction is not None and not call.cu.prediction.violations


def group(call: Libraries, *streams: int) -> list[Violation]:
    """An operation on each of the streams, done together; what is said of the end."""
    call("ncclCommInitRank", nranks=2)
    call("ncclGroupStart")
    for stream in streams:
        said = call("ncclRecv", recvbuff=call.memory, count=16, datatype=FLOATS, comm=COMMUNICATOR, stream=stream)
        assert said == []
    return call("ncclGroupEnd")


def test_a_group_of_calls_is_done_at_its_end(call: Libraries) -> None:
    other_stream_sets(call)
    (said,) = group(call, call.cu.cuStreamCreate(1))
    assert said.rule.name == "race-between-streams"
    assert said.message.startswith("ncclRecv writes device-memory#1")
    assert call("ncclGroupEnd") == []


def test_a_wait_between_a_call_and_the_end_of_its_group_counts(call: Libraries) -> None:
    a, b, event = call.cu.cuStreamCreate(1), call.cu.cuStreamCreate(1), call.cu.cuEventCreate(2)
    call.cu.cuMemsetD8Async(call.memory, 0, 64, a)
    call.cu.cuEventRecord(event, a)
    call("ncclCommInitRank", nranks=2)
    call("ncclGroupStart")
    call("ncclGroupStart")
    call("ncclRecv", recvbuff=call.memory, count=16, datatype=FLOATS, comm=COMMUNICATOR, stream=b)
    assert call("ncclGroupEnd") == []
    call.cu.cuStreamWaitEvent(b, event, 0)
    assert call("ncclGroupEnd") == []


def test_the_streams_of_a_group_wait_for_each_other_in_a_way_that_is_not_judged(call: Libraries) -> None:
    a, b = call.cu.cuStreamCreate(1), call.cu.cuStreamCreate(1)
    other_stream_sets(call)
    assert group(call, a, b) == []
    call.cu.cuMemsetD8Async(call.memory, 0, 64, b)
    assert call.cu.prediction is not None and not call.cu.prediction.violations


SPARSE, MATRIX, VECTOR, RESULT = 0x5BA, 0x3A7, 0x7EC, 0x7ED


def described(call: Libraries) -> dict[str, int]:
    """A product of a sparse matrix and a vector, at these places of the memory: 0, 1024, 2048; 4096; 8192."""
    memory = call.memory
    MADE.update(cusparseCreate=SPARSE, cusparseCreateCsr=MATRIX)
    call("cusparseCreate")
    parts = {"csrRowOffsets": memory, "csrColInd": memory + 1024, "csrValues": memory + 2048}
    call("cusparseCreateCsr", rows=16, cols=16, nnz=64, **parts)
    for handle, start in ((VECTOR, 4096), (RESULT, 8192)):
        MADE["cusparseCreateDnVec"] = handle
        call("cusparseCreateDnVec", size=16, values=memory + start)
    return {"handle": SPARSE, "matA": MATRIX, "vecX": VECTOR, "vecY": RESULT}


def test_a_sparse_product_touches_what_its_descriptors_hold(call: Libraries) -> None:
    product = described(call)
    assert call.touched("cusparseSpMV", **product) == [
        (0, None, False, 0, 0),
        (1024, None, False, 0, 0),
        (2048, None, False, 0, 0),
        (4096, None, False, 0, 0),
        (8192, 8192 + 64, True, 0, 0),
    ]


def test_a_descriptor_holds_what_it_was_given_last(call: Libraries) -> None:
    product = described(call)
    call("cusparseSpMatSetValues", spMatDescr=MATRIX, values=call.memory + 3072)
    call("cusparseDnVecSetValues", dnVecDescr=RESULT, values=call.memory + 12288)
    starts = [start for start, *_ in call.touched("cusparseSpMV", **product)]
    assert starts == [0, 1024, 3072, 4096, 12288]
    parts = {"csrRowOffsets": 1, "csrColInd": 2, "csrValues": call.memory + 5120}
    call("cusparseCsrSetPointers", spMatDescr=MATRIX, **parts)
    assert [start for start, *_ in call.touched("cusparseSpMV", **product)] == [5120, 4096, 12288]


def test_what_a_sparse_product_writes_races(call: Libraries) -> None:
    product = described(call)
    call.cu.cuMemsetD8Async(call.memory + 8192 + 60, 0, 64, call.cu.cuStreamCreate(1))
    (said,) = call("cusparseSpMV", **product)
    assert said.rule.name == "race-between-streams"
