from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import Example


class MipmappedArrayUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a mipmapped array whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its mipmapped arrays. What a later call with one of them does is documented as
    undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV475"
    name = "mipmapped-array-use-after-context-destroy"
    severity = "error"
    summary = "a mipmapped array is used after its context was destroyed"
    help = "destroy the mipmapped array before its context, and the context last"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (709,)
    evidence = (
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
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)
cu.cuCtxDestroy(own)
""",
        ),
        Example(
            "object of another context",
            """
array = cu.mipmapped_array()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)
""",
            note="it belongs to the context that is still there",
        ),
    )
    INVALID = (
        Example(
            "used after its context was destroyed",
            """
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-context-destroy]
""",
        ),
        Example(
            "destroyed after its context was destroyed",
            """
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-use-after-context-destroy]
""",
        ),
        Example(
            "context destroyed by another thread",
            """
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-context-destroy]
""",
        ),
    )
