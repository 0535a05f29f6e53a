from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class GreenContextDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuGreenCtxDestroy` is called with a green context that was destroyed before.

    ## Why it is wrong
    The second call was measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED. When the driver has issued the handle again in
    between, it destroys the new green context.

    ## Use instead
    Give the green context one owner, which destroys it once.

    ## Limits
    When a new green context has the old one's handle value, the second destruction looks like the first of the new one.
    """

    code = "CV116"
    name = "green-context-destroy-twice"
    severity = "error"
    summary = "a green context is destroyed twice"
    help = "let one owner destroy the green context, and clear its handle at that moment"
    kind = Kind.GREEN_CONTEXT
    outcomes = (709,)
    evidence = """
    measured: CUDA_ERROR_CONTEXT_IS_DESTROYED (green_destroy_twice)
    """
    VALID = """
## destroyed once
green = cu.green_context()
cu.cuGreenCtxDestroy(green)

## handle issued again
note: each is destroyed once, whatever its handle
green = cu.green_context()
cu.cuGreenCtxDestroy(green)
green = cu.green_context()
cu.cuGreenCtxDestroy(green)

## C++: destroyed on each way out [c++]
CUresult run(CUdevResourceDesc part, CUdevice device) {
    CUgreenCtx green;
    CUcontext context;
    cuGreenCtxCreate(&green, part, device, CU_GREEN_CTX_DEFAULT_STREAM);
    CUresult result = cuCtxFromGreenCtx(&context, green);
    if (result != CUDA_SUCCESS) {
        cuGreenCtxDestroy(green);
        return result;
    }
    work(context);
    return cuGreenCtxDestroy(green);
}
"""
    INVALID = """
## destroyed twice
green = cu.green_context()
cu.cuGreenCtxDestroy(green)
cu.cuGreenCtxDestroy(green)  # error: [green-context-destroy-twice]

## C++: on failure, and at the end [c++]
void run(CUdevResourceDesc part, CUdevice device) {
    CUgreenCtx green;
    CUcontext context;
    cuGreenCtxCreate(&green, part, device, CU_GREEN_CTX_DEFAULT_STREAM);
    CUresult result = cuCtxFromGreenCtx(&context, green);
    if (result != CUDA_SUCCESS)
        cuGreenCtxDestroy(green);
    else
        work(context);
    cuGreenCtxDestroy(green);  // error: [green-context-destroy-twice]
}
"""
