from cuvet.rules.rule import SourceRule


class SourceLaunchUnchecked(SourceRule):
    """
    checks: A function launches kernels with ``<<<>>>``, and neither it nor a caller in the file calls ``cudaGetLastError`` or the like.
    why: A launch returns nothing. If its configuration is refused, the kernel does not run, and the program continues with old data.
    instead: Pass ``cudaGetLastError()`` to the program's check after the launch.
    limits: What is named like a check counts as one. Callers in other files are not seen. One note per function or file.
    """

    code = "CV862"
    severity = "note"
    summary = "the program does not check whether a launch was accepted"
    help = "check cudaGetLastError() after the launch"
    evidence = """
    documented: Check for errors after launching a kernel by calling cudaGetLastError (NVIDIA CUDA C++ Guidelines for
      Robust and Safety-Critical Programming, CUDA 1.4)
    measured: after a launch with too many threads, blocks or too much shared memory cudaGetLastError returns
      cudaErrorInvalidValue (launch_bad_config, launch_too_many_threads)
    """
    VALID = """
## asked [cuda]
void scale(float *values, int n, cudaStream_t stream) {
    multiply<<<n, 256, 0, stream>>>(values);
    CHECK(cudaGetLastError());
}

## a macro that asks [cuda]
void scale(float *values, int n) {
    for (int i = 0; i < 4; ++i) {
        multiply<<<n, 256>>>(values + i * n);
        CUDA_KERNEL_LAUNCH_CHECK();
    }
}

## a macro without arguments that asks [cuda]
void scale(float *values, int n) {
    multiply<<<n, 256>>>(values);
    CUERR
}
void shift(float *values, int n) {
    add<<<n, 256>>>(values); CUERR
}

## a macro around the launch [cuda]
void scale(float *values, int n) {
    CHECK_LAUNCH(multiply<<<n, 256>>>(values));
}
void shift(float *values, int n) {
    CHECK_LAUNCH(add<<<n, 256>>>(values));
}

## asked by the caller [cuda]
static void scale(float *values, int n) {
    multiply<<<n, 256>>>(values);
}
void scale_all(float *values, int n) {
    scale(values, n);
    CHECK(cudaPeekAtLastError());
}
"""
    INVALID = """
## not asked [cuda]
void scale(float *values, int n, cudaStream_t stream) {
    multiply<<<n, 256, 0, stream>>>(values);  // note: [source-launch-unchecked]
    CHECK(cudaStreamSynchronize(stream));
}

## one note for a file in which nobody asks [cuda]
void scale(float *values, int n) {
    multiply<<<n, 256>>>(values);  // note: [source-launch-unchecked]
}
void shift(float *values, int n) {
    add<<<n, 256>>>(values);
}
"""
