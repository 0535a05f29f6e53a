from cuvet.rules.rule import SourceRule


class SourceElapsedNotAwaited(SourceRule):
    """
    checks: A function records an event and asks for the elapsed time up to it, and waits for nothing between the two. Or a file of C# or
      Python records events and asks for times, and nothing in it waits.
    why: While the GPU has not reached the event, the call returns cudaErrorNotReady and sets no time.
    instead: Call ``cudaEventSynchronize(end)``, in Python ``end.synchronize()``, before the time is asked for.
    limits: Only in one block of a function. Silent if anything between the two may wait (a loop, a function of which nothing is known, a
        copy, an allocation, a release, a check that waits), and if the status of the call decides what follows. A note where the GPU has
        nothing to do before the event, and of whole files, whose callers may wait.
    """

    code = "CV884"
    severity = "warning"
    summary = "the elapsed time is asked for before the event is reached"
    help = "wait for the event before asking for the time"
    evidence = """
    measured: cudaErrorNotReady, while the kernel before the second event runs (event_elapsed_notready)
    documented: cudaEventElapsedTime returns cudaErrorNotReady while one of the two recorded events is not complete (CUDA
      Runtime API, Event Management, cudaEventElapsedTime)
    reported: an example asked for the time before the second event was reached (https://github.com/cupy/cupy/issues/5678)
    reported: a tutorial asked for the time without waiting (https://github.com/pytorch/tutorials/pull/3165)
    """
    VALID = """
## awaited [cuda]
float measure(cudaEvent_t start, cudaEvent_t end, float *values) {
    float time = 0;
    CHECK(cudaEventRecord(start));
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&time, start, end));
    return time;
}

## asked until it is reached [cuda]
float measure(cudaEvent_t start, cudaEvent_t end) {
    float time = 0;
    CHECK(cudaEventRecord(end));
    while (cudaEventQuery(end) == cudaErrorNotReady) {
    }
    CHECK(cudaEventElapsedTime(&time, start, end));
    return time;
}

## the status is asked for [cuda]
bool measure(cudaEvent_t start, cudaEvent_t end, float *time) {
    CHECK(cudaEventRecord(end));
    return cudaEventElapsedTime(time, start, end) == cudaErrorNotReady;
}

## a function that may wait [cuda]
float measure(cudaEvent_t start, cudaEvent_t end) {
    float time = 0;
    CHECK(cudaEventRecord(end));
    wait_for_all();
    CHECK(cudaEventElapsedTime(&time, start, end));
    return time;
}

## of PyTorch [python]
import torch
def measure(model, values):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    model(values)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)

## C#: another method waits [c#]
using System;
using System.Runtime.InteropServices;

class Timer
{
    [DllImport("cudart64_12")] static extern int cudaEventRecord(IntPtr e, IntPtr stream);
    [DllImport("cudart64_12")] static extern int cudaEventSynchronize(IntPtr e);
    [DllImport("cudart64_12")] static extern int cudaEventElapsedTime(out float ms, IntPtr from, IntPtr to);
    IntPtr from, to;

    public void Stop(IntPtr stream) => Check(cudaEventRecord(to, stream));
    public void Finish() => Check(cudaEventSynchronize(to));
    public float Read()
    {
        Check(cudaEventElapsedTime(out float ms, from, to));
        return ms;
    }
}

## C#: the events are recorded elsewhere [c#]
using System;
using System.Runtime.InteropServices;

class Reader
{
    [DllImport("cudart64_12")] static extern int cudaEventElapsedTime(out float ms, IntPtr from, IntPtr to);
    public static float Read(IntPtr from, IntPtr to)
    {
        Check(cudaEventElapsedTime(out float ms, from, to));
        return ms;
    }
}

## Python: the caller has the other event, and may have waited for it [python cudart]
class Mark:
    def __init__(self):
        error, self.event = cudart.cudaEventCreate()

    def record(self, stream):
        check(cudart.cudaEventRecord(self.event, stream))

    def until(self, other):
        return check(cudart.cudaEventElapsedTime(self.event, other.event))

## a macro that checks is given a copy that returns when it is done [cuda]
#define CHECK(call) do { cudaError_t status = (call); if (status != cudaSuccess) exit(1); } while (0)
float timed(float *host, float *values, int n) {
    cudaEventRecord(start);
    scale<<<n / 256, 256>>>(values, n);
    cudaEventRecord(stop);
    CHECK(cudaMemcpy(host, values, n * sizeof(float), cudaMemcpyDeviceToHost));
    float elapsed;
    cudaEventElapsedTime(&elapsed, start, stop);
    return elapsed;
}
"""
    INVALID = """
## not awaited [cuda]
float measure(cudaEvent_t start, cudaEvent_t end, float *values) {
    float time = 0;
    CHECK(cudaEventRecord(start));
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventElapsedTime(&time, start, end));  // warning: [source-elapsed-not-awaited]
    return time;
}

## recorded when all is done [cuda]
float measure(cudaEvent_t start, cudaEvent_t end) {
    float time = 0;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventElapsedTime(&time, start, end));  // note: [source-elapsed-not-awaited]
    return time;
}

## only the first event is awaited [cuda]
float measure(cudaEvent_t start, cudaEvent_t end) {
    float time = 0;
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(start));
    CHECK(cudaEventElapsedTime(&time, start, end));  // warning: [source-elapsed-not-awaited]
    return time;
}

## of PyTorch, not awaited [python]
import torch
def measure(model, values):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    model(values)
    end.record()
    print(start.elapsed_time(end))  # warning: [source-elapsed-not-awaited]

## C#: nothing in the file waits [c#]
using System;
using System.Runtime.InteropServices;

class Timer
{
    [DllImport("cudart64_12")] static extern int cudaEventRecord(IntPtr e, IntPtr stream);
    [DllImport("cudart64_12")] static extern int cudaEventSynchronize(IntPtr e);
    [DllImport("cudart64_12")] static extern int cudaEventElapsedTime(out float ms, IntPtr from, IntPtr to);
    IntPtr from, to;

    public void Stop(IntPtr stream) => Check(cudaEventRecord(to, stream));
    public float Read()
    {
        Check(cudaEventElapsedTime(out float ms, from, to));  // note: [source-elapsed-not-awaited]
        return ms;
    }
}

## Python: nothing in the file waits [python cudart]
class Timer:
    def __init__(self):
        error, self.begin = cudart.cudaEventCreate()
        error, self.end = cudart.cudaEventCreate()

    def stop(self, stream):
        check(cudart.cudaEventRecord(self.end, stream))

    def read(self):
        return check(cudart.cudaEventElapsedTime(self.begin, self.end))  # note: [source-elapsed-not-awaited]
"""
