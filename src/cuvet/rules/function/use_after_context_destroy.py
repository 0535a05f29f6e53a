from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import Example


class FunctionUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses a function whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context unloads its modules, and with them their functions. Launching one of them afterwards
    was measured to return CUDA_ERROR_INVALID_HANDLE; it is documented as undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV615"
    name = "function-use-after-context-destroy"
    severity = "error"
    summary = "a function is used after its context was destroyed"
    help = "let go of the function before its context, and the context last"
    kind = Kind.FUNCTION
    kinds = frozenset({Kind.FUNCTION, Kind.KERNEL})
    outcomes = (400,)
    evidence = (
        measured(
            "launching it: CUDA_ERROR_INVALID_HANDLE",
            "context_destroy_then_event_destroy",
        ),
        documented(
            "Destroys and cleans up all resources associated with the context. It is the caller's responsibility "
            "to ensure that the context or its resources are not accessed or passed in subsequent API calls and "
            "doing so will result in undefined behavior.",
            "CUDA Driver API, Context Management, cuCtxDestroy",
        ),
    )
    VALID = (
        Example(
            "context destroyed last",
            """
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuFuncGetAttribute(0, function)
cu.cuCtxDestroy(own)
""",
        ),
        Example(
            "object of another context",
            """
function = cu.kernel()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuFuncGetAttribute(0, function)
""",
            note="it belongs to the context that is still there",
        ),
    )
    INVALID = (
        Example(
            "used after its context was destroyed",
            """
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuCtxDestroy(own)
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-context-destroy]
""",
        ),
        Example(
            "context destroyed by another thread",
            """
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-context-destroy]
""",
        ),
    )
