from cuvet.catalog.kinds import NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.model.library import not_made
from cuvet.model.precedence import Stage
from cuvet.rules.library_handles import is_null, returned
from cuvet.rules.lifecycle import named, place, was_seen_made
from cuvet.rules.rule import CallRule, Violations

_USES = frozenset({Verb.USES})


class LibraryHandleNotMade(CallRule):
    """
    checks: The creation of a library handle failed, and a later call of the thread uses NULL or a handle that was never created.
    why: The variable keeps its old value: NULL, or whatever was in memory. The status for NULL hides the first one. For memory that is no
      handle, cuDNN was measured to return CUDNN_STATUS_SUCCESS.
    instead: Check the status of the call that creates the handle, and stop there: its reason must be fixed.
    limits: Silent once a handle of the same kind was created.
    """

    code = "CV965"
    summary = "a library's handle is used although its creation failed"
    help = "check the status of the call that creates the handle; create it once per device, and keep it"
    kinds = NEEDED_BY_LIBRARIES
    verbs = _USES
    libraries = True
    only_for_dead = True
    stage = Stage.HANDLE
    evidence = """
    measured, succeeds: any value: cudnnSetStream returned CUDNN_STATUS_SUCCESS (cuDNN 9.19) (cudnn_garbage_handle)
    measured: NULL: CUDNN_STATUS_BAD_PARAM (cudnn_null_handle_use)
    documented: CUBLAS_STATUS_NOT_INITIALIZED: usually no prior cublasCreate() (cuBLAS, cublasStatus_t,
      https://docs.nvidia.com/cuda/cublas/#cublasstatus-t)
    documented: CUSPARSE_STATUS_NOT_INITIALIZED: also for a matrix or vector descriptor that is not initialized
      (cuSPARSE, cusparseStatus_t, https://docs.nvidia.com/cuda/cusparse/#cusparsestatus-t)
    documented: CUFFT_INVALID_PLAN: cuFFT was passed an invalid plan handle (cuFFT API Reference, cufftResult,
      https://docs.nvidia.com/cuda/cufft/#return-value-cufftresult)
    """
    VALID = """
## made, and then used
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnSetStream(handle, 0)
cu.cudnn.cudnnDestroy(handle)

## status looked at
handle = cu.cublas.cublasCreate()
if not cu.status:
    cu.cublas.cublasSetStream(handle, 0)
"""
    INVALID = r"""
## status not looked at
ptx = b".version 7.0 .target sm_75 .address_size 64 .visible .entry dies() { trap; }\0"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "dies")
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
cu.cuCtxSynchronize()  # error: [error-sticky]
handle = cu.cudnn.cudnnCreate()  # warning: [library-handle-creation-failed]
cu.cudnn.cudnnSetStream(handle, 0)  # error: [library-handle-not-made]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for kind, (first, status) in not_made(model, call).items():
            for use in named(call, model, kind, _USES) if kind in NEEDED_BY_LIBRARIES else ():
                if use.object is not None or was_seen_made(call, use):
                    continue
                yield cls.broken(
                    f"the {kind.noun} was not made: {returned(first, status)}",
                    argument=use.argument,
                    because=(f"{first.name} failed in {place(first)}, and no {kind.noun} was made since",),
                    outcomes=kind.row.null_status if is_null(use) else (),
                    undefined=True,
                    only_if_failed=is_null(use),
                )
