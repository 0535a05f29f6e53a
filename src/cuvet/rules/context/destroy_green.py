from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Context
from cuvet.rules.rule import CallRule, Violations


class ContextDestroyGreen(CallRule):
    """
    checks: `cuCtxDestroy` is called with the context that `cuCtxFromGreenCtx` returned for a green context.
    why: That context belongs to the green context and ends with it. The call was measured to return
      CUDA_ERROR_INVALID_CONTEXT.
    instead: Destroy the green context with `cuGreenCtxDestroy`.
    limits: Known only if the call that returned the context was seen.
    """

    code = "CV118"
    summary = "the context of a green context is destroyed by itself"
    help = "call cuGreenCtxDestroy with the green context instead of cuCtxDestroy with its context"
    entry_points = frozenset({"cuCtxDestroy"})
    evidence = """
    measured: CUDA_ERROR_INVALID_CONTEXT; the green context is destroyed afterwards (green_context_destroy)
    """
    VALID = """
## green context destroyed
green = cu.green_context()
cu.cuCtxFromGreenCtx(green)
cu.cuGreenCtxDestroy(green)

## own context destroyed
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
"""
    INVALID = """
## its context destroyed
green = cu.green_context()
cu.cuCtxDestroy(cu.cuCtxFromGreenCtx(green))  # error: [context-destroy-green]
cu.cuGreenCtxDestroy(green)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        context = model.object_of(call, 0, Kind.CONTEXT)
        if isinstance(context, Context) and context.alive and context.of_green:
            owner = (
                f" is that of {context.parent.name}" if context.parent is not None else " is that of a green context"
            )
            yield cls.broken(f"{context.name}{owner}, and ends with it", context, argument=0, outcomes=(201,))
