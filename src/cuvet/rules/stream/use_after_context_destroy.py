from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class StreamUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a stream whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its streams. Synchronising such a stream was measured to return
    CUDA_ERROR_CONTEXT_IS_DESTROYED; the documentation promises nothing, and destroying one killed the process once, on
    an H200 that had answered CUDA_ERROR_CONTEXT_IS_DESTROYED in all runs before.

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
    roots = frozenset({Kind.CONTEXT, Kind.GREEN_CONTEXT})
    libraries = True
    outcomes = (709,)
    evidence = """
    measured: synchronising and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (ctx_destroy_then_use,
      context_destroy_then_event_destroy)
    measured: after the last cuDevicePrimaryCtxRelease: CUDA_ERROR_CONTEXT_IS_DESTROYED
      (context_primary_released_stream_use)
    measured: of a green context, after cuGreenCtxDestroy: synchronising, querying and destroying it, recording an event
      and setting memory on it, capturing it: CUDA_ERROR_CONTEXT_IS_DESTROYED (green_gone_stream_sync,
      green_gone_stream_query, green_gone_stream_destroy, green_gone_stream_record, green_gone_stream_memset,
      green_gone_stream_capture)
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
stream = cu.cuStreamCreate(0)
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## C++: destroyed before its context [c++]
void compute(CUdevice device) {
    CUcontext context;
    CUstream stream;
    cuCtxCreate(&context, nullptr, 0, device);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    run(stream);
    cuStreamDestroy(stream);
    cuCtxDestroy(context);
}

## C++: of another context [c++]
void compute(CUdevice device, CUstream stream) {
    CUcontext context;
    cuCtxCreate(&context, nullptr, 0, device);
    run(context);
    cuCtxDestroy(context);
    cuStreamSynchronize(stream);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxDestroy(own)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxDestroy(own)
cu.cuStreamDestroy(stream)  # error: [stream-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]

## synchronised after its green context was destroyed
green = cu.green_context()
stream = cu.cuGreenCtxStreamCreate(green, 1, 0)
cu.cuGreenCtxDestroy(green)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]

## C++: destroyed after its context [c++]
void compute(CUdevice device) {
    CUcontext context;
    CUstream stream;
    cuCtxCreate(&context, nullptr, 0, device);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    run(stream);
    cuCtxDestroy(context);
    cuStreamDestroy(stream);  // error: [stream-use-after-context-destroy]
}

## Python: waited for after the context's end [python]
from cuda.bindings import driver

def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, stream = driver.cuStreamCreate(0)
    work(stream)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]

## C#: destroyed after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Compute(CUdevice device) {
        CUcontext context = new CUcontext();
        CUstream stream = new CUstream();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(Streams.cuStreamCreate(ref stream, CUStreamFlags.None));
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(Streams.cuStreamDestroy_v2(stream));  // error: [stream-use-after-context-destroy]
    }
}
"""
