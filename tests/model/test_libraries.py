"""The objects of libraries: where they are made, what they are given, how they end."""

from __future__ import annotations

import pytest

from cuvet.catalog import Kind, driver, libraries
from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.model import Allocation, Call, Context, Model, Outcome
from cuvet.model.objects import LibraryObject

from .driving import Drive, drive


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def call(model: Model, name: str, *words: int, status: int = 0, makes: int = 0, **more: object) -> Call:
    """A library's call that ended so; ``makes``: what it wrote through its first parameter."""
    entry_point = next(catalog[name] for catalog in libraries().values() if name in catalog)
    args = words + (0,) * (len(entry_point.parameters) - len(words))
    made = Call(entry_point, args, thread=1, number=100, **more)  # type: ignore[arg-type]
    model.observe(made, Outcome(status, {0: makes} if makes else {}))
    return made


def handle(model: Model, word: int, kind: Kind = Kind.CUBLAS_HANDLE) -> LibraryObject:
    found = model.find(kind, word)
    assert isinstance(found, LibraryObject)
    return found


def test_every_kind_of_a_library_s_object_is_one() -> None:
    assert min(LIBRARY_OBJECTS) == Kind.CUDNN_HANDLE and max(LIBRARY_OBJECTS) == max(Kind)


def test_a_handle_belongs_to_the_context_that_is_current(cu: Drive) -> None:
    call(cu.model, "cublasCreate", makes=7)
    assert handle(cu.model, 7).context is cu.model.primary_context(0)
    assert handle(cu.model, 7).device == 0
    assert handle(cu.model, 7).name == "cuBLAS-handle#1"


def test_a_library_that_finds_no_context_takes_the_primary_one() -> None:
    """Its calls come before the handle: the recording tells the context at entry, which was none."""
    model = Model(complete=True)
    for number, (name, word) in enumerate(
        [("cuInit", 0), ("cuDevicePrimaryCtxRetain", 0x5000), ("cuCtxSetCurrent", 0x5000)]
    ):
        entry_point = driver()[name]
        args = (0,) * (len(entry_point.parameters) - 1)
        inner = Call(entry_point, (word, *args), thread=1, number=200 + number)
        model.observe(inner, Outcome(0, {0: 0x5000} if name == "cuDevicePrimaryCtxRetain" else {}))
    call(model, "cudnnCreate", makes=7, context=0)
    context = handle(model, 7, Kind.CUDNN_HANDLE).context
    assert isinstance(context, Context) and (context.handle, context.device) == (0x5000, 0)


def test_a_handle_has_the_stream_and_the_workspace_that_it_was_given(cu: Drive) -> None:
    stream, memory = cu.cuStreamCreate(0), cu.cuMemAlloc(1 << 22)
    call(cu.model, "cublasCreate", makes=7)
    call(cu.model, "cublasSetStream", 7, stream)
    given = call(cu.model, "cublasSetWorkspace", 7, memory, 1 << 22)
    found = handle(cu.model, 7)
    assert found.stream is cu.model.find(Kind.STREAM, stream)
    assert isinstance(found.workspace, Allocation) and found.workspace.handle == memory
    assert found.workspace_set_by is given
    call(cu.model, "cublasSetStream", 7, 0)
    assert (found.stream, found.workspace, found.workspace_set_by) == (None, None, None)


def test_a_plan_keeps_its_work_area_when_it_is_given_a_stream(cu: Drive) -> None:
    memory = cu.cuMemAlloc(1 << 22)
    call(cu.model, "cufftPlan1d", makes=3)
    call(cu.model, "cufftSetWorkArea", 3, memory)
    call(cu.model, "cufftSetStream", 3, 0)
    workspace = handle(cu.model, 3, Kind.CUFFT_PLAN).workspace
    assert workspace is not None and workspace.handle == memory


def test_a_call_that_failed_changes_nothing(cu: Drive) -> None:
    call(cu.model, "cublasCreate", makes=7)
    stream = cu.cuStreamCreate(0)
    call(cu.model, "cublasSetStream", 7, stream, status=1)
    call(cu.model, "cublasDestroy", 7, status=1)
    assert handle(cu.model, 7).alive and handle(cu.model, 7).stream is None
    call(cu.model, "cublasDestroy", 7)
    assert not handle(cu.model, 7).alive


def test_a_handle_does_not_end_with_its_context(cu: Drive) -> None:
    own = cu.cuCtxCreate(0, 0, 0)
    call(cu.model, "cublasCreate", makes=7)
    cu.cuCtxDestroy(own)
    found = handle(cu.model, 7)
    assert found.alive and found.context is not None and not found.context.alive


def test_failures_of_libraries_are_none_of_the_driver(cu: Drive) -> None:
    """700 is CUDA_ERROR_ILLEGAL_ADDRESS; no library's status makes a context lost."""
    failing = call(cu.model, "cudnnCreate", status=700)
    assert cu.model.sticky_error(failing) is None
    assert cu.model.last_failure(1) is None
    assert cu.model.predict(Call(driver()["cuCtxSynchronize"], (0,), thread=1)).statuses[0] == 0


def test_a_handle_in_a_lost_context_is_not_made(cu: Drive) -> None:
    """Fact cudnn_sticky_error_then_create."""
    cu.cuCtxSynchronize(status=700)
    entry_point = libraries()["cudnn"]["cudnnCreate"]
    assert cu.model.predict(Call(entry_point, (64,), thread=1)).statuses == (4000,)


def test_a_descriptor_may_be_made_in_memory_of_the_program(cu: Drive) -> None:
    call(cu.model, "cublasLtMatmulDescCreate", makes=0x7000)
    call(cu.model, "cublasLtMatmulDescDestroy", 0x7000)
    call(cu.model, "cublasLtMatmulDescInit_internal", 0x7000, 256)
    assert handle(cu.model, 0x7000, Kind.CUBLASLT_DESCRIPTOR).alive
