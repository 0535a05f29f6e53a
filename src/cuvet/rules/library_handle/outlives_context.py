from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.objects import LibraryObject
from cuvet.rules.library_handles import is_of_one_context, works
from cuvet.rules.lifecycle import chain, ending, named_among
from cuvet.rules.rule import CallRule, Violations

_KINDS = frozenset(
    {
        Kind.CUBLAS_HANDLE,
        Kind.CUDNN_HANDLE,
        Kind.CUFFT_PLAN,
        Kind.CURAND_GENERATOR,
        Kind.CUSOLVER_HANDLE,
        Kind.CUSPARSE_HANDLE,
    }
)
_VERBS = frozenset({Verb.USES, Verb.DESTROYS})


class LibraryHandleOutlivesContext(CallRule):
    """
    checks: A library's handle, plan or generator computes, or fails in another call, after its context was destroyed or its device reset.
    why: The end of the context, or a reset of the device, destroys everything in it, including the library's allocations for the handle.
    instead: Destroy all library handles before `cudaDeviceReset` or `cuCtxDestroy`, and create new ones afterwards. Add the context to the
      key of a handle cache, or empty the cache first.
    limits: After a reset: with `--record full`, or if the call fails. Calls that only set, query or destroy are reported only if they fail.
      Silent about handles whose context is not known, and about cuBLASLt, NVRTC, nvJitLink and NCCL.
    """

    code = "CV968"
    summary = "a library's handle is used after its context was destroyed or its device reset"
    help = "destroy the library's handle before the context or the reset, and make a new one afterwards"
    kinds = _KINDS
    verbs = _VERBS
    libraries = True
    evidence = """
    documented: one cuBLAS context for each CUDA context, and the former must never outlive the latter
      (cuBLAS, Using the cuBLAS API, cuBLAS Context, https://docs.nvidia.com/cuda/cublas/#cublas-context)
    documented: cudaDeviceReset() destroys all resources of the device; that none is used afterwards is the caller's
      responsibility (CUDA Runtime API, Device Management, cudaDeviceReset)
    measured, succeeds: cublasSscal() after the handle's context was destroyed: CUBLAS_STATUS_SUCCESS; cufftExecC2C() of
      a plan: CUFFT_EXEC_FAILED (cublas_outlives_context, cufft_outlives_context)
    measured: cufftExecC2C() of a plan from before cudaDeviceReset(): CUFFT_SUCCESS (cufft_outlives_reset)
    measured: after cudaDeviceReset(), cublasSgemm(): CUBLAS_STATUS_EXECUTION_FAILED, and cudaErrorIllegalAddress from
      the next cudaDeviceSynchronize; cublasDestroy() and cudnnDestroy(): SIGSEGV (cublas_outlives_reset_gemm,
      cublas_destroyed_after_reset, cudnn_outlives_reset)
    reported: a framework makes its cuBLAS handle anew after a reset (https://github.com/torch/cutorch/pull/121)
    reported: cached cuBLAS and cuSOLVER handles go stale with their context
      (https://github.com/Cytnx-dev/Cytnx/issues/1161)
    """
    VALID = """
## destroyed before the reset
handle = cu.cublas.cublasCreate()
cu.cublas.cublasDestroy(handle)
cu.cuDevicePrimaryCtxReset(device)

## made anew after the reset
cu.cublas.cublasDestroy(cu.cublas.cublasCreate())
cu.cuDevicePrimaryCtxReset(device)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
handle = cu.cublas.cublasCreate()
cu.cublas.cublasSscal(handle, 16, cu.host(4), cu.cuMemAlloc(4096), 1)

## another context destroyed
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
cu.cuCtxDestroy(cu.cuCtxCreate(0, 0, device))
cu.cuCtxSetCurrent(context)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)
"""
    INVALID = """
## handle
own = cu.cuCtxCreate(0, 0, device)
handle = cu.cublas.cublasCreate()
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(context)
memory = cu.cuMemAlloc(4096)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)  # error: [library-handle-outlives-context]

## plan
own = cu.cuCtxCreate(0, 0, device)
plan = cu.cufft.cufftPlan1d(64, 0x29, 1)
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(context)
memory = cu.cuMemAlloc(4096)
cu.cufft.cufftExecC2C(plan, memory, memory, -1)  # error: [library-handle-outlives-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named_among(call, model, _KINDS, _VERBS):
            handle = use.object
            if not isinstance(handle, LibraryObject) or not handle.alive or not is_of_one_context(handle):
                continue
            context = handle.context
            if context is None or context.destroyed_by is None:
                continue
            yield cls.broken(
                f"{handle.name} is used, but {context.name}, in which it was made, was {ending(context.destroyed_by)}",
                handle,
                context,
                argument=use.argument,
                because=chain(context),
                undefined=True,
                only_if_failed=use.role.verb is Verb.DESTROYS or not works(call.entry_point),
            )
