from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class GreenContextUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a green context that `cuGreenCtxDestroy` destroyed before.

    ## Why it is wrong
    The green context is gone with its streams and with the context that `cuCtxFromGreenCtx` made of it. Calls that name it were
    measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED.

    ## Use instead
    Destroy the green context after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV115"
    name = "green-context-use-after-destroy"
    severity = "error"
    summary = "a green context is used after it was destroyed"
    help = "destroy the green context after its last use, or clear the variable that still holds it"
    kind = Kind.GREEN_CONTEXT
    outcomes = (709,)
    evidence = """
    measured: making a stream or a context of it, recording or awaiting an event, asking for its resources and its id:
      CUDA_ERROR_CONTEXT_IS_DESTROYED (green_gone_stream_create, green_gone_from, green_gone_record, green_gone_wait,
      green_gone_resource, green_gone_id)
    """
    VALID = """
## destroyed after its last use
green = cu.green_context()
stream = cu.cuGreenCtxStreamCreate(green, 1, 0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
cu.cuGreenCtxDestroy(green)

## another one destroyed
first, second = cu.green_context(), cu.green_context()
cu.cuGreenCtxDestroy(first)
stream = cu.cuGreenCtxStreamCreate(second, 1, 0)
cu.cuStreamDestroy(stream)
cu.cuGreenCtxDestroy(second)

## C++: destroyed after its stream [c++]
void run(CUdevResourceDesc part, CUdevice device) {
    CUgreenCtx green;
    CUstream stream;
    cuGreenCtxCreate(&green, part, device, CU_GREEN_CTX_DEFAULT_STREAM);
    cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0);
    work(stream);
    cuStreamDestroy(stream);
    cuGreenCtxDestroy(green);
}
"""
    INVALID = """
## a stream made in it afterwards
green = cu.green_context()
cu.cuGreenCtxDestroy(green)
cu.cuGreenCtxStreamCreate(green, 1, 0)  # error: [green-context-use-after-destroy]

## a context made of it afterwards
green = cu.green_context()
cu.in_thread(lambda: cu.cuGreenCtxDestroy(green))
cu.cuCtxFromGreenCtx(green)  # error: [green-context-use-after-destroy]

## C++: a stream made in a destroyed green context [c++]
void run(CUdevResourceDesc part, CUdevice device) {
    CUgreenCtx green;
    CUstream stream;
    cuGreenCtxCreate(&green, part, device, CU_GREEN_CTX_DEFAULT_STREAM);
    cuGreenCtxDestroy(green);
    cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0);  // error: [green-context-use-after-destroy]
    work(stream);
    cuStreamDestroy(stream);
}
"""
