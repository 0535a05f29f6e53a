"""What the rules say about handles of libraries where a program by itself cannot bring it about: overlapping calls, failures inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.catalog import Kind, driver, libraries
from cuvet.model import Call, Model, Outcome, SeenHandle
from cuvet.rules.afterwards import explain_failure
from cuvet.rules.rule import Violation

from .simulated import SimulatedDriver

PROGRAM = str(Path(__file__))
CONTEXT_LOST = 700


@pytest.fixture
def cu() -> SimulatedDriver:
    cu = SimulatedDriver(PROGRAM, 2)
    cu.cuInit(0)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
    return cu


def library_call(name: str, *words: int, number: int = 100, **more: object) -> Call:
    entry_point = next(catalog[name] for catalog in libraries().values() if name in catalog)
    args = words + (0,) * (len(entry_point.parameters) - len(words))
    return Call(entry_point, args, thread=1, number=number, **more)  # type: ignore[arg-type]


def said(model: Model, call: Call) -> list[str]:
    """Names of the rules that the call breaks."""
    return [violation.rule.name for violation in model.predict(call).violations]


def made(model: Model, kind: Kind, handle: int, maker: str) -> None:
    """A handle that a call of that name made."""
    call = library_call(maker, 0x1000)
    index = next(role for role in call.entry_point.roles if role.kind is kind).parameter
    model.observe(call, Outcome(0, {call.entry_point.index[index]: handle}))


def inside(name: str) -> dict[str, object]:
    """Another thread is inside a call of that entry point."""
    return {"shared_with": 2, "shared_call": library_call(name).entry_point}


@pytest.mark.parametrize(
    ("kind", "maker", "first", "second", "wrong"),
    [
        (Kind.CUDNN_HANDLE, "cudnnCreate", "cudnnConvolutionForward", "cudnnSetStream", True),
        (Kind.CUDNN_HANDLE, "cudnnCreate", "cudnnGetStream", "cudnnSetStream", False),
        (Kind.CUFFT_PLAN, "cufftPlan1d", "cufftExecC2C", "cufftExecC2C", True),
        (Kind.CUFFT_PLAN, "cufftPlan1d", "cufftGetSize", "cufftExecC2C", False),
        (Kind.CURAND_GENERATOR, "curandCreateGenerator", "curandGenerate", "curandGenerate", True),
        (Kind.CUBLAS_HANDLE, "cublasCreate", "cublasSscal", "cublasSscal", False),
        (Kind.CUSOLVER_HANDLE, "cusolverDnCreate", "cusolverDnSpotrf", "cusolverDnSpotrf", False),
    ],
)
def test_calls_that_overlap(cu: SimulatedDriver, kind: Kind, maker: str, first: str, second: str, wrong: bool) -> None:
    made(cu.model, kind, 7, maker)
    expected = ["library-handle-shared-between-threads"] if wrong else []
    assert said(cu.model, library_call(second, 7, **inside(first))) == expected
    assert said(cu.model, library_call(second, 7)) == []


@pytest.mark.parametrize(("first", "wrong"), [("ncclAllReduce", True), ("ncclCommGetAsyncError", False)])
def test_a_communicator_may_be_asked_while_it_works(cu: SimulatedDriver, first: str, wrong: bool) -> None:
    made(cu.model, Kind.NCCL_COMMUNICATOR, 7, "ncclCommInitRank")
    call = library_call("ncclAllReduce", 0, 0, 0, 0, 0, 7, 0, **inside(first))
    assert said(cu.model, call) == (["library-handle-shared-between-threads"] if wrong else [])
    asking = library_call("ncclCommGetAsyncError", 7, 0x2000, **inside("ncclAllReduce"))
    assert said(cu.model, asking) == []


def test_a_shared_handle_must_not_be_destroyed_or_given_another_stream(cu: SimulatedDriver) -> None:
    handle, stream = cu.cublas.cublasCreate(), cu.cuStreamCreate(0)
    other = inside("cublasSscal")
    assert said(cu.model, library_call("cublasSetStream", handle, 0, **other)) == []
    assert said(cu.model, library_call("cublasSetStream", handle, stream, **other)) == ["library-handle-changed-in-use"]
    assert said(cu.model, library_call("cublasDestroy", handle, **other)) == ["library-handle-changed-in-use"]


def test_a_dead_descriptor_that_was_never_seen_alive(cu: SimulatedDriver) -> None:
    seen = {0: SeenHandle(Kind.CUDNN_DESCRIPTOR, 0x7000, 300, alive=False)}
    use = library_call("cudnnSetTensor4dDescriptor", 0x7000, seen=seen)
    again = library_call("cudnnDestroyTensorDescriptor", 0x7000, seen=seen)
    assert said(cu.model, use) == ["library-handle-use-after-destroy"]
    assert said(cu.model, again) == ["library-handle-destroy-twice"]
    alive = {0: SeenHandle(Kind.CUDNN_DESCRIPTOR, 0x7000, 300, alive=True)}
    assert said(cu.model, library_call("cudnnSetTensor4dDescriptor", 0x7000, seen=alive)) == []


def test_a_handle_that_nobody_saw_made_is_judged_only_where_all_was_seen(cu: SimulatedDriver) -> None:
    assert said(cu.model, library_call("cublasSscal", 0x7000)) == ["library-handle-never-created"]
    assert said(cu.model, library_call("cublasDestroy", 0x7000)) == []
    cu.model.complete = False
    assert said(cu.model, library_call("cublasSscal", 0x7000)) == []


def test_a_cublas_handle_is_one_of_cublaslt(cu: SimulatedDriver) -> None:
    handle = cu.cublas.cublasCreate()
    assert said(cu.model, library_call("cublasLtMatmul", handle)) == []
    cu.cublas.cublasDestroy(handle)
    assert said(cu.model, library_call("cublasLtMatmul", handle)) == ["library-handle-use-after-destroy"]


def test_programs_are_destroyed_through_a_pointer(cu: SimulatedDriver) -> None:
    program = cu.nvrtc.nvrtcCreateProgram("", "", 0, 0, 0)
    pointed = {"inputs": {0: program.to_bytes(8, "little")}}
    destroy = library_call("nvrtcDestroyProgram", 0x3000, **pointed)
    assert said(cu.model, destroy) == []
    cu.model.observe(destroy, Outcome(0))
    assert said(cu.model, library_call("nvrtcCompileProgram", program)) == ["library-handle-use-after-destroy"]
    assert said(cu.model, destroy) == ["library-handle-destroy-twice"]


def test_plans_and_streams_of_other_devices(cu: SimulatedDriver) -> None:
    plan, handle = cu.cufft.cufftPlan1d(64, 0x29, 1), cu.cudnn.cudnnCreate()
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
    stream = cu.cuStreamCreate(0)
    (found,) = cu.model.predict(library_call("cufftExecC2C", plan)).violations
    assert found.only_if_failed and found.message == (
        "cuFFT-plan#1 was made in context#1 (device 0), and context#2 (device 1) is current"
    )
    (found,) = cu.model.predict(library_call("cudnnSetStream", handle, stream)).violations
    assert found.only_if_failed and found.message.startswith("stream#1 belongs to context#2 (device 1)")


def test_a_stream_set_anew_or_issued_again_is_fine(cu: SimulatedDriver) -> None:
    handle, stream = cu.cublas.cublasCreate(), cu.cuStreamCreate(0)
    cu.cublas.cublasSetStream(handle, stream)
    cu.cuStreamDestroy(stream)
    assert said(cu.model, library_call("cublasSscal", handle)) == ["library-handle-stream-destroyed"]
    assert cu.cuStreamCreate(0) == stream
    assert said(cu.model, library_call("cublasSscal", handle)) == []


def explained(model: Model, outer: Call, status: int, *failing: tuple[str, int]) -> Violation:
    """What is said of a library's call that failed after these driver calls inside it."""
    for number, (name, error) in enumerate(failing, outer.number + 1):
        entry_point = driver()[name]
        words = (1 << 30,) * len(entry_point.parameters)
        model.observe(Call(entry_point, words, thread=1, number=number), Outcome(error))
    model.observe(outer, Outcome(status))
    found = explain_failure(outer, Outcome(status), model)
    assert found is not None
    return found


