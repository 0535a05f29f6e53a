// kvcache-ai/Mooncake#2507: "[TENT] Fix CUDA event leak in nvlink/mnnvl transports".
// The same with the fix.
// Fix 948e5a8b2a0fcb6824c443a8692852e5d962bc09, parent b92cf05ff7b227792d40213a3c05f00ac516a451.
// mooncake-transfer-engine/tent/src/transport/nvlink/nvlink_transport.cpp, NVLinkTransport::startTransfer.
//
// This is not the code of Mooncake: the same calls in the same order, written anew. A task is one copy, which takes the
// way that the code takes without cudaMemcpyBatchAsync; the pool of streams is one stream.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

enum class TransferStatus { PENDING, COMPLETED, FAILED };

struct NVLinkTask {
    void* source;
    void* target;
    size_t length;
    TransferStatus status_word = TransferStatus::PENDING;
    cudaEvent_t completion_event = nullptr;
};

struct NVLinkSubBatch {
    std::vector<NVLinkTask> task_list;
    cudaStream_t async_stream = nullptr;
    std::vector<cudaEvent_t> completion_events;
    ~NVLinkSubBatch() {
        for (cudaEvent_t event : completion_events) cudaEventDestroy(event);
    }
};

void startTransfer(NVLinkSubBatch* batch) {
    for (NVLinkTask& task : batch->task_list) {
        cudaError_t err =
            cudaMemcpyAsync(task.target, task.source, task.length, cudaMemcpyDefault, batch->async_stream);
        if (err != cudaSuccess) {
            std::fprintf(stderr, "startTransfer: cudaMemcpyAsync: %s\n", cudaGetErrorString(err));
            task.status_word = TransferStatus::FAILED;
        }
    }
    cudaEvent_t event;
    cudaError_t event_err = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (event_err != cudaSuccess) {
        std::fprintf(stderr, "startTransfer: cudaEventCreateWithFlags: %s\n", cudaGetErrorString(event_err));
        for (NVLinkTask& task : batch->task_list) task.status_word = TransferStatus::FAILED;
        return;
    }
    cudaError_t record_err = cudaEventRecord(event, batch->async_stream);
    if (record_err != cudaSuccess) {
        std::fprintf(stderr, "startTransfer: cudaEventRecord: %s\n", cudaGetErrorString(record_err));
        cudaEventDestroy(event);
        for (NVLinkTask& task : batch->task_list) task.status_word = TransferStatus::FAILED;
        return;
    }
    batch->completion_events.push_back(event);
    for (NVLinkTask& task : batch->task_list) task.completion_event = event;
}

TransferStatus getTransferStatus(NVLinkTask& task) {
    if (task.status_word == TransferStatus::PENDING) {
        cudaError_t err = cudaEventQuery(task.completion_event);
        if (err == cudaSuccess)
            task.status_word = TransferStatus::COMPLETED;
        else if (err != cudaErrorNotReady) {
            std::fprintf(stderr, "getTransferStatus: cudaEventQuery: %s\n", cudaGetErrorString(err));
            task.status_word = TransferStatus::FAILED;
        }
    }
    return task.status_word;
}

bool transfer(NVLinkSubBatch* batch) {
    startTransfer(batch);
    bool completed = true;
    for (NVLinkTask& task : batch->task_list) {
        while (getTransferStatus(task) == TransferStatus::PENDING) {
        }
        completed = completed && task.status_word == TransferStatus::COMPLETED;
    }
    return completed;
}

bool succeeded(const std::string& call, cudaError_t status) {
    if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", call.c_str(), cudaGetErrorString(status));
    return status == cudaSuccess;
}

}  // namespace

int main() {
    constexpr size_t SIZE = 4096;
    void* memory = nullptr;
    NVLinkSubBatch batch;
    bool well = succeeded("cudaMalloc", cudaMalloc(&memory, 2 * SIZE));
    well = well && succeeded("cudaStreamCreate", cudaStreamCreate(&batch.async_stream));
    if (well) {
        batch.task_list.push_back({memory, static_cast<char*>(memory) + SIZE, SIZE});
        well = transfer(&batch);
    }
    if (batch.async_stream) well = succeeded("cudaStreamDestroy", cudaStreamDestroy(batch.async_stream)) && well;
    if (memory) well = succeeded("cudaFree", cudaFree(memory)) && well;
    std::puts(well ? "COMPLETED" : "FAILED");
    return well ? 0 : 1;
}
