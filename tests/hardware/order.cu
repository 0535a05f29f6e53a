// Random programs of spinning kernels, events and waits. Writes when each kernel began and ended, by the device's clock.
// order_proof PROGRAMS SEED FILE: in FILE a line "program slot begin end" for each kernel, in the order of their launches.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        const cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                           \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                    \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

__device__ unsigned long long now() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

constexpr unsigned long long MARGIN = 3000;  // ns

__global__ void spin(unsigned long long* times, int slot, unsigned long long ns) {
    // The clocks of multiprocessors differ a little: what is noted lies well inside of what the kernel does.
    const unsigned long long first = now();
    while (now() - first < MARGIN) {
    }
    const unsigned long long begin = now();
    while (now() - begin < ns) {
    }
    const unsigned long long end = now();
    while (now() - end < MARGIN) {
    }
    times[2 * slot] = begin;
    times[2 * slot + 1] = end;
}

constexpr int STREAMS = 6, EVENTS = 6, OPERATIONS = 240;

int main(int, char** arguments) {
    const int programs = atoi(arguments[1]);
    std::mt19937 random(atoi(arguments[2]));
    FILE* file = fopen(arguments[3], "w");
    unsigned long long* times;
    CHECK(cudaMallocHost(&times, 2 * OPERATIONS * sizeof *times));
    unsigned long long* on_device;
    CHECK(cudaMalloc(&on_device, 2 * OPERATIONS * sizeof *on_device));
    for (int program = 0; program < programs; program++) {
        std::vector<cudaStream_t> streams;
        std::vector<cudaEvent_t> events(EVENTS);
        for (int i = 0; i < STREAMS; i++) {
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, random() % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
            streams.push_back(stream);
        }
        streams.push_back(cudaStreamLegacy);
        streams.push_back(cudaStreamPerThread);
        for (auto& event : events) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        int slot = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            // The legacy default stream orders so much that it is taken rarely.
            const auto pick = [&] {
                const cudaStream_t stream = streams[random() % streams.size()];
                return stream == cudaStreamLegacy && random() % 8 ? streams[0] : stream;
            };
            cudaEvent_t event = events[random() % EVENTS];
            switch (const int what = random() % 100) {
                default:
                    spin<<<1, 1, 0, pick()>>>(on_device, slot++, 5000 + random() % 60000);
                    CHECK(cudaGetLastError());
                    break;
                case 50 ... 74: CHECK(cudaEventRecord(event, pick())); break;
                case 75 ... 94: CHECK(cudaStreamWaitEvent(pick(), event, 0)); break;
                case 95: CHECK(cudaStreamSynchronize(pick())); break;
                case 96: CHECK(cudaEventSynchronize(event)); break;
                case 97: (void)cudaStreamQuery(pick()); (void)cudaGetLastError(); break;
                case 98: (void)cudaEventQuery(event); (void)cudaGetLastError(); break;
                case 99:
                    if (what == 99 && random() % 4 == 0) CHECK(cudaDeviceSynchronize());
                    break;
            }
        }
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(times, on_device, 2 * slot * sizeof *times, cudaMemcpyDeviceToHost));
        for (int i = 0; i < slot; i++)
            fprintf(file, "%d %d %llu %llu\n", program, i, times[2 * i], times[2 * i + 1]);
        for (int i = 0; i < STREAMS; i++) CHECK(cudaStreamDestroy(streams[i]));
        for (auto& event : events) CHECK(cudaEventDestroy(event));
    }
    fclose(file);
    return 0;
}
