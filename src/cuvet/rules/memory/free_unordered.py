from cuvet.model import Allocation, Call, ModelView, Stream
from cuvet.rules.frees import Case, freed
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violation, Violations
from cuvet.rules.works import work


class MemoryFreeUnordered(CallRule):
    """
    checks: Stream-ordered memory is freed while work that uses it may still run: by ``cuMemFreeAsync`` on a stream that does not wait for
      the last use on another stream, or by ``cuMemFree`` before the host has waited for the last use.
    why: A free in the order of a stream waits for that stream only. ``cuMemFree`` of stream-ordered memory does not wait, unlike
      ``cuMemFree`` of other memory. Work that runs after the free uses memory that belongs to another allocation or is no longer mapped.
    instead: Free on the stream of the last use, or wait on the freeing stream for an event recorded after it.
    limits: Uses by kernels are seen if an argument is exactly the start of the allocation, with ``cuvet run --races`` wherever it points
      to in it. Order that is made without CUDA is not seen; streams that use it are not judged.
    """

    code = "CV409"
    in_source = True
    severity = "warning"
    summary = "stream-ordered memory is freed without waiting for its last use"
    help = "free it on the stream of its last use, or wait for that use first"
    about_work = True
    entry_points = frozenset({"cuMemFree", "cuMemFreeAsync"})
    only_when = beyond_ordinary_memory
    evidence = """
    measured, succeeds: cuMemFreeAsync on another stream during a kernel: no error (free_from_other_stream_unordered)
    measured: cuMemFree while a kernel that uses the memory is queued: the kernel dies with CUDA_ERROR_ILLEGAL_ADDRESS
      (destroy_default_stream_memory_pending)
    documented: does not synchronise for memory of cuMemAllocAsync: all accesses must be complete before (CUDA Driver
      API, Memory Management, cuMemFree)
    documented: no access after the free (CUDA Driver API, Stream Ordered Memory Allocator, cuMemFreeAsync)
    """
    VALID = """
## freed on the stream of the last use
a = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemFreeAsync(memory, a)
cu.cuStreamSynchronize(a)

## freed on another stream after an event
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuEventRecord(event, a)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemFreeAsync(memory, b)
cu.cuCtxSynchronize()

## host waits before cuMemFree
a = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuStreamSynchronize(a)
cu.cuMemFree(memory)

## never used
note: nothing can use the memory after the free
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFree(memory)

## C++: freed after its use, in the order of one stream [cuda]
void render(size_t bytes) {
    float *values;
    cudaStream_t one;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaMallocAsync(&values, bytes, one);
    cudaMemsetAsync(values, 0, bytes, one);
    cudaFreeAsync(values, one);
    cudaStreamSynchronize(one);
    cudaStreamDestroy(one);
}

## C++: an event orders the two [cuda]
void render(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaEvent_t used;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreate(&used);
    cudaMallocAsync(&values, bytes, one);
    cudaMemsetAsync(values, 0, bytes, one);
    cudaEventRecord(used, one);
    cudaStreamWaitEvent(two, used, 0);
    cudaFreeAsync(values, two);
    cudaStreamSynchronize(two);
    cudaEventDestroy(used);
    cudaStreamDestroy(two);
    cudaStreamDestroy(one);
}

## C++: a function that may wait [cuda]
void render(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaMallocAsync(&values, bytes, one);
    cudaMemsetAsync(values, 0, bytes, one);
    finish(one);
    cudaFreeAsync(values, two);
    cudaStreamSynchronize(two);
    cudaStreamDestroy(two);
    cudaStreamDestroy(one);
}

## C++: freed where it was used last, or behind a wait for that [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void own(int n) {
        float *values;
        CHECK(cudaMallocAsync(&values, n, copies_));
        fill<<<n, 1, 0, copies_>>>(values, n);
        CHECK(cudaFreeAsync(values, copies_));
    }
    void after(float *values, int n) {
        scale<<<n, 1, 0, kernels_>>>(values, n);
        CHECK(cudaEventRecord(ready_, kernels_));
        CHECK(cudaStreamWaitEvent(copies_, ready_, 0));
        CHECK(cudaFreeAsync(values, copies_));
    }
    void other(float *values, float *others, int n) {
        scale<<<n, 1, 0, kernels_>>>(values, n);
        CHECK(cudaFreeAsync(others, copies_));
    }
    void waited(float *values, int n) {
        scale<<<n, 1, 0, kernels_>>>(values, n);
        CHECK(cudaStreamSynchronize(kernels_));
        CHECK(cudaFreeAsync(values, copies_));
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};
"""
    INVALID = """
## freed on another stream
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemFreeAsync(memory, b)  # warning: [memory-free-unordered]
cu.cuCtxSynchronize()

## cuMemFree while the last use is pending
a = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, a)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemFree(memory)  # warning: [memory-free-unordered]

## C++: freed on another stream [cuda]
void render(size_t bytes) {
    float *values;
    cudaStream_t one, two;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync(&values, bytes, one));
    CHECK(cudaMemsetAsync(values, 0, bytes, one));
    CHECK(cudaFreeAsync(values, two));  // warning: [memory-free-unordered]
    CHECK(cudaStreamSynchronize(two));
    CHECK(cudaStreamDestroy(two));
    CHECK(cudaStreamDestroy(one));
}

## C++: freed in the order of the stream that made it [cuda]
class Line {
public:
    Line() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
    }
    ~Line();
    void step(float *values, int n) {
        CHECK(cudaEventRecord(ready_, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, ready_, 0));
        scale<<<n, 1, 0, kernels_>>>(values, n);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(values, copies_));  // note: [memory-free-unordered]
    }
private:
    cudaStream_t copies_, kernels_;
    cudaEvent_t ready_;
};
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        memory = given.object
        if given.case is not Case.RIGHT or not isinstance(memory, Allocation) or memory.variant != "stream-ordered":
            return
        stream = model.stream_on(call)
        if stream is not None and stream.capture is not None:
            return
        for used_on, use in memory.uses.items():
            if _waited_for(call, model, stream, use):
                continue
            where = "without waiting" if stream is None else f"on {stream.name}, which does not wait"
            yield Violation(
                rule=cls,
                message=f"{memory.name} is freed {where} for its use by {work(use, model)} on {used_on.name}",
                objects=(memory, used_on) if stream is None else (memory, used_on, stream),
                argument=given.argument,
                cause=use,
                cause_rules=frozenset({"memory-use-unordered", "race-between-streams"}),
                earlier=((f"{work(use, model)} on {used_on.name}", use),),
            )


def _waited_for(call: Call, model: ModelView, stream: Stream | None, use: Call) -> bool:
    if call.name == "cuMemFree":
        return model.finished(use)
    return stream is None or model.ordered_after(call, stream, use)
