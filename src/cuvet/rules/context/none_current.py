from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.rules.current import CurrentContextRule, contexts_elsewhere


class ContextNoneCurrent(CurrentContextRule):
    """
    checks: A driver call that needs a current context fails while no context is current on any thread.
    why: The driver API creates no context itself. Without one, allocations and the creation of objects return CUDA_ERROR_INVALID_CONTEXT.
    instead: Retain the primary context (`cuDevicePrimaryCtxRetain`), which the runtime shares, and make it current (`cuCtxSetCurrent`) on
      each thread before the first call. After `cuCtxDestroy` of the current context, make another one current.
    limits: Silent about calls of the CUDA runtime, which makes the primary context current and tries again. The current context of another
      thread is known after that thread's first call that is always stored.
    """

    code = "CV105"
    answers = True
    summary = "a call needs a current context and there is none"
    help = "retain the primary context with cuDevicePrimaryCtxRetain and make it current with cuCtxSetCurrent first"
    outcomes = (201,)
    evidence = """
    measured: making streams, events or modules, allocating, waiting: CUDA_ERROR_INVALID_CONTEXT (context_none_current)
    measured: cuMemAlloc after cuCtxDestroy of the current context: the same (ctx_destroy_then_use)
    documented: This most frequently indicates that there is no context bound to the current thread. (CUDA Driver API,
      Data types, CUDA_ERROR_INVALID_CONTEXT)
    """
    VALID = """
## primary context made current [no-setup]
cu.cuInit(0)
device = cu.cuDeviceGet(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuMemFree(cu.cuMemAlloc(4096))

## created contexts are current at once [no-setup]
cu.cuInit(0)
context = cu.cuCtxCreate(0, 0, cu.cuDeviceGet(0))
cu.cuEventDestroy(cu.cuEventCreate(0))
cu.cuCtxDestroy(context)

## graphs need no context [no-setup]
cu.cuInit(0)
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
"""
    INVALID = """
## allocation without a context [no-setup]
cu.cuInit(0)
cu.cuMemAlloc(4096)  # error: [context-none-current]

## after the current context was destroyed [no-setup]
cu.cuInit(0)
context = cu.cuCtxCreate(0, 0, cu.cuDeviceGet(0))
cu.cuCtxDestroy(context)
cu.cuStreamCreate(0)  # error: [context-none-current]

## retained but not made current [no-setup]
cu.cuInit(0)
cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(0))
cu.cuEventCreate(0)  # error: [context-none-current]
"""

    @classmethod
    def reason(cls, call: Call, model: ModelView) -> tuple[str, tuple[Object, ...], tuple[str, ...]] | None:
        if model.current_handle(call) or contexts_elsewhere(call, model):
            return None
        living = tuple(model.objects(Kind.CONTEXT))
        because = tuple(f"{context.name} exists, but is not current on thread {call.thread}" for context in living[:3])
        return "no context is current", living[:3], because
