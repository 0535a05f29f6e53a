from cuvet.rules.rule import SourceRule


class SourceDestroyAfterContext(SourceRule):
    """
    checks: A function destroys a context and then events, streams, modules or memory from before, without making another context current.
      Or it disposes of a context of ManagedCuda, and then of objects of ManagedCuda, in a file that has one context.
    why: Destroying a context destroys everything in it. The documentation calls further use of these objects undefined.
    instead: Destroy the objects first, the context last.
    limits: Only driver functions that end something, with no other call in between. The rule does not see where the objects were created:
      they may belong to a context that becomes current when this one is destroyed. Objects that the same function created in the context
      belong to other rules (such as ``event-use-after-context-destroy``).
    """

    code = "CV896"
    severity = "warning"
    summary = "a context is destroyed before the objects in it"
    help = "destroy the objects first, and their context last"
    evidence = """
    measured: destroying an event of the context afterwards returns CUDA_ERROR_CONTEXT_IS_DESTROYED
      (context_destroy_then_event_destroy)
    documented: it is the caller's responsibility that the context or its resources are not accessed or passed in
      subsequent API calls (CUDA Driver API, Context Management, cuCtxDestroy)
    reported: Halide destroyed its context, then its events and its module
      (https://github.com/halide/Halide/commit/31ceed01d635c0f8c9a8d307884fd7ccc7f12150)
    """
    VALID = """
## the context last [cuda]
static CUcontext context;
static CUevent started;
void release() {
    CHECK(cuEventDestroy(started));
    CHECK(cuCtxDestroy(context));
}

## another context is made current [cuda]
static CUcontext contexts[2];
static CUevent events[2];
void release() {
    CHECK(cuCtxDestroy(contexts[0]));
    CHECK(cuCtxSetCurrent(contexts[1]));
    CHECK(cuEventDestroy(events[1]));
    CHECK(cuCtxDestroy(contexts[1]));
}

## a context of its own [cuda]
static CUevent started;
void release(CUdevice device) {
    CUcontext own;
    CHECK(cuCtxCreate(&own, 0, device));
    CHECK(cuCtxDestroy(own));
    CHECK(cuEventDestroy(started));
}

## ManagedCuda: the context last [c#]
using System;
using ManagedCuda;

class Blur : IDisposable
{
    readonly CudaContext context = new CudaContext(0);
    readonly CudaDeviceVariable<float> values;

    public Blur(int count) { values = new CudaDeviceVariable<float>(count); }
    public void Dispose()
    {
        values.Dispose();
        context.Dispose();
    }
}

## ManagedCuda: of two contexts [c#]
using System;
using ManagedCuda;

class Pair : IDisposable
{
    readonly CudaContext first = new CudaContext(0);
    readonly CudaContext second = new CudaContext(1);
    CudaDeviceVariable<float> values = new CudaDeviceVariable<float>(64);

    public void Dispose()
    {
        first.Dispose();
        values.Dispose();
        second.Dispose();
    }
}
"""
    INVALID = """
## the context first [cuda]
static CUcontext context;
static CUevent started;
static CUmodule module;
void release() {
    if (context) {
        CHECK(cuCtxDestroy(context));
        context = 0;
    }
    if (started) {
        CHECK(cuEventDestroy(started));  // warning: [source-destroy-after-context]
        started = 0;
    }
    CHECK(cuModuleUnload(module));  // warning: [source-destroy-after-context]
}

## ManagedCuda: the context first [c#]
using System;
using ManagedCuda;

class Blur : IDisposable
{
    readonly CudaContext context = new CudaContext(0);
    readonly CudaDeviceVariable<float> values;
    readonly CudaStream stream = new CudaStream();

    public Blur(int count) { values = new CudaDeviceVariable<float>(count); }
    public void Dispose()
    {
        context.Dispose();
        values?.Dispose();  // note: [source-destroy-after-context]
        stream.Dispose();
    }
}
"""
