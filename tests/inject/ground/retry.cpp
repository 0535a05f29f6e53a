// Uploads batches on a GPU that other programs use too. Memory may be short for a moment: then the pool gives back what
// it does not need and the allocation is tried again, at most ATTEMPTS times. No other error is worth another try.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int ATTEMPTS = 3;
constexpr int BATCHES = 3;
constexpr size_t BATCH_BYTES = 1 << 20;

struct Session {
    cudaMemPool_t pool = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t uploaded = nullptr;
};

cudaError_t told(const char* call, cudaError_t status) {
    if (status != cudaSuccess) std::fprintf(stderr, "retry: %s: %s\n", call, cudaGetErrorString(status));
    return status;
}

cudaError_t open(Session& session) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaError_t status = told("cudaMemPoolCreate", cudaMemPoolCreate(&session.pool, &properties));
    if (status != cudaSuccess) return status;
    status = told("cudaStreamCreate", cudaStreamCreate(&session.stream));
    if (status != cudaSuccess) return status;
    return told("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&session.uploaded, cudaEventDisableTiming));
}

cudaError_t close(const Session& session) {
    cudaError_t first = cudaSuccess;
    auto keep = [&first](cudaError_t status) { first = first == cudaSuccess ? status : first; };
    if (session.uploaded) keep(told("cudaEventDestroy", cudaEventDestroy(session.uploaded)));
    if (session.stream) keep(told("cudaStreamDestroy", cudaStreamDestroy(session.stream)));
    if (session.pool) keep(told("cudaMemPoolDestroy", cudaMemPoolDestroy(session.pool)));
    return first;
}

cudaError_t make_room(const Session& session) {
    const cudaError_t status = told("cudaStreamSynchronize", cudaStreamSynchronize(session.stream));
    if (status != cudaSuccess) return status;
    return told("cudaMemPoolTrimTo", cudaMemPoolTrimTo(session.pool, 0));
}

cudaError_t allocate(const Session& session, void** memory) {
    cudaError_t status = cudaMallocFromPoolAsync(memory, BATCH_BYTES, session.pool, session.stream);
    for (int attempt = 2; status == cudaErrorMemoryAllocation && attempt <= ATTEMPTS; ++attempt) {
        std::fprintf(stderr, "retry: cudaMallocFromPoolAsync: out of memory, attempt %d follows\n", attempt);
        const cudaError_t room = make_room(session);
        if (room != cudaSuccess) return room;
        status = cudaMallocFromPoolAsync(memory, BATCH_BYTES, session.pool, session.stream);
    }
    return told("cudaMallocFromPoolAsync", status);
}

cudaError_t copy(const Session& session, void* memory, const std::vector<char>& batch) {
    cudaError_t status = cudaErrorMemoryAllocation;
    for (int attempt = 1; status == cudaErrorMemoryAllocation && attempt <= ATTEMPTS; ++attempt) {
        status = cudaMemcpyAsync(memory, batch.data(), batch.size(), cudaMemcpyHostToDevice, session.stream);
        told("cudaMemcpyAsync", status);
    }
    return status;
}

cudaError_t wait(const Session& session) {
    cudaError_t status = told("cudaEventRecord", cudaEventRecord(session.uploaded, session.stream));
    if (status != cudaSuccess) return status;
    while ((status = cudaEventQuery(session.uploaded)) == cudaErrorNotReady) std::this_thread::yield();
    return told("cudaEventQuery", status);
}

cudaError_t upload(const Session& session, const std::vector<char>& batch) {
    void* memory = nullptr;
    const cudaError_t allocated = allocate(session, &memory);
    if (allocated != cudaSuccess) return allocated;
    cudaError_t status = copy(session, memory, batch);
    if (status == cudaSuccess) status = wait(session);
    const cudaError_t freed = told("cudaFreeAsync", cudaFreeAsync(memory, session.stream));
    return status == cudaSuccess ? freed : status;
}

}  // namespace

int main() {
    Session session;
    const std::vector<char> batch(BATCH_BYTES, 7);
    cudaError_t status = open(session);
    for (int i = 0; status == cudaSuccess && i < BATCHES; ++i) status = upload(session, batch);
    if (status == cudaSuccess) status = told("cudaStreamSynchronize", cudaStreamSynchronize(session.stream));
    const cudaError_t closed = close(session);
    if (status != cudaSuccess || closed != cudaSuccess) return 1;
    std::printf("retry: %d batches uploaded\n", BATCHES);
    return 0;
}
