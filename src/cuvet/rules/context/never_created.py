from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class ContextNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a context is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The number names no context. A device number (`CUdevice`) is not a context.

    ## Use instead
    Pass what `cuCtxCreate`, `cuDevicePrimaryCtxRetain` or `cuCtxGetCurrent` returned, and look at their status.

    ## Limits
    Silent when the call succeeds: the context may have been made in a way that cannot be seen. The CUDA runtime learns the
    handle of a primary context before it retains it. A live stream given to `cuCtxPushCurrent`
    was measured to be accepted; the process then died of SIGSEGV in the driver, in the `cuCtxPopCurrent` that followed.
    """

    code = "CV104"
    name = "context-never-created"
    severity = "error"
    summary = "a context is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the context"
    kind = Kind.CONTEXT
    outcomes = (CRASH, 201)
    evidence = """
    measured: a number from nowhere, given to cuCtxPushCurrent: SIGSEGV in the driver (context_from_nowhere)
    measured: a live stream, given to cuCtxPushCurrent: accepted; SIGSEGV in the driver in cuCtxPopCurrent
      (stream_handle_of_event)
    documented: This can also be returned if the context passed to an API call is not a valid handle. (CUDA Driver API,
      Data types, CUDA_ERROR_INVALID_CONTEXT)
    """
    VALID = """
## current context
current = cu.cuCtxGetCurrent()
cu.cuCtxPushCurrent(current)
cu.cuCtxPopCurrent()

## context of a stream
stream = cu.cuStreamCreate(0)
cu.cuCtxSetCurrent(cu.cuStreamGetCtx(stream))
cu.cuStreamDestroy(stream)

## C++: a context behind a pointer to void [c++]
void compute(CUdevice device) {
    CUcontext context;
    cuCtxCreate(&context, nullptr, 0, device);
    void *opaque = context;
    cuCtxSetCurrent((CUcontext)opaque);
    cuCtxDestroy((CUcontext)opaque);
}
"""
    INVALID = """
## a number from nowhere
cu.cuCtxPushCurrent(0x1234567000)  # error: [context-never-created]

## C++: a stream as a context [c++]
void compute(CUdevice device) {
    CUstream stream;
    cuStreamCreate(&stream, 0);
    void *current = stream;
    cuCtxSetCurrent((CUcontext)current);  // error: [context-never-created]
    cuStreamDestroy(stream);
}

## C#: handles as IntPtr, in the wrong order [c#]
class Worker {
    [DllImport("nvcuda", EntryPoint = "cuCtxCreate_v2")] static extern int Create(out IntPtr context, uint flags, int device);
    [DllImport("nvcuda", EntryPoint = "cuCtxDestroy_v2")] static extern int Destroy(IntPtr context);
    [DllImport("nvcuda", EntryPoint = "cuStreamCreate")] static extern int CreateStream(out IntPtr stream, uint flags);
    [DllImport("nvcuda", EntryPoint = "cuStreamDestroy_v2")] static extern int DestroyStream(IntPtr stream);

    void Compute() {
        Check(Create(out IntPtr context, 0, 0));
        Check(CreateStream(out IntPtr stream, 0));
        Work(stream);
        Check(DestroyStream(stream));
        Check(Destroy(context));
        Check(CreateStream(out IntPtr other, 0));
        Check(Destroy(other));  // error: [context-never-created]
    }
}
"""
