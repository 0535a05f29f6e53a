from cuvet.rules.rule import SourceRule


class SourceContextNotPopped(SourceRule):
    """
    checks: A function pushes a context, pops it at its end, and returns in between without popping it. Or each turn of a loop pushes a
      context, and nothing in the function pops it. A return by a macro of the file, if a call fails, is a note, and so is such a loop where
      another function of the file pops contexts.
    why: The context stays current in the thread. The caller works on with the wrong one, and the stack grows with each call.
    instead: Call ``cuCtxPopCurrent`` on every way out, or let an object do it whose destructor pops.
    limits: Silent if what stands between is named as if it pops, restores or guards something, and about a return that directly follows the
      push, as if it failed. Of exceptions, only those that the function throws itself, in Python and C#.
    """

    code = "CV882"
    severity = "warning"
    summary = "a context that was pushed is not popped"
    help = "pop the context before the function returns"
    evidence = """
    documented: if the context is current to the calling thread, cuCtxDestroy also pops it from the thread's stack (CUDA Driver API,
      Context Management, cuCtxDestroy)
    documented: cuCtxPushCurrent pushes the given context onto the CPU thread's stack of current contexts; the previous one may be made
      current again by calling cuCtxDestroy or cuCtxPopCurrent (CUDA Driver API, Context Management, cuCtxPushCurrent)
    documented: Context.push makes the context active and pushes it on top of the context stack, Context.pop removes any context from the
      top of the stack (PyCUDA documentation, Device Interface, Devices and Contexts, pycuda.driver.Context)
    reported: a loop over devices pushed the context of each and popped none (https://github.com/ICLDisco/parsec/commit/684d7a3f)
    """
    VALID = """
## popped before each return [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    CHECK(cuCtxPushCurrent(context));
    if (cuMemsetD8(values, 0, n) != CUDA_SUCCESS) {
        cuCtxPopCurrent(nullptr);
        return -1;
    }
    CHECK(cuCtxPopCurrent(nullptr));
    return 0;
}

## the push failed [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    CUresult status = cuCtxPushCurrent(context);
    if (status != CUDA_SUCCESS)
        return -1;
    status = cuMemsetD8(values, 0, n);
    CHECK(cuCtxPopCurrent(nullptr));
    return status == CUDA_SUCCESS ? 0 : -1;
}

## an object pops [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    CHECK(cuCtxPushCurrent(context));
    PopAtEnd pop;
    if (cuMemsetD8(values, 0, n) != CUDA_SUCCESS)
        return -1;
    CHECK(cuCtxPopCurrent(nullptr));
    return 0;
}

## the context is destroyed, which pops it [cuda]
void close(CUcontext *contexts, int count) {
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxPushCurrent(contexts[i]));
        CHECK(cuCtxSynchronize());
        CHECK(cuCtxDestroy(contexts[i]));
    }
}

## a macro returns if the push failed [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    CUresult status = cuCtxPushCurrent(context);
    CHECK_STATUS("push", status, { return -1; });
    status = cuMemsetD8(values, 0, n);
    CHECK(cuCtxPopCurrent(nullptr));
    return status == CUDA_SUCCESS ? 0 : -1;
}

## pushed and popped under a condition [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    if (context != nullptr)
        CHECK(cuCtxPushCurrent(context));
    bool filled = cuMemsetD8(values, 0, n) == CUDA_SUCCESS;
    if (context == nullptr)
        return filled;
    CHECK(cuCtxPopCurrent(nullptr));
    return filled;
}

## a function that only pushes [cuda]
void enter(CUcontext context) {
    CHECK(cuCtxPushCurrent(context));
}

## popped in each turn [cuda]
void finish(CUcontext *contexts, int count) {
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxPushCurrent(contexts[i]));
        CHECK(cuCtxSynchronize());
        CHECK(cuCtxPopCurrent(nullptr));
    }
}

## the loop ends with its first turn, and the caller pops [cuda]
bool enter(CUcontext *contexts, int count) {
    for (int i = 0; i < count; i++) {
        if (contexts[i] == nullptr) continue;
        CHECK(cuCtxPushCurrent(contexts[i]));
        return true;
    }
    return false;
}

## PyCUDA: asked before the push, popped on every way [python]
import pycuda.driver as drv

class Blur:
    def apply(self, pixels):
        if pixels.size == 0:
            return None
        self.context.push()
        try:
            self.kernel(drv.InOut(pixels), block=(64, 1, 1))
            return pixels
        finally:
            self.context.pop()

## an object restores the stack in each turn [cuda]
void synchronize(CUcontext *contexts, int count) {
    for (int i = 0; i < count; i++) {
        ContextSaver saver;
        CHECK(cuCtxPushCurrent(contexts[i]));
        CHECK(cuCtxSynchronize());
    }
}

## PyCUDA: popped before it returns [python]
import pycuda.driver as drv

def free_bytes(context, wanted):
    context.push()
    free, total = drv.mem_get_info()
    if free < wanted:
        context.pop()
        return 0
    context.pop()
    return free

## Python: the push failed [python driver]
def clear(context, memory, size):
    error, = driver.cuCtxPushCurrent(context)
    if error != driver.CUresult.CUDA_SUCCESS:
        return False
    error, = driver.cuMemsetD8(memory, 0, size)
    _, _ = driver.cuCtxPopCurrent()
    return error == driver.CUresult.CUDA_SUCCESS

## Python: what encloses the return may pop [python driver]
def clear(context, memory, size):
    check(driver.cuCtxPushCurrent(context))
    try:
        if size == 0:
            return
        check(driver.cuMemsetD8(memory, 0, size))
    except ValueError:
        recover()
    check(driver.cuCtxPopCurrent())

## C#: popped in finally [c# method]
int Fill(IntPtr context, ulong memory, int count)
{
    if (count == 0) return 0;
    Check(cuCtxPushCurrent_v2(context));
    try
    {
        if (count > 4096) return -1;
        Check(cuMemsetD8_v2(memory, 0, (ulong)count));
    }
    finally
    {
        cuCtxPopCurrent_v2(out _);
    }
    return count;
}

## the status is told before it is asked [cuda]
int clear(CUcontext context, CUdeviceptr values, int count) {
    CUresult status = cuCtxPushCurrent(context);
    trace("push", status);
    if (status != CUDA_SUCCESS)
        return -1;
    status = cuMemsetD8(values, 0, count);
    cuCtxPopCurrent(nullptr);
    return status;
}

## popped by a function of the file [cuda]
static int back(int code) {
    CUcontext old;
    return code ? code : cuCtxPopCurrent(&old);
}
int clear(CUcontext context, CUdeviceptr values, int count, int most) {
    CHECK(cuCtxPushCurrent(context));
    int room = most;
    if (count > room)
        return back(-1);
    CHECK(cuMemsetD8(values, 0, count));
    CHECK(cuCtxPopCurrent(nullptr));
    return 0;
}
"""
    INVALID = """
## a return in between [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    CHECK(cuCtxPushCurrent(context));  // warning: [source-context-not-popped]
    if (n > 1024)
        CHECK(cuMemsetD8(values, 0, 1024));
    if (cuMemsetD8(values, 0, n) != CUDA_SUCCESS)
        return -1;
    CHECK(cuCtxPopCurrent(nullptr));
    return 0;
}

## popped behind a label, and a return at once [cuda]
int fill(CUcontext context, CUdeviceptr values, int n) {
    int result = -1;
    if (cuCtxPushCurrent(context) != CUDA_SUCCESS)  // warning: [source-context-not-popped]
        return -1;
    if (n > 1024)
        return -2;
    if (cuMemsetD8(values, 0, n) != CUDA_SUCCESS)
        goto pop;
    result = 0;
pop:
    CHECK(cuCtxPopCurrent(nullptr));
    return result;
}

## in each turn of a loop [cuda]
void finish(CUcontext *contexts, CUevent *events, int count) {
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxPushCurrent(contexts[i]));  // warning: [source-context-not-popped]
        CHECK(cuCtxSynchronize());
        CHECK(cuEventDestroy(events[i]));
    }
}

## in each turn of a loop, and another function pops [cuda]
void enter(CUcontext *contexts, int count) {
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxPushCurrent(contexts[i]));  // note: [source-context-not-popped]
    }
}
void leave(int count) {
    for (int i = 0; i < count; i++) CHECK(cuCtxPopCurrent(nullptr));
}

## PyCUDA: a return before the try [python]
import pycuda.driver as drv

class Blur:
    def apply(self, pixels):
        self.context.push()  # note: [source-context-not-popped]
        if pixels.size == 0:
            return None
        try:
            self.kernel(drv.InOut(pixels), block=(64, 1, 1))
            return pixels
        finally:
            self.context.pop()

## Python: an exception in between [python driver]
def clear(context, memory, size):
    check(driver.cuCtxPushCurrent(context))  # note: [source-context-not-popped]
    if size == 0:
        raise ValueError("nothing to clear")
    check(driver.cuMemsetD8(memory, 0, size))
    check(driver.cuCtxPopCurrent())

## C#: a return in between [c# method]
int Fill(IntPtr context, ulong memory, int count)
{
    Check(cuCtxPushCurrent_v2(context));  // note: [source-context-not-popped]
    if (count == 0) return 0;
    Check(cuMemsetD8_v2(memory, 0, (ulong)count));
    Check(cuCtxPopCurrent_v2(out _));
    return count;
}

## ManagedCuda: a return in between [c#]
using ManagedCuda;

class Blur
{
    readonly CudaContext context = new CudaContext(0);

    bool Apply(byte[] pixels)
    {
        context.PushContext();  // note: [source-context-not-popped]
        if (pixels.Length == 0)
            return false;
        Launch(pixels);
        context.PopContext();
        return true;
    }
}
"""
