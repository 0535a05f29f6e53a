from cuvet.catalog.results import SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Context
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import ABORT, CRASH, Violations


class NotOfPrimary(UseAfterDestroy):
    """Primary contexts are not judged."""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for violation in super().check(call, model):
            context = violation.objects[0]
            if isinstance(context, Context) and not context.primary:
                yield violation


LIFE = Life(
    kind=Kind.CONTEXT,
    name="context",
    make="cu.cuCtxCreate(0, 0, device)",
    use="cu.cuCtxPushCurrent({})",
    end="cu.cuCtxDestroy({})",
    variable="own",
    cpp=Spelled(
        type="CUcontext", given="CUdevice device", make="cuCtxCreate(&own, nullptr, 0, device)", end="cuCtxDestroy(own)"
    ),
    python=Spelled(
        given="device", make="error, own = driver.cuCtxCreate(None, 0, device)", end="error, = driver.cuCtxDestroy(own)"
    ),
    csharp=Spelled(
        type="CUcontext",
        given="CUdevice device",
        make="ContextManagement.cuCtxCreate_v2(ref own, CUCtxFlags.SchedAuto, device)",
        end="ContextManagement.cuCtxDestroy_v2(own)",
    ),
    mistakes=(
        Mistake(
            USED_AFTER_DESTROY,
            "CV101",
            (201, 709),
            outcomes_of={
                "cuCtxSetCurrent": (SUCCESS, ABORT),
                "cuCtxPushCurrent": (SUCCESS, ABORT),
                "cuCtxGetId": (709,),
                "cuCtxSynchronize": (709,),
            },
            rule=NotOfPrimary,
            roots=frozenset({Kind.GREEN_CONTEXT}),
            programs=False,
        ),
        Mistake(DESTROYED_TWICE, "CV102", (709, 201, ABORT), without=("handle issued again",)),
        Mistake(
            NULL_HANDLE,
            "CV103",
            (1,),
            outcomes_of=dict.fromkeys(
                ("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess", "cuCtxRecordEvent", "cuCtxWaitEvent"), (201,)
            ),
            without=("with a handle", "skipped when there is none"),
        ),
        Mistake(
            NEVER_CREATED,
            "CV104",
            (CRASH, 201),
            without=("created first", "created by another thread"),
            mistaken={Kind.STREAM: (CRASH, 201)},
        ),
    ),
)

