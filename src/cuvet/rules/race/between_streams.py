from collections.abc import Iterator
from dataclasses import replace

from cuvet.catalog import EntryPoint
from cuvet.model import Call, ModelView, Stream
from cuvet.model.touches import Access
from cuvet.model.touching import stream_worked_on, touched, touches_memory
from cuvet.rules.occasions import while_looking_for_races
from cuvet.rules.rule import CallRule, Edge, Violation
from cuvet.rules.works import MissingEdge, race, work

_OF_RUNTIME = ("cudaEventRecord", "cudaStreamWaitEvent")
_OF_DRIVER = ("cuEventRecord", "cuStreamWaitEvent")


class RaceBetweenStreams(CallRule):
    """
    checks: Work on two streams touches the same bytes, at least one of them writes, and nothing orders the two. ``cuvet run --races``
      looks for this: copies, sets, kernels and calls of libraries, in the memory of devices, in arrays and in pinned memory.
    why: Either may run first, or both at the same time. The data is then what nobody intended, often only once in a thousand runs.
    instead: Record an event on the first stream after its work and make the second wait for it (``cudaEventRecord``,
      ``cudaStreamWaitEvent``), or wait on the host, or use one stream.
    limits: What a kernel reads and writes is told by its PTX. Without PTX it is judged only beside a copy or set that writes all
      of the memory that an argument points into, or, if a library launches it, begins where the argument points. If some threads
      of a kernel can be followed, the range from the first to the last that has something to do is judged if it has no holes, else
      what these threads access; if none can be, the place that its argument points to, unless other arguments say where to begin.
      What is accessed at an index that is found in memory is not judged. Atomic operations do not race with each other. Order that
      is made without CUDA (polling of mapped memory, memory operations on streams, volatile loads) is not seen; streams that use it are not
      judged. What calls of cuBLAS, cuBLASLt, cuFFT, cuRAND, cuSPARSE and NCCL touch is known of most; not of the other libraries, whose
      kernels count. ``cuvet check`` sees streams and memory that one function makes, and two works that both begin where the
      memory does, with nothing between them that could wait: no function of which it does not know that it waits for nothing,
      no object, no branch, no other kernel. It compares a kernel only with a copy or set of which the size is written as that of
      the memory, and only if the file defines the kernel and shows that it uses the memory and waits for nobody. A note, also
      of streams that other functions of the file make, if the second stream waits for an event that was recorded before the first work.
    """

    code = "CV441"
    severity = "error"
    in_source = True
    summary = "work on two streams touches the same memory in no order"
    help = "record an event after the first and make the stream of the second wait for it"
    about_work = True
    libraries = True
    only_when = while_looking_for_races
    evidence = """
    measured, succeeds: a kernel on a stream that does not wait for the memory's allocation on another: no error
      (mallocasync_other_stream_nosync)
    documented: different streams may execute their commands out of order with respect to one another or
      concurrently (CUDA C++ Programming Guide, Streams)
    """
    VALID = """
## ordered by an event
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuEventRecord(event, a)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## the time between two events is known, so both are done
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
start = cu.cuEventCreate(0)
end = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuEventRecord(start, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuEventRecord(end, a)
cu.cuEventElapsedTime(start, end)
while cu.status:
    cu.cuEventElapsedTime(start, end)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## other bytes
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 2048, a)
cu.cuMemsetD8Async(memory + 2048, 1, 2048, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## other columns of the same rows
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD2D8Async(memory, 256, 0, 128, 16, a)
cu.cuMemsetD2D8Async(memory + 128, 256, 1, 128, 16, b)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## both read
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
source = cu.cuMemAlloc(4096)
first = cu.cuMemAlloc(4096)
second = cu.cuMemAlloc(4096)
cu.cuMemcpyDtoDAsync(first, source, 4096, a)
cu.cuMemcpyDtoDAsync(second, source, 4096, b)
cu.cuCtxSynchronize()

## ordered by the legacy default stream
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemsetD8Async(memory, 1, 4096, 0)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## counted by atomic operations
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry count(.param .u64 memory) {"
text += ".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; red.global.add.u32 [%rd1], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "count")
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.launch(kernel, a, memory)
cu.launch(kernel, b, memory)
cu.cuCtxSynchronize()

## at places that are found in memory
note: what the kernels write is not known
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry scatter(.param .u64 memory, .param .u64 places) {"
text += ".reg .b64 %rd<5>; .reg .pred %p1; ld.param.u64 %rd1, [memory]; ld.param.u64 %rd2, [places]; ld.global.u64 %rd3, [%rd2];"
text += "setp.eq.u64 %p1, %rd3, 0; @%p1 ret; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "scatter")
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
places = cu.cuMemAlloc(16)
cu.cuMemsetD8(places, 0, 16)
cu.cuCtxSynchronize()
cu.launch(kernel, a, memory, places)
cu.launch(kernel, b, memory, places + 8)
cu.cuCtxSynchronize()

## a stream waits for a value that another writes later
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
flag = cu.cuMemAlloc(4)
cu.cuMemsetD32(flag, 0, 1)
cu.cuCtxSynchronize()
cu.cuStreamWaitValue32(b, flag, 1, 1)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuStreamWriteValue32(a, flag, 1, 0)
cu.cuCtxSynchronize()

## copied into pageable memory
note: the call may have waited for the copy
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemcpyDtoHAsync(cu.host(4096), memory, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuCtxSynchronize()

## copied between contexts
note: the copy names no stream, so it is serialized with all work
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
other = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemcpyPeer(other, context, memory, context, 4096)
cu.cuMemsetD8Async(memory, 1, 4096, stream)
cu.cuCtxSynchronize()

## products of a library, ordered by the stream of the handle
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
handle = cu.cublas.cublasCreate()
cu.cublas.cublasSetStream(handle, stream)
cu.cublas.cublasSscal(handle, 16, 0, memory, 1)
cu.cuMemsetD8Async(memory, 0, 64, stream)
cu.cuMemsetD8Async(memory + 64, 0, 64, 0)
cu.cuCtxSynchronize()
cu.cublas.cublasDestroy(handle)

## a collective beside a copy of what it reads
note: both read
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
other = cu.cuMemAlloc(4096)
communicator = cu.nccl.ncclCommInitRank(1, bytes(128), 0)
cu.nccl.ncclAllReduce(memory, memory + 2048, 512, 7, 0, communicator, a)
cu.cuMemcpyDtoDAsync(other, memory, 2048, b)
cu.cuCtxSynchronize()

## C++: a kernel after a copy, ordered by an event [cuda]
void scale(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t copies, kernels;
    cudaEvent_t copied;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&copies);
    cudaStreamCreate(&kernels);
    cudaEventCreate(&copied);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, copies);
    cudaEventRecord(copied, copies);
    cudaStreamWaitEvent(kernels, copied, 0);
    scale_all<<<n, 256, 0, kernels>>>(values, n);
    cudaDeviceSynchronize();
    cudaEventDestroy(copied);
    cudaStreamDestroy(copies);
    cudaStreamDestroy(kernels);
    cudaFree(values);
}

## C++: each stream has its half [cuda]
note: the second argument may say where a kernel begins
void scale(const float *from, size_t half, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, 2 * half);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemcpyAsync(values, from, half, cudaMemcpyHostToDevice, one);
    cudaMemcpyAsync(values + n, from + n, half, cudaMemcpyHostToDevice, two);
    scale_some<<<n, 256, 0, two>>>(values, n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a function that may wait [cuda]
void clear(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    finish();
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: perhaps the host waits [cuda]
void clear(size_t bytes, bool wait) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    if (wait)
        cudaStreamSynchronize(one);
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the wait may fail [cuda]
int clear(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    if (cudaStreamSynchronize(one) != cudaSuccess)
        printf("failed");
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
    return 0;
}

## C++: a function of the file waits for the work that it is given [cuda]
__global__ void scale_all(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}
static void finish(cudaError_t status) {
    if (status != cudaSuccess) abort();
    cudaDeviceSynchronize();
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    finish(cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one));
    scale_all<<<n, 256, 0, two>>>(values, n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a check that also waits [cuda]
#define CHECK(call)                  \\
    do {                             \\
        if (call) abort();           \\
        cudaDeviceSynchronize();     \\
    } while (0)
void run(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    CHECK(cudaGetLastError());
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: an object that may wait is made [cuda]
void run(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    gpu_timer timer;
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: what is assigned may be copied from the device [cuda]
void run(size_t bytes, float *host, thrust::device_vector<float> &other) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    host[0] = other[0];
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a pointer to a function that may wait [cuda]
void run(size_t bytes, void (**barrier)(cudaStream_t)) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    (*barrier)(one);
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a copy to memory of the host in between may wait [cuda]
void run(size_t bytes, float *host, const float *other) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    cudaMemcpyAsync(host, other, bytes, cudaMemcpyDeviceToHost, one);
    cudaMemsetAsync(values, 1, bytes, two);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the kernel waits for the copy, which sets a flag [cuda]
__global__ void consume(volatile float *flag, int n) {
    while (flag[0] == 0) {}
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    consume<<<1, 1, 0, two>>>(values, n);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the kernel only compares its pointer [cuda]
__global__ void show(float *values, int n) {
    if (values == nullptr) printf("%p %d", values, n);
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    show<<<1, 1, 0, two>>>(values, n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the kernel is defined elsewhere [cuda]
note: it may not use the memory
__global__ void scale_all(float *values, int n);
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    scale_all<<<n, 256, 0, two>>>(values, n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: kernels in between hand on a flag [cuda]
__global__ void scale_all(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}
void run(const float *from, size_t bytes, int n, int *flag) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    give<<<1, 1, 0, one>>>(flag);
    take<<<1, 1, 0, two>>>(flag);
    scale_all<<<n, 256, 0, two>>>(values, n);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a loop of the kernel waits for the copy [cuda]
__global__ void consume(float *flag, int n) {
    for (int i = 0; !flag[0]; i++) n++;
    flag[1] = n;
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    consume<<<1, 1, 0, two>>>(values, n);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a function that the kernel calls may wait for the copy [cuda]
__global__ void consume(float *flag, int n) {
    spin(n);
    flag[1] = n;
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    consume<<<1, 1, 0, two>>>(values, n);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## Python: waited for by the host [python driver]
def clear(size):
    one = driver.cuStreamCreate(1)[1]
    two = driver.cuStreamCreate(1)[1]
    memory = driver.cuMemAlloc(size)[1]
    driver.cuMemsetD8Async(memory, 0, size, one)
    driver.cuStreamSynchronize(one)
    driver.cuMemsetD8Async(memory, 1, size, two)
    driver.cuStreamSynchronize(two)
    driver.cuMemFree(memory)
    driver.cuStreamDestroy(one)
    driver.cuStreamDestroy(two)

## C++: recorded behind the copy [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void next(float *to, const float *from, int n) {
        CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(to, n);
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};

## C++: the event is for what was copied before, and other memory is copied since [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void next(float *now, float *later, const float *from, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaMemcpyAsync(later, from, n, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(now, n);
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};

## C++: recorded twice, or waited for by a function that is not known [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void twice(float *to, const float *from, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(to, n);
    }
    void unknown(float *to, const float *from, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, copies_));
        finish(copies_);
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(to, n);
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};

## C++: both may be one stream [cuda]
class Line {
public:
    Line(bool one) {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        if (one) kernels_ = copies_;
        else CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    void next(float *to, const float *from, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(to, n);
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};
"""
    INVALID = """
## two sets
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## other work between the two
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
other = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(other, 0, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## the event was recorded before the work
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
other = cu.cuMemAlloc(4096)
cu.cuEventRecord(event, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemcpyDtoDAsync(other, memory, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## the events whose time is known were recorded before the work
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
start = cu.cuEventCreate(0)
end = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuEventRecord(start, a)
cu.cuEventRecord(end, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuEventElapsedTime(start, end)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## a value is written before the work
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
flag = cu.cuMemAlloc(4)
cu.cuStreamWriteValue32(a, flag, 1, 0)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## the host has waited for the stream that waited for a value
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
flag = cu.cuMemAlloc(4)
cu.cuStreamWriteValue32(a, flag, 1, 0)
cu.cuStreamWaitValue32(b, flag, 1, 1)
cu.cuStreamSynchronize(b)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuMemsetD8Async(memory, 0, 4096, a)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## the default stream does not wait for a non-blocking one
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemsetD8(memory, 1, 4096)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## stream-ordered memory
note: that the second stream does not wait for the allocation either is the same mistake
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## two works before it
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
c = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 2048, a)
cu.cuMemsetD8Async(memory + 2048, 0, 2048, b)
cu.cuMemsetD8Async(memory, 1, 4096, c)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## copied into managed memory
note: unlike a copy into pageable memory, this one is not waited for
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
managed = cu.cuMemAllocManaged(4096, 1)
cu.cuMemcpyDtoDAsync(managed, memory, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## a kernel beside a copy into its memory
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry store(.param .u64 memory) {"
text += ".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "store")
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.launch(kernel, b, memory)  # error: [race-between-streams]
cu.cuCtxSynchronize()

## a product of a library that was given another stream
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
handle = cu.cublas.cublasCreate()
cu.cublas.cublasSetStream(handle, a)
cu.cuMemsetD8Async(memory, 0, 64, b)
cu.cublas.cublasSscal(handle, 16, 0, memory, 1)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.cublas.cublasDestroy(handle)

## random numbers on the default stream
note: the generator was given no stream
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
other = cu.cuMemAlloc(4096)
generator = cu.curand.curandCreateGenerator(100)
cu.curand.curandGenerateUniform(generator, memory, 1024)
cu.cuMemcpyDtoDAsync(other, memory, 4096, stream)  # error: [race-between-streams]
cu.cuCtxSynchronize()
cu.curand.curandDestroyGenerator(generator)

## C++: a kernel does not wait for the copy of its memory [cuda]
__global__ void scale_all(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}
void scale(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t copies, kernels;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&copies);
    cudaStreamCreate(&kernels);
    CHECK(cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, copies));
    scale_all<<<n, 256, 0, kernels>>>(values, n);  // error: [race-between-streams]
    cudaDeviceSynchronize();
    cudaStreamDestroy(copies);
    cudaStreamDestroy(kernels);
    cudaFree(values);
}

## C++: a check that the file shows, and numbers, are in between [cuda]
#define CHECK(call)                              \\
    do {                                         \\
        cudaError_t status = (call);             \\
        if (status != cudaSuccess) {             \\
            puts(cudaGetErrorString(status));    \\
            exit(1);                             \\
        }                                        \\
    } while (0)
__global__ void scale_all(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    CHECK(cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one));
    dim3 blocks((n + 255) / 256);
    printf("%d", n);
    scale_all<<<blocks, 256, 0, two>>>(values, n);  // error: [race-between-streams]
    CHECK(cudaGetLastError());
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: a kernel counts in what is set [cuda]
__global__ void count(float *values, const float *from) {
    atomicAdd(&values[(int)from[threadIdx.x]], 1.0f);
}
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaMemsetAsync(values, 0, bytes, one);
    count<<<n, 256, 0, two>>>(values, from);  // error: [race-between-streams]
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the check throws [cuda]
#define CHECK(call) \\
    if (call) throw std::runtime_error(cudaGetErrorString(call))
__device__ void set(float *values, int at) { values[at] = 1; }
__global__ void put(float *values) { set(values, threadIdx.x); }
void run(const float *from, size_t bytes, int n) {
    float *values;
    cudaStream_t one, two;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    CHECK(cudaMemsetAsync(values, 0, bytes, one));
    put<<<n, 256, 0, two>>>(values);  // error: [race-between-streams]
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the event is recorded before the copy [cuda]
void copy(const float *from, float *to, size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaEvent_t copied;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaEventCreate(&copied);
    cudaEventRecord(copied, one);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    cudaStreamWaitEvent(two, copied, 0);
    cudaMemcpyAsync(to, values, bytes, cudaMemcpyDeviceToDevice, two);  // error: [race-between-streams]
    cudaDeviceSynchronize();
    cudaEventDestroy(copied);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## C++: the wait comes before the record [cuda]
note: a wait for an event that was never recorded waits for nothing
void copy(const float *from, float *to, size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaEvent_t copied;
    cudaMalloc(&values, bytes);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaEventCreate(&copied);
    cudaMemcpyAsync(values, from, bytes, cudaMemcpyHostToDevice, one);
    cudaStreamWaitEvent(two, copied, 0);
    cudaEventRecord(copied, one);
    cudaMemcpyAsync(to, values, bytes, cudaMemcpyDeviceToDevice, two);  // error: [race-between-streams]
    cudaDeviceSynchronize();
    cudaEventDestroy(copied);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaFree(values);
}

## Python: set on two streams [python driver]
def clear(size):
    one = driver.cuStreamCreate(1)[1]
    two = driver.cuStreamCreate(1)[1]
    memory = driver.cuMemAlloc(size)[1]
    driver.cuMemsetD8Async(memory, 0, size, one)
    driver.cuMemsetD8Async(memory, 1, size, two)  # error: [race-between-streams]
    driver.cuCtxSynchronize()
    driver.cuMemFree(memory)
    driver.cuStreamDestroy(one)
    driver.cuStreamDestroy(two)

## C#: set on two streams [c# method]
void Clear(int size) {
    CUstream one = new CUstream();
    CUstream two = new CUstream();
    CUdeviceptr memory = new CUdeviceptr();
    Check(Streams.cuStreamCreate(ref one, 1));
    Check(Streams.cuStreamCreate(ref two, 1));
    Check(MemoryManagement.cuMemAlloc_v2(ref memory, size));
    Check(MemsetAsync.cuMemsetD8Async(memory, 0, size, one));
    Check(MemsetAsync.cuMemsetD8Async(memory, 1, size, two));  // error: [race-between-streams]
    Check(ContextManagement.cuCtxSynchronize());
    Check(MemoryManagement.cuMemFree_v2(memory));
    Check(Streams.cuStreamDestroy_v2(one));
    Check(Streams.cuStreamDestroy_v2(two));
}

## C++: the event is recorded before the copy that it is for [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void next(float *to, const float *from, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(to, n);  // note: [race-between-streams]
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return touches_memory(entry_point)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        if model.touches is None:
            return
        stream = stream_worked_on(call, model)
        if stream is None or stream.capture is not None or not stream.alive:
            return
        told: set[Call] = set()
        for touch, access in model.races(call, stream, touched(call, model)):
            if access.call not in told:
                told.add(access.call)
                this, that = work(call, model), work(access.call, model)
                missing = _missing_edge(this, that, call, stream, access)
                edge = Edge(*access.position, stream.number) if access.position is not None else None
                yield replace(race(cls, call, model, stream, touch, access, missing), edge=edge)


def _missing_edge(this: str, that: str, call: Call, stream: Stream, access: Access) -> MissingEdge:
    """``this`` and ``that``: the work of the call and that of the access, in words."""
    other = access.stream
    if other in stream.waited:
        wait, record, event = stream.waited[other]
        return MissingEdge(
            (f"{stream.name} waits for {event.name} as it was recorded before {that}, not after it",),
            f"record {event.name} on {other.name} after {that}, and then let {stream.name} wait for it",
            ((f"{event.name} is recorded on {other.name}", record), (f"{stream.name} waits for {event.name}", wait)),
        )
    record_event, wait_event = _OF_RUNTIME if call.asked.startswith("cuda") else _OF_DRIVER
    if other.recorded is not None and other.recorded[0].time_ns > access.call.time_ns:
        record, event = other.recorded
        return MissingEdge(
            (f"{event.name} is recorded on {other.name} after {that}, but {stream.name} does not wait for it",),
            f"let {stream.name} wait for {event.name} ({wait_event}) before {this}",
            ((f"{event.name} is recorded on {other.name}", record),),
        )
    apart = _apart(stream, other)
    flag = "cudaStreamNonBlocking" if call.asked.startswith("cuda") else "CU_STREAM_NON_BLOCKING"
    return MissingEdge(
        (
            f"no event is recorded on {other.name} after {that} for which {stream.name} waits",
            *(f"{name} does not synchronise with the default stream ({flag})" for name in apart),
        ),
        f"record an event on {other.name} after {that} ({record_event}), and let {stream.name} wait for it "
        f"({wait_event}) before {this}" + "".join(f"; or create {name} without {flag}" for name in apart),
    )


def _apart(*streams: Stream) -> list[str]:
    """The streams that the default stream, if it is one of the two, does not order."""
    if not any(stream.legacy for stream in streams):
        return []
    return [stream.name for stream in streams if not stream.legacy and not stream.blocking]
