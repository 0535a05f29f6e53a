from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import Example


class StreamUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a stream whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its streams. Synchronising such a stream was measured to return
    CUDA_ERROR_CONTEXT_IS_DESTROYED; the documentation promises nothing.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV205"
    name = "stream-use-after-context-destroy"
    severity = "error"
    summary = "a stream is used after its context was destroyed"
    help = "destroy the stream before its context, and the context last"
    kind = Kind.STREAM
    libraries = True
    outcomes = (709,)
    evidence = (
        measured(
            "synchronising and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED",
            "ctx_destroy_then_use",
            "context_destroy_then_event_destroy",
        ),
        measured(
            "after the last cuDevicePrimaryCtxRelease: CUDA_ERROR_CONTEXT_IS_DESTROYED",
            "context_primary_released_stream_use",
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
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
cu.cuCtxDestroy(own)
""",
        ),
        Example(
            "object of another context",
            """
stream = cu.cuStreamCreate(0)
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
""",
            note="it belongs to the context that is still there",
        ),
    )
    INVALID = (
        Example(
            "used after its context was destroyed",
            """
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxDestroy(own)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]
""",
        ),
        Example(
            "destroyed after its context was destroyed",
            """
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxDestroy(own)
cu.cuStreamDestroy(stream)  # error: [stream-use-after-context-destroy]
""",
        ),
        Example(
            "context destroyed by another thread",
            """
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]
""",
        ),
    )
