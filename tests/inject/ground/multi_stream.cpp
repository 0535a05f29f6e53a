// Splits one array over several streams, copies and clears the parts at once, and joins them on a last stream by
// events. A tool without state to keep: any error is told with its line, and ends the program at once.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const cudaError_t status_ = (call);                                                                  \
        if (status_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                                         \
        }                                                                                                    \
    } while (0)

namespace {

constexpr size_t PARTS = 3;
constexpr size_t PART_BYTES = 128 << 10;

struct Part {
    cudaStream_t stream = nullptr;
    cudaEvent_t ready = nullptr;
    char* host = nullptr;
    char* device = nullptr;
};

Part make_part(int priority) {
    Part part;
    CHECK(cudaStreamCreateWithPriority(&part.stream, cudaStreamNonBlocking, priority));
    CHECK(cudaEventCreateWithFlags(&part.ready, cudaEventDisableTiming));
    CHECK(cudaHostAlloc(reinterpret_cast<void**>(&part.host), PART_BYTES, cudaHostAllocPortable));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&part.device), PART_BYTES));
    return part;
}

void fill(const Part& part, char value) {
    for (size_t i = 0; i < PART_BYTES; ++i) part.host[i] = value;
}

void send(const Part& part) {
    CHECK(cudaMemsetAsync(part.device, 0, PART_BYTES, part.stream));
    CHECK(cudaMemcpyAsync(part.device, part.host, PART_BYTES, cudaMemcpyHostToDevice, part.stream));
    CHECK(cudaEventRecord(part.ready, part.stream));
}

// Device memory of all parts, one after the other, once each part has arrived.
void join(const std::vector<Part>& parts, char* joined, cudaStream_t last) {
    for (size_t i = 0; i < parts.size(); ++i) {
        char* const place = joined + i * PART_BYTES;
        CHECK(cudaStreamWaitEvent(last, parts[i].ready, 0));
        CHECK(cudaMemcpyAsync(place, parts[i].device, PART_BYTES, cudaMemcpyDeviceToDevice, last));
    }
    CHECK(cudaStreamSynchronize(last));
}

void end_part(const Part& part) {
    CHECK(cudaFree(part.device));
    CHECK(cudaFreeHost(part.host));
    CHECK(cudaEventDestroy(part.ready));
    CHECK(cudaStreamDestroy(part.stream));
}

}  // namespace

int main() {
    int lowest = 0, highest = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));

    cudaStream_t last = nullptr;
    char* joined = nullptr;
    CHECK(cudaStreamCreateWithPriority(&last, cudaStreamNonBlocking, highest));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&joined), PARTS * PART_BYTES));

    std::vector<Part> parts;
    for (size_t i = 0; i < PARTS; ++i) parts.push_back(make_part(lowest));
    for (size_t i = 0; i < PARTS; ++i) fill(parts[i], static_cast<char>('a' + i));
    for (const Part& part : parts) send(part);
    join(parts, joined, last);

    for (const Part& part : parts) end_part(part);
    CHECK(cudaFree(joined));
    CHECK(cudaStreamDestroy(last));
    std::printf("multi_stream: %zu parts of %zu bytes joined\n", PARTS, PART_BYTES);
    return 0;
}
