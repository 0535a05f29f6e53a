from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Context
from cuvet.rules.rule import CallRule, Violations


class ContextDestroyPrimary(CallRule):
    """
    checks: `cuCtxDestroy` is called with the primary context of a device.
    why: The primary context is shared and counted. The call was measured to return CUDA_ERROR_INVALID_CONTEXT.
    instead: Call `cuDevicePrimaryCtxRelease` once for each `cuDevicePrimaryCtxRetain`.
    limits: The primary context is known only if its retain was seen.
    """

    code = "CV110"
    summary = "the primary context of a device is destroyed"
    help = "call cuDevicePrimaryCtxRelease instead of cuCtxDestroy"
    entry_points = frozenset({"cuCtxDestroy"})
    evidence = """
    measured: CUDA_ERROR_INVALID_CONTEXT, and the context goes on working (context_primary_destroy)
    documented: unique per device and shared with the CUDA runtime API (CUDA Driver API, Primary Context Management)
    """
    VALID = """
## primary context released
cu.cuDevicePrimaryCtxRelease(device)

## own context destroyed
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(cu.cuCtxGetCurrent())
"""
    INVALID = """
## primary context destroyed
cu.cuCtxDestroy(context)  # error: [context-destroy-primary]

## current context destroyed
cu.cuCtxDestroy(cu.cuCtxGetCurrent())  # error: [context-destroy-primary]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        context = model.object_of(call, 0, Kind.CONTEXT)
        if isinstance(context, Context) and context.alive and context.primary:
            message = f"{context.name} is the primary context of device {context.device}"
            yield cls.broken(message, context, argument=0, outcomes=(201,))