TEXTS = """
# context-use-after-destroy
why: The context and everything in it are destroyed. `cuCtxSetCurrent` and `cuCtxPushCurrent` were measured to accept
  it. The next call in it returns CUDA_ERROR_CONTEXT_IS_DESTROYED, or the process aborts with a corrupt heap.
instead: Destroy the context after its last use, and clear the handle. Most programs can use the primary context
  (`cuDevicePrimaryCtxRetain`), which is counted and shared with the runtime.
limits: Silent about primary contexts: they keep their handle when they are reset and retained again.
documented: This can also be returned if the context passed to an API call is not a valid handle (such as a context that
  has had cuCtxDestroy() invoked on it). (CUDA Driver API, Data types, CUDA_ERROR_INVALID_CONTEXT)
measured, cuCtxSetCurrent and cuCtxPushCurrent succeed: cuCtxSetCurrent and cuCtxPushCurrent accept a destroyed context;
  in 2 of 5 runs the process then aborted (ctx_destroy_twice, context_destroy_then_push)
measured, cuCtxSetCurrent and cuCtxPushCurrent succeed: the same with the context of a destroyed green context, whether
  or not the primary context lives: 6 to 11 of 20 processes aborted (green_gone_push_alone_with_primary,
  green_gone_set_current_alone, green_gone_push_with_primary, green_gone_set_current_with_primary, green_gone_push_pop);
  none of 20 in which it was current when its green context was destroyed (green_pushed_and_gone)
measured: cuCtxGetApiVersion and cuCtxGetId of such a context: CUDA_ERROR_INVALID_CONTEXT and
  CUDA_ERROR_CONTEXT_IS_DESTROYED (green_gone_context_asked, green_gone_context_asked_with_primary)
measured: cuCtxGetApiVersion: CUDA_ERROR_INVALID_CONTEXT; cuCtxGetId, cuCtxSynchronize_v2:
  CUDA_ERROR_CONTEXT_IS_DESTROYED (context_destroyed_asked, context_gone_synchronize)

# context-use-after-destroy: right

## destroyed after its last use
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxPopCurrent()
cu.cuCtxPushCurrent(own)
cu.cuCtxDestroy(own)

## primary context after a reset
note: the primary context has the same handle again
cu.cuDevicePrimaryCtxReset(device)
context = cu.cuDevicePrimaryCtxRetain(device)
cu.cuCtxSetCurrent(context)
cu.cuCtxSynchronize()

## context of a green context, popped before its end
green = cu.green_context()
own = cu.cuCtxFromGreenCtx(green)
cu.cuCtxPushCurrent(own)
cu.cuCtxPopCurrent()
cu.cuGreenCtxDestroy(green)

## C++: a context for each round [c++]
void compute(CUdevice device, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        CUcontext context;
        cuCtxCreate(&context, nullptr, 0, device);
        run(context);
        cuCtxSetCurrent(context);
        cuCtxSynchronize();
        cuCtxDestroy(context);
    }
}

## Python: popped, and destroyed at the end [python driver]
def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    try:
        work()
        error, = driver.cuCtxSynchronize()
    finally:
        error, = driver.cuCtxDestroy(context)

# context-use-after-destroy: wrong

## pushed after its destruction
note: accepted in silence
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxPushCurrent(own)  # error: [context-use-after-destroy]

## used after it was made current again
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(own)  # error: [context-use-after-destroy]
cu.cuMemAlloc(4096)  # error: [context-destroyed-current]

## made current after its destruction
note: accepted in silence
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxSetCurrent(own)  # error: [context-use-after-destroy]

## context of a green context that was destroyed
green = cu.green_context()
own = cu.cuCtxFromGreenCtx(green)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(own)  # error: [context-use-after-destroy]

## C++: made current again [c++]
void compute(CUdevice device, CUdeviceptr values, size_t n) {
    CUcontext context;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMemsetD32(values, 0, n);
    cuCtxDestroy(context);
    cuCtxSetCurrent(context);  // error: [context-use-after-destroy]
}

## Python: pushed after the destruction [python driver]
def compute(device):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuCtxPushCurrent(context)  # error: [context-use-after-destroy]

## C#: made current again [c# method]
void Compute(CUdevice device) {
    CUcontext context = new CUcontext();
    Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
    Check(ContextManagement.cuCtxDestroy_v2(context));
    Check(ContextManagement.cuCtxSetCurrent(context));  // error: [context-use-after-destroy]
}

# context-destroy-twice
why: The second call was measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED or CUDA_ERROR_INVALID_CONTEXT, and to leave
  the heap of the process corrupt, so that it can abort later.
instead: Give the context one owner, which destroys it once. Release a primary context (`cuDevicePrimaryCtxRelease`)
  instead of destroying it.
measured: CUDA_ERROR_CONTEXT_IS_DESTROYED, or CUDA_ERROR_INVALID_CONTEXT in 1 of 3 runs, which then aborted; heap
  corruption (abort) in 3 of 3 runs before (ctx_destroy_twice)
documented: It is the caller's responsibility to ensure that the context or its resources are not accessed or passed in
  subsequent API calls and doing so will result in undefined behavior. (CUDA Driver API, Context Management,
  cuCtxDestroy)

# context-destroy-twice: right

## two contexts
first = cu.cuCtxCreate(0, 0, device)
second = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(second)
cu.cuCtxDestroy(first)

## primary context released twice
note: one release for each retain
cu.cuDevicePrimaryCtxRetain(device)
cu.cuDevicePrimaryCtxRelease(device)
cu.cuDevicePrimaryCtxRelease(device)

## Python: in finally alone [python driver]
def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    try:
        work()
    finally:
        error, = driver.cuCtxDestroy(context)

# context-null-handle
checks: A call that needs a context gets NULL (not `cuCtxSetCurrent(NULL)`, which unsets the current one).
why: The call returns CUDA_ERROR_INVALID_VALUE, or CUDA_ERROR_INVALID_CONTEXT if it is about peer access or the
  context's events. Usually the creation of the context failed, and the program ignored its status.
instead: Check the status of `cuCtxCreate` or `cuDevicePrimaryCtxRetain`. To have no context current, call
  `cuCtxSetCurrent(NULL)`.
limits: Silent about calls for which NULL means the current context.
measured: cuCtxDestroy and cuCtxPushCurrent: CUDA_ERROR_INVALID_VALUE (context_null)
recorded: cuCtxEnablePeerAccess, cuCtxDisablePeerAccess, cuCtxRecordEvent and cuCtxWaitEvent: CUDA_ERROR_INVALID_CONTEXT

# context-null-handle: right

## no context made current
cu.cuCtxSetCurrent(0)
cu.cuCtxSetCurrent(context)
cu.cuCtxSynchronize()

## popped and pushed
popped = cu.cuCtxPopCurrent()
cu.cuCtxPushCurrent(popped)

# context-never-created
why: The number names no context. A device number (`CUdevice`) is not a context.
instead: Pass the result of `cuCtxCreate`, `cuDevicePrimaryCtxRetain` or `cuCtxGetCurrent`, and check their status.
limits: Silent when the call succeeds, because not every creation can be seen: the CUDA runtime knows the handle of a
  primary context before it retains it.
measured: a number from nowhere, given to cuCtxPushCurrent: SIGSEGV in the driver (context_from_nowhere)
measured: a live stream, given to cuCtxPushCurrent: accepted; SIGSEGV in the driver in cuCtxPopCurrent
  (stream_handle_of_event)
documented: This can also be returned if the context passed to an API call is not a valid handle. (CUDA Driver API, Data
  types, CUDA_ERROR_INVALID_CONTEXT)

# context-never-created: right

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

# context-never-created: wrong

## C++: a stream as a context [c++]
void compute(CUdevice device) {
    CUstream stream;
    cuStreamCreate(&stream, 0);
    void *current = stream;
    cuCtxSetCurrent((CUcontext)current);  // error: [context-never-created]
    cuStreamDestroy(stream);
}

## C#: handles as IntPtr, in the wrong order [c# class]
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
"""
