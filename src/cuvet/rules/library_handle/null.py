from cuvet.catalog.kinds import NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.library import not_made
from cuvet.model.precedence import Stage
from cuvet.rules.library_handles import is_null
from cuvet.rules.lifecycle import named_among
from cuvet.rules.rule import CallRule, Violations

_USES = frozenset({Verb.USES})


class LibraryHandleNull(CallRule):
    """
    checks: A library call gets NULL (CUFFT_PLAN_NULL for a plan) instead of a handle, and fails.
    why: The library has no state to work with. Its status has other meanings too, such as CUDNN_STATUS_BAD_PARAM.
    instead: Create the handle before its first use, and check the status of the call that creates it. A static object may not exist yet
      when the constructor of another static object uses it.
    limits: Descriptors are not examined, because some may be NULL. Neither is the destruction of NULL, which cuDNN was measured to accept.
    """

    code = "CV963"
    summary = "a call of a library gets NULL instead of a handle"
    help = "create the handle before its first use"
    kinds = NEEDED_BY_LIBRARIES
    verbs = _USES
    libraries = True
    only_for_dead = True
    stage = Stage.HANDLE
    evidence = """
    measured: cudnnSetStream and cudnnGetStream of NULL: CUDNN_STATUS_BAD_PARAM; cudnnDestroy of NULL:
      CUDNN_STATUS_SUCCESS (cudnn_null_handle_use)
    documented: CUBLAS_STATUS_NOT_INITIALIZED: the library was not initialized, usually because there was no prior
      cublasCreate() (cuBLAS, cublasStatus_t, https://docs.nvidia.com/cuda/cublas/#cublasstatus-t)
    documented: CUSPARSE_STATUS_NOT_INITIALIZED: usually caused by the lack of a prior call that makes the handle
      (cuSPARSE, cusparseStatus_t, https://docs.nvidia.com/cuda/cusparse/#cusparsestatus-t)
    documented: CUFFT_INVALID_PLAN: cuFFT was passed an invalid plan handle (cuFFT API Reference, cufftResult,
      https://docs.nvidia.com/cuda/cufft/#return-value-cufftresult)
    documented: CUTENSOR_STATUS_NOT_INITIALIZED: the handle is not initialized (cuTENSOR 2.8.1, cutensor.h)
    """
    VALID = """
## made before
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnSetStream(handle, 0)
cu.cudnn.cudnnDestroy(handle)

## NULL destroyed
cu.cudnn.cudnnDestroy(0)
"""
    INVALID = """
## cuDNN
cu.cudnn.cudnnSetStream(0, 0)  # error: [library-handle-null]

## cuBLAS
cu.cublas.cublasSetStream(0, 0)  # error: [library-handle-null]

## cuTENSOR
cu.cutensor.cutensorHandleResizePlanCache(0, 128)  # error: [library-handle-null]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named_among(call, model, NEEDED_BY_LIBRARIES - not_made(model, call).keys(), _USES):
            kind = use.role.kind
            if is_null(use) and (kind is Kind.CUFFT_PLAN or not use.role.null):
                yield cls.refused(
                    f"the {kind.noun} is NULL", argument=use.argument, outcomes=kind.row.null_status, undefined=True
                )
