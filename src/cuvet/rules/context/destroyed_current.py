from cuvet.model import Call, ModelView, Object
from cuvet.model.current import refuses_destroyed_context
from cuvet.rules.current import CurrentContextRule
from cuvet.rules.lifecycle import chain, ending


class ContextDestroyedCurrent(CurrentContextRule):
    """
    checks: A driver call that needs a current context fails on a thread whose current context was destroyed or reset.
    why: `cuCtxDestroy` unsets the context only on the calling thread. On other threads it stays current, and their calls return
      CUDA_ERROR_CONTEXT_IS_DESTROYED. `cuDevicePrimaryCtxRelease` and a reset unset it on no thread.
    instead: Before destroying the context, make another one (or none: `cuCtxSetCurrent(NULL)`) current on every thread that used it.
    limits: Silent about calls of the CUDA runtime, which retains the primary context again.
    """

    code = "CV106"
    summary = "the current context was destroyed"
    help = "make another context current on this thread, or cuCtxSetCurrent(NULL), before the context is destroyed"
    outcomes = (709,)
    evidence = """
    measured: cuStreamCreate and cuCtxSynchronize where another thread destroyed the context:
      CUDA_ERROR_CONTEXT_IS_DESTROYED (context_destroyed_current_use)
    measured: cuMemAlloc after a destroyed context was made current: the same, or the process aborts with a corrupt heap
      (context_destroy_then_setcurrent_use)
    documented: If ctx is current to other threads, then ctx will remain current to those threads, and attempting to
      access ctx from those threads will result in the error CUDA_ERROR_CONTEXT_IS_DESTROYED. (CUDA Driver API, Context
      Management, cuCtxDestroy)
    documented: This error indicates that the context current to the calling thread has been destroyed using
      cuCtxDestroy, or is a primary context which has not yet been initialized. (CUDA Driver API, Data types,
      CUDA_ERROR_CONTEXT_IS_DESTROYED)
    """
    VALID = """
## destroyed on the thread where it is current
note: the context below it on the stack is current again
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuMemFree(cu.cuMemAlloc(4096))

## retained again after the reset
cu.cuDevicePrimaryCtxReset(device)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuMemFree(cu.cuMemAlloc(4096))
"""
    INVALID = """
## destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuMemAlloc(4096)  # error: [context-destroyed-current]

## stream created where the context is left current
own = cu.cuCtxCreate(0, 0, device)
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuStreamCreate(0)  # error: [context-destroyed-current]
"""

    @classmethod
    def concerns(cls, call: Call) -> bool:
        return refuses_destroyed_context(call)

    @classmethod
    def reason(cls, call: Call, model: ModelView) -> tuple[str, tuple[Object, ...], tuple[str, ...]] | None:
        current = model.current_context(call)
        if current is None or current.destroyed_by is None:
            return None
        message = (
            f"{current.name}, current on thread {call.thread}, was {ending(current.destroyed_by)} before this call"
        )
        return message, (current,), chain(current)
