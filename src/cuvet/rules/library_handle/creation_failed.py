from dataclasses import replace

from cuvet.catalog import status_name
from cuvet.model import Call, ModelView
from cuvet.rules.library_handles import returned
from cuvet.rules.lifecycle import place
from cuvet.rules.memory.exhausted import explain_exhausted
from cuvet.rules.rule import FailureRule, Violation
from cuvet.rules.unmade import kind_not_made

_NO_DEVICE = frozenset({100, 101})
"""CUDA_ERROR_NO_DEVICE, CUDA_ERROR_INVALID_DEVICE."""
_OUT_OF_MEMORY = 2
_HARMLESS = frozenset({500, 801})
"""CUDA_ERROR_NOT_FOUND and CUDA_ERROR_NOT_SUPPORTED: libraries ask for what need not be there."""


class LibraryHandleCreationFailed(FailureRule):
    """
    checks: A library cannot create its handle or plan (`CUDNN_STATUS_NOT_INITIALIZED`, `CUBLAS_STATUS_ALLOC_FAILED` and similar). The
      finding names the reason: the driver call inside that failed, a context that was lost earlier, or what holds the GPU's memory.
    why: Creating a handle starts CUDA and allocates resources. The library returns the same few statuses for every failure of these.
    instead: Fix the reason that the finding names. If no driver call failed, check the library's files with `cuvet doctor`.
    limits: Does not explain a status about the call's arguments. Of a library with its own CUDA runtime, only the driver calls are seen.
    """

    code = "CV966"
    asked_first = True
    severity = "warning"
    summary = "a library could not create its handle or plan"
    help = "fix the named reason; if no driver call failed, run cuvet doctor, which checks the library's files"
    libraries = True
    evidence = """
    measured: no visible device: cudnnCreate returned CUDNN_STATUS_NOT_INITIALIZED (cudnn_no_visible_device)
    measured: after an illegal address: cudnnCreate returned CUDNN_STATUS_INTERNAL_ERROR
      (cudnn_sticky_error_then_create)
    documented: cublasCreate() returns CUBLAS_STATUS_NOT_INITIALIZED if the CUDA runtime could not be initialised,
      CUBLAS_STATUS_ALLOC_FAILED if the resources could not be allocated (cuBLAS, cublasCreate(),
      https://docs.nvidia.com/cuda/cublas/#cublascreate)
    reported: too little memory left: cudnnCreate returns CUDNN_STATUS_NOT_INITIALIZED
      (https://github.com/tensorflow/tensorflow/issues/27144)
    """
    VALID = """
## made without CUDA having been started [no-setup]
note: the library starts it
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnSetStream(handle, 0)
cu.cudnn.cudnnDestroy(handle)

## made after an error that is over
cu.cuModuleGetGlobal(cu.module(), "absent")
cu.cublas.cublasDestroy(cu.cublas.cublasCreate())
"""
    INVALID = r"""
## context lost before
ptx = b".version 7.0 .target sm_75 .address_size 64 .visible .entry dies() { trap; }\0"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "dies")
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
cu.cuCtxSynchronize()  # error: [error-sticky]
cu.cudnn.cudnnCreate()  # warning: [library-handle-creation-failed]
"""

    @classmethod
    def explain(cls, call: Call, status: int, model: ModelView) -> Violation | None:
        """Why a library's call failed that was to make a handle or plan. None of other calls, and if its arguments may be why."""
        kind = None if call.entry_point.api == "driver" else kind_not_made(call, status)
        if kind is None:
            return None
        wanted = f"the {kind.noun} was not made: {returned(call, status)}"
        inside = _failed_inside(call, model)
        lost = model.sticky_error(call)
        if lost is not None:
            first, error = lost
            name = status_name("driver", error)
            return _violation(
                f"{wanted}; the context was lost before, to {name}", f"{name} first showed in {place(first)}"
            )
        if inside is None:
            return _violation(wanted, "no call to the driver failed while it was made")
        inner, error = inside
        what = f"{inner.name} returned {status_name('driver', error)} ({error}) while it was made"
        if error in _NO_DEVICE:
            return _violation(f"{wanted}; there is no GPU that this process may use", what)
        exhausted = explain_exhausted(inner, error, model) if error == _OUT_OF_MEMORY else None
        if exhausted is not None:
            found = _violation(f"{wanted}; {exhausted.message}", what, *exhausted.because)
            return replace(found, held=exhausted.held)
        return _violation(f"{wanted}; {inner.name} failed", what)


def _failed_inside(call: Call, model: ModelView) -> tuple[Call, int] | None:
    """The last driver call that failed inside this one: its number on the thread is the higher."""
    failure = model.last_failure(call.thread)
    if failure is None or failure[0].number <= call.number or failure[1] in _HARMLESS:
        return None
    return failure


def _violation(message: str, *because: str) -> Violation:
    return LibraryHandleCreationFailed.broken(message, because=because, undefined=True)
