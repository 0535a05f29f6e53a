from cuvet.rules.rule import SourceRule


class SourceClockNotAwaited(SourceRule):
    """
    checks: A function reads a clock of the host, launches a kernel or starts a memset, reads the clock again, and takes the difference.
      Nothing waits for the work before the second reading.
    why: A launch returns before the kernel has run. The difference is the time that it took to start the work.
    instead: Call ``cudaDeviceSynchronize()`` before each reading, or record events and ask for the time between them.
    limits: Only in one block of a function, and only if nothing between the work and the reading may wait. Silent if names or texts say
      that the time of the launch is meant, and if a third reading is compared with one of the two.
    """

    code = "CV849"
    severity = "note"
    summary = "a clock of the host is read before the work that it measures is done"
    help = "wait for the work before reading the clock, or measure with events"
    evidence = """
    documented: to measure with a CPU timer, synchronize the CPU thread with the GPU by cudaDeviceSynchronize immediately before
      starting and stopping the timer, since launches and copies with the Async suffix return before their work is done (CUDA C++ Best
      Practices Guide, Using CPU Timers)
    reported: times of copies and of an analysis on the stream were taken without waiting for it
      (https://github.com/OPM/opm-simulators/commit/b6e13bff)
    """
    VALID = """
## awaited [cuda]
double measure(float *values, int n) {
    CHECK(cudaDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(end - start).count();
}

## a copy to the host waits [cuda]
double measure(float *values, float *host, int n) {
    clock_t start = clock();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, values, n * sizeof(float), cudaMemcpyDeviceToHost));
    clock_t end = clock();
    return double(end - start) / CLOCKS_PER_SEC;
}

## a function that may wait [cuda]
double measure(float *values, int n) {
    clock_t start = clock();
    scale<<<n / 256, 256>>>(values, n);
    finish("scale");
    clock_t end = clock();
    return double(end - start) / CLOCKS_PER_SEC;
}

## the time of the launch is meant [cuda]
double measure(float *values, int n) {
    auto start = std::chrono::steady_clock::now();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    auto launched = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(launched - start).count();
}

## both times are meant [cuda]
void measure(float *values, int n) {
    auto a = std::chrono::steady_clock::now();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    auto b = std::chrono::steady_clock::now();
    CHECK(cudaDeviceSynchronize());
    auto c = std::chrono::steady_clock::now();
    std::cout << (b - a).count() << " " << (c - a).count();
}

## the clock is read for something else [cuda]
void seed(float *values, int n) {
    clock_t start = clock();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    clock_t end = clock();
    srand(start + end);
}
"""
    INVALID = """
## not awaited [cuda]
double measure(float *values, int n) {
    auto start = std::chrono::steady_clock::now();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    auto end = std::chrono::steady_clock::now();  // note: [source-clock-not-awaited]
    return std::chrono::duration<double>(end - start).count();
}

## a loop of launches [cuda]
double measure(float *values, int n) {
    struct timeval start, end;
    gettimeofday(&start, NULL);
    for (int i = 0; i < 100; i++)
        scale<<<n / 256, 256>>>(values, n);
    gettimeofday(&end, NULL);  // note: [source-clock-not-awaited]
    return (end.tv_sec - start.tv_sec) + 1e-6 * (end.tv_usec - start.tv_usec);
}

## where somebody wants to know it [cuda]
void clear(float *values, int n, cudaStream_t stream, bool verbose) {
    double start, end;
    if (verbose) start = second();
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float), stream));
    if (verbose) {
        end = second();  // note: [source-clock-not-awaited]
        printf("%f s", end - start);
    }
}

## the difference is taken at once [cuda]
void measure(float *values, int n) {
    clock_t start = clock();
    scale<<<n / 256, 256>>>(values, n);
    CHECK(cudaGetLastError());
    printf("%f", (double)(clock() - start) / CLOCKS_PER_SEC);  // note: [source-clock-not-awaited]
}
"""
