from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import chain
from cuvet.rules.rule import CallRule, Violations


class ContextReleasedTooOften(CallRule):
    """
    checks: `cuDevicePrimaryCtxRelease` fails because the primary context was released as often as it was retained.
    why: The context ended with its last matching release. The next one returns CUDA_ERROR_INVALID_CONTEXT.
    instead: Release once for each retain, in the same owner.
    limits: Reported only when the call fails, because retains by the CUDA runtime count too.
    """

    code = "CV111"
    summary = "a primary context is released more often than it was retained"
    help = "call cuDevicePrimaryCtxRelease once for each cuDevicePrimaryCtxRetain"
    entry_points = frozenset({"cuDevicePrimaryCtxRelease"})
    evidence = """
    measured: CUDA_ERROR_INVALID_CONTEXT (context_primary_overreleased)
    documented: Releasing a primary context that has not been previously retained will fail with
      CUDA_ERROR_INVALID_CONTEXT. (CUDA Driver API, Primary Context Management, cuDevicePrimaryCtxRelease)
    """
    VALID = """
## one release for each retain
note: the setup has retained it once as well
cu.cuDevicePrimaryCtxRetain(device)
cu.cuDevicePrimaryCtxRelease(device)
cu.cuDevicePrimaryCtxRelease(device)

## released after a reset
note: a reset does not release the context
cu.cuDevicePrimaryCtxReset(device)
cu.cuDevicePrimaryCtxRelease(device)
"""
    INVALID = """
## released twice
cu.cuDevicePrimaryCtxRelease(device)
cu.cuDevicePrimaryCtxRelease(device)  # error: [context-released-too-often]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        context = model.primary_context(call.arg("dev"))
        if context is not None and context.retained == 0:
            message = f"the primary context of device {call.arg('dev')} is not retained"
            yield cls.refused(message, context, because=chain(context), outcomes=(201,))
