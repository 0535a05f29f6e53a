from cuvet.rules.rule import SourceRule


class SourceContextNotPopped(SourceRule):
    """
    checks: A function pushes a context, pops it at its end, and returns in between without popping it. Or each turn of a loop pushes a
      context, and nothing in the function pops it.
    why: The context stays current in the thread. The caller works on with the wrong one, and the stack grows with each call.
    instead: Call ``cuCtxPopCurrent`` on every way out, or let an object do it whose destructor pops.
    limits: Silent if what stands between is named as if it pops, restores or guards something, and about a return that directly follows the
      push, as if it failed.
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

## in each turn of a loop [cuda]
void finish(CUcontext *contexts, CUevent *events, int count) {
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxPushCurrent(contexts[i]));  // warning: [source-context-not-popped]
        CHECK(cuCtxSynchronize());
        CHECK(cuEventDestroy(events[i]));
    }
}
"""