def test_no_memory_for_a_handle(cu: SimulatedDriver) -> None:
    cu.cuMemAlloc(1 << 30)
    found = explained(cu.model, library_call("cudnnCreate", 0x1000), 1001, ("cuMemAlloc", 2))
    assert found.message == (
        "the cuDNN handle was not made: cudnnCreate returned CUDNN_STATUS_NOT_INITIALIZED (1001); "
        "not enough memory left on GPU 0 for 1 GiB"
    )
    assert found.because[0] == "cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY (2) while it was made"
    assert any("this process held 1 GiB" in line for line in found.because)
    assert found.held is not None and found.held.bytes == 1 << 30


def test_no_device_for_a_handle(cu: SimulatedDriver) -> None:
    found = explained(Model(0), library_call("cublasCreate", 0x1000), 1, ("cuInit", 100))
    assert found.message.endswith("CUBLAS_STATUS_NOT_INITIALIZED (1); there is no GPU that this process may use")


def test_a_context_that_was_lost_before(cu: SimulatedDriver) -> None:
    cu.model.observe(Call(driver()["cuCtxSynchronize"], (), thread=1, number=50), Outcome(CONTEXT_LOST))
    found = explained(cu.model, library_call("cudnnCreate", 0x1000), 4000)
    assert found.message.endswith("(4000); the context was lost before, to CUDA_ERROR_ILLEGAL_ADDRESS")
    echo = explained(cu.model, library_call("cublasSscal", 0x7000), 14)
    assert echo.rule.name == "error-sticky" and echo.culprit is not None and echo.culprit.number == 50


def test_a_handle_that_fails_without_a_failing_call(cu: SimulatedDriver) -> None:
    cu.model.observe(Call(driver()["cuMemAlloc"], (0, 8), thread=1, number=50), Outcome(2))
    found = explained(cu.model, library_call("cudnnCreate", 0x1000), 1001)
    assert found.because == ("no call to the driver failed while it was made",)


