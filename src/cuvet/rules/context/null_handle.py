from __future__ import annotations

from typing import ClassVar

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle

_INVALID_CONTEXT = ("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess", "cuCtxRecordEvent", "cuCtxWaitEvent")


class ContextNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a context is given NULL. `cuCtxSetCurrent(NULL)` is not such a call: it takes the current context off the
    thread.

    ## Why it is wrong
    NULL is no context; the call returns CUDA_ERROR_INVALID_VALUE, where peer access or the context's events are concerned
    CUDA_ERROR_INVALID_CONTEXT. Usually the call that should have made it
    failed, and nobody looked at its status.

    ## Use instead
    Look at the status of `cuCtxCreate` or `cuDevicePrimaryCtxRetain`; to have no context current, call
    `cuCtxSetCurrent(NULL)`.

    ## Limits
    Calls for which NULL means the current context are left out.
    """

    code = "CV103"
    name = "context-null-handle"
    severity = "error"
    summary = "NULL is given where a context is wanted"
    help = "look at the status of the call that should have made the context"
    kind = Kind.CONTEXT
    outcomes = (1,)
    outcomes_of: ClassVar = dict.fromkeys(_INVALID_CONTEXT, (201,))
    evidence = """
    measured: cuCtxDestroy and cuCtxPushCurrent: CUDA_ERROR_INVALID_VALUE (context_null)
    recorded: cuCtxEnablePeerAccess, cuCtxDisablePeerAccess, cuCtxRecordEvent and cuCtxWaitEvent:
      CUDA_ERROR_INVALID_CONTEXT
    """
    VALID = """
## no context made current
cu.cuCtxSetCurrent(0)
cu.cuCtxSetCurrent(context)
cu.cuCtxSynchronize()

## popped and pushed
popped = cu.cuCtxPopCurrent()
cu.cuCtxPushCurrent(popped)
"""
    INVALID = """
## destroyed
cu.cuCtxDestroy(0)  # error: [context-null-handle]

## pushed
cu.cuCtxPushCurrent(0)  # error: [context-null-handle]
"""
