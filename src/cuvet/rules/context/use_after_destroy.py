from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from cuvet.catalog.roles import Kind
from cuvet.model.objects import Context
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import Violation

if TYPE_CHECKING:
    from cuvet.model import Call, ModelView


class ContextUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a context that `cuCtxDestroy` destroyed before.

    ## Why it is wrong
    The context is gone with all that belonged to it. `cuCtxSetCurrent` and `cuCtxPushCurrent` were measured to
    accept it in silence; the failure shows later: the next call in that context returns CUDA_ERROR_CONTEXT_IS_DESTROYED, or the
    process aborts with a corrupt heap.

    ## Use instead
    Destroy the context when nothing names it any more, and forget the handle in the same place. Most programs need no context
    of their own: the primary one (`cuDevicePrimaryCtxRetain`) is shared with the runtime and counted.

    ## Limits
    Primary contexts are not judged: their handle stays the same when they are reset and retained again.
    """

    code = "CV101"
    name = "context-use-after-destroy"
    severity = "error"
    summary = "a destroyed context is used"
    help = "destroy the context after its last use, and clear every variable that holds the handle"
    kind = Kind.CONTEXT
    outcomes = (201, 709)
    outcomes_of: ClassVar = {
        "cuCtxSetCurrent": (),
        "cuCtxPushCurrent": (),
        "cuCtxGetId": (709,),
        "cuCtxSynchronize": (709,),
    }
    evidence = """
    documented: This can also be returned if the context passed to an API call is not a valid handle (such as a context
      that has had cuCtxDestroy() invoked on it). (CUDA Driver API, Data types, CUDA_ERROR_INVALID_CONTEXT)
    measured, cuCtxSetCurrent and cuCtxPushCurrent succeed: cuCtxSetCurrent and cuCtxPushCurrent accept a destroyed
      context; in 2 of 5 runs the process then aborted (ctx_destroy_twice, context_destroy_then_push)
    measured: cuCtxGetApiVersion: CUDA_ERROR_INVALID_CONTEXT; cuCtxGetId, cuCtxSynchronize_v2:
      CUDA_ERROR_CONTEXT_IS_DESTROYED (context_destroyed_asked, context_gone_synchronize)
    """
    VALID = """
## destroyed after its last use
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxPopCurrent()
cu.cuCtxPushCurrent(own)
cu.cuCtxDestroy(own)

## primary context after a reset
note: the primary context has the same handle again
cu.cuDevicePrimaryCtxReset(device)
context = cu.cuDevicePrimaryCtxRetain(device)
cu.cuCtxSetCurrent(context)
cu.cuCtxSynchronize()

## C++: a context for each round [c++]
void compute(CUdevice device, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        CUcontext context;
        cuCtxCreate(&context, nullptr, 0, device);
        run(context);
        cuCtxSetCurrent(context);
        cuCtxSynchronize();
        cuCtxDestroy(context);
    }
}

## Python: popped, and destroyed at the end [python]
from cuda.bindings import driver

def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    try:
        work()
        error, = driver.cuCtxSynchronize()
    finally:
        error, = driver.cuCtxDestroy(context)
"""
    INVALID = """
## pushed after its destruction
note: accepted in silence
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxPushCurrent(own)  # error: [context-use-after-destroy]

## used after it was made current again
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(own)  # error: [context-use-after-destroy]
cu.cuMemAlloc(4096)  # error: [context-destroyed-current]

## made current after its destruction
note: accepted in silence
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(own)  # error: [context-use-after-destroy]

## C++: made current again [c++]
void compute(CUdevice device, CUdeviceptr values, size_t n) {
    CUcontext context;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMemsetD32(values, 0, n);
    cuCtxDestroy(context);
    cuCtxSetCurrent(context);  // error: [context-use-after-destroy]
}

## Python: pushed after the destruction [python]
from cuda.bindings import driver

def compute(device):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuCtxPushCurrent(context)  # error: [context-use-after-destroy]

## C#: made current again [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Compute(CUdevice device) {
        CUcontext context = new CUcontext();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(ContextManagement.cuCtxSetCurrent(context));  // error: [context-use-after-destroy]
    }
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        for violation in super().check(call, model):
            context = violation.objects[0]
            if isinstance(context, Context) and not context.primary:
                yield violation
