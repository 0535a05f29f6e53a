from cuvet.catalog.kinds import NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.library_handles import handles_used, works
from cuvet.rules.lifecycle import chain, place
from cuvet.rules.rule import CRASH, CallRule, Violations

_OUTCOMES = {"cublas": (13,), "cufft": (6, CRASH), "cudnn": (CRASH,)}
"""As measured: CUBLAS_STATUS_EXECUTION_FAILED, CUFFT_EXEC_FAILED."""


class LibraryHandleStreamDestroyed(CallRule):
    """
    checks: A library computes with a handle whose stream was destroyed, which `cublasSetStream`, `cudnnSetStream` or similar had set.
    why: The handle keeps the stream's value and launches every kernel on it. That was measured to end in SIGSEGV in the driver.
    instead: Give the handle another stream (0 is the default stream) before its own is destroyed, or destroy the handle first.
    limits: For streams that ended with their context see library-handle-outlives-context. Silent once a new stream has the same value.
    """

    code = "CV969"
    summary = "a library computes on a stream that was destroyed"
    help = "give the handle another stream before its stream is destroyed"
    kinds = NEEDED_BY_LIBRARIES
    libraries = True
    evidence = """
    measured: a launch on a destroyed stream: SIGSEGV in the driver, no error code (launch_on_destroyed_stream)
    measured: on a destroyed stream, cublasSscal() and cublasSgemm(): CUBLAS_STATUS_EXECUTION_FAILED
      (cublas_stream_destroyed, cublas_stream_destroyed_gemm)
    measured: on a destroyed stream, cufftExecC2C(): CUFFT_EXEC_FAILED, or SIGSEGV; cudnnSoftmaxForward(): SIGSEGV
      (cufft_on_destroyed_stream, cufft_stream_destroyed, cudnn_stream_destroyed)
    documented: cublasSetStream() sets the stream that all subsequent calls use (cuBLAS, cublasSetStream(),
      https://docs.nvidia.com/cuda/cublas/#cublassetstream)
    documented: the association with a stream remains until the plan is destroyed or cufftSetStream() changes it (cuFFT
      API Reference, cufftSetStream(), https://docs.nvidia.com/cuda/cufft/#function-cufftsetstream)
    documented: use after this call is undefined behavior (CUDA Runtime API, Stream Management, cudaStreamDestroy)
    """
    VALID = """
## stream set back before
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
stream = cu.cuStreamCreate(0)
cu.cublas.cublasSetStream(handle, stream)
cu.cublas.cublasSetStream(handle, 0)
cu.cuStreamDestroy(stream)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)

## handle destroyed after its stream
note: nothing is enqueued any more
handle = cu.cublas.cublasCreate()
stream = cu.cuStreamCreate(0)
cu.cublas.cublasSetStream(handle, stream)
cu.cuStreamDestroy(stream)
cu.cublas.cublasDestroy(handle)

## another stream set after
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
stream = cu.cuStreamCreate(0)
cu.cublas.cublasSetStream(handle, stream)
cu.cuStreamDestroy(stream)
cu.cublas.cublasSetStream(handle, 0)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)
"""
    INVALID = """
## cuBLAS
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
stream = cu.cuStreamCreate(0)
cu.cublas.cublasSetStream(handle, stream)
cu.cuStreamDestroy(stream)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)  # error: [library-handle-stream-destroyed]

## cuFFT plan
plan = cu.cufft.cufftPlan1d(64, 0x29, 1)
memory = cu.cuMemAlloc(4096)
stream = cu.cuStreamCreate(0)
cu.cufft.cufftSetStream(plan, stream)
cu.cuStreamDestroy(stream)
cu.cufft.cufftExecC2C(plan, memory, memory, -1)  # error: [library-handle-stream-destroyed]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if not works(call.entry_point):
            return
        for use, handle in handles_used(call, model, NEEDED_BY_LIBRARIES):
            stream, since = handle.stream, handle.stream_set_by
            if stream is None or since is None or stream.destroyed_by is None or stream.killed_by is not None:
                continue
            if model.find(Kind.STREAM, stream.handle) is not stream:
                continue  # there is a new stream of that value: the program may mean that one
            yield cls.broken(
                f"{handle.name} enqueues on {stream.name}, which was destroyed",
                handle,
                stream,
                argument=use.argument,
                outcomes=_OUTCOMES.get(call.entry_point.api, ()),
                because=(f"{handle.name} was given {stream.name} by {since.name} in {place(since)}", *chain(stream)),
                undefined=True,
            )
