from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class GreenContextNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a green context is given NULL.

    ## Why it is wrong
    NULL is no green context, and the current context does not stand in for it: the calls were measured to return
    CUDA_ERROR_INVALID_CONTEXT. Usually the call that should have made it failed, and nobody looked at its status.

    ## Use instead
    Look at the status of `cuGreenCtxCreate`, and of the calls that split the device's resources before it.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV117"
    name = "green-context-null-handle"
    severity = "error"
    summary = "NULL is given where a green context is wanted"
    help = "look at the status of cuGreenCtxCreate, and skip the call when there is no green context"
    kind = Kind.GREEN_CONTEXT
    outcomes = (201,)
    evidence = """
    measured: destroying it, and making a context or a stream of it or asking for its resources:
      CUDA_ERROR_INVALID_CONTEXT (green_null)
    """
    VALID = """
## with a handle
green = cu.green_context()
cu.cuCtxFromGreenCtx(green)
cu.cuGreenCtxDestroy(green)

## skipped when there is none
green = 0
if green:
    cu.cuGreenCtxDestroy(green)
"""
    INVALID = """
## destroyed
cu.cuGreenCtxDestroy(0)  # error: [green-context-null-handle]

## a stream made in none
cu.cuGreenCtxStreamCreate(0, 1, 0)  # error: [green-context-null-handle]
"""