def test_what_is_wrong_with_arguments_is_not_explained(cu: SimulatedDriver) -> None:
    invalid_size = 8
    outer = library_call("cufftPlan1d", 0x1000)
    assert explain_failure(outer, Outcome(invalid_size), cu.model) is None


def test_a_handle_that_was_not_made_is_used(cu: SimulatedDriver) -> None:
    cu.model.observe(library_call("cudnnCreate", 0x1000), Outcome(1001))
    null, arbitrary = library_call("cudnnSetStream", 0), library_call("cudnnSetStream", 0x7000)
    assert said(cu.model, null) == said(cu.model, arbitrary) == ["library-handle-not-made"]
    assert cu.model.predict(null).statuses[0] == 2000
    handle = cu.cudnn.cudnnCreate()
    assert said(cu.model, arbitrary) == ["library-handle-never-created"]
    assert said(cu.model, library_call("cudnnSetStream", handle)) == []
    assert said(cu.model, null) == ["library-handle-null"]


def test_plan_zero_is_a_plan(cu: SimulatedDriver) -> None:
    made(cu.model, Kind.CUFFT_PLAN, 0, "cufftPlan1d")
    assert said(cu.model, library_call("cufftExecC2C", 0)) == []
    assert said(cu.model, library_call("cufftExecC2C", -1)) == ["library-handle-null"]
    cu.model.observe(library_call("cufftDestroy", 0), Outcome(0))
    assert said(cu.model, library_call("cufftExecC2C", 0)) == ["library-handle-use-after-destroy"]


def test_handles_outlive_no_context_but_may_be_destroyed_after_it(cu: SimulatedDriver) -> None:
    handle = cu.cusparse.cusparseCreate()
    cu.cuDevicePrimaryCtxReset(0)
    (found,) = cu.model.predict(library_call("cusparseDestroy", handle)).violations
    assert found.rule.name == "library-handle-outlives-context" and found.only_if_failed
    (found,) = cu.model.predict(library_call("cusparseSpMV", handle)).violations
    assert not found.only_if_failed
    assert found.message == "cuSPARSE-handle#1 is used, but context#1, in which it was made, was reset"


def test_a_generator_of_the_host_needs_no_context(cu: SimulatedDriver) -> None:
    generator = cu.curand.curandCreateGeneratorHost(100)
    cu.cuDevicePrimaryCtxReset(0)
    assert said(cu.model, library_call("curandGenerate", generator)) == []


def test_a_child_of_a_process_that_had_cuda_can_compile_but_make_no_handle(cu: SimulatedDriver) -> None:
    child = cu.model.forked()
    assert said(child, library_call("cudnnCreate", 0x1000)) == ["device-use-after-fork"]
    assert said(child, library_call("nvrtcCreateProgram", 0x1000)) == []
    assert child.predict(library_call("cudnnCreate", 0x1000)).violations[0].only_if_failed


def test_a_compilation_that_fails_is_no_echo_of_a_lost_context(cu: SimulatedDriver) -> None:
    cu.model.observe(Call(driver()["cuCtxSynchronize"], (0,), thread=1, number=50), Outcome(CONTEXT_LOST))
    assert explain_failure(library_call("nvrtcCompileProgram", 7), Outcome(6), cu.model) is None


def test_a_workspace_that_a_call_passes_must_be_there(cu: SimulatedDriver) -> None:
    handle, memory = cu.cusolver.cusolverDnCreate(), cu.cuMemAlloc(4096)
    some = library_call("cusolverDnSpotrf", handle, 0, 8, 0, 8, memory, 1024)
    assert said(cu.model, some) == []
    cu.cuMemFree(memory)
    assert said(cu.model, some) == ["library-handle-workspace-freed"]
    assert said(cu.model, library_call("cusolverDnSpotrf", handle, 0, 8, 0, 8, memory, 0)) == []


def test_the_states_of_a_dropout_descriptor_must_be_there(cu: SimulatedDriver) -> None:
    handle, descriptor = cu.cudnn.cudnnCreate(), cu.cudnn.cudnnCreateDropoutDescriptor()
    states = cu.cuMemAlloc(4096)
    cu.cudnn.cudnnSetDropoutDescriptor(descriptor, handle, 0, states, 4096, 1)
    forward = library_call("cudnnDropoutForward", handle, descriptor)
    assert said(cu.model, forward) == []
    cu.cuMemFree(states)
    assert said(cu.model, forward) == ["library-handle-workspace-freed"]


def test_a_handle_from_before_a_reset_computes_after_it(cu: SimulatedDriver) -> None:
    handle = cu.cublas.cublasCreate()
    cu.cuDevicePrimaryCtxReset(0)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
    assert said(cu.model, library_call("cublasSscal", handle)) == ["library-handle-outlives-context"]
    assert said(cu.model, library_call("cublasSscal", cu.cublas.cublasCreate())) == []
