// Streams chunks to the device through a ring of pinned slots. A host function in the stream hands each slot back once
// its copy is done, so that the producer waits only when all slots are on their way.

#include <cuda_runtime_api.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>

namespace {

constexpr size_t SLOTS = 2;
constexpr size_t SLOT_BYTES = 16 << 10;
constexpr int CHUNKS = 6;

// What host functions touch is never destroyed: a program that failed does not wait for those still to come.
struct FreeSlots {
    std::mutex mutex;
    std::condition_variable more;
    std::deque<size_t> numbers;
};
FreeSlots& free_slots = *new FreeSlots;

struct Ring {
    cudaStream_t stream = nullptr;
    char* target = nullptr;
    std::array<char*, SLOTS> slots = {};
};

bool ok(const char* call, cudaError_t status) {
    if (status != cudaSuccess) std::fprintf(stderr, "ring: %s: %s\n", call, cudaGetErrorString(status));
    return status == cudaSuccess;
}

void put_back(void* slot) {
    const std::lock_guard<std::mutex> lock(free_slots.mutex);
    free_slots.numbers.push_back(reinterpret_cast<size_t>(slot));
    free_slots.more.notify_one();
}

size_t take() {
    std::unique_lock<std::mutex> lock(free_slots.mutex);
    free_slots.more.wait(lock, [] { return !free_slots.numbers.empty(); });
    const size_t slot = free_slots.numbers.front();
    free_slots.numbers.pop_front();
    return slot;
}

bool open(Ring& ring) {
    if (!ok("cudaStreamCreate", cudaStreamCreate(&ring.stream))) return false;
    if (!ok("cudaMalloc", cudaMalloc(reinterpret_cast<void**>(&ring.target), CHUNKS * SLOT_BYTES))) return false;
    for (size_t i = 0; i < SLOTS; ++i) {
        void* slot = nullptr;
        if (!ok("cudaHostAlloc", cudaHostAlloc(&slot, SLOT_BYTES, cudaHostAllocDefault))) return false;
        ring.slots[i] = static_cast<char*>(slot);
        put_back(reinterpret_cast<void*>(i));
    }
    return true;
}

// If the stream has failed, its host functions may never run: then there is nothing to wait for.
bool healthy(const Ring& ring) {
    const cudaError_t status = cudaStreamQuery(ring.stream);
    return status == cudaErrorNotReady || ok("cudaStreamQuery", status);
}

bool send(const Ring& ring, int chunk) {
    if (!healthy(ring)) return false;
    const size_t slot = take();
    char* const place = ring.target + chunk * SLOT_BYTES;
    std::memset(ring.slots[slot], chunk, SLOT_BYTES);
    void* const number = reinterpret_cast<void*>(slot);
    if (!ok("cudaMemcpyAsync", cudaMemcpyAsync(place, ring.slots[slot], SLOT_BYTES, cudaMemcpyDefault, ring.stream)))
        return false;
    return ok("cudaLaunchHostFunc", cudaLaunchHostFunc(ring.stream, put_back, number));
}

// All slots are back: every chunk has arrived.
bool drain(const Ring& ring) {
    if (!healthy(ring)) return false;
    for (size_t i = 0; i < SLOTS; ++i) take();
    return true;
}

bool close(Ring& ring) {
    bool all = true;
    if (ring.stream) all = ok("cudaStreamSynchronize", cudaStreamSynchronize(ring.stream)) && all;
    for (char* slot : ring.slots)
        if (slot) all = ok("cudaFreeHost", cudaFreeHost(slot)) && all;
    if (ring.target) all = ok("cudaFree", cudaFree(ring.target)) && all;
    if (ring.stream) all = ok("cudaStreamDestroy", cudaStreamDestroy(ring.stream)) && all;
    return all;
}

}  // namespace

int main() {
    Ring ring;
    bool sent = open(ring);
    for (int chunk = 0; sent && chunk < CHUNKS; ++chunk) sent = send(ring, chunk);
    sent = sent && drain(ring);
    const bool closed = close(ring);
    if (!sent || !closed) return 1;
    std::printf("ring: %d chunks through %zu slots\n", CHUNKS, SLOTS);
    return 0;
}
