// ComputationalRadiationPhysics/picongpu#1485: "Cuda event fix to avoid deadlock".
// The same with the fix.
// Fix be79c21f24414987fd471c829650336bb0fe2c15, parent 78070d81ad905833842ce4607f8a3875fcf57ab0.
// src/libPMacc/include/eventSystem/events/CudaEvent.hpp, CudaEvent::isFinished.
//
// This is not the code of PIConGPU: the same calls in the same order, written anew. The kernel of the task became one
// cudaMemsetAsync; the manager, which asks every task again and again, became one loop. Main gives everything back.

#include <cuda_runtime_api.h>

#include <cassert>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

void throw_if_failed(cudaError_t rc, const char* what) {
    if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define CUDA_CHECK(call) throw_if_failed((call), #call)

class CudaEvent {
  public:
    static CudaEvent create() {
        CudaEvent created;
        CUDA_CHECK(cudaEventCreateWithFlags(&created.event, cudaEventDisableTiming));
        created.isValid = true;
        return created;
    }

    static void destroy(const CudaEvent& old) {
        CUDA_CHECK(cudaEventSynchronize(old.event));
        CUDA_CHECK(cudaEventDestroy(old.event));
    }

    bool isFinished() const {
        assert(isValid);
        const cudaError_t rc = cudaEventQuery(event);
        if (rc == cudaErrorNotReady) return false;
        throw_if_failed(rc, "cudaEventQuery");
        return true;
    }

    void recordEvent(cudaStream_t stream) {
        assert(!isRecorded);
        CUDA_CHECK(cudaEventRecord(event, stream));
        isRecorded = true;
    }

    cudaEvent_t event = nullptr;

  private:
    bool isRecorded = false;
    bool isValid = false;
};

class StreamTask {
  public:
    explicit StreamTask(const CudaEvent& unused) : cudaEvent(unused) {}

    void activate(cudaStream_t stream) { cudaEvent.recordEvent(stream); }

    bool isFinished() {
        if (!alwaysFinished) alwaysFinished = cudaEvent.isFinished();
        return alwaysFinished;
    }

  private:
    CudaEvent cudaEvent;
    bool alwaysFinished = false;
};

void waitForFinished(StreamTask& task) {
    while (!task.isFinished()) {
    }
}

void simulate(void* field, size_t bytes, cudaStream_t stream, const CudaEvent& event) {
    CUDA_CHECK(cudaMemsetAsync(field, 0, bytes, stream));
    StreamTask task(event);
    task.activate(stream);
    waitForFinished(task);
}

struct Objects {
    void* field = nullptr;
    cudaStream_t stream = nullptr;
    CudaEvent event;

    void create(size_t bytes) {
        CUDA_CHECK(cudaMalloc(&field, bytes));
        CUDA_CHECK(cudaStreamCreate(&stream));
        event = CudaEvent::create();
    }
    void destroy() {
        if (event.event) CudaEvent::destroy(event);
        if (stream) CUDA_CHECK(cudaStreamDestroy(stream));
        if (field) CUDA_CHECK(cudaFree(field));
    }
};

}  // namespace

int main() {
    Objects objects;
    int code = 0;
    try {
        objects.create(4096);
        simulate(objects.field, 4096, objects.stream, objects.event);
        std::puts("step 1 finished");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        code = 1;
    }
    try {
        objects.destroy();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        code = 1;
    }
    return code;
}
