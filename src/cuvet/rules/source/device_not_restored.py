from cuvet.rules.rule import SourceRule


class SourceDeviceNotRestored(SourceRule):
    """
    checks: A function asks which device (or context) is current, makes another one current, and never uses the answer.
    why: The caller goes on with another device than before: what it allocates, creates or launches next is on that one.
    instead: Make the first device current again at the end, on every way out of the function.
    limits: Only where the variable that holds the answer is used for nothing else. Silent about ``main``.
    """

    code = "CV875"
    severity = "note"
    summary = "a function does not make the device current again that it asked for"
    help = "pass the device that was asked for to cudaSetDevice at the end"
    evidence = """
    documented: cudaSetDevice sets device as the current device for the calling host thread; memory, streams, events and launches
      that follow are on that device (CUDA Runtime API, Device Management, cudaSetDevice)
    reported: the device of the caller was not current any more after an initialization
      (https://github.com/LLNL/Umpire/commit/ad427977)
    """
    VALID = """
## made current again [cuda]
void fill(float *values, int n, int device) {
    int before;
    CHECK(cudaGetDevice(&before));
    CHECK(cudaSetDevice(device));
    CHECK(cudaMemset(values, 0, n));
    CHECK(cudaSetDevice(before));
}

## an object makes it current again [cuda]
void fill(float *values, int n, int device) {
    int before;
    CHECK(cudaGetDevice(&before));
    Restore restore(before);
    CHECK(cudaSetDevice(device));
    CHECK(cudaMemset(values, 0, n));
}

## for the caller [cuda]
int change(int device) {
    int before;
    CHECK(cudaGetDevice(&before));
    CHECK(cudaSetDevice(device));
    return before;
}

## the caller's variable [cuda]
void change(int *before, int device) {
    CHECK(cudaGetDevice(before));
    CHECK(cudaSetDevice(device));
}

## nothing else is made current [cuda]
void look() {
    int device;
    CHECK(cudaGetDevice(&device));
}

## the program itself [cuda]
int main() {
    int device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaSetDevice(1));
}
"""
    INVALID = """
## never used [cuda]
void fill(float *values, int n, int device) {
    int before;
    CHECK(cudaGetDevice(&before));
    CHECK(cudaSetDevice(device));  // note: [source-device-not-restored]
    CHECK(cudaMemset(values, 0, n));
}

## in each turn of a loop [cuda]
void enable(int count) {
    for (int device = 1; device < count; device++) {
        int before = 0;
        CHECK(cudaGetDevice(&before));
        CHECK(cudaSetDevice(device));  // note: [source-device-not-restored]
        CHECK(cudaDeviceEnablePeerAccess(0, 0));
    }
}

## a context [cuda]
void fill(CUdeviceptr values, int n, CUcontext context) {
    CUcontext before;
    CHECK(cuCtxGetCurrent(&before));
    CHECK(cuCtxSetCurrent(context));  // note: [source-device-not-restored]
    CHECK(cuMemsetD8(values, 0, n));
}
"""
